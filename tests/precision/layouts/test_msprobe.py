"""Dump folders as msprobe writes them, whole and damaged."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Place, Status
from ascend_workbook.precision.compare import compare
from ascend_workbook.precision.layouts import read_dump, read_runs
from ascend_workbook.precision.layouts.entries import split_name
from tests.precision.dumps import Dump


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    dump = Dump(tmp_path)
    dump.forward("Functional.relu", [torch.ones(2, 3)], [torch.ones(2, 3)], inplace=True)
    dump.forward("Tensor.split", [torch.ones(4), 2], [(torch.ones(2), torch.ones(2))])
    dump.backward("Functional.relu", [torch.ones(2, 3)], [None, torch.zeros(2, 3)])
    return dump.save()


def test_an_entry_is_read_whole(folder: Path, tmp_path: Path) -> None:
    (run,) = read_dump(tmp_path)
    assert (run.step, run.rank, run.task, run.level) == (0, 0, "tensor", "L1")
    relu, split, backward = run.operators
    assert [t.slot for t in relu.inputs] == ["input.0"] and relu.inputs[0].norm == pytest.approx(math.sqrt(6))
    assert [t.slot for t in split.outputs] == ["output.0.0", "output.0.1"]
    assert backward.outputs[0].slot == "output.1", "a None keeps its place"
    assert (relu.head, relu.api, relu.call, relu.direction) == ("Functional.relu", "relu", 0, "forward")
    assert relu.place == Place("/home/user/train.py", 10) and backward.place == relu.place
    assert read_dump(folder, Path("/home/user"))[0].operators[0].place == Place("train.py", 10)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Functional.conv2d.3.forward", ("Functional.conv2d", "forward", 3)),
        ("Module.layer1.0.conv1.Conv2d.backward.12", ("Module.layer1.0.conv1.Conv2d", "backward", 12)),
        ("Module.fc.Linear.parameters_grad.0", ("Module.fc.Linear", "parameters_grad", 0)),
        ("Module.fc.Linear.parameters_grad", ("Module.fc.Linear", "parameters_grad", 0)),  # 8.x
        ("Module.fc.Linear.1.forward", ("Module.fc.Linear", "forward", 1)),  # atat, 2024
    ],
)
def test_names_fall_into_parts(name: str, expected: tuple[str, str, int]) -> None:
    assert split_name(name) == expected


def test_steps_and_ranks_are_sorted_as_numbers(tmp_path: Path) -> None:
    for step, rank in ((10, "rank0"), (2, "rank11"), (2, "rank2")):
        dump = Dump(tmp_path, step=step, rank=rank)
        dump.forward("Functional.relu", [torch.ones(1)], [torch.ones(1)])
        dump.save()
    assert [(run.step, run.rank) for run in read_dump(tmp_path)] == [(2, 2), (2, 11), (10, 0)]


def test_a_truncated_dump_gives_its_whole_entries(folder: Path, tmp_path: Path) -> None:
    path = folder / "dump.json"
    path.write_text(path.read_text()[:-40])
    (run,), (told,) = read_runs(tmp_path)
    assert [op.name for op in run.operators] == ["Functional.relu.0.forward", "Tensor.split.0.forward"] and run.cut
    assert "the 2 entries before that were compared" in told.message("en") and "capture again" in told.hint("en")
    with pytest.raises(WorkbookError, match=r"dump\.json: cut short or damaged at line \d"):
        read_dump(tmp_path)


def test_a_dump_without_a_whole_entry_is_an_error(folder: Path, tmp_path: Path) -> None:
    path = folder / "dump.json"
    path.write_text(path.read_text()[:300])
    with pytest.raises(WorkbookError, match=r"dump\.json: cut short or damaged at line \d") as caught:
        read_runs(tmp_path)
    assert caught.value.key == "precision.json_cut"


def test_eight_x(tmp_path: Path) -> None:
    """A bare `rank` folder, parameter gradients without a number, frames by name, no `framework`."""
    folder = Dump(tmp_path, rank="rank").save()
    tensor = {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2], "Max": 1, "Min": 0, "Mean": 0, "Norm": 1}
    data = {
        "Module.fc.Linear.forward.0": {
            "input_args": [tensor],
            "input_kwargs": {},
            "output": [tensor],
            "parameters": {"weight": tensor},
        },
        "Module.fc.Linear.parameters_grad": {"weight": [tensor]},
        "Module.fc.Linear.backward.0": {"input": [tensor], "output": [tensor]},
    }
    (folder / "dump.json").write_text(json.dumps({"task": "statistics", "level": "L0", "data": data}))
    frames = ["File /x/train.py, line 3, in f, \n f()", "File /x/train.py, line 9, in main, \n main()"]
    (folder / "stack.json").write_text(json.dumps({"Module.fc.Linear.forward.0": frames}))
    (run,) = read_dump(tmp_path)
    forward, grads, _ = run.operators
    assert run.rank == 0 and (grads.head, grads.direction, grads.call) == ("Module.fc.Linear", "parameters_grad", 0)
    assert grads.outputs[0].slot == "output.weight.0" and forward.place == Place("/x/train.py", 3)
    assert [t.slot for t in forward.inputs] == ["input.0", "parameters.weight"]


def test_before_eight_x_backward_goes_by_autograds_names(tmp_path: Path) -> None:
    folder = Dump(tmp_path, rank="rank0").save()
    given, made = ({"type": "torch.Tensor", "dtype": "Float32", "shape": [size]} for size in (2, 3))
    data = {"Functional.relu.0.backward": {"grad_output": [given], "grad_input": [made]}}
    (folder / "dump.json").write_text(json.dumps({"task": "statistics", "level": "L1", "data": data}))
    (operator,) = read_dump(tmp_path)[0].operators
    assert operator.inputs[0].shape == (2,) and operator.outputs[0].shape == (3,)
    assert operator.outputs[0].dtype == "float32" and operator.outputs[0].is_floating, "MindSpore writes Float32"


def test_two_folders_of_one_rank_are_both_left_out(tmp_path: Path) -> None:
    for rank in ("proc7", "proc8"):
        Dump(tmp_path, rank=rank).save()
    Dump(tmp_path, rank="rank1").save()
    (run,), (told,) = read_runs(tmp_path)
    assert run.rank == 1 and told.key == "precision.same_rank" and "proc8" in told.message("en")
    assert [run.rank for run in read_dump(tmp_path / "step0" / "proc8")] == [0]


def test_two_names_of_one_folder_are_one(tmp_path: Path) -> None:
    folder = Dump(tmp_path, rank="proc7").save()
    (folder.parent / "rank0").symlink_to("proc7")
    assert len(read_dump(tmp_path)) == 1


def test_a_folder_elsewhere_is_refused(tmp_path: Path) -> None:
    Dump(tmp_path / "other").save()
    (tmp_path / "dump" / "step0").mkdir(parents=True)
    (tmp_path / "dump" / "step0" / "rank0").symlink_to(tmp_path / "other" / "step0" / "proc7")
    with pytest.raises(WorkbookError, match="leaves the folder"):
        read_dump(tmp_path / "dump")


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (lambda path: path.unlink(), "precision.json_unreadable"),
        (lambda path: path.write_bytes(b"\xff\xfe\x00" * 50), "precision.json_unreadable"),
        (lambda path: path.write_text("[]"), "precision.dump_malformed"),
        (lambda path: path.write_text('{"task": "tensor", "level": "L1", "data": []}'), "precision.dump_malformed"),
        (lambda path: path.write_text("{}"), "precision.dump_malformed"),
        (lambda path: path.write_text("[" * 100_000), "precision.json_unreadable"),
        (lambda path: path.write_text('{"task": ' + "9" * 5000 + "}"), "precision.json_unreadable"),
        (
            lambda path: path.write_text('{"task":"t","level":"L1","data":{"nonsense":{}}}'),
            "precision.dump_malformed",
        ),
    ],
    ids=["missing", "bytes", "list", "data is a list", "empty", "deep", "long number", "odd name"],
)
def test_other_damage_is_one_clear_error(folder: Path, tmp_path: Path, change: object, key: str) -> None:
    change(folder / "dump.json")  # type: ignore[operator]
    with pytest.raises(WorkbookError) as caught:
        read_dump(tmp_path)
    assert caught.value.key == key and "dump.json" in str(caught.value)


def test_a_file_name_cannot_leave_the_folder(folder: Path, tmp_path: Path) -> None:
    text = (folder / "dump.json").read_text()
    (folder / "dump.json").write_text(text.replace('"Functional.relu.0.forward.input.0.pt"', '"../../../secret.pt"'))
    with pytest.raises(WorkbookError, match="leaves the folder"):
        read_dump(tmp_path)


def test_nan_and_infinity_stand_bare(folder: Path, tmp_path: Path) -> None:
    path = folder / "dump.json"
    content = json.loads(path.read_text())
    content["data"]["Functional.relu.0.forward"]["output"][0].update(Max=math.inf, Norm=math.nan)
    path.write_text(json.dumps(content))
    assert "Infinity" in path.read_text()
    output = read_dump(tmp_path)[0].operators[0].outputs[0]
    assert output.maximum == math.inf and output.norm is not None and math.isnan(output.norm)


def test_no_dump_says_what_was_expected(tmp_path: Path) -> None:
    with pytest.raises(WorkbookError) as caught:
        read_dump(tmp_path)
    assert caught.value.key == "precision.no_dump" and "step<N>" in caught.value.hint("en")


@pytest.mark.parametrize(("name", "operators"), [("g_gold_statistics_L1", 100), ("g_gold_tensor_mix", 181)])
def test_msprobes_own_samples(shared: Path, name: str, operators: int) -> None:
    (run,) = read_dump(shared / "data" / "msprobe" / name)
    assert len(run.operators) >= operators and run.operators[0].name == "Functional.embedding.0.forward"
    assert all(op.outputs or op.direction == "parameters_grad" for op in run.operators if op.direction == "forward")
    if run.level == "mix":
        assert "Module.blocks.0.Block.forward.0" in run.containers
        assert "Module.blocks.0.qkv.Linear.forward.0" in run.containers


@pytest.mark.parametrize(
    ("beta", "slots"),
    [(0.0, ["input.1", "input.2"]), (0, ["input.1", "input.2"]), (1.0, ["input.0", "input.1", "input.2"])],
)
def test_an_input_that_is_ignored_is_none(tmp_path: Path, beta: float, slots: list[str]) -> None:
    """Attention calls baddbmm(torch.empty(...), q, k, beta=0): what lies in that memory is chance."""
    dump = Dump(tmp_path)
    chance, q, k = torch.full((1, 1, 1), float("nan")), torch.ones(2, 3, 4), torch.ones(2, 4, 3)
    dump.forward("Torch.baddbmm", [chance, q, k], [q @ k], beta=beta)
    dump.save()
    (run,) = read_dump(tmp_path)
    assert [record.slot for record in run.operators[0].inputs] == slots


def saved(root: Path, factor: float = 1.0) -> Path:
    """As level debug writes what a script gave to PrecisionDebugger.save: a tensor, its gradient, and a list."""
    folder, data = root / "step0" / "proc7", {}
    (folder / "dump_tensor_data").mkdir(parents=True)
    for name, value in (("out.0.debug", torch.ones(3)), ("out_grad.0.debug", torch.ones(3) * factor)):
        data[name] = {
            "type": "torch.Tensor",
            "dtype": "torch.float32",
            "shape": [3],
            "Norm": float(value.norm()),
            "data_name": f"{name}.pt",
        }
        torch.save(value, folder / "dump_tensor_data" / f"{name}.pt")
    record: dict[str, Any] = {"task": "tensor", "level": "debug", "data": {**data, "list.1.debug": [*data.values()]}}
    (folder / "debug.json").write_text(json.dumps(record))
    return root


def test_what_a_script_saved_itself_is_compared(tmp_path: Path) -> None:
    left, right = saved(tmp_path / "a"), saved(tmp_path / "b", 1.5)
    (run,) = read_dump(left)
    assert [one.name for one in run.operators] == ["out.0.debug", "out_grad.0.debug", "list.1.debug"]
    assert [len(one.outputs) for one in run.operators] == [1, 1, 2] and run.level == "debug" and not run.replayable
    same, other = compare(left, saved(tmp_path / "c")), compare(left, right)
    assert same.status <= Status.NOTE and same.facts["first_divergence"] is None
    assert other.status is Status.FIX and other.facts["first_divergence"] == "out_grad.0.debug"
    assert other.headline is not None and other.headline.key == "ACC230.value"
    assert "no operator can be named" in other.text("en") and "无法指出" in other.text("zh")
