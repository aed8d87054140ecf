"""Every page's template escapes, wants all its names, and is part of the package."""

from __future__ import annotations

import re

import pytest
from jinja2 import UndefinedError

from ascend_workbook.show import template
from tests.conftest import ROOT

#: The packages that make pages.
PACKAGES = [ROOT / name for name in ("ascend_workbook", "ascend_simulator", "course", "helpers")]


def test_a_value_is_escaped_and_a_piece_is_not() -> None:
    piece = template.render_template("chosen.html", said=["<i>"], findings=[("<b>", None)])
    assert "&lt;i&gt;" in piece and "&lt;b&gt;" in piece
    assert str(piece) in template.render_fragment(piece)


def test_a_name_that_is_missing_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="'findings'"):
        template.render_template("chosen.html", said=[])


def test_a_page_needs_no_file_that_is_not_packed() -> None:
    packed = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    files = [path for path in template.FOLDER.iterdir() if path.is_file()]
    assert len(files) > 10 and all(f'"**/*{path.suffix}"' in packed for path in files)


def test_every_template_is_asked_for() -> None:
    paths = [path for package in PACKAGES for path in package.rglob("*.py")]
    code = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    code += "\n".join(path.read_text(encoding="utf-8") for path in template.FOLDER.glob("*.html"))
    unused = [path.name for path in template.FOLDER.iterdir() if f'"{path.name}"' not in code]
    assert not unused


def test_no_tag_is_written_in_python() -> None:
    tag = re.compile(r"""["'>]</?(?:div|span|table|tr|td|th|p|li|ul|pre|details|style|iframe)[ >]""")
    paths = [path for package in PACKAGES for path in package.rglob("*.py")]
    assert tag.search("f'<div class=aw>'")
    assert not [path for path in paths if tag.search(path.read_text(encoding="utf-8"))]
