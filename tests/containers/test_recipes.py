"""The container recipes: what can be held against the project without a container engine. None was built by a test."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ascend_workbook.machine import cann, versions
from tests.conftest import ROOT

FOLDER = ROOT / "containers"
RECIPES = sorted(FOLDER.glob("Dockerfile.*"))
INSTRUCTIONS = ("ARG", "FROM", "USER", "RUN", "WORKDIR", "COPY", "EXPOSE", "ENTRYPOINT", "CMD", "ENV", "SHELL")
SECRET = re.compile(r"(?i)passw|token|secret|access_?key|credential|://[^/\s]*@")


@pytest.fixture(params=RECIPES, ids=lambda path: path.name)
def recipe(request: pytest.FixtureRequest) -> list[tuple[str, str]]:
    """Instructions and what follows them, comments gone, continued lines joined."""
    return instructions(request.param.read_text(encoding="utf-8"))


def instructions(text: str) -> list[tuple[str, str]]:
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines)).splitlines()
    parts = [line.partition(" ") for line in joined]
    return [(name, behind.strip()) for name, _, behind in parts]


def faults(recipe: list[tuple[str, str]]) -> list[str]:
    """What would keep a recipe from building, or make of it an image that it must not be."""
    found = [f"unknown instruction {name}" for name, _ in recipe if name not in INSTRUCTIONS]
    users = [who for name, who in recipe if name == "USER"]
    if not users or users[-1] in ("root", "0"):
        found.append("the image runs as root")
    if recipe[-1][0] != "CMD" or recipe[-2] != ("ENTRYPOINT", '["/bin/bash", "containers/enter.sh"]'):
        found.append("the environment is not sourced by bash on entry")
    if any(SECRET.search(behind) for _, behind in recipe):
        found.append("a credential")
    if any(re.search(r"(?<![\w-])(sh|\.) +\S*set_env", behind) for _, behind in recipe):
        found.append("set_env.sh by sh")
    declared = {behind.partition("=")[0] for name, behind in recipe if name == "ARG"}
    used = {each for _, behind in recipe for each in re.findall(r"\$\{(\w+)\}", behind)}
    return found + [f"{name} is no ARG" for name in sorted(used - declared)]


def test_a_recipe_has_no_fault(recipe: list[tuple[str, str]]) -> None:
    assert faults(recipe) == []


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("USER workbook", "USER root", "the image runs as root"),
        ('"/bin/bash", "containers', '"/bin/sh", "containers', "the environment is not sourced by bash on entry"),
        ("FROM ${BASE}", "FROM ${OTHER}", "OTHER is no ARG"),
        ("RUN make", "RUN OBS_TOKEN=1 make", "a credential"),
        ("RUN make", "RUN . /usr/local/Ascend/cann/set_env.sh && make", "set_env.sh by sh"),
        ("WORKDIR", "WORKDIRR", "unknown instruction WORKDIRR"),
    ],
)
def test_the_check_can_fail(old: str, new: str, expected: str) -> None:
    text = (FOLDER / "Dockerfile.simulator").read_text(encoding="utf-8")
    assert old in text and expected in faults(instructions(text.replace(old, new)))


def test_files_and_targets_that_a_recipe_names_exist(recipe: list[tuple[str, str]]) -> None:
    text = " ".join(behind for _, behind in recipe)
    named = set(re.findall(r"\b(?:containers|tools|ascend_workbook)/[\w.]+", text))
    assert named and all((ROOT / name).is_file() for name in named), named
    targets = {target for target in re.findall(r"(?<!-)\bmake ([a-z-]+)", text) if not target.startswith("-")}
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert all(re.search(rf"^{target}:", makefile, re.M) for target in targets), targets


def test_the_base_and_the_pair_belong_together() -> None:
    """CANN of the default base, and the pair that is installed where the base has none."""
    text = (FOLDER / "Dockerfile.ascend").read_text(encoding="utf-8")
    base, pair = re.findall(r"^ARG BASE=\S+/cann:([\d.]+)-.*py([\d.]+)$", text, re.M)[0], ""
    pair = re.findall(r"^ARG PAIR=(\S+)$", text, re.M)[0]
    assert versions.pair_cann(pair, base[0]) == "recommended"
    for arch in ("x86_64", "aarch64"):
        wheel = versions.find_wheel(pair, arch)
        assert wheel and base[1] in wheel["python"]
    python = re.findall(r"^ARG BASE=python:([\d.]+)-", (FOLDER / "Dockerfile.simulator").read_text(), re.M)[0]
    pinned = re.findall(r"^torch_npu==(\S+)$", (ROOT / "requirements-torch.txt").read_text(), re.M)[0]
    wheel = versions.find_wheel(pinned, "x86_64")
    assert wheel and python in wheel["python"]


def test_what_is_not_for_an_image_stays_out() -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    assert {".git", ".venv", "runs"} <= set(ignored)
    assert not {
        name
        for name in ignored
        if name.strip("*/") in ("ascend_workbook", "ascend_simulator", "helpers", "notebooks", "containers", "Makefile")
    }


def enter(tmp_path: Path, script: str, *command: str, shell: str = "bash", **more: str) -> subprocess.CompletedProcess:
    """The entry script before a CANN whose set_env.sh is this."""
    root = tmp_path / "opt" / "cann"
    root.mkdir(parents=True, exist_ok=True)
    (root / "set_env.sh").write_text(script, encoding="utf-8")
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "ENTER_ROOTS": str(root), **more}
    line = [shell, str(FOLDER / "enter.sh"), *command]
    return subprocess.run(line, env=env, capture_output=True, text=True, check=False)


#: As CANN's own does it: bash's own variable for its place, and what it leaves behind in PYTHONPATH.
LIKE_CANN = """
here="$(cd "$(dirname "${BASH_SOURCE:-x/.}")" && pwd)"
export ASCEND_HOME_PATH="$here"
export PYTHONPATH="$here/python/site-packages:${PYTHONPATH}"
export LD_LIBRARY_PATH="$here/lib64:${LD_LIBRARY_PATH}"
"""


def test_entering_sources_cann_and_leaves_no_current_folder(tmp_path: Path) -> None:
    code = "import os; print(os.environ['ASCEND_HOME_PATH'], os.environ['PYTHONPATH'], os.environ['LD_LIBRARY_PATH'])"
    done = enter(tmp_path, LIKE_CANN, sys.executable, "-c", code)
    root = tmp_path / "opt" / "cann"
    assert done.stdout.split() == [str(root), f"{root}/python/site-packages", f"{root}/lib64"], done.stderr


def test_the_exit_code_is_the_commands(tmp_path: Path) -> None:
    assert enter(tmp_path, LIKE_CANN, "bash", "-c", "exit 7").returncode == 7


def test_an_unfit_set_env_is_no_environment(tmp_path: Path) -> None:
    """Sourced by sh, or broken: a word and exit code 2 in place of a run without NPU."""
    broken = enter(tmp_path, "export ASCEND_HOME_PATH=.\n", "true")
    assert broken.returncode == 2 and "no absolute ASCEND_HOME_PATH" in broken.stderr
    failing = enter(tmp_path, "return 1\n", "true")
    assert failing.returncode == 2 and "failed" in failing.stderr
    plain = enter(tmp_path, LIKE_CANN, "true", shell="dash")
    assert plain.returncode == 2 and "not sh" in plain.stderr


def test_entering_looks_where_the_check_looks() -> None:
    text = (FOLDER / "enter.sh").read_text(encoding="utf-8")
    listed = re.findall(r"roots=\((.*?)\)", text, re.S)[0].split()
    assert tuple(listed) == cann.ROOTS


def test_the_simulator_is_entered_where_there_is_no_cann(tmp_path: Path, simulator_env: dict[str, str]) -> None:
    done = enter(
        tmp_path,
        "",
        "printenv",
        "ASCEND_WORKBOOK_SIMULATED",
        ENTER_ROOTS=str(tmp_path / "none"),
        ASCEND_WORKBOOK_SIMULATOR=simulator_env["ASCEND_HOME_PATH"],
    )
    assert done.stdout == "1\n", done.stderr


@pytest.mark.parametrize(("changes", "code"), [("", 0), ("torch", 3)])
def test_an_images_torch_must_stay(tmp_path: Path, changes: str, code: int) -> None:
    """The environment that was filled sees another torch: the build of the image fails."""
    other = tmp_path / "site" / "torch-9.9.dist-info"
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path / "site"} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    make = (
        f"import pathlib; p = pathlib.Path({str(other)!r}); p.mkdir(parents=True); "
        "(p / 'METADATA').write_text('Metadata-Version: 2.1\\nName: torch\\nVersion: 9.9\\n')"
    )
    command = [sys.executable, "-c", make if changes else "pass"]
    line = [sys.executable, str(FOLDER / "keeps_torch.py"), str(python), *command]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert ("9.9" in done.stderr) is bool(changes)


def test_the_commands_own_failure_is_told(tmp_path: Path) -> None:
    line = [sys.executable, str(FOLDER / "keeps_torch.py"), sys.executable, sys.executable, "-c", "raise SystemExit(5)"]
    assert subprocess.run(line, check=False).returncode == 5


def test_the_pages_show_the_same_commands_and_what_exists() -> None:
    pages = [(ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("everywhere.md", "everywhere.zh-CN.md")]
    blocks = [re.findall(r"```\w+\n(.*?)```", page, re.S) for page in pages]
    plain = [[re.sub(r"\s*#.*|<.*?>", "", line) for block in each for line in block.splitlines()] for each in blocks]
    assert plain[0] == plain[1]
    for page in pages:
        assert all((ROOT / "docs" / link).exists() for link in re.findall(r"\]\(([^)#:]+)\)", page))
        targets = re.findall(r"\bmake ([a-z-]+)", " ".join(re.findall(r"```bash\n(.*?)```", page, re.S)))
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        assert {target for target in targets if not re.search(rf"^{target}:", makefile, re.M)} <= {"g"}
