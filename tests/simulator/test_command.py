"""The command `ascend-simulator`, and what the distribution has of its own that the engine has too. 20 s."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from ascend_simulator import errors
from ascend_simulator.__main__ import main
from ascend_simulator.errors import SimulatorError, read_sentences, say
from ascend_workbook.findings.sentence import read_locale
from ascend_workbook.machine import cann, simulator
from tests.conftest import ROOT

#: A script that knows nothing of the workbook.
TRAIN = """
import sys
import torch

device = "npu" if torch.npu.is_available() else "cpu"
torch.manual_seed(0)
model = torch.nn.Linear(4, 1).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(16, 4, device=device)
losses = []
for _ in range(5):
    optimizer.zero_grad()
    loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(device, torch.npu.device_count(), losses[-1] < losses[0])
sys.exit(7)
"""


def run(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ascend_simulator", *words]
    env = {**os.environ, "ASCEND_WORKBOOK_LANG": "en", **variables}
    return subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)


@pytest.fixture
def unbuilt(tmp_path: Path) -> dict[str, str]:
    """The setting of a folder in which nothing was built."""
    return {"ASCEND_WORKBOOK_SIMULATOR": str(tmp_path / "none")}


def test_a_script_trains_and_ends_with_its_own_code(simulator_env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN, encoding="utf-8")
    done = run("run", "--devices", "3", "--", "python", str(tmp_path / "train.py"))
    assert (done.returncode, done.stdout) == (7, "npu 3 True\n"), done.stderr
    assert "Traceback" not in done.stderr


def test_the_four_actions_have_their_names(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--help"])
    assert end.value.code == 0
    printed = capsys.readouterr().out
    listed = [line.split()[0] for line in printed.splitlines() if line.startswith("    ") and line[4] != " "]
    assert listed == ["build", "status", "run", "env"]


def test_status_says_what_is_there(simulator_env: dict[str, str], unbuilt: dict[str, str]) -> None:
    here = run("status")
    assert here.returncode == 0 and here.stdout.strip().endswith("up to date"), here.stdout + here.stderr
    absent = run("status", **unbuilt)
    assert (absent.returncode, absent.stdout) == (1, f"{unbuilt['ASCEND_WORKBOOK_SIMULATOR']}: not built\n")


def test_env_is_what_a_child_gets(simulator_env: dict[str, str]) -> None:
    done = run("env", "--devices", "4")
    printed = dict(word.split("=", 1) for line in done.stdout.splitlines() for word in shlex.split(line)[1:])
    wanted = simulator.simulator_environment(4)
    assert printed["ASCEND_WORKBOOK_SIM_DEVICES"] == "4"
    assert printed["ASCEND_HOME_PATH"] == wanted["ASCEND_HOME_PATH"]


@pytest.mark.parametrize(
    ("words", "key"),
    [
        (["run"], "simulator.no_command"),
        (["run", "--devices", "0", "--", "true"], "simulator.devices"),
        (["env", "--devices", "65"], "simulator.devices"),
        (["run", "--", "true"], "simulator.not_built"),
        (["env"], "simulator.not_built"),
    ],
)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_what_cannot_be_done_is_said_in_both_languages(
    words: list[str], key: str, lang: str, unbuilt: dict[str, str]
) -> None:
    place = unbuilt["ASCEND_WORKBOOK_SIMULATOR"]
    devices = words[words.index("--devices") + 1] if "--devices" in words else ""
    done = run("--lang", lang, *words, **unbuilt)
    error = SimulatorError(key, path=place, devices=devices)
    lines = [say("simulator.error", lang, message=error.message(lang))]
    lines += [say("simulator.next_step", lang, hint=error.hint(lang))] if error.hint(lang) else []
    assert (done.returncode, done.stdout, done.stderr.splitlines()) == (2, "", lines)


def test_a_command_that_is_not_there(simulator_env: dict[str, str]) -> None:
    done = run("run", "--", "no-such-command")
    assert (done.returncode, done.stderr) == (2, "error: cannot run no-such-command: No such file or directory\n")


def test_the_language_stands_before_or_behind_the_action(unbuilt: dict[str, str]) -> None:
    before, behind = run("--lang", "zh", "status", **unbuilt), run("status", "--lang", "zh", **unbuilt)
    assert before.stdout == behind.stdout and "尚未构建" in behind.stdout
    assert "构建" in run("build", "--lang=zh", "--help").stdout
    assert "构建" not in run("run", "--help", "--", "x", "--lang", "zh").stdout, "that word is the command's"


def test_both_know_a_real_cann_by_the_same_signs() -> None:
    own = import_module("ascend_simulator.real_cann")
    assert own.ROOTS == cann.ROOTS
    assert own.SIGNS == cann.SIGNS


def test_the_sentences_are_read_as_toml_is() -> None:
    tomllib = pytest.importorskip("tomllib")
    text = errors.LOCALE.read_text(encoding="utf-8")
    assert read_sentences() == tomllib.loads(text) == read_locale(errors.LOCALE)
    assert len(read_sentences()) == text.count('\n["') > 20
