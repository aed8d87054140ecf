"""papermill and nbval, typed as the READMEs show them, are green for every notebook in both languages."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import PINNED, ROOT
from tests.notebooks.test_sources import build

README = (ROOT / "README.md").read_text(encoding="utf-8")
NAMES = [source.stem for source in build.sources() if source.parent == build.SOURCE]
#: A training of one step: too short for a trace after a warm-up.
ONE_STEP = """import torch
net = torch.nn.Linear(2, 1).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.ones(4, 2).cuda()).sum().backward()
optimizer.step()
"""


def line_of(tool: str) -> list[str]:
    """The words of the one line of the README's code that begins with a tool's name."""
    (line,) = re.findall(rf"^{tool} .*$", README, re.MULTILINE)
    return shlex.split(line)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the project as a clone is, so that results and other tests do not meet."""
    command = ["git", "ls-files", "-co", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def type_line(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a line from an activated environment, without what the tests of this project set."""
    environment = {name: value for name, value in os.environ.items() if name not in PINNED}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    environment["PYTHONPATH"] = str(folder)  # the copy's helpers, not those that are installed
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=900, check=False)


@pytest.mark.full
@pytest.mark.parametrize("lang", build.LANGUAGES)
def test_nbval(folder: Path, lang: str) -> None:
    words = [word.replace("notebooks/zh", f"notebooks/{lang}") for word in line_of("pytest")]
    done = type_line(words, folder)
    assert done.returncode == 0, done.stdout[-4000:]
    cells = int(re.findall(r"(\d+) passed", done.stdout)[-1])
    assert cells > 60 and "failed" not in done.stdout


@pytest.mark.full
@pytest.mark.parametrize("lang", build.LANGUAGES)
@pytest.mark.parametrize("name", NAMES)
def test_papermill(folder: Path, name: str, lang: str) -> None:
    """Also after the same notebook with the script that it has of itself."""
    shutil.copy(ROOT / "notebooks" / "scripts" / "gpt_text.py", folder / "train.py")
    words = [word.replace("zh/02_migration", f"{lang}/{name}") for word in line_of("papermill")]
    own = words if name != "01_environment" else words[:3]  # which takes no script
    for line in (words[:3], own):
        done = type_line(line, folder)
        assert done.returncode == 0, done.stderr[-4000:]


@pytest.mark.parametrize("lang", ["zh", pytest.param("en", marks=pytest.mark.full)])
def test_papermill_of_the_migration_without_an_npu(folder: Path, lang: str) -> None:
    """The static answers are given; of the run it is said that it was not looked at."""
    (folder / "train.py").write_text(ONE_STEP, encoding="utf-8")
    words = [word.replace("notebooks/zh", f"notebooks/{lang}") for word in line_of("papermill")]
    done = type_line([*words, "-p", "device", "cpu"], folder)
    assert done.returncode == 0, done.stderr[-4000:]
    from ascend_workbook.findings.report import load_report

    report = load_report(folder / "runs" / "notebook" / "migration" / "report.json")
    states = {part.verb: part.status.json for part in report.parts}
    assert states["dry_run"] == states["operator_support"] == report.status.json == "Not looked"
    assert states["scan"] == states["rewrite"] == "Good" and "MIG140.not_run" in {
        f.key for f in report.parts[2].findings
    }


def test_the_chinese_readme_shows_the_same_lines() -> None:
    chinese = (ROOT / "README.zh-CN.md").read_text(encoding="utf-8")
    assert all(shlex.join(line_of(tool)) in chinese for tool in ("papermill", "pytest"))
