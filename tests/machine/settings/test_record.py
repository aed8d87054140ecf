"""A record survives its file; a broken one, or one of another version, is one clear error."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.environment import hardware
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.machine import bounded, cann
from ascend_workbook.machine.settings import SCHEMA, Settings, load_record
from ascend_workbook.machine.settings.child import settings as reader
from tests.machine.settings.records import GPU, NPU


@pytest.mark.parametrize("side", [GPU, NPU, Settings()])
def test_a_record_survives_its_file(tmp_path: Path, side: Settings) -> None:
    side.save_record(tmp_path / "a.json")
    assert load_record(tmp_path / "a.json") == side
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def content(**changed: Any) -> str:
    return json.dumps({"schema": SCHEMA, **asdict(GPU), **changed})


BROKEN: dict[str, str] = {
    "empty": "",
    "cut short": content()[:300],
    "a list": "[]",
    "a report": json.dumps({"schema_version": 1, "stage": "environment"}),
    "a capture": content(schema="ascend-workbook/capture/1"),
    "no packages": json.dumps({"schema": SCHEMA, "machine": {}}),
    "packages a list": content(packages=[]),
    "a version that is no text": content(packages={"torch": 2}),
    "a flag that is an object": content(flags={"threads": {"a": 1}}),
    "a flag that is a list": content(flags={"threads": [1]}),
    "an argument that is an object": content(run={"args": [{}]}),
    "a seed that is no object": content(run={"seeds": [1]}),
    "a fingerprint that is a number": content(sides={"rank0": {"weights": {"w": 1}}}),
    "control characters in a weight's name": content(sides={"rank0": {"weights": {"\x1b[2J": "x"}}}),
    "control characters in a rank": content(sides={"\x1b[2J": {}}),
    "control characters late in a key": content(packages={"x" * 41 + "\x1b[2J": "1"}),
    "control characters in a key of another type": content(packages={"\x1b[2J": 1}),
    "sides that are no fingerprints": content(sides={"rank0": {"weights": ["x"]}}),
    "seeds that are no list": content(run={"seeds": {}}),
    "a tier that is none": content(machine={"tier": "tpu"}),
    "control characters": content(machine={"device": "\x1b[2J"}),
    "a very long value": content(environment={"HCCL_ALGO": "x" * 10_000}),
    "nested deep": "[" * 200_000,
    "bytes": "\udcff",
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_one_clear_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.json").write_bytes(BROKEN[name].encode("utf-8", "surrogateescape"))
    with pytest.raises(WorkbookError) as told:
        load_record(tmp_path / "a.json")
    assert told.value.key == "settings.unreadable" and told.value.hint("zh")
    assert "\x1b" not in told.value.message("en")


def test_only_listed_variables_are_taken(tmp_path: Path) -> None:
    planted = {"HCCL_ALGO": "level0:ring", "LD_PRELOAD": "/tmp/x.so", "PATH": "/tmp"}
    (tmp_path / "a.json").write_text(content(environment=planted))
    assert load_record(tmp_path / "a.json").environment == {"HCCL_ALGO": "level0:ring"}
    side = {"settings": {"environment": planted}}
    assert Settings.of_capture({"tier": "npu"}, {"rank0": side}).environment == {"HCCL_ALGO": "level0:ring"}


@pytest.mark.parametrize(
    "files",
    [
        {"version.cfg": "# v\ntoolkit_running_version=[7.9:8.5.0]\nruntime_running_version=[7.9:8.5.1]\n"},
        {"aarch64-linux/ascend_toolkit_install.info": "package_name=x\nversion=9.0.0\n", "version.cfg": "x=1\n"},
        {"version.cfg": "runtime_running_version=[7.6.0.1.220:8.0.0]\n"},
        {"other": "version=1\n"},
    ],
)
def test_a_capture_reads_canns_version_as_the_machine_check_does(tmp_path: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert reader.read_cann_version(str(tmp_path)) == cann.describe_cann(tmp_path, sourced=True).version
    assert bool(reader.read_cann_version(str(tmp_path))) == ("other" not in files)
    assert reader.VERSION_LINES == cann.VERSION_LINES and reader.INFO == hardware.DRIVER


def test_another_version_says_which(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(content(schema="ascend-workbook/settings/2"))
    with pytest.raises(WorkbookError, match="of version 2; this workbook reads version 1"):
        load_record(tmp_path / "a.json")


def test_no_file_and_a_huge_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(WorkbookError, match="no such file"):
        load_record(tmp_path / "none.json")
    monkeypatch.setattr("ascend_workbook.machine.settings.record.MOST_BYTES", 100)
    (tmp_path / "a.json").write_text(content())
    with pytest.raises(WorkbookError, match="larger than"):
        load_record(tmp_path / "a.json")


def test_the_child_reads_its_own_process() -> None:
    """Flags as torch has them by default, listed variables only, versions as an import finds them."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); import settings, json; print(json.dumps(settings.read()))"
    planted = {"HCCL_TOKEN": "PLANTED", "HCCL_ALGO": "level0:ring", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    folder = str(Path(reader.__file__).parent)
    done = bounded.run_bounded([sys.executable, "-c", code, folder], env={**os.environ, **planted}, timeout_s=120)
    told = json.loads(done.stdout)
    assert told["environment"]["HCCL_ALGO"] == "level0:ring" and "PLANTED" not in done.stdout
    assert told["flags"]["default_dtype"] == "float32" and told["flags"]["deterministic_algorithms"] is False
    assert told["machine"]["arch"] and told["machine"]["system"]
    assert re.match(r"\d+\.\d+", told["packages"]["torch"]) and None not in told["flags"].values()


def test_fingerprints_of_many_weights_fit(tmp_path: Path) -> None:
    weights = {f"layers.{number}.weight": f"float32[4096]:{number:016x}" for number in range(100_000)}
    side = replace(GPU, sides={"rank0": {"weights": weights, "batches": {}}})
    side.save_record(tmp_path / "a.json")
    assert load_record(tmp_path / "a.json") == side
