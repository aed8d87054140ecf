"""Pages and pieces of the course: its templates beside this file, every value escaped. Nothing comes from a network."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ascend_workbook.findings.sentence import hint, say, show

if TYPE_CHECKING:
    from jinja2 import Environment

FOLDER = Path(__file__).parent


@cache
def _make_environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    pages = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.globals.update(say=say, hint=hint, show=show)
    return pages


def fill_template(name: str, /, **values: object) -> str:
    """Fill the template of this name with the values."""
    return _make_environment().get_template(name).render(values)
