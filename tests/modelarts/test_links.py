"""Links that open a notebook in ModelArts."""

from __future__ import annotations

import base64
from urllib.parse import parse_qs, urlsplit

import pytest

from ascend_workbook.cli import main as __main__
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.modelarts import hosting, launch_links, links, make_launch_link
from tests.notebooks.test_sources import build

URL = "https://notebooks.example.com/it/zh/01_environment.ipynb"
IMAGE = "65f636a0-56cf-49df-b941-7d2a07ba8c8c"


@pytest.mark.parametrize("url", [URL, "https://a.example/%E4%B8%AD/>>>~~~.ipynb"])
def test_the_address_comes_back(url: str) -> None:
    query = parse_qs(urlsplit(make_launch_link(url, IMAGE)).query)
    assert base64.b64decode(query["share-url-b64"][0]).decode() == url and query["imageid"] == [IMAGE]
    assert "+" not in make_launch_link(url) and "imageid" not in make_launch_link(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://a.example/x.ipynb",
        "https://a.example/x.py",
        "obs://bucket/x.ipynb",
        "https://user:word@a.example/x.ipynb",
        "https://user@a.example/x.ipynb",
        "https://a.example/x.ipynb?Signature=word",
        "https:///x.ipynb",
        "https://a.example/a b.ipynb",
        "https://[/x.ipynb",
    ],
)
def test_what_is_not_public_is_refused(url: str) -> None:
    with pytest.raises(WorkbookError) as raised:
        make_launch_link(url)
    assert raised.value.key == "modelarts.notebook_address" and "word" not in raised.value.message("en")


def test_an_image_is_a_uuid() -> None:
    with pytest.raises(WorkbookError) as raised:
        make_launch_link(URL, "pytorch_2.7.1&x=1")
    assert raised.value.key == "modelarts.image_id"


def test_without_a_host_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosting, "NOTEBOOKS", "")
    with pytest.raises(WorkbookError) as raised:
        launch_links()
    assert raised.value.key == "modelarts.not_hosted"
    assert "尚未托管" in links.render_markdown("zh") and "http" not in links.render_markdown("en")


def test_with_a_host_every_chinese_notebook_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosting, "NOTEBOOKS", "https://notebooks.example.com/it/")
    monkeypatch.setattr(hosting, "IMAGE", IMAGE)
    report = launch_links()
    there = [path for folder in links.FOLDERS for path in (links.PROJECT / "notebooks" / folder).glob("*.ipynb")]
    assert report.table is not None and len(report.table.rows) == len(there) >= 6
    assert ("zh/01_environment.ipynb", make_launch_link(URL, IMAGE)) in report.table.rows
    assert f"| [zh/01_environment.ipynb]({make_launch_link(URL, IMAGE)}) |" in links.render_markdown("en")


def test_the_command_says_that_none_was_opened(capsys: pytest.CaptureFixture[str]) -> None:
    assert __main__.main(["modelarts", "link", URL, "--lang", "zh"]) == 0
    said = capsys.readouterr().out
    assert make_launch_link(URL) in said and "从未" in said and "区域 cn-north-4" in said
    assert __main__.main(["modelarts", "link", "http://a.example/x.ipynb"]) == 2


@pytest.mark.parametrize("lang", sorted(build.PAGES))
def test_the_pages_table_is_up_to_date(lang: str) -> None:
    text = build.PAGES[lang].read_text(encoding="utf-8")
    assert build.page(lang) == text and links.render_markdown(lang) in text, "run python notebooks/build.py"


def test_a_page_gets_the_hosts_links(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosting, "NOTEBOOKS", "https://notebooks.example.com/it")
    assert make_launch_link(URL) in build.page("en") and "not hosted" not in build.page("en")
