"""What torch's operator database does not reach: each check_* function of checks/ in one child, on the simulated NPU.

About 25 s. A check that fails, or that the child did not live to run, is named.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
FILES = sorted((HERE / "checks").glob("*.py"))


def names(path: Path) -> list[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [
        f"{path.stem}::{node.name}"
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("check_")
    ]


CHECKS = [name for path in FILES for name in names(path)]


@pytest.fixture(scope="module")
def results(simulator_env: dict[str, str]) -> dict[str, str]:
    """The error of each check that ran ("" where it passed); the child's own end under "child"."""
    command = [sys.executable, "-X", "faulthandler", str(HERE / "run_checks.py"), *map(str, FILES)]
    done = subprocess.run(command, env=simulator_env, capture_output=True, text=True, timeout=600, check=False)
    lines = [line.removeprefix("CHECK ") for line in done.stdout.splitlines() if line.startswith("CHECK ")]
    found = {entry["check"]: entry["error"] for entry in map(json.loads, lines)}
    return {**found, "child": f"exit code {done.returncode}\n{done.stderr[-3000:]}"}


@pytest.mark.parametrize("name", CHECKS)
def test_check(name: str, results: dict[str, str]) -> None:
    assert name in results, f"never ran: {results['child']}"
    assert not results[name], results[name]
