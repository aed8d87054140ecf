"""The metrics, the agreement of two tensors and what is read of a file, at their limits and by hand."""

from __future__ import annotations

import math
import pickle
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.precision.pairing import Pair
from ascend_workbook.precision.record import Operator, TensorRecord
from ascend_workbook.precision.tensors import fused, metrics, tensorfile, worker, workers
from ascend_workbook.precision.tensors.agreement import (
    CHECKSUM,
    DTYPE,
    NO_VALUES,
    NONFINITE,
    ONLY_BASELINE,
    ONLY_TARGET,
    SHAPE,
    UNREADABLE,
    Agreement,
    TensorAgreement,
    compare_figures,
    compare_pairs,
    verify_files,
)
from ascend_workbook.precision.tensors.measuring import Job, Sample, measure_files
from ascend_workbook.precision.tensors.metrics import Found, Meter, measure_arrays
from ascend_workbook.precision.tensors.tensorfile import locate_tensor, read_tensor, verify_checksum

SINGLE = np.float32


@pytest.mark.parametrize(
    ("left", "right", "shares"),
    [
        (1.0009765625, 1.0, (1.0, 1.0)),  # 2^-10, below a thousandth
        (1.001953125, 1.0, (0.0, 1.0)),
        (1.00390625, 1.0, (0.0, 1.0)),  # 2^-8
        (1.0078125, 1.0, (0.0, 0.0)),
    ],
)
def test_the_shares_within_a_thousandth_and_five(left: float, right: float, shares: tuple[float, float]) -> None:
    for dtype in (np.float32, np.float64):
        found = measure_arrays(np.array([left], dtype), np.array([right], dtype))
        assert (found.within_thousandth, found.within_five_thousandths) == shares
    one_of_two = measure_arrays(np.array([left, 3.0]), np.array([right, 3.0]))
    assert one_of_two.within_thousandth == (shares[0] + 1) / 2


def test_a_share_counts_blocks_that_are_equal_too() -> None:
    found = measure_arrays(np.array([1.0, 2.0, 3.0, 5.0]), np.array([1.0, 2.0, 3.0, 4.0]), 2)
    assert (found.within_thousandth, found.within_five_thousandths, found.unequal) == (0.75, 0.75, 1)
    assert (found.norm_target, found.norm_baseline) == (pytest.approx(math.sqrt(39)), pytest.approx(math.sqrt(30)))
    assert found.cosine == pytest.approx(34 / math.sqrt(39 * 30)) and found.max_relative == 0.25


def test_the_largest_differences_are_those_of_all_blocks_and_either_sign() -> None:
    for left in ([5.0, 1.0], [1.0, 5.0], [-3.0, 1.0], [1.0, -3.0]):
        found = measure_arrays(np.array(left, SINGLE), np.ones(2, SINGLE), 1)
        assert found.max_absolute == found.max_relative == 4.0


@pytest.mark.parametrize(
    ("left", "right", "ulp"),
    [
        ([1.0, -1.0], [1.0, 1.0], 2 * 0x3F800000),
        ([2.0], [1.0], 1 << 23),
        ([1 - 2**-24], [1.0], 1),
        ([1.0, 1 + 2**-23], [1 + 2**-22, 1.0], 2),
        ([-1.0], [-1 - 2**-23], 1),
        ([-(2.0**-149)], [0.0], 1),
    ],
)
def test_units_in_the_last_place(left: list[float], right: list[float], ulp: int) -> None:
    """Of numbers of either sign zero is where both meet: -1 and 1 are twice 1's distance from 0 apart."""
    sides = np.array(left, SINGLE), np.array(right, SINGLE)
    assert measure_arrays(*sides).max_ulp == ulp == measure_arrays(*sides[::-1]).max_ulp


def test_no_units_of_other_dtypes_than_equal_floating_ones() -> None:
    single, double = np.array([1.5], SINGLE), np.array([1.0])
    assert measure_arrays(single, double).max_ulp is None is measure_arrays(np.array([1]), np.array([2])).max_ulp
    assert measure_arrays(single, double).max_relative == 0.5


def test_the_largest_number_and_minus_zero_are_all_numbers_apart() -> None:
    """Their bits, taken as integers, are near one another."""
    for dtype, bits in ((np.float16, 0x7BFF), (np.float32, 0x7F7FFFFF), (np.float64, 0x7FF0000000000000)):
        assert measure_arrays(np.array([np.finfo(dtype).max]), np.array([-0.0], dtype)).max_ulp == bits


def test_half_units_by_hand() -> None:
    """-1 and 1 in float16: twice 0x3c00."""
    assert measure_arrays(np.array([-1.0], np.float16), np.array([1.0], np.float16)).max_ulp == 2 * 0x3C00
    assert measure_arrays(np.array([2.0], np.float16), np.array([1.0], np.float16)).max_ulp == 1 << 10


@pytest.mark.parametrize("size", [1e-305, 1e-200, 1e-150, 1e-130, 1.0, 1e130, 1e150, 1e200, 2.0**1020])
def test_norms_of_any_size(size: float) -> None:
    found = measure_arrays(np.array([3 * size, 4 * size]), np.array([3 * size, 3 * size]))
    assert found.norm_target == pytest.approx(5 * size, rel=1e-12) and found.euclidean == pytest.approx(size, rel=1e-9)
    assert found.norm_baseline == pytest.approx(math.sqrt(18) * size) and found.max_absolute == pytest.approx(size)
    assert found.relative_l2 == pytest.approx(1 / math.sqrt(18)) and found.cosine == pytest.approx(21 / math.sqrt(450))
    equal = measure_arrays(np.array([3 * size, 4 * size]), np.array([3 * size, 4 * size]))
    assert (equal.relative_l2, equal.norm_target) == (0.0, pytest.approx(5 * size)) and equal.cosine == pytest.approx(1)


def test_blocks_of_very_different_sizes_are_added() -> None:
    """The larger ones decide; one that is smaller by 400 orders of magnitude vanishes."""
    left, right = np.array([2e200, 2e-200]), np.array([1e200, 1e-200])
    found = measure_arrays(left, right, 1)
    assert found.relative_l2 == pytest.approx(1.0) and found.norm_target == pytest.approx(2e200)
    assert measure_arrays(np.array([1.7e308, 1.7e308]), np.zeros(2)).norm_target == math.inf


def test_the_cosine_of_nothing_is_not_known() -> None:
    for left, right in ((0.0, 1.0), (1.0, 0.0), (0.0, 0.0)):
        assert measure_arrays(np.array([left]), np.array([right])).cosine is None
    assert measure_arrays(np.array([-2.0]), np.array([1.0])).cosine == -1.0


def test_blocks_gone_over_elsewhere_are_added() -> None:
    meter = Meter(SINGLE, SINGLE, 4, parts=True)
    meter.take_sums(Found(1.0, 9.0, 4.0, 6.0, 1.0, 0.5, 1, 2, 3, 4, 5), [(1.0, 4.0, 0, 0)])
    meter.take_sums(Found(3.0, 7.0, 12.0, 8.0, 0.5, 0.25, 10, 20, 30, 40, 2), [(3.0, 12.0, 0, 0)])
    found = meter.make_metrics(100)
    assert (found.unequal, found.measured, found.size, found.max_ulp) == (11, 44, 100, 5)
    assert (found.max_absolute, found.max_relative) == (1.0, 0.5)
    assert (found.within_thousandth, found.within_five_thousandths) == (22 / 44, 33 / 44)
    assert (found.euclidean, found.norm_target, found.norm_baseline) == (2.0, 4.0, 4.0)
    assert found.relative_l2 == 0.5 and found.cosine == pytest.approx(14 / 16) and found.sampling == 0.0


def test_nothing_measured_is_no_difference() -> None:
    found = measure_arrays(np.empty(0), np.empty(0))
    assert (found.within_thousandth, found.within_five_thousandths, found.measured) == (1.0, 1.0, 0)
    assert (found.max_absolute, found.max_relative, found.norm_target, found.max_ulp) == (0.0, 0.0, 0.0, 0)


def told(
    slot: str = "o", shape: tuple[int, ...] = (3,), dtype: str = "float32", **numbers: float | str | Path
) -> TensorRecord:
    return TensorRecord(slot, dtype, shape, **numbers)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("target", "baseline", "error", "largest"),
    [
        # the norm by itself, the extremes by the larger of both
        ({"norm": 3.0, "maximum": 4.0, "minimum": 0.0}, {"norm": 2.0, "maximum": 4.0, "minimum": 0.0}, 0.5, 1.0),
        ({"norm": 2.0, "maximum": 4.0, "minimum": 1.0}, {"norm": 2.0, "maximum": 4.0, "minimum": 0.0}, 0.25, 1.0),
        ({"norm": 2.0, "maximum": 1.0, "minimum": -8.0}, {"norm": 2.0, "maximum": 3.0, "minimum": -8.0}, 0.25, 2.0),
        ({"norm": 3.0}, {"norm": 2.0}, 0.5, 1.0),
        ({"maximum": 3.0}, {"maximum": 2.0}, 0.5, 1.0),
        ({"norm": 1.0}, {"norm": 0.0}, math.inf, 1.0),
        ({"norm": 0.0}, {"norm": 0.0}, 0.0, 0.0),
        ({"norm": math.inf}, {"norm": math.inf}, 0.0, 0.0),
        ({"norm": 1.0}, {"maximum": 1.0}, None, None),
    ],
)
def test_statistics_by_hand(
    target: dict[str, float], baseline: dict[str, float], error: float | None, largest: float | None
) -> None:
    assert compare_figures(told(**target), told(**baseline)) == (error, largest, None)


def pair(target: list[TensorRecord], baseline: list[TensorRecord], inputs: bool = False) -> Pair:
    sides = [
        Operator("F.x.0.forward", "F.x", 0, "forward", 0, tuple(side) if inputs else (), () if inputs else tuple(side))
        for side in (target, baseline)
    ]
    return Pair(sides[0], sides[1])


def compared(target: list[TensorRecord], baseline: list[TensorRecord]) -> list[tuple[str, str, float | None]]:
    (found,) = compare_pairs([pair(target, baseline)])
    return [(slot.slot, slot.problem, slot.error) for slot in found.outputs]


def test_what_is_wrong_with_a_tensor_before_its_numbers() -> None:
    plain = told(norm=1.0)
    assert compared([plain], [plain]) == [("o", "", 0.0)]
    assert compared([plain], []) == [("o", ONLY_TARGET, None)] and compared([], [plain]) == [("o", ONLY_BASELINE, None)]
    assert compared([plain], [told(norm=1.0, shape=(4,))]) == [("o", SHAPE, None)]
    assert compared([plain], [told(norm=1.0, dtype="float16")]) == [("o", DTYPE, 0.0)]
    assert compared([told()], [told()]) == [("o", NO_VALUES, None)]
    assert compared([told()], [told(dtype="float16")]) == [("o", DTYPE, None)]
    for sides in ((told(trouble="cut"), plain), (plain, told(trouble="cut"))):
        assert compared([sides[0]], [sides[1]]) == [("o", UNREADABLE, None)]
    sums = [told(checksum=digits) for digits in ("00000001", "00000002")]
    assert compared(sums[:1], sums[1:]) == [("o", CHECKSUM, None)] and compared(sums[:1], sums[:1]) == [("o", "", 0.0)]
    moved = [replace(record, norm=norm) for record, norm in zip(sums, (1.0, 2.0))]
    assert compared(moved[:1], moved[1:]) == [("o", "", 0.5)], "statistics tell by how much"


def saved(folder: Path, name: str, values: list[float]) -> TensorRecord:
    torch.save(torch.tensor(values), folder / f"{name}.pt")
    return told(shape=(len(values),), file=folder / f"{name}.pt")


def test_saved_tensors_are_measured(tmp_path: Path) -> None:
    one, other = saved(tmp_path, "a", [1.0, 2.0]), saved(tmp_path, "b", [1.0, 1.0])
    assert compared([one], [other]) == [("o", "", pytest.approx(1 / math.sqrt(2)))]
    assert compared([saved(tmp_path, "c", [1.0, math.nan])], [other]) == [("o", NONFINITE, math.inf)]
    assert compared([one], [replace(other, file=tmp_path / "gone.pt")]) == [("o", UNREADABLE, None)]
    given = compare_pairs([pair([one], [other], inputs=True)])[0]
    assert given.error_in == pytest.approx(1 / math.sqrt(2)) and given.error_out is None
    assert given.dtypes == ("float32", "float32") and given.find_problems(DTYPE) == []
    assert measure_files(Job(tmp_path / "a.pt", tmp_path / "b.pt", (2,), (2,)), Sample(0.5)).sampling == math.inf


def test_the_largest_errors_of_an_operator() -> None:
    slots = tuple(TensorAgreement(f"output.{n}", "float32", (1,), error) for n, error in enumerate((0.25, None, 0.5)))
    found = Agreement(pair([], []), slots, slots[:1])
    assert (found.error_in, found.error_out) == (0.5, 0.25)
    found = Agreement(pair([], []), (), slots[1:2])
    assert (found.error_in, found.error_out) == (0.0, None)


def test_damage_is_looked_for_where_something_differs(tmp_path: Path) -> None:
    one, other = saved(tmp_path, "a", [1.0, 2.0]), saved(tmp_path, "b", [1.0, 1.0])
    (found,) = compare_pairs([pair([one], [other])])
    (equal,) = compare_pairs([pair([one], [one])])
    assert verify_files(found) is found
    assert one.file is not None
    raw = one.file.read_bytes()
    at = raw.find(np.array([1.0, 2.0], SINGLE).tobytes())
    one.file.write_bytes(raw[: at + 2] + b"\x7f" + raw[at + 3 :])
    (slot,) = verify_files(found).outputs
    assert (slot.problem, slot.error) == (UNREADABLE, None) and "a.pt" in slot.detail and "CRC" in slot.detail
    assert verify_files(equal) is equal, "what agreed is not read again"
    assert "CRC" in verify_checksum(one.file) and verify_checksum(tmp_path / "b.pt") == ""
    assert verify_checksum(tmp_path / "gone.pt") and verify_checksum(tmp_path / "x.npy") == ""


def test_where_a_tensor_lies(tmp_path: Path) -> None:
    """Strides of sides of one element say nothing."""
    grid = torch.arange(24.0).reshape(4, 6)
    cases = {
        "whole": (grid, None),
        "rows": (grid[1:3], None),
        "columns": (grid[:, 1:3], (6, 1)),
        "one row": (grid[1:2], None),
        "one column": (grid[:, 1:2], (6, 1)),
        "turned": (grid.t(), (1, 6)),
        "empty": (grid[:, :0], None),
    }
    for name, (tensor, strides) in cases.items():
        torch.save(tensor, tmp_path / "t.pt")
        stored = locate_tensor(tmp_path / "t.pt")
        assert (stored.shape, stored.strides, stored.size) == (tuple(tensor.shape), strides, tensor.numel()), name
        if strides is None and tensor.numel():
            with (tmp_path / "t.pt").open("rb") as stream:
                stream.seek(stored.start)
                raw = stream.read(4 * tensor.numel())
            assert np.frombuffer(raw, SINGLE).tolist() == tensor.reshape(-1).tolist(), name


def test_blocks_by_their_numbers(tmp_path: Path) -> None:
    for values, dtype in ((torch.arange(7.0), SINGLE), (torch.arange(7.0).bfloat16(), SINGLE)):
        torch.save(values, tmp_path / "t.pt")
        stored = locate_tensor(tmp_path / "t.pt")
        assert stored.element == dtype
        assert [block.tolist() for block in stored.read_blocks(3)] == [[0, 1, 2], [3, 4, 5], [6]]
        assert [block.tolist() for block in stored.read_blocks(3, iter([2, 0]))] == [[6], [0, 1, 2]]
    torch.save(torch.ones(3, dtype=torch.complex64), tmp_path / "t.pt")
    assert locate_tensor(tmp_path / "t.pt").element == SINGLE


def test_the_extent_of_a_tensor() -> None:
    """The last element is the offset and each side's last step; negative numbers are refused."""
    tensorfile._check_extent((2, 3), (3, 1), 4, 10)
    tensorfile._check_extent((0, 3), (3, 1), 4, 0)
    tensorfile._check_extent((), (), 0, 1)
    for shape, strides, offset, held in (
        ((2, 3), (3, 1), 4, 9),
        ((), (), 0, 0),
        ((2,), (3, 1), 0, 9),
        ((2,), (-1,), 5, 9),
        ((-2,), (1,), 5, 9),
        ((2,), (1,), -1, 9),
    ):
        with pytest.raises(ValueError, match="shape"):
            tensorfile._check_extent(shape, strides, offset, held)
    assert tensorfile._contiguous_strides((2, 0, 3)) == (3, 3, 1) and tensorfile._contiguous_strides(()) == ()


def test_numpy_files(tmp_path: Path) -> None:
    path = tmp_path / "t.npy"
    for values in (np.arange(6.0).reshape(2, 3), np.float32(3.0).reshape(()), np.empty((0, 2), np.int16), np.arange(3)):
        np.save(path, values)
        assert np.array_equal(read_tensor(path), values) and read_tensor(path).shape == values.shape
    np.save(path, np.asfortranarray(np.ones((2, 3))))
    with pytest.raises(WorkbookError, match="Fortran order"):
        read_tensor(path)
    np.save(path, np.array(["text"]))
    with pytest.raises(WorkbookError, match="refused: holds"):
        read_tensor(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(WorkbookError, match="not a regular file"):
        read_tensor(path)


def test_a_compressed_member_or_a_long_description_is_refused(tmp_path: Path) -> None:
    torch.save(torch.ones(100), tmp_path / "x.pt")
    for way, text in (("compressed", "is compressed"), ("long", "a tensor needs about 150")):
        with zipfile.ZipFile(tmp_path / "x.pt") as archive, zipfile.ZipFile(tmp_path / "y.pt", "w") as changed:
            for info in archive.infolist():
                data = archive.read(info)
                if way == "long" and info.filename.endswith("data.pkl"):
                    data += bytes((1 << 16) + 1 - len(data))
                squeeze = way == "compressed" and info.filename.endswith("data/0")
                changed.writestr(info.filename, data, zipfile.ZIP_DEFLATED if squeeze else zipfile.ZIP_STORED)
        with pytest.raises(WorkbookError, match=text):
            read_tensor(tmp_path / "y.pt")


def test_batches_hold_so_many_elements_and_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "BATCH_ELEMENTS", 10)
    monkeypatch.setattr(workers, "BATCH_JOBS", 3)

    def split(*sizes: int) -> list[list[int]]:
        return workers.split_batches([Job(Path("a"), Path("b"), (size,), (size,)) for size in sizes])

    assert split() == [] and split(99) == [[0]] and split(5, 5, 1) == [[0, 1], [2]] and split(5, 6) == [[0], [1]]
    assert split(1, 1, 1, 1) == [[0, 1, 2], [3]] and split(0, 0, 0, 10) == [[0, 1, 2], [3]]


def test_little_data_is_read_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "ALONE", 10)
    jobs = [Job(Path("a"), Path("b"), (size,), (size,)) for size in (4, 6)]
    assert workers.is_little_data(jobs, Sample()) and not workers.is_little_data([*jobs, jobs[0]], Sample())
    assert workers.is_little_data([*jobs, *jobs], Sample(0.5)) and workers.count_cores() >= 1
    assert workers.measure_all([]) == []


def test_a_line_of_jobs_says_all_of_them() -> None:
    jobs = [Job(Path("a"), Path("b"), (2, 3), (6,))]
    assert worker.parse_request(worker.write_order(jobs, Sample(0.5, 7), 99)) == (jobs, Sample(0.5, 7), 99)
    assert worker.parse_request(worker.write_order(jobs, Sample()))[2] == 1 << 14
    metrics = measure_arrays(np.array([1.0, np.nan]), np.array([2.0, 1.0]))
    error = WorkbookError("precision.sample", given=2.0)
    answers = worker.read_answers(worker.write_answer([metrics, error]))
    assert answers[0] == metrics and str(answers[1]) == str(error)


def test_the_kernel_takes_blocks_that_are_chosen(tmp_path: Path) -> None:
    """Blocks 0 and 2 of three of four elements, of which the last has one."""
    left, right = np.arange(9, dtype=SINGLE), np.zeros(9, SINGLE)
    for name, values in (("a", left), ("b", right)):
        np.save(tmp_path / f"{name}.npy", values)
    sides = [locate_tensor(tmp_path / f"{name}.npy") for name in "ab"]
    if not fused.kernel_takes(*sides):
        pytest.skip("no compiled kernel")
    meter = Meter(SINGLE, SINGLE, 8, parts=True)
    fused.add_all(meter, *sides, 4, [0, 2])
    found = meter.make_metrics(9)
    assert (found.measured, found.unequal, found.max_absolute) == (5, 4, 8.0)
    assert found.norm_target == pytest.approx(math.sqrt(1 + 4 + 9 + 64))
    assert meter.parts == [(14.0, 0.0, 0, 0), (64.0, 0.0, 0, 0)]


def test_from_which_peak_on_squares_are_scaled() -> None:
    inside, nothing = np.array([1.0]), np.zeros(1)
    for peak, exponent in ((1e140, 466), (1e-140, -465), (0.0, 0), (1.0, 0)):
        for one in (np.array([peak]), np.array([-peak])):
            assert metrics._scaling_exponents(one, nothing) == [exponent, exponent, 0]
            assert metrics._scaling_exponents(nothing, one) == [exponent, 0, exponent]
            together = exponent if peak > 1 else 0
            assert metrics._scaling_exponents(one, inside) == [together, exponent, 0]
            assert metrics._scaling_exponents(inside, one) == [together, 0, exponent]
    for peak in (math.nextafter(1e140, 0), math.nextafter(1e-140, 1)):
        assert metrics._scaling_exponents(np.array([peak]), nothing) == [0, 0, 0]


def test_a_pickle_of_something_else_is_no_tensor(tmp_path: Path) -> None:
    parts = (("storage", "FloatStorage", "0", "cpu", 3), 0, (3,), (1,))
    cases = {("tensor", *parts): True, ("tensor", *parts, False): True, ("module", *parts): False, parts: False}
    for held, read in [*cases.items(), (["tensor", *parts], False), (7, False), (("tensor", *parts[:3]), False)]:
        with zipfile.ZipFile(tmp_path / "a.pt", "w") as archive:
            archive.writestr("a/data.pkl", pickle.dumps(held, 2))
            archive.writestr("a/data/0", np.array([1, 2, 3], SINGLE).tobytes())
        if read:
            assert read_tensor(tmp_path / "a.pt").tolist() == [1, 2, 3]
            continue
        with pytest.raises(WorkbookError, match="cannot be read as a tensor: not one plain tensor"):
            locate_tensor(tmp_path / "a.pt")


def test_statistics_beside_a_saved_tensor_that_cannot_be_read(tmp_path: Path) -> None:
    gone = told(file=tmp_path / "gone.pt")
    for sides in (([gone], [told(checksum="00000001")]), ([told(checksum="00000001")], [gone])):
        assert compared(*sides) == [("o", UNREADABLE, None)]
