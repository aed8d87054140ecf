"""Pages and pieces of the course: its templates beside this file, every value escaped. Nothing comes from a network."""

from __future__ import annotations

from pathlib import Path

from ascend_workbook.show.template import make_environment

FOLDER = Path(__file__).parent


def fill_template(name: str, /, **values: object) -> str:
    """Fill the template of this name with the values."""
    return make_environment(FOLDER).get_template(name).render(values)
