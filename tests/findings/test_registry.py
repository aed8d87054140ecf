"""What is entered from above is there, and a name has one function."""

from __future__ import annotations

import subprocess
import sys
from types import FunctionType

import pytest

import ascend_workbook
from ascend_workbook.findings import registry
from ascend_workbook.findings.finding import Remarks
from ascend_workbook.show import charts
from tests.conftest import ROOT


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, names in ascend_workbook._ENTRIES.items() for name in names]
)
def test_every_entry_leads_somewhere(kind: str, name: str) -> None:
    expected = {registry.CHART: charts.Drawing, registry.REMARKS: Remarks}.get(kind, FunctionType)
    assert isinstance(registry.find_entry(kind, name), expected)


def test_a_name_has_one_function(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_ENTRIES", {})
    registry.register_functions(registry.CASES, {"a": "json:dumps"})
    registry.register_functions(registry.CASES, {"a": "json:dumps"})
    assert registry.find_function(registry.CASES, "a") is __import__("json").dumps
    with pytest.raises(ValueError, match="json:dumps already"):
        registry.register_functions(registry.CASES, {"a": "json:loads"})


def test_what_nobody_entered_is_none_and_no_renderer() -> None:
    assert registry.find_function(registry.CASES, "migration") is None
    with pytest.raises(LookupError, match="as smoke"):
        registry.find_renderer("smoke")


def test_a_report_is_drawn_where_nothing_but_the_report_was_imported() -> None:
    code = (
        "import sys\nfrom ascend_workbook.findings.report import Report\n"
        "assert not [name for name in sys.modules if name.startswith('ascend_workbook.show')]\n"
        "text = Report('migration', 'scan').text('en')\n"
        "drawing = 'ascend_workbook.page.render', 'jinja2', 'markupsafe'\n"
        "print(bool(text), *(name in sys.modules for name in drawing))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False", "False", "False"]
