"""Cells of MindSpore pair with modules of torch: by known class names, by a file for the rest; never replayed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from ascend_workbook.cli.main import main
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.precision.compare import compare
from ascend_workbook.precision.layouts import read_dump
from ascend_workbook.precision.pairing import pair_runs
from ascend_workbook.precision.pairing.cells import CLASSES, common_head, read_cells

MODULES = {"conv": "Conv2d", "bn": "BatchNorm2d", "fc1": "Linear", "head.1": "Linear", "head": "Sequential"}
VALUES = {name: np.arange(6, dtype=np.float32) + at for at, name in enumerate(MODULES)}


def write_dump(root: Path, *, is_mindspore: bool, factors: Mapping[str, float] = {}, head: str = "head") -> Path:
    """Write a dump of cells or modules as msprobe 26.2 does: names, dtypes and the parameters' names are its own."""
    folder = root / "step0" / "rank0"
    (folder / "dump_tensor_data").mkdir(parents=True)
    kinds = {torch: mindspore for mindspore, torch in CLASSES.items()} if is_mindspore else {}

    def write(name: str, value: np.ndarray) -> dict[str, object]:
        np.save(folder / "dump_tensor_data" / f"{name}.npy", value)
        framework, dtype = ("mindspore", "Float32") if is_mindspore else ("torch", "torch.float32")
        numbers = {"Max": float(value.max()), "Min": float(value.min()), "Mean": 0.0, "Norm": 0.0}
        return {"type": f"{framework}.Tensor", "dtype": dtype, "shape": [6], **numbers, "data_name": f"{name}.npy"}

    data = {}
    for path, kind in MODULES.items():
        own = path.replace("head", head)
        stem = f"{'Cell' if is_mindspore else 'Module'}.{own}.{kinds.get(kind, kind)}"
        value = VALUES[path] * np.float32(factors.get(path, 1.0))
        for way in ("forward", "backward"):
            name = f"{stem}.{way}.0"
            inputs = [write(f"{name}.input.0", VALUES[path])]
            data[name] = {
                "input" if way == "backward" else "input_args": inputs,
                "output": [write(f"{name}.output.0", value)],
            }
            if way == "forward":
                weight = "gamma" if is_mindspore and path == "bn" else "weight"
                data[name] |= {
                    "input_kwargs": {},
                    "parameters": {weight: write(f"{name}.parameters.{weight}", VALUES[path])},
                }
    framework = "mindspore" if is_mindspore else "pytorch"
    content = {"task": "tensor", "level": "L0", "framework": framework, "data": data}
    (folder / "dump.json").write_text(json.dumps(content), encoding="utf-8")
    return root


def test_cells_pair_with_modules_of_another_class_name(tmp_path: Path) -> None:
    (mine,) = read_dump(write_dump(tmp_path / "ms", is_mindspore=True))
    (other,) = read_dump(write_dump(tmp_path / "pt", is_mindspore=False))
    pairing = pair_runs(mine, other)
    names = {(pair.target.name, pair.baseline.name) for pair in pairing.pairs}
    assert len(names) == 10 and not pairing.only_target and not pairing.only_baseline
    assert ("Cell.fc1.Dense.backward.0", "Module.fc1.Linear.backward.0") in names
    assert ("Cell.head.SequentialCell.forward.0", "Module.head.Sequential.forward.0") in names
    assert mine.replayable is False and other.replayable is True
    slots = [record.slot for record in mine.by_name["Cell.bn.BatchNorm2d.forward.0"].inputs]
    assert slots == [record.slot for record in other.by_name["Module.bn.BatchNorm2d.forward.0"].inputs]
    swapped = pair_runs(other, mine)
    assert {(pair.baseline.name, pair.target.name) for pair in swapped.pairs} == names
    assert len(pair_runs(mine, mine).pairs) == 10, "two dumps of MindSpore too"


def test_renamed_cells_pair_by_a_file_and_the_wrong_one_is_named(tmp_path: Path) -> None:
    ms = write_dump(tmp_path / "ms", is_mindspore=True, head="classifier", factors={"head.1": 1.01})
    pt = write_dump(tmp_path / "pt", is_mindspore=False)
    cells = tmp_path / "cells.yaml"
    cells.write_text("# of the target: of the baseline\nclassifier.1.Dense: head.1.Linear\nclassifier: head\n")
    report = compare(pt, ms, cells=cells)
    assert report.facts["first_divergence"] == "Cell.classifier.1.Dense.forward.0"
    assert report.facts["unpaired"] == [] and report.facts["cells"]["classifier"] == "head"
    assert main(["compare", str(pt), str(ms), "--cells", str(cells)]) == 1


def test_equal_dumps_do_not_part(tmp_path: Path) -> None:
    sides = [write_dump(tmp_path / str(at), is_mindspore=bool(at)) for at in (0, 1)]
    report = compare(*sides)
    assert report.facts["first_divergence"] is None and sum(report.facts["outcomes"].values()) == 10


@pytest.mark.parametrize(
    ("head", "cells", "common"),
    [
        ("Cell.fc1.Dense", {}, "Module.fc1.Linear"),
        ("Cell.net.conv.Conv2d", {}, "Module.net.conv.Conv2d"),
        ("Cell.net.Net", {"net.Net": "model.Net"}, "Module.model.Net"),
        ("Cell.net.fc.Dense", {"net": "model"}, "Module.model.fc.Linear"),
        ("Module.net.Linear", {}, "Module.net.Linear"),
        ("Module.net.Dense", {}, "Module.net.Dense"),
        ("Module.net.Dense", {"net.Dense": "a.Linear"}, "Module.a.Linear"),
        ("Functional.net.Dense", {"net.Dense": "a.Linear"}, "Functional.net.Dense"),
    ],
)
def test_the_common_name(head: str, cells: dict[str, str], common: str) -> None:
    assert common_head(head, cells) == common


@pytest.mark.parametrize(
    "text, line", [("a: b\na: c\n", 2), ("a: b\n[c]\n", 2), ("", 1), ("a: !!python/object:x {}\n", 1)]
)
def test_a_line_that_is_no_pair_is_named(tmp_path: Path, text: str, line: int) -> None:
    path = tmp_path / "cells.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(WorkbookError, match=rf"cells\.yaml:{line}: expected a line such as"):
        read_cells(path)


def test_a_file_of_names_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "cells.yaml"
    with pytest.raises(WorkbookError, match="cannot be read"):
        read_cells(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(WorkbookError, match="cannot be read"):
        read_cells(path)
    path.write_bytes(b"#" * ((1 << 20) + 1))
    with pytest.raises(WorkbookError, match="more than 1 MiB"):
        read_cells(path)
    path.write_text("fc1.Dense: fc1.Linear  # a remark\n\n---\nb.Dense: c.Linear\n")
    assert read_cells(path) == {"fc1.Dense": "fc1.Linear", "b.Dense": "c.Linear"}


#: Statistics that msprobe 26.2 wrote of one network in MindSpore 2.10 and in torch 2.13, both on the CPU.
REAL = Path(__file__).parents[1] / "data" / "mindspore"


def test_real_dumps_of_both_frameworks_agree(tmp_path: Path) -> None:
    cells = tmp_path / "cells.yaml"
    cells.write_text("classifier: head\n")
    report = compare(REAL / "torch", REAL / "mindspore", cells=cells)
    assert report.facts["first_divergence"] is None and report.facts["unpaired"] == []
    assert report.facts["outcomes"] == {"agrees": 17, "not_compared": 1}
    dump = REAL / "mindspore" / "step0" / "rank0" / "dump.json"
    content = json.loads(dump.read_text(encoding="utf-8"))
    linear = content["data"]["Cell.fc1.Dense.forward.0"]["output"][0]
    for name in ("Max", "Min", "Norm"):
        linear[name] *= 1.02
    folder = tmp_path / "wrong" / "step0" / "rank0"
    folder.mkdir(parents=True)
    (folder / "dump.json").write_text(json.dumps(content), encoding="utf-8")
    wrong = compare(REAL / "torch", tmp_path / "wrong", cells=cells)
    assert wrong.facts["first_divergence"] == "Cell.fc1.Dense.forward.0"
    without = compare(REAL / "torch", REAL / "mindspore")
    assert without.facts["first_divergence"] is None, "where classes tell which is which, no file is needed"
