"""Ways to have a machine with simulated NPUs: set_env.sh in each shell, the command, the kernel spec. 15 s."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ascend_workbook.cli.main import main
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.machine import cann, simulator
from ascend_workbook.machine.simulator import kernel as jupyter

NAMES = ("ASCEND_HOME_PATH", "ASCEND_OPP_PATH", "ASCEND_WORKBOOK_SIMULATED", "LD_LIBRARY_PATH", "PYTHONPATH")
BARE = {"PATH": "/usr/bin:/bin", "HOME": "/tmp"}


def sourced(shell: list[str], text: str, env: dict[str, str]) -> dict[str, str]:
    script = simulator.simulator_location() / "set_env.sh"
    command = f"{text.format(script=script)}; env -0"
    done = subprocess.run([*shell, "-c", command], env=env, capture_output=True, check=True, timeout=20)
    assert done.stderr == b""
    return dict(item.split("=", 1) for item in done.stdout.decode().split("\0") if "=" in item)


SHELLS = [["bash"], ["bash", "-u"], ["bash", "-eu"], ["sh"], ["dash", "-u"], ["zsh"], ["zsh", "-u"]]


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
@pytest.mark.parametrize("before", [{}, {"LD_LIBRARY_PATH": "/a:/b", "PYTHONPATH": "/c"}], ids=["bare", "set"])
def test_set_env(simulator_env: dict[str, str], shell: list[str], before: dict[str, str]) -> None:
    """Sourced twice it gives what `environment` gives, and no empty entry in a search path."""
    if not shutil.which(shell[0]):
        pytest.skip(f"{shell[0]} is not on this machine")
    found = sourced(shell, '. "{script}" && . "{script}"', {**BARE, **before})
    wanted = simulator.simulator_environment(base={**BARE, **before})
    assert {name: found.get(name) for name in NAMES} == {name: wanted.get(name) for name in NAMES}
    for name in ("LD_LIBRARY_PATH", "PYTHONPATH"):
        assert "" not in found.get(name, "x").split(":")


def test_set_env_leaves_no_variable_of_its_own(simulator_env: dict[str, str]) -> None:
    found = subprocess.run(
        ["bash", "-c", f'. "{simulator.simulator_location() / "set_env.sh"}"; set | grep ^_ascend'],
        env=BARE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.stdout == ""


def test_an_absent_simulator_is_said(tmp_path: Path, simulator_env: dict[str, str]) -> None:
    text = (
        (simulator.simulator_location() / "set_env.sh")
        .read_text()
        .replace(str(simulator.simulator_location()), str(tmp_path / "none"))
    )
    (tmp_path / "set_env.sh").write_text(text)
    done = subprocess.run(
        ["bash", "-c", f". {tmp_path}/set_env.sh; echo $?"], env=BARE, capture_output=True, text=True, check=False
    )
    assert done.stdout == "1\n"
    assert "ascend-workbook simulator build" in done.stderr


def test_it_is_recognised_as_simulated(simulator_env: dict[str, str]) -> None:
    here = cann.find_cann(simulator_env)
    assert here is not None
    assert here.simulated
    assert here.version == "9.1.0"
    assert "ASCEND_HOME_PATH" not in cann.without_simulator(simulator_env)


def test_environment_without_a_build(tmp_path: Path) -> None:
    with pytest.raises(WorkbookError) as caught:
        simulator.simulator_environment(where=tmp_path)
    assert "simulator build" in str(caught.value)


def test_run_becomes_the_command(simulator_env: dict[str, str]) -> None:
    show = "import os, sys; print(os.environ['ASCEND_WORKBOOK_SIM_DEVICES'], sys.argv[1:]); sys.exit(7)"
    command = [sys.executable, "-m", "ascend_workbook", "simulator", "run", "--devices", "3", "--"]
    done = subprocess.run(
        [*command, sys.executable, "-c", show, "--devices", "x"], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.returncode) == ("3 ['--devices', 'x']\n", 7)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run"], "the command after `--` is missing"),
        (["run", "--devices", "0", "--", "true"], "0 devices"),
        (["run", "--", "no-such-program"], "no-such-program"),
    ],
)
def test_what_cannot_run_is_said(
    arguments: list[str], said: str, simulator_env: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulator", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_env_prints_what_a_shell_can_read(simulator_env: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulator", "env", "--devices", "5"]) == 0
    printed = capsys.readouterr().out
    found = subprocess.run(
        ["sh", "-c", printed + "echo $ASCEND_HOME_PATH $ASCEND_WORKBOOK_SIM_DEVICES"],
        env=BARE,
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.split() == [str(simulator.simulator_location()), "5"]


def test_the_kernel_spec_carries_the_environment(tmp_path: Path, simulator_env: dict[str, str]) -> None:
    spec = json.loads((jupyter.install_kernel(tmp_path) / "kernel.json").read_text())
    assert spec["display_name"] == "Ascend NPU (simulated)"
    assert spec["argv"][0] == sys.executable
    assert spec["env"]["LD_LIBRARY_PATH"].split(":")[0] == str(simulator.simulator_location() / "lib64")
    assert not any(value.endswith(":") or value.startswith(":") for value in spec["env"].values())


def test_the_kernel_of_a_class_takes_so_many_threads(tmp_path: Path, simulator_env: dict[str, str]) -> None:
    assert main(["simulator", "kernel", "--prefix", str(tmp_path), "--threads", "2"]) == 0
    spec = json.loads((tmp_path / "share/jupyter/kernels" / jupyter.NAME / "kernel.json").read_text())
    assert [spec["env"][name] for name in jupyter.THREADS] == ["2", "2", "2"]
    assert not set(jupyter.THREADS) & set(jupyter.kernel_environment())
    assert main(["simulator", "kernel", "--threads", "0"]) == 2


def test_a_plain_script_sees_npus_and_a_plain_shell_still_imports_torch(simulator_env: dict[str, str]) -> None:
    ask = "import torch; print(hasattr(torch, 'npu') and torch.npu.device_count())"
    clean = cann.without_simulator(simulator_env)
    with_it, without = (
        subprocess.run([sys.executable, "-c", ask], env=env, capture_output=True, text=True, check=True).stdout.strip()
        for env in (simulator_env, clean)
    )
    assert with_it == "2"
    assert without == "False", "torch_npu must stay off site-packages where there is no CANN"
