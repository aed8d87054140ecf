"""A basis is read, written and refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ascend_workbook.estimates.basis import SHIPPED, load_basis, save_basis
from ascend_workbook.estimates.loads import PARENTS
from ascend_workbook.findings.errors import WorkbookError


def test_the_shipped_numbers_say_what_they_rest_on() -> None:
    basis = load_basis()
    assert basis.date == "2026-11-27" and len(basis.fitted_on) == 5
    assert {"links", "network", "host"} <= basis.about.keys()
    assert all(basis.about[name]["source"] for name in ("links", "network", "host"))
    assert all(times.family_spread > 0 and times.kernel_spread > 0 for times in basis.families.values())


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    save_basis(load_basis(), tmp_path / "again.json")
    again = load_basis(tmp_path / "again.json")
    assert again.families == load_basis().families and again.about == load_basis().about
    assert (tmp_path / "again.json").read_text() == SHIPPED.read_text()


def test_a_family_that_was_never_measured_takes_its_nearest(tmp_path: Path) -> None:
    record = json.loads(SHIPPED.read_text())
    del record["families"]["attention_grad"]
    path = tmp_path / "less.json"
    path.write_text(json.dumps(record))
    times = load_basis(path).times_of("attention_grad")
    near = load_basis(path).times_of(PARENTS["attention_grad"])
    assert times.cube == near.cube and times.family_spread == record["unseen_spread"] and times.workloads == 0


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"format": "other"}', '{"format": "ascend-workbook times 1", "families": {}}']
)
def test_what_is_no_basis_is_refused_by_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(WorkbookError) as told:
        load_basis(path)
    assert told.value.key == "estimates.no_basis" and str(path) in told.value.message("en")


def test_numbers_of_another_format_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "older.json"
    path.write_text(json.dumps({**json.loads(SHIPPED.read_text()), "format": "ascend-workbook times 0"}))
    with pytest.raises(WorkbookError, match="times 0"):
        load_basis(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(WorkbookError) as told:
        load_basis(tmp_path / "absent.json")
    assert told.value.key == "estimates.unreadable_basis"
