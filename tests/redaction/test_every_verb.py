"""Secrets planted into every input of every verb are in nothing that the verb writes or prints.

A verb needs a recipe here: the registry is walked, and one without is a failure. Light recipes run in this process in
seconds, those that train a script are `full`.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ascend_workbook.cli.main import load_verb, main, verb_names
from ascend_workbook.redaction import known
from tests.conftest import ROOT
from tests.course.test_grading import CHECK, handed_in, solved
from tests.page.reading import open_page
from tests.precision.test_kills import MODELS
from tests.redaction.planted import SECRETS

#: Of the script's own words, of the environment, and of a file's name.
ARGUMENTS = [
    *("--api-key", "PLANTEDarg01x", "--hf_token=PLANTEDarg02x", "--url", "https://u:PLANTEDarg03x@h/x"),
    *("--note", "password=PLANTEDarg04x", "--memo", "口令是PLANTEDarg05x", "--secret-access-key", "PLANTEDarg06/x+y"),
]
ENVIRONMENT = {
    "MY_SERVICE_TOKEN": "PLANTEDenv01x",
    "DB_PASSWORD": "PLANTEDenv02 x",
    "OBS_SECRET_ACCESS_KEY": "PLANTEDenv03/x+y",
}
VALUES = [
    *(f"PLANTEDarg{number:02}" for number in range(1, 7)),
    *(text.split()[0] for text in ENVIRONMENT.values()),
    *(secret.value for secret in SECRETS),
]
SCRIPT = """
import argparse, os, sys
import torch

parser = argparse.ArgumentParser()
for name in ("--api-key", "--hf_token", "--url", "--note", "--memo", "--secret-access-key"):
    parser.add_argument(name)
args = parser.parse_args()
print(sys.argv, os.environ.get("MY_SERVICE_TOKEN"), "loaded", args.api_key, flush=True)
torch.manual_seed(0)
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
device = "cuda" if torch.cuda.is_available() else "cpu"
model.to(device)
for step in range(6):
    loss = model(torch.ones(3, 4, device=device)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
#: A file of these names is the user's own: his script, a copy of it, and what it printed.
USERS_OWN = ("train.py", "planted.py", "planted.log", "output.log", "npu.patch", "a.log", "b.log", "plan.yaml")
USERS_OWN += ("models.py", "planted.jsonl", "ann.ipynb", "executed.ipynb", "run.log")
FILES = ["--json", "out.json", "--html", "out.html", "--junit", "out.xml"]
Recipe = Callable[[Path], list[list[str]]]


def with_script(*words: str) -> Recipe:
    return lambda _: [[*words, *FILES, "train.py", *ARGUMENTS]]


def plain(*words: str) -> Recipe:
    return lambda _: [[*words, *FILES]]


def corpus(folder: Path) -> list[list[str]]:
    lines = [*(secret.text for secret in SECRETS), *ARGUMENTS]
    (folder / "planted.jsonl").write_text(
        "".join(json.dumps({"text": line}) + "\n" for line in lines), encoding="utf-8"
    )
    return [["inspect-data", "planted.jsonl", "--spike", "1", "--batch", "4", "--out", "cleaned", *FILES]]


def captured(folder: Path) -> list[list[str]]:
    capture = ["capture", "--device", "cpu", "--steps", "2", "--task", "statistics"]
    return [[*capture, "--out", side, "train.py", *ARGUMENTS] for side in ("one", "two")]


def after_captures(*words: str, then: list[str] | None = None) -> Recipe:
    return lambda folder: [*captured(folder), [*words, *FILES], *([then] if then else [])]


def hand_in(folder: Path) -> None:
    """A submission that prints what is planted: its notebook is the student's own, not what is written of it."""
    cells = f"print({ARGUMENTS!r})", solved("ann"), CHECK, "raise ValueError('password=PLANTEDarg04x')"
    handed_in(folder / "submissions", "ann.ipynb", *cells)


def profiled(folder: Path) -> list[list[str]]:
    line = ["profile", "--device", "cpu", "--steps", "2", "--warmup", "1", "--out", "prof", *FILES]
    return [[*line, "train.py", *ARGUMENTS], ["analyse", "prof", *FILES, "--timeline", "timeline.html"]]


def migrated(folder: Path) -> list[list[str]]:
    """A project of one script; the result's own copy of it is the user's."""
    (folder / "project").mkdir()
    (folder / "project" / "train.py").write_text(SCRIPT, encoding="utf-8")
    line = ["migrate", "--root", "project", "--steps", "2", "--rounds", "3", "--out", "migrated", *FILES]
    return [[*line, "project/train.py", *ARGUMENTS]]


JOB = ["modelarts", "job", "--code", "obs://bkt/c", "--out", "obs://bkt/o", "--flavor", "f", "--engine-id", "e"]
LIGHT: dict[str, Recipe] = {
    "scan": plain("scan", "planted.py", "--details"),
    "rewrite": plain("rewrite", "planted.py", "--patch", "npu.patch"),
    "assess": plain("assess", "planted.py"),
    "plan": plain("plan", "llama-7b", "--cards", "8", "--hyper", "learning_rate", "password=PLANTEDarg04x"),
    "calibrate": plain("calibrate", "https://u:PLANTEDarg03x@h/x"),
    "export": plain("export", "planted.py:build", "https://u:PLANTEDarg03x@h/x.pt"),
    "compare-om": plain("compare-om", "https://u:PLANTEDarg03x@h/x", "net.om"),
    "quantise": plain("quantise", "https://u:PLANTEDarg03x@h/x", "digits.npz"),
    "serving": plain("serving", "llama-7b"),
    "explain": plain("explain", "planted.log"),
    "page": lambda _: [["scan", "planted.py", *FILES], ["page", "out.json", "--out", "again.html"]],
    "launch-facts": lambda _: [["launch-facts", *FILES, "train.py", *ARGUMENTS]],
    "setup": plain("setup"),
    "curves": plain("curves", "a.log", "b.log"),
    "attempts": plain("attempts", "runs"),
    "storage list": plain("storage", "list", "."),
    "storage verify": plain("storage", "verify", "."),
    "storage upload": plain("storage", "upload", "sent", "https://u:PLANTEDarg03x@h/x"),
    "storage download": plain("storage", "download", "https://u:PLANTEDarg03x@h/x", "got"),
    "modelarts job": lambda _: [
        [*JOB, "--script", "train.py --lr 3", "--body", "body.json", *FILES],
        [*JOB, "--script", f"train.py {' '.join(ARGUMENTS)}", "--body", "body.json", *FILES],
        [*JOB, "--script", "train.py", "--env", "MY_SERVICE_TOKEN=PLANTEDarg01x"],
    ],
    "modelarts link": plain("modelarts", "link", "https://u:PLANTEDarg03x@h/zh/01_environment.ipynb"),
    "simulator status": plain("simulator", "status"),
    "simulator env": lambda _: [["simulator", "env"]],
    "simulator kernel": lambda _: [["simulator", "kernel", "--prefix", "environment"]],
    "simulator build": plain("simulator", "build"),
    "simulator operators": plain("simulator", "operators"),
    "course list": plain("course", "list"),
    "course reset": plain("course", "reset", "--api-key=PLANTEDarg01x", "env"),
    "course solve": plain("course", "solve", "--out", "solved.ipynb"),
    "course pack": plain("course", "pack", "--out", "students.zip"),
    "course grade": plain("course", "grade", "submissions"),
    "course class": plain("course", "class", "grades.csv"),
    "accept": plain("accept", "runs", "--confirm", "ACP541", "password=PLANTEDarg04x"),
    "compare": plain("compare", "one", "two"),
    "align": plain("align", "one", "two"),
    "advise": plain("advise", "one", "two"),
    "analyse": plain("analyse", "https://u:PLANTEDarg03x@h/x"),
    "timeline": plain("timeline", "https://u:PLANTEDarg03x@h/x"),
    "verify": plain("verify", "planted.py", "planted.py", "--inputs", "x"),
    "watch": plain("watch", "runs"),
    "inspect-data": corpus,
    "run": lambda _: [["run", "--list", "plan.yaml"]],
    "check": plain("check", "--no-compute", "--save", "settings.json"),
}
#: Light recipes whose input is refused, so that the error alone is looked at; all others must come to their work.
REFUSED = {"storage list", "storage upload", "storage download", "storage verify", "modelarts link", "course reset"}
REFUSED |= {
    "course grade",
    "accept",
    "attempts",
    "compare",
    "align",
    "advise",
    "analyse",
    "timeline",
    "verify",
    "calibrate",
    "watch",
    "export",
    "compare-om",
    "quantise",
}
FULL: dict[str, Recipe] = {
    "capture": lambda folder: [[*words[:-12], *FILES, *words[-12:]] for words in captured(folder)[:1]],
    "baseline": with_script(
        *("baseline", "--device", "cpu", "--no-statistics", "--steps", "2", "--timing-steps", "0", "--out", "gpu.zip")
    ),
    "profile": profiled,
    "benchmark": with_script("benchmark", "--device", "cpu", "--steps", "2", "--warmup", "1", "--out", "bench"),
    "watch": with_script("watch", "--device", "cpu", "--out", "watched"),
    "migrate": migrated,
    "dry-run": with_script("dry-run", "--steps", "2", "--out", "dry"),
    "rehearse": with_script("rehearse", "--out", "rehearsed", "--profile", "estimated"),
    "operators": with_script("operators", "--device", "cpu", "--out", "operators"),
    "simulator run": lambda _: [
        ["simulator", "run", "--", sys.executable, "-c", "pass", *ARGUMENTS],
        ["simulator", "run", "--fault", "password=PLANTEDarg04x", "--", sys.executable, "-c", "pass"],
    ],
    "simulator coverage": plain(
        *("simulator", "coverage", "--operator", "neg", "--samples", "1", "--dtype", "float32", "--workers", "1"),
        *("--direction", "forward", "--document", "coverage.md"),
    ),
    "attempts": after_captures("compare", "one", "two", "--attempts", "tried", then=["attempts", "tried", *FILES]),
    "verify": lambda _: [
        ["verify", "models.py:model", "models.py:model", "--inputs", "models.py:inputs"]
        + ["--device-a", "cpu", "--device-b", "cpu", *FILES]
    ],
    "course grade": lambda folder: hand_in(folder) or [["course", "grade", "submissions", *FILES]],
    "selftest": plain("selftest", "--device", "cpu", "--only", "check", "--log", "planted.log", "--out", "test"),
    "compare": after_captures("compare", "one", "two", "--csv", "numbers.csv"),
    "align": after_captures("align", "one", "two"),
    "advise": after_captures("advise", "one", "two"),
    "check": lambda folder: [
        *captured(folder),
        ["check", "--compare", "one", "two", "--xlsx", "settings.xlsx", *FILES],
        ["check", "--no-compute", "--save", "settings.json", "--run", "one"],
    ],
    "run": lambda folder: [
        ["run", "--root", "runs", "--stage", "migration", "-p", "script", "train.py", "-p", "device", "cpu"]
        + ["-p", "script_args", " ".join(ARGUMENTS)],
        ["accept", "runs/demo", "--confirm", "ACP541", "password=PLANTEDarg04x", *FILES],
        ["run", "plan.yaml", "--root", "planned"],
    ],
}


def every_command() -> list[str]:
    return [f"{verb} {action}".strip() for verb in verb_names() for action in load_verb(verb).actions or [""]]


def test_every_verb_has_a_recipe() -> None:
    assert {*every_command()} == {*LIGHT, *FULL}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    texts = [secret.text for secret in SECRETS]
    words = " ".join(ARGUMENTS)
    notes = "\n".join(f"# {line}" for text in texts for line in text.splitlines())
    (tmp_path / "train.py").write_text(SCRIPT, encoding="utf-8")
    quoted = "\n".join(f"print({text!r}, torch.zeros(1).cuda())" for text in texts)
    (tmp_path / "planted.py").write_text(f"import torch\n{notes}\n{quoted}\n", encoding="utf-8")
    log = "\n".join([*texts, words, "Traceback (most recent call last):", '  File "a.py", line 3, in <module>'])
    (tmp_path / "planted.log").write_text(f"{log}\nRuntimeError: token=PLANTEDarg01x {texts[4]}\n", encoding="utf-8")
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_text("".join(f"step {n} loss {1 / (n + 1)} {texts[1]}\n" for n in range(30)))
    for name in ("runs", "sent", "submissions", "home"):
        (tmp_path / name).mkdir()
    (tmp_path / "sent" / "x.txt").write_text("x")
    grades = "submission,student,env_status,error\nann.ipynb,ann,not_yet,RuntimeError: password=PLANTEDarg04x\n"
    (tmp_path / "grades.csv").write_text(grades)
    (tmp_path / "models.py").write_text(f"{MODELS}\nprint({words!r})\n", encoding="utf-8")
    plan = "runs:\n  - name: one\n    stages: [migration]\n    parameters:\n      script: {}\n      script_args: {!r}\n"
    plan += "      device: cpu\n"
    (tmp_path / "plan.yaml").write_text(plan.format(tmp_path / "train.py", words), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("ascend_workbook.page.render.PACKED", 0)  # what is packed is seen by nobody who writes the page
    for name, value in {**ENVIRONMENT, "HOME": str(tmp_path / "home"), "ASCEND_WORKBOOK_RUNS": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    told = set(known._TOLD)
    known._TOLD.clear()
    yield tmp_path
    known._TOLD.clear()
    known._TOLD.update(told)


def contents(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the texts of a file: unpacked where it is an archive or a page, a notebook or a database as bytes."""
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    if data[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            for name in packed.namelist():
                text = packed.read(name).decode("utf-8", "replace")
                yield f"{path}!{name}", open_page(text) if name.endswith(".html") else text
        return
    text = data.decode("utf-8", "replace")
    yield str(path), open_page(text) if path.suffix == ".html" else text


def leaks(folder: Path, printed: str, inputs: set[Path]) -> list[str]:
    texts = [("printed", printed)]
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path not in inputs and not path.is_symlink() and path.name not in USERS_OWN:
            texts += contents(path)
    return [f"{value} in {name}" for name, text in texts for value in VALUES if value in text]


@pytest.mark.parametrize("command", LIGHT)
def test_nothing_planted_is_written_or_printed(place: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = {*place.rglob("*")}
    codes = [main(words) for words in LIGHT[command](place)]
    assert (codes[0] == 2) == (command in REFUSED) and {*codes} <= {0, 1, 2}
    out, err = capsys.readouterr()
    assert "Traceback (most" not in err.replace('Traceback (most recent call last):\n  File "a.py"', "")
    assert not leaks(place, out + err, before)


@pytest.mark.full
@pytest.mark.parametrize("command", FULL)
def test_nothing_planted_is_left_by_what_runs_a_script(place: Path, command: str) -> None:
    before = {*place.rglob("*")}
    printed = ""
    for words in FULL[command](place):
        done = subprocess.run(
            [sys.executable, "-m", "ascend_workbook", *words],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode in (0, 1), done.stderr
        printed += done.stdout + done.stderr
    assert not leaks(place, printed, before)
