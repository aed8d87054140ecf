"""Help is in both languages, from the catalogue, and nothing in the catalogue is without its option."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from ascend_workbook.cli.help_page import describe_option, wrap_text
from ascend_workbook.cli.main import build_parser, main
from ascend_workbook.cli.options import Option
from ascend_workbook.cli.parser import Parser
from ascend_workbook.findings.sentence import load_catalogue
from ascend_workbook.show.text import text_width

#: English words that a Chinese page may have: names, and values of options as they are typed.
MOST_WORDS = 4


def walk(parser: Parser) -> Iterator[Parser]:
    yield parser
    for below in parser.below.values():
        yield from walk(below)


def list_parsers(lang: str) -> dict[str, Parser]:
    return {parser.key: parser for parser in walk(build_parser("", lang))}


ENGLISH, CHINESE = list_parsers("en"), list_parsers("zh")


def key_of(parser: Parser, option: Option) -> str:
    own = f"{parser.key}.{option.word}"
    return own if own in load_catalogue() else f"help.any.{option.word}"


@pytest.mark.parametrize("key", ENGLISH)
def test_every_option_has_help_in_both_languages(key: str) -> None:
    for option in ENGLISH[key].options:
        if not option.row.hidden:
            english, chinese = (describe_option(ENGLISH[key], option, lang) for lang in ("en", "zh"))
            assert english and chinese and re.search("[\u4e00-\u9fff]", chinese), option.flag
            for page, words in ((ENGLISH[key], english), (CHINESE[key], chinese)):
                assert "".join(words.split()) in "".join(page.format_help().split()), option.flag


def test_no_help_is_left_over() -> None:
    said = {key_of(parser, option) for parser in ENGLISH.values() for option in parser.options}
    said |= {each for key in ENGLISH for each in (key, f"{key}.about")}
    help_keys = {key for key in load_catalogue() if key.startswith("help.")}
    assert {key for key in help_keys - said if not key.startswith(("help.words.", "help.function."))} == set()


@pytest.mark.parametrize("key", CHINESE)
def test_a_chinese_page_has_no_english_sentence(key: str) -> None:
    """Command lines, tables and what is quoted are as they are typed; else few English words stand in a row."""
    parser = CHINESE[key]
    page = parser.format_help().split("示例：")[0].partition("\n\n")[2]
    page = re.sub(r"`[^`]*`|（[^（）]*）|^ {2,}\S.*?(?: {2,}|$)", "，", page, flags=re.MULTILINE)
    page = re.sub(r"^  name: night\n(?:  .*\n)*", "", page, flags=re.MULTILINE)
    rows = re.findall(rf"[A-Za-z][a-z]+(?: [a-z]+){{{MOST_WORDS},}}", page)
    assert not rows
    assert not re.search(r"\b(?:usage|options|positional arguments|show this)\b", page)


def show_help(line: str, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as end:
        main(line.split())
    assert end.value.code == 0
    return capsys.readouterr().out


def test_the_language_is_the_readers(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("ASCEND_WORKBOOK_LANG", "en")
    english = show_help("scan --help", capsys)
    assert english.startswith("usage: ascend-workbook scan") and "\nExamples:\n" in english
    for line in ("scan --help --lang zh", "scan --lang zh --help", "scan --lang=zh -h"):
        assert show_help(line, capsys).startswith("用法：ascend-workbook scan")
    for line in ("--help --lang zh", "--lang zh --help"):
        assert "扫描脚本或目录" in show_help(line, capsys)
    monkeypatch.setenv("ASCEND_WORKBOOK_LANG", "zh")
    assert show_help("storage upload --help", capsys).startswith("用法：ascend-workbook storage upload")


def test_lines_fit_also_where_characters_are_wide() -> None:
    text = "把报告写成页面，可离线打开（ascend-workbook scan）。" * 4
    lines = wrap_text(text, 30)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert max(map(text_width, lines)) <= 32 and not any(line.startswith(("，", "。", "）")) for line in lines)
    assert text_width("ab中") == 4
