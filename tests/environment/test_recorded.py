"""Recorded machines: each fault is named by its own rule with its cure, nothing else fails; the well ones are well."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.environment import check
from helpers.finding import Status
from helpers.report import Report
from helpers.words import hint
from tests.environment.recorded.faults import FAULTS
from tests.environment.recorded.machines import HEALTHY
from tests.environment.recorded.made import Made


def checked(made: Made, folder: Path) -> Report:
    return check(made.wanted, work_folder=folder / "project", system=made.system(folder))


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named_with_its_cure(name: str, tmp_path: Path) -> None:
    fault = FAULTS[name]
    found = checked(fault.made(), tmp_path).findings[1:]
    named = [finding for finding in found if (finding.key, finding.status) == (fault.key, fault.status)]
    assert named, [(finding.key, finding.message("en")) for finding in found if finding.status > Status.NOTE]
    assert fault.fix in hint(named[0].key, "en", **named[0].args)
    assert hint(named[0].key, "zh", **named[0].args)
    bad = {finding.rule: finding.status for finding in found if finding.status > Status.SKIPPED}
    assert bad == {fault.key.split(".")[0]: fault.status, **fault.besides}


@pytest.mark.parametrize("name", HEALTHY)
def test_a_machine_that_is_well_has_no_warning(name: str, tmp_path: Path) -> None:
    report = checked(HEALTHY[name](), tmp_path)
    assert [finding.message("en") for finding in report.findings if finding.status > Status.NOTE] == []


def test_there_are_enough_of_them() -> None:
    assert len(FAULTS) >= 20 and len(HEALTHY) >= 5
    assert len({fault.key for fault in FAULTS.values()}) == len(FAULTS)


@pytest.mark.parametrize("name", FAULTS)
def test_without_the_fault_the_rule_is_silent(name: str, tmp_path: Path) -> None:
    """The same machine, not broken: the finding comes from the fault and from nothing else."""
    found = checked(FAULTS[name].base(), tmp_path).findings
    assert FAULTS[name].key not in {finding.key for finding in found}
