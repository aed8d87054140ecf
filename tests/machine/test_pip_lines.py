"""No line of pip that the product prints can move torch or torch_npu: it holds them, or brings nothing but itself."""

from __future__ import annotations

import html
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ascend_workbook.findings.errors import install_line
from ascend_workbook.findings.sentence import load_catalogue
from ascend_workbook.machine.packages import fitting_companion
from tests.conftest import ROOT

#: Where users read: texts, pages, notebooks, and what the code composes.
PLACES = (
    *("ascend_workbook/locale/*.toml", "ascend_simulator/locale/*.toml", "ascend_workbook/diagnose/data/*.json"),
    *("README*.md", "docs/**/*.md", "course/README.md", "ascend_simulator/README.md", "modelarts_job.py"),
    *("notebooks/source/**/*.py", "notebooks/course/solutions/*.py"),
    *(f"{package}/**/*.py" for package in ("ascend_workbook", "ascend_simulator", "course", "helpers")),
)
#: To the end of the code, of the sentence in a text, of the command in a line.
LINE = re.compile(r"pip3? install ([^`|;&)。，）]*)")
#: What is told, never advised: what somebody did, what nobody should do, what the scan reads in a user's file.
TOLD = (
    "somebody ran `pip install torch_npu`",
    "有人执行了 `pip install torch_npu`",
    "Never `pip install torch`",
    "切勿 `pip install torch`",
    '`pip install "flash-attn>=2" -c pytorch`',
    "(`pip install .`)",
    "(`pip install -e`)",
)
#: One requirement for each name that a text fills in.
FILLED = {
    "{below}": "2",
    "{install}": "decorator sympy",
    "{package}": "'torchvision==0.28.*'",
    "{wanted}": "0.28",
    "{ascend}": "3.2.0",
    "NAME": "einops",
}


def read_lines(text: str) -> Iterator[str]:
    """Yield the arguments of each `pip install` that has any."""
    for told in TOLD:
        text = text.replace(told, "")
    for match in LINE.finditer(html.unescape(text).replace('\\"', "'")):
        words = re.split(r'\n|"\]?\s*$|"$|\s#|\. |", ', match.group(1), maxsplit=1)[0].strip().rstrip('."')
        if words and re.match(r"[-\w'./{]", words) and not words.startswith(("...", "for ", "a ")):
            yield words


def holds_torch(words: str) -> bool:
    """Return whether the line brings no dependencies, goes by constraints, or is that of one exact torch itself."""
    parts = words.split()
    exact = [part for part in parts if part.startswith("torch==")]
    return "--no-deps" in parts or "-c" in parts or ("--index-url" in parts and bool(exact))


def all_lines() -> dict[str, str]:
    found = {}
    for pattern in PLACES:
        for path in sorted(ROOT.glob(pattern)):
            for words in read_lines(path.read_text(encoding="utf-8")):
                found[words] = str(path.relative_to(ROOT))
    return found


def test_every_line_holds_torch() -> None:
    lines = all_lines()
    assert len(lines) > 12, "the lines are not found any more"
    assert not {words: place for words, place in lines.items() if not holds_torch(words)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Run `pip install torchvision`.", {"torchvision": False}),
        ("`pip install --no-deps torchvision`", {"--no-deps torchvision": True}),
        (install_line("einops"), {"-c held.txt einops": True}),
        ('hint_en = "pip install distributed; without --scheduler"', {"distributed": False}),
        ('"`pip install \\"numpy<2\\"`"', {"'numpy<2'": False}),
        ("Often some `pip install` replaced torch.", {}),
        (
            "pip install torch==2.13.0 --index-url https://x/cpu   # the CPU's",
            {"torch==2.13.0 --index-url https://x/cpu": True},
        ),
        ("pip install torch --index-url https://x/cpu", {"torch --index-url https://x/cpu": False}),
    ],
)
def test_what_counts_as_a_line(text: str, expected: dict[str, bool]) -> None:
    assert {words: holds_torch(words) for words in read_lines(text)} == expected


def test_a_text_has_the_form_of_the_function() -> None:
    """One form, so that a user meets one file: what `install_line` writes is what the texts say."""
    form = install_line("NAME").replace(" NAME", "")
    texts = [text for words in load_catalogue().values() for text in vars(words).values() if "-c held.txt" in text]
    assert len(texts) > 8
    for text in texts:
        plain = text.replace("{python}", "python")
        assert form in plain or form.replace("python -m ", "") in plain, text


def test_a_companion_is_named_by_its_torch() -> None:
    """Of https://github.com/pytorch/vision#installation: 0.15 with 2.0, 0.24 with 2.9, 0.28 with 2.13."""
    assert fitting_companion("torchvision", "2.0.1") == "torchvision==0.15.*"
    assert fitting_companion("torchvision", "2.13.0+cpu") == "torchvision==0.28.*"
    assert fitting_companion("torchaudio", "2.8.0") == "torchaudio==2.8.*"
    assert fitting_companion("torchaudio", "2.9.0") == "torchaudio"
    assert fitting_companion("torchvision", "") == "torchvision" and fitting_companion("einops", "2.9.0") == "einops"


@pytest.mark.full
def test_pip_itself_would_move_no_torch(tmp_path: Path) -> None:
    """Each line as pip would carry it out beside the torch that is here; lines of this project's folders left out."""
    held = tmp_path / "held.txt"
    frozen = run_pip("list", "--format=freeze").stdout.splitlines()
    held.write_text("".join(f"{line}\n" for line in frozen if line.lower().startswith("torch")), encoding="utf-8")
    if not held.read_text(encoding="utf-8"):
        pytest.skip("no torch is installed in this Python")
    if run_pip("download", "--no-deps", "-d", str(tmp_path), "einops").returncode:
        pytest.skip("no index is reachable")
    moved, resolved = {}, 0
    for words, place in all_lines().items():
        for name, value in FILLED.items():
            words = words.replace(name, value)
        if re.search(r"[{}]|(^|\s)'?\.|torch_npu|torch==|constraints.txt|\$", words) or words == "-c held.txt":
            continue
        words = words.replace("held.txt", str(held)).replace("requirements.txt", str(ROOT / "requirements.txt"))
        report = tmp_path / "report.json"
        report.unlink(missing_ok=True)
        done = run_pip("install", "--dry-run", "--quiet", "--report", str(report), *shlex.split(words))
        if done.returncode:  # refused: nothing moves
            continue
        resolved += 1
        names = {item["metadata"]["name"].lower() for item in json.loads(report.read_text(encoding="utf-8"))["install"]}
        if names & {"torch", "torch-npu", "torch_npu"}:
            moved[words] = place
    assert not moved
    assert resolved > 5, "hardly a line could be resolved"


def run_pip(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
