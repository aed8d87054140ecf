"""What says `to the last bit` has read every value: statistics and checksums alone never do, in either language."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import load_catalogue
from ascend_workbook.precision.align import align
from ascend_workbook.precision.compare import compare
from tests.precision.dumps import Dump

#: Words of bit equality, and the sentences that may have them: each rests on values that were all read, on the weights
#: of a watched training, or speaks of kernels in general.
WORDS = ("last bit", "bit for bit", "bitwise", "逐位", "逐比特")
ALLOWED = {"ACC230.identical", "ACC270.identical", "ACC249.in_turn", "course.part.equal", "settings.why.cpu"}
NUMBERS = torch.tensor([3.0, 1.0, 2.0, 0.5])


def make_sides(folder: Path, tasks: tuple[str, str], *, turned: bool = False) -> list[Path]:
    for side, task in zip("ab", tasks):
        value = NUMBERS.flip(0) if turned and side == "b" else NUMBERS
        dump = Dump(folder / side, task=task)
        dump.forward("Functional.relu", [value], [value])
        dump.backward("Functional.relu", [value], [value])
        dump.save()
    return [folder / "a", folder / "b"]


def say_all(report: Report) -> str:
    texts = [report.verdict("en"), report.verdict("zh"), report.text("en"), report.text("zh")]
    return "\n".join([*texts, json.dumps(report.to_json())])


@pytest.mark.parametrize("tasks", [("statistics", "statistics"), ("statistics", "tensor"), ("md5", "md5")])
def test_statistics_and_checksums_never_say_to_the_last_bit(tmp_path: Path, tasks: tuple[str, str]) -> None:
    sides = make_sides(tmp_path, tasks)
    for report in (compare(*sides), align(*sides)):
        said = say_all(report)
        assert not [word for word in WORDS if word in said]
        assert "ACC230.same_" in said, "and it is said what was the same"


def test_values_that_were_all_read_say_it(tmp_path: Path) -> None:
    assert "last bit" in say_all(compare(*make_sides(tmp_path, ("tensor", "tensor"))))


def test_another_order_has_the_same_statistics_and_is_not_called_equal(tmp_path: Path) -> None:
    """A permutation leaves extremes, mean and norm as they are: only the values tell."""
    blind = compare(*make_sides(tmp_path / "statistics", ("statistics", "statistics"), turned=True))
    assert blind.headline is not None and blind.headline.key == "ACC230.same_statistics"
    seen = compare(*make_sides(tmp_path / "tensor", ("tensor", "tensor"), turned=True), replaying=False)
    assert seen.headline is not None and seen.headline.key.startswith("ACC") and seen.headline.status.name == "FIX"


def test_no_other_sentence_speaks_of_bits() -> None:
    entries = load_catalogue().items()
    assert {key for key, entry in entries if any(word in entry.en + entry.zh for word in WORDS)} == ALLOWED
