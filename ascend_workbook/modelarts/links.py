"""Addresses that open one notebook in ModelArts: `…/console/lab?share-url-b64=<its public address>&imageid=<an image>`.

The form is that of public "Run in ModelArts" buttons (MindSpore's tutorials); no document of Huawei's describes it, and
these links were never opened. All of those buttons lead to the region cn-north-4, so it is the only one here: the host
of another is in no public page that was found, and is not guessed. The console fetches the one .ipynb: its first code
cell finds or fetches the rest.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Sequence
from urllib.parse import quote, urlsplit

from ascend_workbook.environment.system import PROJECT
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.modelarts import hosting
from ascend_workbook.modelarts.configuration import STAGE

CONSOLE = "https://authoring-modelarts-cnnorth4.huaweicloud.com/console/lab"
IMAGE = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
COLUMNS = (Column("modelarts_notebook"), Column("modelarts_link"))
#: Those that the console opens in: it is a Chinese region's.
FOLDERS = ("zh", "course/zh")


def make_launch_link(url: str, image: str = "") -> str:
    """Make the link for one notebook at a public https address; `image` is a UUID, empty: none is asked for. Raises
    WorkbookError `modelarts.notebook_address`, `modelarts.image_id`."""
    try:
        parts = urlsplit(url)
        good = parts.scheme == "https" and parts.hostname and not (parts.username or parts.password)
    except ValueError:
        good = False
    if not good or parts.query or parts.fragment or not parts.path.endswith(".ipynb") or re.search(r"\s", url):
        raise WorkbookError("modelarts.notebook_address", url=re.sub(r"//[^/]*@", "//***@", url.partition("?")[0]))
    if image and not IMAGE.fullmatch(image):
        raise WorkbookError("modelarts.image_id", image=image)
    packed = base64.b64encode(url.encode("utf-8")).decode("ascii")
    return f"{CONSOLE}?share-url-b64={quote(packed, safe='=')}" + (f"&imageid={image}" if image else "")


def launch_links(urls: Sequence[str] = (), image: str = "") -> Report:
    """Report a row for each address; without any, for each Chinese notebook that is hosted. Raises what
    `make_launch_link` raises, WorkbookError `modelarts.not_hosted` where there is no address at all."""
    if not urls and not hosting.NOTEBOOKS:
        raise WorkbookError("modelarts.not_hosted")
    named_urls = [(url.rpartition("/")[2], url) for url in urls] or list(_hosted_notebooks())
    rows = tuple((name, make_launch_link(url, image or hosting.IMAGE)) for name, url in named_urls)
    finding = Finding("RUN460", Status.NOTE, "RUN460.links", {"count": len(rows)}, weight=100)
    return Report(STAGE, "modelarts_links", (finding,), Table(COLUMNS, rows), answers=("RUN460",))


def render_markdown(lang: str) -> str:
    """Render the table for a page: a link a notebook, or one row that says that nothing is hosted."""
    heading, none = {
        "en": ("| open in ModelArts |", "| no link: it is not hosted anywhere yet |"),
        "zh": ("| 在 ModelArts 中打开 |", "| 没有链接：尚未托管 |"),
    }[lang]
    places = list(_hosted_notebooks()) if hosting.NOTEBOOKS else []
    rows = [f"| [{name}]({make_launch_link(url, hosting.IMAGE)}) |" for name, url in places]
    return "\n".join([heading, "|---|", *(rows or [none])])


def _hosted_notebooks() -> Iterator[tuple[str, str]]:
    """Yield the Chinese notebooks by their path below `notebooks`, and where they are hosted."""
    root = PROJECT / "notebooks"
    for path in (path for folder in FOLDERS for path in sorted((root / folder).glob("*.ipynb"))):
        name = path.relative_to(root).as_posix()
        yield name, f"{hosting.NOTEBOOKS.rstrip('/')}/{quote(name)}"
