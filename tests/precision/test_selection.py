"""What is looked at and what is not: selections, samples, checksums of what is to be blamed, and the CSV."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
import torch

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.precision.compare import compare
from tests.precision.networks import convolutions
from tests.precision.test_compare import keys, scaled

CONV, NORM = "Functional.conv2d.1.forward", "Functional.batch_norm.1.forward"


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("selected")
    return convolutions(folder / "a"), convolutions(folder / "b", faults={CONV: scaled(1.1)})


def test_a_selection_looks_there_alone_and_says_so(sides: tuple[Path, Path]) -> None:
    report = compare(*sides, replaying=False, only=["batch_norm", "*relu.2*"])
    assert report.table is not None and "ACC217.selected" in keys(report) and report.status is Status.NOTE
    assert {name.split(".")[1] for name in report.table.column_values("operator")} == {"batch_norm", "relu"}
    assert "Functional.relu.1.forward" not in report.table.column_values("operator")
    assert compare(*sides, replaying=False, only=["conv2d"]).facts["first_divergence"] == CONV
    with pytest.raises(WorkbookError, match=r"no operator is named nothing.*\n.*conv2d"):
        compare(*sides, only=["nothing"])


def test_a_sample_finds_the_fault_and_tells_its_error(sides: tuple[Path, Path]) -> None:
    report = compare(*sides, replaying=False, sample=0.5)
    assert report.facts["first_divergence"] == CONV
    (told,) = (one for one in report.findings if one.key == "ACC217.sampled")
    assert told.args["share"] == 0.5 and float(str(told.args["worst"])) > 0


def test_equal_numbers_of_a_sample_are_no_equal_tensors(sides: tuple[Path, Path]) -> None:
    whole, part = (compare(sides[0], sides[0], replaying=False, sample=share) for share in (1.0, 0.5))
    assert whole.headline is not None and whole.headline.key == "ACC230.identical"
    assert part.headline is not None and part.headline.key == "ACC230.same_sample"


def test_of_much_data_numpy_in_the_kernels_stead_is_told(
    sides: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Little is measured in a moment either way: there nothing is said."""
    why = WorkbookError("native.no_compiler")
    monkeypatch.setattr("ascend_workbook.precision.tensors.fused.explain_missing_kernel", lambda: why)
    assert "ACC209.slower" not in keys(compare(*sides, replaying=False))
    monkeypatch.setattr("ascend_workbook.precision.rules.uncompared.ALONE", 10)
    (told,) = (one for one in compare(*sides, replaying=False).findings if one.rule == "ACC209")
    assert told.status is Status.NOTE and "g++" in told.message("en") + told.hint("en")
    monkeypatch.setattr("ascend_workbook.precision.tensors.fused.explain_missing_kernel", lambda: None)
    assert "ACC209.slower" not in keys(compare(*sides, replaying=False))


def test_nobody_is_blamed_for_a_flipped_byte(sides: tuple[Path, Path], tmp_path: Path) -> None:
    right = convolutions(tmp_path)
    path = next(right.rglob(f"{CONV}.output.0.pt"))
    raw = bytearray(path.read_bytes())
    values = torch.load(path).numpy().tobytes()
    raw[raw.find(values) + 43] ^= 0x10  # the exponent of a float
    path.write_bytes(bytes(raw))
    report = compare(sides[0], right, replaying=False)
    assert "ACC215.unreadable" in keys(report) and "CRC" in report.text("en")
    assert report.facts["first_divergence"] != CONV and report.facts["outcomes"]["not_compared"] == 1


def test_the_csv_has_msprobes_columns(sides: tuple[Path, Path], tmp_path: Path) -> None:
    path = tmp_path / "n.csv"
    compare(*sides, replaying=False, csv=path)
    rows = {row["NPU Name"]: row for row in csv.DictReader(path.read_text().splitlines())}
    row = rows[f"{CONV}.output.0"]
    mine, theirs = (torch.load(next(side.rglob(f"{CONV}.output.0.pt"))).numpy() for side in reversed(sides))
    assert float(row["MaxAbsErr"]) == float(f"{np.abs(mine.astype(float) - theirs.astype(float)).max():.12f}")
    assert float(row["RelativeL2Err"]) == pytest.approx(0.1, rel=1e-5)
    assert (row["Cosine"], row["One Thousandth Err Ratio"], row["NPU Tensor Shape"]) == ("1.0", "0.0", "[4, 6, 8, 8]")
    with pytest.raises(IsADirectoryError):
        compare(*sides, csv=tmp_path)
