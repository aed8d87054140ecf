"""Builds are whole or absent, one at a time, only when due; a build that does not fit is one clear error. 10 s."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from ascend_simulator.errors import SimulatorError
from ascend_simulator.libraries import building, plan, stubs
from ascend_simulator.libraries.plan import Package, cxx_standard, find_package, uses_cxx11_abi
from ascend_workbook.machine import simulator


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, simulator_env: dict[str, str]) -> Path:
    """A location whose builds take no compiler: each writes its number into lib64/number."""
    location = tmp_path / "simulator"
    (location / "python").mkdir(parents=True)
    shutil.copytree(
        simulator.simulator_location() / "python" / "torch_npu-2.13.0.dist-info", location / "python" / "info"
    )
    npu = Package("torch_npu", simulator.simulator_location() / "python" / "torch_npu", "2.13.0")
    find = find_package
    monkeypatch.setattr(plan, "find_package", lambda name, *extra: npu if name == "torch_npu" else find(name, *extra))
    numbers = iter(range(1, 99))

    def make_libraries(_plan: object, _objects: Path, libraries: Path) -> None:
        time.sleep(0.05)
        (libraries / "number").write_text(str(next(numbers)))

    monkeypatch.setattr(building, "make_libraries", make_libraries)
    return location


def number(location: Path) -> str:
    return (location / "lib64" / "number").read_text()


def test_a_build_is_made_once_and_again_when_a_source_changes(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert building.build(place)
    assert not building.build(place)
    assert building.build(place, force=True)
    assert number(place) == "2"
    monkeypatch.setattr(plan, "source_hashes", lambda: {"acl/memory.cpp": "other"})
    assert not simulator.is_current(place)
    assert building.build(place)
    assert simulator.is_current(place)
    assert (place / "python" / "info").is_dir(), "torch_npu, which set-up put there, is kept"


@pytest.mark.parametrize("changed", ["torch", "torch_npu"])
def test_another_version_makes_a_build_due(place: Path, monkeypatch: pytest.MonkeyPatch, changed: str) -> None:
    building.build(place)
    stamp = json.loads((place / "stamp.json").read_text())
    (place / "stamp.json").write_text(json.dumps({**stamp, changed: "2.12.0"}))
    assert not simulator.is_current(place)
    assert building.build(place)


def test_a_failed_build_leaves_the_old_one(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    building.build(place)

    def broken(_plan: object, _objects: Path, _libraries: Path) -> None:
        raise SimulatorError("simulator.compiler_failed", command="g++", error="x.cpp:1: error")

    monkeypatch.setattr(building, "make_libraries", broken)
    with pytest.raises(SimulatorError, match="x.cpp:1"):
        building.build(place, force=True)
    assert number(place) == "1"
    assert simulator.is_built(place)


def test_a_build_stopped_while_it_is_put_in_place(place: Path) -> None:
    """Killed between the two renames: the old folder comes back, and torch_npu with it."""
    building.build(place)
    place.rename(place.with_name(".simulator.old"))
    place.with_name(".simulator.new").mkdir()
    assert not building.build(place), "the old build is there again and fits"
    assert number(place) == "1"
    assert (place / "python" / "info").is_dir()
    assert sorted(path.name for path in place.parent.iterdir()) == [".simulator.lock", "simulator"]


def test_two_builds_at_once_are_one(place: Path) -> None:
    built: list[bool] = []
    threads = [threading.Thread(target=lambda: built.append(building.build(place))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(built) == [False, False, False, True]


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(SimulatorError, match="no C\\+\\+ compiler"):
        plan.find_compiler()
    with pytest.raises(SimulatorError, match="has no package no_such_package"):
        find_package("no_such_package")


def test_how_the_installed_torch_was_compiled() -> None:
    torch = find_package("torch")
    assert "torch" not in sys.modules or sys.modules["torch"].__version__ == torch.version
    assert uses_cxx11_abi(torch)
    assert cxx_standard(torch) in ("c++17", "c++20")


def test_a_lacking_function_becomes_a_stub(simulator_env: dict[str, str]) -> None:
    text = stubs.unsupported_functions(find_package("torch_npu", simulator.simulator_location() / "python"))
    assert 'int rtKernelLaunch() { return sim::unsupported("rtKernelLaunch"); }' in text
    assert 'int HcclAlltoAllVC() { sim::unsupported("HcclAlltoAllVC"); return 5; }' in text
    assert "aclrtMalloc()" not in text


def test_functions_of_atb_throw_with_their_name() -> None:
    text = stubs.atb_functions(find_package("torch_npu", simulator.simulator_location() / "python"))
    name = "_ZN3atb13CreateContextEPPNS_7ContextE"
    assert f'void {name}() {{ throw std::runtime_error("the NPU simulator lacks ATB of the NNAL package' in text
    assert "aclrtMalloc" not in text


@pytest.mark.parametrize("package", ["torch", "torch_npu"])
def test_a_build_for_another_version_is_one_clear_error(
    simulator_env: dict[str, str], tmp_path: Path, package: str
) -> None:
    """The runtime's own idea of the version is changed in a copy; both versions and the remedy are named."""
    version = find_package(package, simulator.simulator_location() / "python").version
    other = version.replace("2.13", "2.99")
    shutil.copytree(simulator.simulator_location() / "lib64", tmp_path / "lib64")
    library = tmp_path / "lib64" / "libascendcl.so"
    content = library.read_bytes()
    assert content.count(b"\0" + version.encode() + b"\0") == 1
    library.write_bytes(content.replace(b"\0" + version.encode() + b"\0", b"\0" + other.encode() + b"\0"))
    env = {**simulator_env, "LD_LIBRARY_PATH": str(tmp_path / "lib64")}
    command = [sys.executable, "-c", "import torch; torch.ones(2).npu()"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    said = next(line for line in done.stderr.splitlines() if line.startswith("[simulated NPU]"))
    assert f"built for {package} {other}, this process has {package} {version}" in said
    assert "ascend-workbook simulator build" in said
