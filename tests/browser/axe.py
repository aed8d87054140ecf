"""What axe-core finds wrong for those who cannot see or point: WCAG 2.1 A and AA, and its advice on good practice.

ASCEND_WORKBOOK_AXE names another axe.min.js than that of tools/bundle (`npm ci --ignore-scripts` there)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Union

import pytest

from tests.conftest import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Frame, Page

FILE = Path(
    os.environ.get("ASCEND_WORKBOOK_AXE") or ROOT / "tools" / "bundle" / "node_modules" / "axe-core" / "axe.min.js"
)
needed = pytest.mark.skipif(
    not FILE.is_file(), reason="axe-core is not there: cd tools/bundle && npm ci --ignore-scripts"
)
#: Frames are asked by themselves: those of a notebook let nobody in from outside.
ASK = """([places, rules]) => axe.run(places.length ? {include: places.map(place => [place])} : document,
    {iframes: false, ...(rules.length ? {runOnly: rules} : {})})
  .then(found => found.violations.flatMap(one => one.nodes.map(node => `${one.id}: ${node.html.slice(0, 200)}`)))"""
#: Of a part of a page: what is asked of a whole page, as its headings and landmarks, is not the part's to have.
OF_A_PART = ("wcag2a", "wcag2aa", "wcag21aa")


def find_violations(where: Union[Page, Frame], *places: str) -> list[str]:
    """Return the violations on a whole page, or in these parts of it, each with the element."""
    if not where.evaluate("() => Boolean(window.axe)"):
        where.evaluate(FILE.read_text(encoding="utf-8"))
    found: list[str] = where.evaluate(ASK, [list(places), list(OF_A_PART if places else ())])
    return found
