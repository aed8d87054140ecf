"""The simulator never shadows a real CANN or driver, unless forced. Fixtures look like one. 15 s."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from ascend_simulator.real_cann import FORCE
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.machine import device, simulator

#: The module: the package has a function of its name.
SIGNS_OF = import_module("ascend_simulator.real_cann")
FORCED = {FORCE: "1"}
INITIALISE = "import ctypes; print(ctypes.CDLL('libascendcl.so').aclInit(None))"


@pytest.fixture()
def real(tmp_path: Path) -> Path:
    """A folder that looks like an installed CANN."""
    root = tmp_path / "Ascend" / "cann"
    root.mkdir(parents=True)
    (root / "version.cfg").write_text("runtime_running_version=[7.9.0.1.220:8.5.0]\n")
    return root


@pytest.fixture()
def beside_real(real: Path, tmp_path: Path, simulator_env: dict[str, str]) -> Path:
    """The simulator as it would be on that CANN's machine: its own files, but another list of signs."""
    folder = tmp_path / "simulator"
    folder.mkdir()
    for path in simulator.simulator_location().iterdir():
        (folder / path.name).symlink_to(path)
    for name, text in (("real_signs.txt", f"/no/such/path\n{real}\n"), ("set_env.sh", _set_env(folder))):
        (folder / name).unlink()
        (folder / name).write_text(text)
    (folder / "lib64").unlink()
    (folder / "lib64").mkdir()
    for path in (simulator.simulator_location() / "lib64").iterdir():
        os.link(path, folder / "lib64" / path.name)
    return folder


def _set_env(folder: Path) -> str:
    return (
        (simulator.simulator_location() / "set_env.sh")
        .read_text()
        .replace(str(simulator.simulator_location().resolve()), str(folder))
    )


def test_python_refuses(real: Path, simulator_env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SIGNS_OF, "SIGNS", (str(real),))
    with pytest.raises(WorkbookError) as refused:
        simulator.simulator_environment(base={"PATH": "/usr/bin"})
    assert refused.value.key == "simulator.real_cann" and str(real) in str(refused.value)
    assert simulator.simulator_environment(base={"PATH": "/usr/bin"}, force=True)[FORCE] == "1"
    assert "ASCEND_HOME_PATH" in simulator.simulator_environment(base={"PATH": "/usr/bin", **FORCED})
    sourced = {"PATH": "/usr/bin", "ASCEND_HOME_PATH": str(real)}
    monkeypatch.setattr(SIGNS_OF, "SIGNS", ())
    with pytest.raises(WorkbookError):
        simulator.simulator_environment(base=sourced)


def test_auto_does_not_fall_back_to_it(
    real: Path, simulator_env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real NPU that does not start is not replaced by a simulated one behind the user's back."""
    monkeypatch.setattr(SIGNS_OF, "SIGNS", (str(real),))
    found = device.find("auto")
    assert found.tier in ("cuda", "cpu")
    assert found.why_not["npu-simulated"] == Sentence("device.why.real_cann", path=str(real))
    with pytest.raises(WorkbookError):
        device.find("npu-simulated")


@pytest.mark.parametrize("shell", ["bash", "sh"])
def test_the_script_refuses(shell: str, beside_real: Path, real: Path) -> None:
    def source(**variables: str) -> subprocess.CompletedProcess[str]:
        command = [shell, "-c", f'. "{beside_real}/set_env.sh"; echo "HOME=$ASCEND_HOME_PATH"']
        env = {"PATH": "/usr/bin:/bin", **variables}
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False)

    refused = source()
    assert str(real) in refused.stderr and str(beside_real) not in refused.stdout
    assert f"HOME={beside_real}\n" in source(**FORCED).stdout


def test_the_runtime_refuses(beside_real: Path, real: Path) -> None:
    """The last line of defence: libraries found through an LD_LIBRARY_PATH that was left behind."""

    def start(**variables: str) -> subprocess.CompletedProcess[str]:
        env = {"PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": f"{beside_real}/lib64", **variables}
        return subprocess.run([sys.executable, "-c", INITIALISE], env=env, capture_output=True, text=True, check=False)

    refused = start()
    assert refused.stdout.strip() == "507000" and str(real) in refused.stderr
    assert start(**FORCED).stdout.strip() == "0"
    (beside_real / "real_signs.txt").write_text("/no/such/path\n")
    assert start().stdout.strip() == "0"
    assert start(ASCEND_HOME_PATH=str(real)).stdout.strip() == "507000", "another CANN was sourced"
