"""A failed notebook's section of the run's page: its error explained, or where to ask."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_workbook.batch import workbook
from ascend_workbook.batch.execute import FAILED, Outcome

OOM = "RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB (NPU 1; 60.97 GiB total capacity)"


@pytest.mark.parametrize(
    ("error", "lang", "said"),
    [
        (OOM, "en", ("memory", "Cause", "https://")),
        (OOM, "zh", ("显存", "https://")),
        ("ValueError: of my own", "en", ("selftest --log", "/forum", "/issues", "/support")),
        ("ValueError: of my own", "zh", ("selftest --log", "论坛")),
    ],
)
def test_the_error_is_explained(tmp_path: Path, error: str, lang: str, said: tuple[str, ...]) -> None:
    section = workbook._render_stage(Outcome("precision", FAILED, "key", cell=3, error=error), tmp_path, lang)
    assert error.partition("(")[0] in section and all(word.lower() in section.lower() for word in said), section


def test_an_error_of_ours_names_its_own_next_step(tmp_path: Path) -> None:
    section = workbook._render_stage(
        Outcome("precision", FAILED, "key", error="WorkbookError: no script"), tmp_path, "en"
    )
    assert "selftest" not in section and "no script" in section
