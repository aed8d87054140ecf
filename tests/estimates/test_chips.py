"""Chips are found by any name, with a source for each figure."""

from __future__ import annotations

from dataclasses import fields

import pytest

from ascend_workbook.estimates.chips import Chip, find_chip, known_chips
from ascend_workbook.findings.errors import WorkbookError


@pytest.mark.parametrize("name", ["910B3", "910b3", "Ascend910B3", "ascend 910b3", "Ascend-910_B3"])
def test_a_chip_has_many_names(name: str) -> None:
    assert find_chip(name).name == "910B3"


def test_an_unknown_chip_is_told_with_those_that_are_known() -> None:
    with pytest.raises(WorkbookError) as told:
        find_chip("H100")
    assert "H100" in told.value.message("en") and "910B3" in told.value.message("zh")


def test_the_peak_is_what_cores_and_clock_give() -> None:
    # 20 cores x 1.8 GHz x 16 x 16 x 16 multiplications and additions: the 294.9 TFLOPS that are published
    assert find_chip("910B3").cube_flops == pytest.approx(294.912e12)
    assert find_chip("910B2").cube_flops == pytest.approx(353.8944e12)


@pytest.mark.parametrize("chip", known_chips(), ids=lambda chip: str(chip.name))
def test_every_figure_has_its_source(chip: Chip) -> None:
    figures = {figure.name for figure in fields(chip)} - {"name", "source", "node_cards", "vector_cores"}
    assert figures <= chip.source.keys() and all(chip.source.values())
    assert chip.vector_cores == 2 * chip.cube_cores
