"""What a wheel of torch_npu has is read without running it; the data agrees with what was measured on 2.13.0."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from ascend_workbook.migration import api_map
from ascend_workbook.migration.operators.rows import load_states
from ascend_workbook.migration.release import list_having
from tools.releases import __main__ as tool

FILES = {
    "torch_npu/npu/__init__.py": """
__all__ = ["is_available", "Stream"]
import re
from typing import List
from .memory import *
from torch_npu.utils import odd, _own
def seed(): ...
raise RuntimeError("run")
""",
    "torch_npu/npu/memory.py": "__all__ = ['empty_cache']\ndef _hidden(): ...\n",
    "torch_npu/contrib/transfer_to_npu.py": """
torch_fn_white_list = ['zeros', 'load']
torch_distributed_fn_white_list = ['__init__']
def init():
    patches = [['cuda.amp', torch_npu.npu.amp]]
    torch.Generator.__new__ = wrap(torch.Generator)
    device_wrapper(torch.fft, ['fftfreq'])
    device_wrapper(torch.nn.parallel.DistributedDataParallel, torch_distributed_fn_white_list)
    local = 1
""",
    "torch_npu/csrc/aten/npu_native_functions.yaml": (
        "backend: NPU\nsupported:\n  - empty.names\n  - func: clone\n    op_api: True\n"
    ),
    "torch_npu/csrc/aten/npu_native_functions_by_codegen.yaml": (
        "custom:\n- exposed: true\n  func: npu_odd(Tensor x) -> Tensor\n- func: npu_odd.out(Tensor x) -> Tensor\n"
    ),
    "torch_npu/optim/__init__.py": "from .a import NpuFusedSGD\n",
    "torch_npu/contrib/__init__.py": "__all__ = ['Focus']\n__all__ += ['roll']\n",
    "torch_npu/include/third_party/acl/inc/acl/acl_base.h": (
        "typedef enum { ACL_OTHER = 1 } other;\ntypedef enum {\n ACL_FLOAT = 0,\n ACL_BF16 = 27,\n} aclDataType;\n"
    ),
}


def write_wheel(folder: Path, release: str, files: dict[str, str]) -> None:
    with zipfile.ZipFile(folder / f"torch_npu-{release}-cp310-cp310-any.whl", "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)


def test_a_wheel_is_read_and_not_run(tmp_path: Path) -> None:
    write_wheel(tmp_path, "2.1.0", FILES)
    assert tool.read_release(next(tmp_path.iterdir())) == {
        "cuda": {"is_available", "Stream", "empty_cache", "odd", "seed"},
        "mapped": {
            *("torch.zeros", "torch.load", "torch.cuda.amp", "torch.Generator", "torch.fft.fftfreq"),
            "torch.nn.parallel.DistributedDataParallel",
        },
        "operators": {"empty", "clone", "npu_odd"},
        "names": {
            "torch_npu.npu_odd",
            "torch_npu.optim.NpuFusedSGD",
            "torch_npu.contrib.Focus",
            "torch_npu.contrib.roll",
        },
        "types": {"FLOAT", "BF16"},
    }


def test_the_data_is_written_and_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tool, "DATA", tmp_path / "releases.json")
    for release in ("2.10.0", "2.9.0"):
        write_wheel(tmp_path, release, FILES)
    assert tool.main([str(tmp_path)]) == 0
    content = json.loads((tmp_path / "releases.json").read_text(encoding="utf-8"))
    assert list(content["wheels"]) == ["2.9.0", "2.10.0"] and content["types"] == {"2.9.0 2.10.0": ["BF16 FLOAT"]}
    assert tool.main([str(tmp_path), "--check"]) == 0
    write_wheel(tmp_path, "2.9.0", {**FILES, "torch_npu/optim/__init__.py": ""})
    assert tool.main([str(tmp_path), "--check"]) == 1 and "differs" in capsys.readouterr().out


def test_what_was_read_of_2_13_is_what_was_measured_on_it() -> None:
    measured = {name for name, entry in api_map.load_map("torch_cuda")["names"].items() if entry["note"] == "absent"}
    same = {name for name, entry in api_map.load_map("torch_cuda")["names"].items() if entry["note"] == "same"}
    read = {name for name, having in list_having("cuda").items() if "2.13.0" in having}
    assert not measured & read
    assert same - read == {"_dump_snapshot", "_record_memory_history", "_snapshot"}  # of torch.npu.memory
    operators = {name for name, having in list_having("operators").items() if "2.13.0" in having}
    native = {name.partition("::")[2].partition(".")[0] for name, state in load_states().items() if state == "native"}
    assert native <= operators and len(native) > 400
