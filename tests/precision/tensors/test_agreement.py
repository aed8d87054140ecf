"""Two records of one tensor: which files are measured, what is read of them, and statistics by hand."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.precision.pairing import Pair
from ascend_workbook.precision.record import Operator, TensorRecord
from ascend_workbook.precision.tensors import agreement
from ascend_workbook.precision.tensors.agreement import (
    UNREADABLE,
    TensorAgreement,
    compare_figures,
    compare_pairs,
    verify_files,
)
from ascend_workbook.precision.tensors.measuring import Job, Sample
from ascend_workbook.precision.tensors.workers import Answer, measure_all


def told(slot: str = "o", dtype: str = "float32", shape: tuple[int, ...] = (2,), **numbers: Any) -> TensorRecord:
    return TensorRecord(slot, dtype, shape, **numbers)


def saved(path: Path, tensor: torch.Tensor, **numbers: Any) -> TensorRecord:
    torch.save(tensor, path)
    return told(dtype=str(tensor.dtype)[6:], shape=tuple(tensor.shape), file=path, **numbers)


def pair(
    target: Sequence[TensorRecord],
    baseline: Sequence[TensorRecord],
    inputs: tuple[Sequence[TensorRecord], Sequence[TensorRecord]] = ((), ()),
) -> Pair:
    sides = [
        Operator("F.x.0.forward", "F.x", 0, "forward", 0, tuple(given), tuple(made))
        for given, made in zip(inputs, (target, baseline))
    ]
    return Pair(sides[0], sides[1])


def test_files_are_measured_where_both_sides_have_one_of_the_same_shape(tmp_path: Path) -> None:
    one, other = saved(tmp_path / "a.pt", torch.ones(2)), saved(tmp_path / "b.pt", torch.zeros(2))
    asked: list[Job] = []

    def measure(jobs: Sequence[Job], sample: Sample) -> list[Answer]:
        asked.extend(jobs)
        return measure_all(jobs, sample)

    both = Job(tmp_path / "a.pt", tmp_path / "b.pt", (2,), (2,))
    for target, baseline, expected in (
        ([one], [other], [both]),
        ([one], [told()], []),
        ([told()], [other], []),
        ([told()], [told()], []),
        ([one], [], []),
        ([], [other], []),
        ([one], [replace(other, slot="p")], []),
        ([one], [replace(other, shape=(3,))], []),
        ([one, replace(one, slot="p")], [other, replace(other, slot="p")], [both]),
    ):
        asked.clear()
        compare_pairs([pair(target, baseline)], measure=measure)
        assert asked == expected, (target, baseline)


def test_only_floating_dtypes_round() -> None:
    sides = [told(), told("i", "int64")], [told("o", "bfloat16"), told("b", "bool")]
    (found,) = compare_pairs([pair(*sides, ([told("c", "complex64")], []))])
    assert found.dtypes == ("complex64", "float32", "bfloat16")


def test_equal_checksums_say_so() -> None:
    side = [told(checksum="00000001"), told("p", norm=1.0)]
    (found,) = compare_pairs([pair(side, side)])
    assert [(slot.error, slot.summed) for slot in found.outputs] == [(0.0, True), (0.0, False)]


def test_a_damaged_side_is_told_where_it_was_measured_and_differs(tmp_path: Path) -> None:
    """Inputs stay inputs and outputs outputs; what statistics alone told is not read."""
    one, other = saved(tmp_path / "a.pt", torch.tensor([1.0, 2.0])), saved(tmp_path / "b.pt", torch.ones(2))
    (found,) = compare_pairs([pair([one], [other], ([replace(one, slot="i")], [replace(other, slot="i", norm=1.0)]))])
    raw = (tmp_path / "a.pt").read_bytes()
    at = raw.find(np.array([1.0, 2.0], np.float32).tobytes())
    (tmp_path / "a.pt").write_bytes(raw[:at] + b"\x01" + raw[at + 1 :])
    checked = verify_files(found)
    assert [(slot.slot, slot.problem) for slot in checked.inputs] == [("i", UNREADABLE)]
    assert [(slot.slot, slot.problem) for slot in checked.outputs] == [("o", UNREADABLE)]
    assert all("a.pt" in slot.detail and slot.error is None for slot in (*checked.inputs, *checked.outputs))
    by_norm = replace(found, inputs=(), outputs=(TensorAgreement("o", "float32", (2,), 0.5),))
    assert verify_files(by_norm) is by_norm


LIKE_CRC = "0" * 8


@pytest.mark.parametrize("size", [7, 8, 9, 16, 19])
def test_checksums_go_on_from_block_to_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(agreement, "BLOCK", 8)
    values = torch.arange(1, size + 1, dtype=torch.int16)
    record = saved(tmp_path / "t.pt", values)
    raw = values.numpy().tobytes()
    words = [int.from_bytes(raw[at : at + 8], "little") for at in range(0, len(raw), 8)]
    total = 0
    for word in words:
        total ^= word
    for checksum in (f"{zlib.crc32(raw):08x}", f"0x{total:016x}"):
        assert compare_figures(record, told(dtype="int16", checksum=checksum)) == (0.0, 0.0, True)


def test_a_strided_tensor_has_the_checksums_of_its_elements_in_order(tmp_path: Path) -> None:
    """A bfloat16's as 16 bits, then as float32; a float32's twice the same."""
    for tensor in (torch.tensor([[1.0, 2.5], [-3.0, 4.0]]).t(), torch.tensor([[1.0, 2.5], [-3.0, 4.0]]).bfloat16().t()):
        torch.save(tensor, tmp_path / "t.pt")
        wide = np.array([1.0, -3.0, 2.5, 4.0], np.float32)
        short = np.array([0x3F80, 0xC040, 0x4020, 0x4080], np.uint16)
        first = short if tensor.dtype == torch.bfloat16 else wide
        sums = [f"{zlib.crc32(values.tobytes()):08x}" for values in (first, wide)]
        assert list(agreement._possible_checksums(tmp_path / "t.pt", LIKE_CRC)) == sums


def test_what_lies_in_one_piece_is_never_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = saved(tmp_path / "t.pt", torch.tensor([3.0, 4.0]))
    monkeypatch.setattr(agreement, "read_tensor", None)
    assert compare_figures(record, told(norm=5.0, maximum=4.0, minimum=3.0)) == (0.0, 0.0, None)


def test_a_checksum_beside_nothing_says_nothing() -> None:
    summed, plain = told(checksum=LIKE_CRC, norm=1.0), told(norm=1.0)
    for sides in ((summed, plain), (plain, summed)):
        assert compare_figures(*sides) == (0.0, 0.0, None)


def test_a_file_is_read_where_it_has_no_statistics_and_the_other_side_has(tmp_path: Path) -> None:
    """3 and 4, and records that say something else of them, which is believed."""
    mine = saved(tmp_path / "t.pt", torch.tensor([3.0, 4.0]))
    ends = {"maximum": 4.0, "minimum": 3.0}
    assert compare_figures(mine, told(**ends, norm=5.0)) == compare_figures(mine, told(**ends)) == (0.0, 0.0, None)
    assert compare_figures(replace(mine, norm=7.0), told(**ends, norm=7.0)) == (0.0, 0.0, None)
    assert compare_figures(replace(mine, norm=7.0), told(**ends, norm=5.0)) == (0.4, 2.0, None)
    assert compare_figures(replace(mine, maximum=9.0), told(maximum=9.0, minimum=0.0)) == (0.0, 0.0, None)
    assert compare_figures(told(), told(**ends)) == (None, None, None)
    gone = told(file=tmp_path / "gone.pt")
    assert compare_figures(gone, told()) == compare_figures(gone, told(norm=1.0)) == (None, None, None)
    with pytest.raises(WorkbookError, match=r"gone\.pt"):
        compare_figures(gone, told(maximum=1.0))


@pytest.mark.parametrize(
    ("values", "maximum", "minimum", "norm"),
    [
        ([2.0, 2.0, 2.0, 2.0], 2.0, 2.0, 4.0),
        ([-3.0], -3.0, -3.0, 3.0),
        ([-3.0, -4.0], -3.0, -4.0, 5.0),
        ([3 + 4j, 0j], 5.0, 0.0, 5.0),
        ([-12, 5], 5.0, -12.0, 13.0),
        ([True, False], 1.0, 0.0, 1.0),
    ],
)
def test_the_statistics_of_a_file(
    tmp_path: Path, values: list[Any], maximum: float, minimum: float, norm: float
) -> None:
    mine = saved(tmp_path / "t.pt", torch.tensor(values))
    other = told(dtype=mine.dtype, shape=mine.shape, maximum=maximum, minimum=minimum, norm=norm)
    assert compare_figures(mine, other) == (0.0, 0.0, None)
    for field in ("maximum", "minimum", "norm"):
        moved = replace(other, **{field: getattr(other, field) + 1.0})
        assert compare_figures(mine, moved)[1] == 1.0, field


@pytest.mark.parametrize(
    ("target", "baseline", "error", "largest"),
    [
        ({"norm": 0.75}, {"norm": 0.5}, 0.5, 0.25),
        ({"norm": 1.0}, {"norm": math.inf}, math.inf, math.inf),
        ({"norm": math.inf}, {"norm": 1.0}, math.inf, math.inf),
        ({"maximum": 2.0, "minimum": 1.5}, {"maximum": 2.0, "minimum": 1.0}, 0.5, 0.5),
        ({"maximum": 3.0, "minimum": 1.0}, {"maximum": 2.0, "minimum": 1.0}, 0.5, 1.0),
        ({"norm": 4.0, "maximum": 2.0}, {"norm": 4.0, "maximum": 1.0}, 1.0, 1.0),
        ({"norm": 1.0, "maximum": 3.0, "minimum": -1.0}, {"norm": 1.0, "maximum": 1.0, "minimum": -4.0}, 0.75, 3.0),
    ],
)
def test_statistics_at_their_edges(
    target: dict[str, float], baseline: dict[str, float], error: float, largest: float
) -> None:
    assert compare_figures(told(**target), told(**baseline)) == (error, largest, None)
