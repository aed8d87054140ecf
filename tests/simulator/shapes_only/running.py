"""Scripts on the simulated NPU in a run of shapes only, and what they read of modelled values."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple


class Run(NamedTuple):
    """How a script ended: its output's last JSON line, the reads, its errors."""

    returncode: int
    facts: Any
    reads: list[dict[str, Any]]
    stderr: str
    script: Path

    def lines(self, operator: str = "") -> list[int]:
        """Return the lines of the script at which an operator was read, sorted."""
        return sorted(read["line"] for read in self.reads if operator in read["operator"])


def run_shapes_only(env: dict[str, str], folder: Path, code: str, **variables: str | int) -> Run:
    """Run code that prints a JSON line, with `variables` as ASCEND_WORKBOOK_SIM_..., in a folder of its own."""
    script, reads = folder / "train.py", folder / "reads.jsonl"
    script.write_text(code, encoding="utf-8")
    reads.unlink(missing_ok=True)
    given = {"SHAPES_ONLY": 1, "READS": reads, "MEMORY_MIB": 65536, **variables}
    environ = {**env, **{f"ASCEND_WORKBOOK_SIM_{name}": str(value) for name, value in given.items()}}
    done = run_script(environ, script)
    lines = reads.read_text(encoding="utf-8").splitlines() if reads.exists() else []
    facts = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 and done.stdout else None
    return Run(done.returncode, facts, [json.loads(line) for line in lines], done.stderr, script)


def run_script(environ: dict[str, str], script: Path) -> subprocess.CompletedProcess[str]:
    """Run a script in its own folder."""
    command = [sys.executable, str(script)]
    return subprocess.run(
        command,
        env={**os.environ, **environ},
        cwd=script.parent,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
