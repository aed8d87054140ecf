"""Plain trees of .pt and .npy files."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.precision.compare import compare
from ascend_workbook.precision.layouts import read_dump
from tests.precision.networks import convolutions
from tests.precision.test_compare import keys, scaled


def tree(root: Path, **changed: torch.Tensor) -> Path:
    """Layers 1, 2 and 10, as .pt and .npy."""
    for number in (1, 2, 10):
        folder = root / f"layer{number}"
        folder.mkdir(parents=True)
        value = changed.get(folder.name, torch.linspace(-1, 1, 12).reshape(3, 4) * number)
        torch.save(value, folder / "out.pt")
        np.save(folder / "grad.npy", value.float().numpy())
    return root


def test_files_pair_by_path_and_stand_in_order_of_numbers(tmp_path: Path) -> None:
    left = tree(tmp_path / "a", layer2=torch.ones(2, 2).bfloat16())
    (run,) = read_dump(left)
    assert [op.name for op in run.operators] == [f"layer{n}/{f}" for n in (1, 2, 10) for f in ("grad.npy", "out.pt")]
    assert run.operators[3].outputs[0].dtype == "bfloat16" and run.operators[3].outputs[0].shape == (2, 2)
    report = compare(left, left)
    assert report.headline is not None and report.headline.key == "ACC230.identical"
    assert report.headline.args["count"] == 6 and {"ACC215.order"} <= keys(report)


def test_the_first_that_differs_is_named(tmp_path: Path) -> None:
    other = torch.linspace(-1, 1, 12).reshape(3, 4) * 2
    report = compare(tree(tmp_path / "a"), tree(tmp_path / "b", layer2=other * 1.01, layer10=other))
    assert report.facts["first_divergence"] == "layer2/grad.npy" and report.status is Status.FIX
    assert report.headline is not None and report.headline.key == "ACC230.value" and report.text("zh")
    for found in ("ACC205.no_manifest", "ACC215.order"):
        (told,) = (one for one in report.findings if one.key == found)
        assert told.message("en") in report.text("en"), "what is not known is said in the text too"


def test_a_file_of_one_side_is_told(tmp_path: Path) -> None:
    left, right = tree(tmp_path / "a"), tree(tmp_path / "b")
    (right / "layer2" / "out.pt").unlink()
    report = compare(left, right)
    assert [row[3] for row in report.facts["unpaired"]] == ["layer2/out.pt"]


def test_steps_and_ranks_in_the_names(tmp_path: Path) -> None:
    for side in "ab":
        for rank in (0, 1):
            tree(tmp_path / side / "step3" / f"rank{rank}")
    assert [(run.step, run.rank) for run in read_dump(tmp_path / "a")] == [(3, 0), (3, 1)]
    shutil.rmtree(tmp_path / "b" / "step3" / "rank1")
    report = compare(tmp_path / "a", tmp_path / "b")
    (told,) = (one for one in report.findings if one.key == "ACC201.one_sided")
    assert told.args["where"] == ["step 3 rank 1"]


def test_tensors_whose_record_is_lost_are_gathered_by_operator(tmp_path: Path) -> None:
    fault = "Functional.conv2d.1.forward"
    sides = convolutions(tmp_path / "a"), convolutions(tmp_path / "b", faults={fault: scaled(1.1)})
    for side in sides:
        for path in side.rglob("*.json"):
            path.unlink()
    (run,) = read_dump(sides[0])
    conv = run.by_name[fault]
    assert [t.slot for t in conv.inputs] == ["input.0", "input.1"] and [t.slot for t in conv.outputs] == ["output.0"]
    report = compare(*sides)
    assert "Functional.conv2d.1.forward" in report.facts["parting"] and "ACC215.order" in keys(report)


def test_a_broken_file_is_told_and_the_rest_compared(tmp_path: Path) -> None:
    left, right = tree(tmp_path / "a"), tree(tmp_path / "b", layer10=torch.ones(3, 4))
    (right / "layer1" / "out.pt").write_bytes(b"\x80" * 40)
    report = compare(left, right)
    (told,) = (one for one in report.findings if one.key == "ACC215.unreadable")
    assert "layer1/out.pt" in str(told.args["first"]) and told.args["count"] == 1
    assert report.facts["first_divergence"] == "layer10/grad.npy"


def test_a_pickle_is_named_and_not_opened(tmp_path: Path) -> None:
    left, right = tree(tmp_path / "a"), tree(tmp_path / "b")
    (right / "meta.pkl").write_bytes(pickle.dumps({"a": 1}))
    report = compare(left, right)
    (told,) = (one for one in report.findings if one.rule == "ACC202")
    assert told.key == "precision.pkl_refused" and "meta.pkl" in told.message("en")
    (tmp_path / "c").mkdir()
    (right / "meta.pkl").rename(tmp_path / "c" / "meta.pkl")
    with pytest.raises(WorkbookError, match=r"meta\.pkl: not lines of JSON"):
        compare(left, tmp_path / "c")


def test_a_folder_above_a_dump_is_no_tree(tmp_path: Path) -> None:
    convolutions(tmp_path / "captures" / "a")
    with pytest.raises(WorkbookError, match=r"captures: no tensor dump .*found: a/"):
        read_dump(tmp_path / "captures")


def test_a_link_that_leads_away_is_not_followed(tmp_path: Path) -> None:
    left, right = tree(tmp_path / "a"), tree(tmp_path / "b")
    (right / "layer1" / "out.pt").unlink()
    (right / "layer1" / "out.pt").symlink_to(left / "layer1" / "out.pt")
    report = compare(left, right)
    (told,) = (one for one in report.findings if one.key == "ACC215.unreadable")
    assert "leaves the folder" in str(told.args["first"])
