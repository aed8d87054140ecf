"""Set-up commands for made machines, and Jupyter kernels from CANN trees with their own set_env.sh."""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, Callable

import pytest

from ascend_workbook.cli import main as __main__
from ascend_workbook.environment.installing import kernel, plan
from ascend_workbook.environment.installing import kernel as place
from ascend_workbook.environment.installing.plan import report_on, write_kernel
from ascend_workbook.environment.machine import Machine
from ascend_workbook.environment.system import Untold
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import load_catalogue
from ascend_workbook.machine import kernelspec, versions
from tests.environment import machines as m
from tools import bootstrap

TORCH = "torch=={} --index-url https://download.pytorch.org/whl/cpu"


def complete(machine: Machine) -> Machine:
    """With the workbook's own packages installed."""
    names = {name.replace("-", "_"): "1.0" for name in plan.missing_packages(machine)}
    return m.packages(machine, **names)


def without(machine: Machine, **packages: str | None) -> Machine:
    """The NPU unused, and these packages in the place of torch and torch_npu."""
    return m.unusable(m.packages(m.chosen(machine, versions={}), **packages))


def server(**packages: str | None) -> Machine:
    return complete(without(m.server(), **packages))


def laptop(**packages: str | None) -> Machine:
    bare = m.chosen(replace(m.laptop(), simulator=""), tier="cpu", versions={})
    return complete(m.packages(bare, **packages))


#: name -> (machine, situation, status, commands that must be there in this order, notes)
CASES: dict[str, tuple[Callable[[], Machine], str, Status, list[str], set[str]]] = {
    "server in order": (lambda: complete(m.server()), "server", Status.GOOD, [], {"kept"}),
    "without our packages": (
        m.server,
        "server",
        Status.NOTE,
        ["torch==2.9.0 torch_npu==2.9.0 > held.txt", "-c held.txt -r req"],
        {"kept"},
    ),
    "CANN not sourced": (
        lambda: replace(complete(m.server()), cann=(replace(m.CANN, sourced=False),), environ={}),
        "server",
        Status.NOTE,
        ["source /c/set_env.sh"],
        {"kept"},
    ),
    "no torch": (
        lambda: server(torch=None, torch_npu=None),
        "server",
        Status.NOTE,
        [TORCH.format("2.9.0"), "--no-deps torch_npu==2.9.0"],
        set(),
    ),
    "no torch, Python 3.9": (
        lambda: m.python(server(torch=None, torch_npu=None), version="3.9.2"),
        "server",
        Status.NOTE,
        [TORCH.format("2.8.0"), "--no-deps torch_npu==2.8.0.post2"],
        set(),
    ),
    "torch alone": (
        lambda: server(torch="2.8.0", torch_npu=None),
        "server",
        Status.NOTE,
        ["--no-deps torch_npu==2.8.0.post2"],
        {"kept"},
    ),
    "torch_npu of another torch": (
        lambda: server(torch="2.8.0"),
        "server",
        Status.NOTE,
        ["--no-deps torch_npu==2.8.0.post2", "torch==2.8.0 > held.txt"],
        {"kept"},
    ),
    "a torch that fits nothing": (
        lambda: server(torch="2.3.0+cu121", torch_npu=None),
        "server",
        Status.LOOK,
        [
            "-m venv .venv-npu",
            ".venv-npu/bin/python -m pip install " + TORCH.format("2.9.0"),
            ".venv-npu/bin/python -m pip install --no-deps torch_npu==2.9.0",
            "-c held.txt attrs",
        ],
        {"kept", "no_pair"},
    ),
    "a pair for another CANN": (
        lambda: replace(server(), cann=(replace(m.CANN, version="8.3.RC1"),)),
        "server",
        Status.LOOK,
        ["-m venv .venv-npu", TORCH.format("2.8.0"), "--no-deps torch_npu==2.8.0"],
        {"kept", "pair_outside"},
    ),
    "numpy too new": (lambda: server(numpy="2.1.0"), "server", Status.NOTE, ["-c held.txt 'numpy<2'"], {"kept"}),
    "CANN's modules missing": (
        lambda: server(decorator=None),
        "server",
        Status.NOTE,
        ["-c held.txt decorator"],
        {"kept"},
    ),
    "compatible CANN": (
        lambda: replace(server(torch="2.9.0", torch_npu=None), cann=(replace(m.CANN, version="8.5.2"),)),
        "server",
        Status.NOTE,
        ["--no-deps torch_npu==2.9.0"],
        {"kept"},
    ),
    "no CANN": (lambda: replace(server(), cann=(), environ={}), "server", Status.FIX, [], {"kept", "no_cann"}),
    "CANN of no known version": (
        lambda: replace(server(), cann=(replace(m.CANN, version=""),)),
        "server",
        Status.LOOK,
        [],
        {"kept", "cann_unknown"},
    ),
    "CANN in no list": (
        lambda: replace(server(torch=None, torch_npu=None), cann=(replace(m.CANN, version="12.0"),)),
        "server",
        Status.FIX,
        [],
        {"not_listed"},
    ),
    "version that is none": (
        lambda: server(torch="nightly", torch_npu=None),
        "server",
        Status.LOOK,
        [],
        {"kept", "version"},
    ),
    "old Python": (
        lambda: m.python(server(torch=None, torch_npu=None), version="3.7.9"),
        "server",
        Status.FIX,
        [],
        {"no_wheel"},
    ),
    "old C library": (
        lambda: m.host(server(torch=None, torch_npu=None), glibc="2.17"),
        "server",
        Status.FIX,
        [],
        {"no_wheel"},
    ),
    "unknown C library": (
        lambda: m.host(server(torch=None, torch_npu=None), glibc=Untold("untold.glibc")),
        "server",
        Status.NOTE,
        ["--no-deps torch_npu==2.9.0"],
        set(),
    ),
    "ModelArts in order": (
        lambda: m.environ(complete(m.server()), MA_HOME="/home/ma-user"),
        "modelarts",
        Status.GOOD,
        [],
        {"kept"},
    ),
    "ModelArts without our packages": (
        lambda: m.environ(m.server(), MA_HOME="/home/ma-user"),
        "modelarts",
        Status.NOTE,
        [
            f"-m venv --system-site-packages {plan.IMAGE_WORK}/.venv",
            f"{plan.IMAGE_WORK}/.venv/bin/python -m pip install -c held.txt -r req",
        ],
        {"kept", "image"},
    ),
    "laptop in order": (lambda: complete(m.laptop()), "laptop", Status.GOOD, [], {"kept"}),
    "bare laptop": (
        lambda: laptop(torch=None),
        "laptop",
        Status.NOTE,
        [TORCH.format("2.13.0"), "/python torch_npu==2.13.0", "simulator build"],
        set(),
    ),
    "laptop with torch": (lambda: laptop(), "laptop", Status.NOTE, ["--no-deps --target", "simulator build"], {"kept"}),
    "laptop with another torch that was tried": (
        lambda: laptop(torch="2.12.0"),
        "laptop",
        Status.NOTE,
        ["/python torch_npu==2.12.0"],
        {"kept"},
    ),
    "laptop with a torch that was not tried": (
        lambda: laptop(torch="2.9.0"),
        "laptop",
        Status.LOOK,
        ["/python torch_npu==2.9.0"],
        {"kept", "simulator_torch"},
    ),
    "laptop with an old Python": (
        lambda: m.python(laptop(), version="3.9.1"),
        "laptop",
        Status.FIX,
        [],
        {"kept", "simulator_wheel"},
    ),
    "laptop with a nightly": (lambda: laptop(torch="nightly"), "laptop", Status.LOOK, [], {"kept", "version"}),
    "GPU machine": (lambda: complete(m.gpu()), "gpu", Status.GOOD, [], {"kept", "gpu"}),
    "macOS": (lambda: m.host(laptop(), system="Darwin", arch="arm64"), "unsupported", Status.FIX, [], {"unsupported"}),
    "arm laptop": (lambda: m.host(laptop(), arch="aarch64"), "unsupported", Status.FIX, [], {"unsupported"}),
}


@pytest.mark.parametrize("name", CASES)
def test_the_commands_fit_what_was_found(name: str) -> None:
    machine, situation, status, commands, notes = CASES[name]
    report = report_on(machine())
    text = "\n".join(report.facts["commands"])
    assert (report.facts["situation"], report.status) == (situation, status), report.text("en")
    assert {one.key.removeprefix("ENV131.") for one in report.findings[1:]} == notes
    places = [text.find(command) for command in commands]
    assert -1 not in places and places == sorted(places), text
    if not commands:
        assert len(report.facts["commands"]) <= 1, text


@pytest.mark.parametrize("name", CASES)
def test_no_command_can_replace_an_installed_torch(name: str) -> None:
    """What might bring a torch is either under the constraints, without dependencies, or of a new environment."""
    machine = CASES[name][0]()
    installed = [one for one in report_on(machine).facts["commands"] if " pip install " in one]
    for command in installed:
        words = shlex.split(command)
        own = words[0] in (machine.python.executable, "python") or words[0].startswith(plan.IMAGE_WORK)
        guarded = "--no-deps" in words or words[words.index("install") + 1 :][:2] == ["-c", "held.txt"]
        if machine.python.packages.get("torch") and own:
            assert guarded, command
            assert not [word for word in words if word.startswith("torch==")], command


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_it_reads_in_both_languages(name: str, lang: str) -> None:
    report = report_on(CASES[name][0]())
    text = report.text(lang)
    assert "{" not in text and report.html(lang, page=False)
    assert Report.from_json(report.to_json()).text(lang) == text


def test_what_check_says_leaves_the_commands_to_setup() -> None:
    """A bare `pip install` of torch or torch_npu takes the CUDA build, or replaces what is installed."""
    for key in load_catalogue():
        if re.match(r"ENV0|environment\.", key):
            one = load_catalogue()[key]
            assert not re.search(r"pip install [^`]*(\btorch(_npu)?\b|\{pair\})", repr(one)), key


def test_every_version_named_has_a_wheel_and_a_pair() -> None:
    """Over all CANNs, Pythons and architectures of the data: nothing is proposed that the lists do not have."""
    canns = {pair["cann"] for pair in versions.load_compatibility()["pairs"]} | {"8.5.2", "9.0.1"}
    for cann in canns:
        for python in ("3.8.1", "3.9.2", "3.10.4", "3.11.9", "3.12.1", "3.14.0"):
            for arch in ("aarch64", "x86_64"):
                machine = m.python(m.host(m.server(), arch=arch, glibc="2.28"), version=python)
                for found in plan.fitting_versions(machine, cann)[0]:
                    assert versions.pair_cann(found, cann) in plan.FITS
                    assert python.rpartition(".")[0] in (versions.find_wheel(found, arch) or {})["python"]


def test_the_terminals_commands_work_from_anywhere(tmp_path: Path) -> None:
    steps = plan.make_plan(m.python(m.laptop(), executable=sys.executable), anywhere=True).steps
    own = {step.key: shlex.split(step.command) for step in steps if step.key in ("workbook", "kernel")}
    assert set(own) == {"workbook", "kernel"} and all(words[0] == sys.executable for words in own.values())
    assert Path(own["workbook"][-1]).is_absolute() and Path(own["workbook"][-1]).is_file()
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([*own["kernel"], "--help"], cwd=tmp_path, env=environ, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_constants_are_bootstraps() -> None:
    assert bootstrap.CPU_INDEX == plan.CPU_INDEX
    assert bootstrap.find_pin("torch_npu") == f"torch_npu=={plan.SIMULATED}"


def test_every_outcome_was_seen() -> None:
    keys, steps = set(), set()
    for machine, *_ in CASES.values():
        made = report_on(machine())
        keys |= {one.key for one in made.findings}
        steps |= {step.key for step in plan.make_plan(machine()).steps}
    assert not {key for key in load_catalogue() if re.match(r"ENV13[01]\.", key)} - keys
    assert {
        key.removeprefix("installing.step.") for key in load_catalogue() if key.startswith("installing.step.")
    } == steps


SET_ENV = """
export ASCEND_HOME_PATH={root}
export ASCEND_OPP_PATH=$ASCEND_HOME_PATH/opp
export LD_LIBRARY_PATH=$ASCEND_HOME_PATH/lib64:$LD_LIBRARY_PATH
export PYTHONPATH=$ASCEND_HOME_PATH/python:$PYTHONPATH:
export PATH=$ASCEND_HOME_PATH/bin:./bin:$PATH
export SITE_TOKEN=PLANTED-IN-SCRIPT
"""


def tree(root: Path, script: str = SET_ENV) -> Path:
    """A CANN in the newer layout; bash alone can run its script."""
    folder = root / "cann-8.5.0"
    folder.mkdir()
    (folder / "version.cfg").write_text("toolkit_running_version=[7.9:8.5.0]\n")
    (folder / "set_env.sh").write_text("shopt -s extglob || exit 1\n" + script.format(root=folder))
    return folder


def test_a_kernel_begins_with_what_set_env_makes(tmp_path: Path) -> None:
    root = tree(tmp_path)
    before = {
        "PATH": os.environ["PATH"],
        "HOME": "/home/u",
        "LD_LIBRARY_PATH": f"{root}/lib64:/driver/lib64",
        "OBS_SECRET_ACCESS_KEY": "PLANTED",
        "ASCEND_HOME_PATH": str(root),
    }
    made, simulated = kernel.kernel_environment(before)
    assert not simulated and "PLANTED" not in str(made) and "OBS_SECRET_ACCESS_KEY" not in made
    assert made["ASCEND_HOME_PATH"] == str(root) and made["ASCEND_OPP_PATH"] == f"{root}/opp"
    assert made["LD_LIBRARY_PATH"] == f"{root}/lib64:/driver/lib64", "once, though it was sourced before"
    assert made["PYTHONPATH"] == f"{root}/python", "an empty entry would be the current folder"
    assert "./bin" not in made["PATH"] and made["PATH"].startswith(f"{root}/bin:")
    assert not {"HOME", "PWD", "SHLVL", "_"} & made.keys()


@pytest.mark.parametrize("script", ["exit 3\n", "export ASCEND_HOME_PATH=.\n", "true\n"])
def test_a_script_that_sets_nothing_usable(tmp_path: Path, script: str) -> None:
    with pytest.raises(WorkbookError) as told:
        kernel.kernel_environment({"PATH": os.environ["PATH"]}, (tree(tmp_path, script),))
    assert told.value.key == "kernelspec.sourcing" and told.value.hint("zh")


def test_neither_cann_nor_simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ascend_simulator.is_built", lambda where: False)
    monkeypatch.setattr("ascend_workbook.machine.cann.find_installed_cann", lambda: None)
    with pytest.raises(WorkbookError, match="neither a CANN nor the simulator"):
        kernel.kernel_environment({"PATH": "/usr/bin"})


def test_a_kernel_of_an_npu_is_never_the_simulators(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("ascend_workbook.machine.cann.find_installed_cann", lambda: None)
    monkeypatch.setattr("ascend_workbook.machine.cann.find_cann", lambda environ: None)
    monkeypatch.setattr(kernel.simulator, "is_built", lambda: True)
    monkeypatch.setattr(kernel, "count_visible_npus", lambda environment: 2)
    monkeypatch.setattr(kernel.simulator, "simulator_environment", lambda **_: {"ASCEND_WORKBOOK_SIMULATED": "1"})
    options = ["setup", "--lang", "en", "--kernelspec", "y", "--prefix", str(tmp_path), "--device"]
    assert __main__.main([*options, "npu"]) == 2
    assert "device npu is not here: no CANN was found" in capsys.readouterr().err
    assert __main__.main([*options, "cuda"]) == 2 and not list(tmp_path.iterdir())
    assert __main__.main([*options, "npu-simulated"]) == 0 and "simulated" in capsys.readouterr().out


def test_a_kernel_of_an_npu_that_sees_none_fails(clean: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "count_visible_npus", lambda environment: 0)
    assert write_kernel("y", device="npu", prefix=clean).status is Status.FIX


@pytest.fixture
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASCEND_HOME_PATH", str(tree(tmp_path)))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    return tmp_path / "prefix"


@pytest.mark.parametrize(
    ("answer", "key", "status"),
    [(2, "ENV132.written", Status.GOOD), (0, "ENV132.none", Status.LOOK), ("x.so", "ENV132.blind", Status.LOOK)],
)
def test_a_kernel_is_written_and_asked(
    clean: Path, monkeypatch: pytest.MonkeyPatch, answer: int | str, key: str, status: Status
) -> None:
    monkeypatch.setattr(kernel, "count_visible_npus", lambda environment: answer)
    report = write_kernel("ascend-npu", prefix=clean)
    spec = json.loads((clean / "share/jupyter/kernels/ascend-npu/kernel.json").read_text())
    assert spec["argv"][0] == sys.executable and spec["display_name"] == "Ascend NPU"
    assert all(not re.search(r"\$\{?\w", value) for value in spec["env"].values()), "Jupyter fills in nothing"
    assert report.findings[0].key == key and report.findings[0].status is status and "{" not in report.verdict("zh")


def processes(root: Path, *lines: tuple[str, ...]) -> Path:
    """A /proc in which this process descends from these command lines."""
    numbers = [os.getpid(), *range(900_001, 900_001 + len(lines)), 0]
    for own, above, words in zip(numbers, numbers[1:], [("python",), *lines]):
        (root / str(own)).mkdir(parents=True)
        (root / str(own) / "cmdline").write_bytes("\0".join(words).encode() + b"\0")
        (root / str(own) / "stat").write_text(f"{own} (a b) c) S {above} 1 1")
    return root


LAB = ("/opt/image/bin/python3", "/opt/image/bin/jupyter-lab", "--ip=0.0.0.0")
USER = "/home/u/.local/share/jupyter"


@pytest.mark.parametrize(
    ("environ", "lines", "prefix", "data", "seen", "kept"),
    [
        ({}, [("/bin/bash",)], None, f"{sys.prefix}/share/jupyter", None, True),
        ({}, [("/bin/bash",), LAB], None, USER, True, True),
        ({}, [LAB], "/opt/image", "/opt/image/share/jupyter", True, True),
        ({}, [LAB], "/opt/other", "/opt/other/share/jupyter", False, True),
        ({"JUPYTER_PATH": f"/x:{sys.prefix}/share/jupyter"}, [LAB], None, f"{sys.prefix}/share/jupyter", True, True),
        ({"JUPYTER_DATA_DIR": "/data/j"}, [LAB], None, "/data/j", True, True),
        ({"MA_HOME": "/home/ma-user"}, [], None, USER, True, False),
        ({"MA_HOME": "/home/ma-user"}, [LAB], "/opt/image", "/opt/image/share/jupyter", True, False),
        (
            {"MA_HOME": "/home/ma-user"},
            [],
            f"{plan.IMAGE_WORK}/.venv",
            f"{plan.IMAGE_WORK}/.venv/share/jupyter",
            False,
            True,
        ),
    ],
)
def test_a_kernel_lies_where_the_server_looks(
    tmp_path: Path,
    environ: dict[str, str],
    lines: list[tuple[str, ...]],
    prefix: str | None,
    data: str,
    seen: bool | None,
    kept: bool,
) -> None:
    proc = processes(tmp_path, *lines)
    made = place.choose_place(Path(prefix) if prefix else None, {"HOME": "/home/u", **environ}, proc=proc)
    assert made == place.Place(Path(data), seen, kept)


def test_a_kernel_on_modelarts_goes_to_the_user(clean: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "count_visible_npus", lambda environment: 1)
    monkeypatch.setenv("HOME", str(clean))
    monkeypatch.setenv("MA_HOME", "/home/ma-user")
    monkeypatch.delenv("JUPYTER_DATA_DIR", raising=False)
    report = write_kernel("ascend-npu")
    assert (clean / ".local/share/jupyter/kernels/ascend-npu/kernel.json").is_file()
    assert [one.key for one in report.findings[:2]] == ["ENV132.written", "ENV132.instance"]
    elsewhere = write_kernel("ascend-npu", prefix=clean / "venv")
    unseen = next(one for one in elsewhere.findings if one.key == "ENV132.unseen")
    assert elsewhere.status is Status.LOOK and f"JUPYTER_PATH={clean}/venv/share/jupyter" in str(unseen.hint("zh"))


def test_a_kernel_is_replaced_only_by_force(
    clean: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(kernel, "count_visible_npus", lambda environment: 1)
    options = ["setup", "--lang", "en", "--kernelspec", "k", "--prefix", str(clean)]
    assert __main__.main(options) == 0
    file = clean / "share/jupyter/kernels/k/kernel.json"
    file.write_text("the user's own")
    assert __main__.main(options) == 2 and "--force" in capsys.readouterr().err
    assert file.read_text() == "the user's own"
    assert __main__.main([*options, "--force", "--display-name", "Mine"]) == 0
    assert json.loads(file.read_text())["display_name"] == "Mine"
    assert [path.name for path in file.parent.iterdir()] == ["kernel.json"]


@pytest.mark.parametrize("name", ["../evil", "a b", "", "x" * 101, "名"])
def test_names_that_are_none(clean: Path, name: str) -> None:
    with pytest.raises(WorkbookError) as told:
        kernelspec.write_kernelspec(name, "x", {}, prefix=clean)
    assert told.value.key == "kernelspec.name" and not clean.exists()


def test_a_folder_that_cannot_be_written_leaves_nothing(clean: Path) -> None:
    folder = clean / "share/jupyter/kernels/k"
    folder.mkdir(parents=True)
    folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        if os.access(folder, os.W_OK):
            pytest.skip("this user may write everywhere")
        with pytest.raises(OSError, match="ermission"):
            kernelspec.write_kernelspec("k", "x", {}, prefix=clean)
    finally:
        folder.chmod(0o755)
    assert not list(folder.iterdir())


def test_options_that_do_not_belong(capsys: pytest.CaptureFixture[str]) -> None:
    assert __main__.main(["setup", "--lang", "en", "--force"]) == 2
    assert "--kernelspec" in capsys.readouterr().err


def test_a_kernel_of_the_simulator_sees_its_npus(simulator_env: dict[str, str], tmp_path: Path) -> None:
    """The real thing: a process that begins with the spec's environment."""
    report = write_kernel("ascend-npu", prefix=tmp_path)
    assert report.simulated and report.facts["npus"] == 2 and report.status is Status.GOOD
    made: dict[str, Any] = json.loads((tmp_path / "share/jupyter/kernels/ascend-npu/kernel.json").read_text())
    assert made["display_name"] == "Ascend NPU (simulated)" and "HOME" not in made["env"]
