"""The teacher's page against the course: every notebook has its row, in either language."""

from __future__ import annotations

import re

import pytest

from tests.conftest import ROOT


@pytest.mark.parametrize(("page", "lang"), [("teaching.md", "en"), ("teaching.zh-CN.md", "zh")])
def test_every_notebook_has_a_row(page: str, lang: str) -> None:
    told = re.findall(r"^\| (\d\d_\w+) \|", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.M)
    assert told == sorted(path.stem for path in (ROOT / "notebooks" / "course" / lang).glob("*.ipynb"))
