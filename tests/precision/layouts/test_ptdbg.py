"""ptdbg_ascend's folders: read line by line, never unpickled, and paired with runs of msprobe."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any, Callable

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Place, Status
from ascend_workbook.precision.compare import compare
from ascend_workbook.precision.layouts import read_dump
from ascend_workbook.precision.layouts.entries import (
    KINDS,
    Call,
    parse_msprobe_name,
    parse_ptdbg_name,
    parse_tensor_name,
)
from tests.precision.dumps import Dump
from tests.precision.layouts.old import OldDump

WEIGHT = torch.linspace(-1, 1, 24).reshape(4, 6)
X = torch.linspace(-2, 2, 18).reshape(3, 6)


def layers(root: Path, factor: float = 1.0, dtype: torch.dtype = torch.float32, **options: Any) -> Path:
    """linear, gelu, linear; the gelu's result is scaled."""
    dump = OldDump(root, **options)
    weight = WEIGHT.to(dtype)
    y = F.linear(X.to(dtype), weight)
    dump.call("Functional_linear_0_forward", [X.to(dtype), weight], y)
    z = F.gelu(y) * factor
    dump.call("Functional_gelu_0_forward", [y], z)
    dump.call("Functional_linear_1_forward", [z, weight.t().contiguous()], F.linear(z, weight.t()))
    dump.call("Functional_linear_1_backward", torch.ones(3, 6), [None, torch.ones(3, 4)])
    dump.save()
    return root


def as_msprobe(root: Path, factor: float = 1.0) -> Path:
    dump = Dump(root)
    y = F.linear(X, WEIGHT)
    dump.forward("Functional.linear", [X, WEIGHT], [y])
    z = F.gelu(y) * factor
    dump.forward("Functional.gelu", [y], [z])
    dump.forward("Functional.linear", [z, WEIGHT.t().contiguous()], [F.linear(z, WEIGHT.t())], call=1)
    dump.backward("Functional.linear", [torch.ones(3, 6)], [None, torch.ones(3, 4)], call=1)
    dump.save()
    return root


def test_lines_become_operators(tmp_path: Path) -> None:
    dump = OldDump(tmp_path, step=2, rank="rank3")
    dump.call("Tensor_split_0_forward", [torch.ones(4), 2, True, 0.5], (torch.ones(2), torch.zeros(2)))
    dump.call("Module_fc1_Linear_1_backward", torch.ones(3), [None, torch.ones(2)])
    dump.save()
    (run,) = read_dump(tmp_path)
    split, module = run.operators
    assert (run.step, run.rank, run.task, run.replayable) == (2, 3, "tensor", False)
    assert split.arguments == (("input.1", 2), ("input.2", True), ("input.3", 0.5))
    assert split.name == "Tensor.split.0.forward" and split.place == Place("/home/user/train.py", 10)
    assert [t.slot for t in split.outputs] == ["output.0", "output.1"]
    assert module.name == "Module.fc1.Linear.backward.1" and module.inputs[0].slot == "input.0"
    assert module.outputs[0].slot == "output.1" and module.outputs[0].norm == pytest.approx(2**0.5)
    assert read_dump(tmp_path, Path("/home/user"))[0].operators[0].place == Place("train.py", 10)


@pytest.mark.parametrize("mode", ["all", "summary", "md5"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_same_run_is_identical(tmp_path: Path, mode: str, dtype: torch.dtype) -> None:
    report = compare(layers(tmp_path / "a", dtype=dtype, mode=mode), layers(tmp_path / "b", dtype=dtype, mode="all"))
    told = "same_statistics" if mode == "summary" else "same_checksums" if mode == "md5" else "identical"
    assert report.headline is not None and report.headline.key == f"ACC230.{told}"
    assert report.headline.args["left"] == 0 and not report.facts["unpaired"]


def test_a_wrong_operator_is_named(tmp_path: Path) -> None:
    report = compare(layers(tmp_path / "a"), layers(tmp_path / "b", factor=1.01))
    assert report.facts["first_divergence"] == "Functional.gelu.0.forward" and report.status is Status.FIX
    assert "an argument was not recorded" in report.text("en"), "arguments of None are not told: nothing is run again"


@pytest.mark.parametrize("factor", [1.0, 1.01])
def test_runs_of_both_tools_pair(tmp_path: Path, factor: float) -> None:
    report = compare(as_msprobe(tmp_path / "a"), layers(tmp_path / "b", factor=factor))
    assert report.facts["first_divergence"] == (None if factor == 1.0 else "Functional.gelu.0.forward")
    assert not report.facts["unpaired"]


def test_folders_with_the_time_behind_their_name(tmp_path: Path) -> None:
    """Before v2: `npu_dump.pkl` beside `npu_dump_20230104_134343`."""
    for side in ("a", "b"):
        layers(tmp_path / side, name="npu_dump")
        (folder,) = tmp_path.glob(f"{side}/*/*/*/npu_dump")
        folder.rename(folder.with_name("npu_dump_20230104_134343"))
    report = compare(tmp_path / "a", tmp_path / "b")
    assert report.headline is not None and report.headline.key == "ACC230.identical"
    folder.with_name("npu_dump_20230104_134344").mkdir()
    (folder := folder.with_name("npu_dump_20230104_134343")).rename(folder.with_name("npu_dump_20230104_134345"))
    with pytest.raises(WorkbookError, match="which is it"):
        compare(tmp_path / "a", tmp_path / "b")


class Harm:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch harmed",)


REFUSED, MALFORMED = "precision.pkl_refused", "precision.pkl_malformed"
REST = ', "torch.float32", [1], []]'
LINE = '["Functional_f_0_forward_input", 0, []'
DAMAGE: dict[str, tuple[Callable[[Path], Any], str]] = {
    "a real pickle": (lambda path: path.write_bytes(pickle.dumps(Harm())), REFUSED),
    "a pickle of protocol 0": (lambda path: path.write_bytes(pickle.dumps(Harm(), protocol=0)), REFUSED),
    "half written": (lambda path: path.write_bytes(path.read_bytes()[:-90]), "precision.json_salvaged"),
    "an object's line": (lambda path: path.write_text("{}\n" + LINE + "]"), REFUSED),
    "a lone name": (lambda path: path.write_text('["Functional_f_0_forward_input"]'), REFUSED),
    "another name": (lambda path: path.write_text(LINE.replace("forward", "x") + REST), MALFORMED),
    "a name that leaves": (lambda path: path.write_text('["../../F' + LINE[3:] + REST), MALFORMED),
    "a short line": (lambda path: path.write_text(LINE + "]"), MALFORMED),
    "no shape": (lambda path: path.write_text(LINE + ', "torch.float32", 3, []]'), MALFORMED),
    "nested too deep": (lambda path: path.write_text("[" * 100_000), REFUSED),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_a_damaged_rank(tmp_path: Path, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Is told with its file, the other rank is compared, and nothing in a file is ever run."""
    monkeypatch.chdir(tmp_path)
    for rank in ("rank0", "rank1"):
        layers(tmp_path / "a", rank=rank)
        layers(tmp_path / "b", rank=rank, factor=1.01 if rank == "rank1" else 1.0)
    change, key = DAMAGE[case]
    (path,) = tmp_path.glob("b/*/*/rank0/dump.pkl")
    change(path)
    report = compare(tmp_path / "a", tmp_path / "b")
    (told,) = (one for one in report.findings if one.rule == "ACC202")
    assert told.key == key and str(path) in told.message("en")
    assert report.facts["first_divergence"] == "Functional.gelu.0.forward" and not Path("harmed").exists()


def test_a_missing_array_is_told(tmp_path: Path) -> None:
    layers(tmp_path / "a"), layers(tmp_path / "b")
    (array,) = tmp_path.glob("b/*/*/*/dump/Functional_gelu_0_forward_output.npy")
    array.unlink()
    report = compare(tmp_path / "a", tmp_path / "b")
    (told,) = (one for one in report.findings if one.key == "ACC215.unreadable")
    assert array.name in str(told.args["first"])


NAMES = st.from_regex(r"[A-Za-z_]+[A-Za-z0-9_.]*", fullmatch=True)


@given(
    st.sampled_from(KINDS),
    NAMES,
    st.integers(0, 10**6),
    st.sampled_from(["forward", "backward"]),
    st.sampled_from(["input", "output"]),
    st.lists(st.integers(0, 99), max_size=3),
)
def test_any_api_name_falls_into_its_parts(
    kind: str, api: str, call: int, way: str, slot: str, rest: list[int]
) -> None:
    found = parse_ptdbg_name(f"{kind}_{api}_{call}_{way}_{slot}{''.join(f'.{one}' for one in rest)}")
    expected = ".".join([slot, *map(str, rest or [0])])
    assert found == Call(f"{kind}.{api}.{call}.{way}", f"{kind}.{api}", way, call, expected)
    assert parse_msprobe_name(f"{found.name}.{found.slot}") == found


@given(st.text())
def test_any_name_is_survived(name: str) -> None:
    found = parse_tensor_name(name)
    assert found is None or found.call >= 0
