"""Pages and pieces of pages, made from the templates beside this file.

Every value is escaped where it is shown, but for what a template made (Markup). A name that a template does not get is
an error. Nothing of Jinja2 is imported until a page is asked for.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.sentence import hint, say, show, title

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

FOLDER = Path(__file__).with_name("templates")
#: An address within a sentence, without the sentence's own punctuation
ADDRESS = re.compile(r"(https://[\w./#?=&%~+:@-]*[\w/])", re.ASCII)


@cache
def make_environment(folder: Path = FOLDER) -> Environment:
    """Return the one environment of all templates of a folder."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    pages = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.globals.update(
        say=say,
        hint=hint,
        title=title,
        show=show,
        as_status=as_status,
        asset=read_asset,
        split_addresses=ADDRESS.split,
    )
    return pages


def as_status(status: Status | str) -> Status:
    """Return a status as it is, or of the word that JSON keeps."""
    return status if isinstance(status, Status) else Status.from_json(status)


@cache
def read_asset(name: str) -> Markup:
    """Return a style or a script of the templates' folder as it stands."""
    from markupsafe import Markup

    return Markup((FOLDER / name).read_text(encoding="utf-8"))


def render_template(template: str, /, **values: object) -> Markup:
    """Fill the template of this name."""
    from markupsafe import Markup

    return Markup(make_environment().get_template(template).render(values))


def render_fragment(body: Markup, *, code: bool = False) -> str:
    """Frame a body as a notebook shows it; `code`: with the styles of marked code."""
    return str(render_template("fragment.html", body=body, code=code))


def render_frame(whole: str, height: int, border: str, *, kind: str = "", name: str = "") -> str:
    """Put a whole page into a frame of its own, `height` pixels tall, in which its scripts alone may run."""
    values = {"page": whole, "height": int(height), "style": border, "kind": kind, "name": name}
    return str(render_template("frame.html", **values))
