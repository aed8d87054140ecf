"""Every sentence exists in both languages, takes the same arguments in each, and is used by someone."""

from __future__ import annotations

import re
from string import Formatter

import pytest

from helpers import words
from tests.conftest import ROOT


def fields(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name}


@pytest.mark.parametrize("key", sorted(words.catalogue()))
def test_both_languages_say_the_same(key: str) -> None:
    entry = words.catalogue()[key]
    assert entry.en and entry.zh
    assert fields(entry.en) == fields(entry.zh)
    assert bool(entry.hint_en) == bool(entry.hint_zh)
    assert fields(entry.hint_en) == fields(entry.hint_zh)


def test_chinese_is_chinese() -> None:
    """A sentence of several words that has no Chinese character in its zh form was forgotten."""
    plain = {
        key
        for key, entry in words.catalogue().items()
        if not re.search("[\u4e00-\u9fff]", entry.zh) and len(re.sub(r"\{.*?\}", "", entry.en).split()) > 3
    }
    assert not plain


def test_no_sentence_is_left_over() -> None:
    """Each key, or the rule code it begins with, stands somewhere in the code."""
    files = [
        path
        for path in (ROOT / "helpers").rglob("*")
        if path.suffix in (".py", ".json") and path.parent.name != "words"
    ]
    code = "\n".join(path.read_text(encoding="utf-8") for path in files)
    unused = [
        key
        for key in words.catalogue()
        if key not in code and not key.startswith("name.") and f"{key.rpartition('.')[0]}." not in code
    ]
    assert not unused


def test_nested_sentences_and_lists() -> None:
    said = words.say("device.absent", "en", wanted="npu", why={"say": "device.why.no_cann"})
    assert said == "device npu is not here: no CANN was found"
    assert words.show({"hint": "run.name"}, "en") == words.catalogue()["run.name"].hint_en
    assert words.show(["a", 1.23456789], "en") == "a, 1.235"
    assert words.show(None, "zh") == "-"


def test_an_unknown_key_is_an_error() -> None:
    with pytest.raises(KeyError, match="no words for 'nothing.here'"):
        words.say("nothing.here", "en")


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"ASCEND_WORKBOOK_LANG": "zh"}, "zh"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "C"}, "en"),
        ({"LC_ALL": "en_US.UTF-8", "LANG": "zh_CN.UTF-8"}, "en"),
        ({}, "en"),
    ],
)
def test_the_language_is_found(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], expected: str) -> None:
    for name in ("ASCEND_WORKBOOK_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert words.language() == expected
