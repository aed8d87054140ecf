"""On real files of installed packages: scanning never crashes, rewriting changes its own spans only, and parses."""

from __future__ import annotations

import codecs
import random
import sysconfig
from pathlib import Path

import pytest

from ascend_workbook.findings.finding import Edit, Finding
from ascend_workbook.migration.reading.source import Source, decode_bytes, parse_text, read_source
from ascend_workbook.migration.reading.undecoded import Unreadable
from ascend_workbook.migration.registry import choose_rules, load_rules
from ascend_workbook.migration.repair import class_of
from ascend_workbook.migration.rewrite import migrate_source
from ascend_workbook.migration.rewrite.change import MODES
from ascend_workbook.migration.scan import scan_source

PACKAGES = ("torch", "transformers", "accelerate", "msprobe", "torch_npu", "numpy", "IPython", "pip")


def _sources(count: int, seed: int, largest: int) -> list[Source]:
    """A fixed random choice of files up to so many bytes, two thirds of it with something for a rule to look at."""
    root = Path(sysconfig.get_path("purelib"))
    files = sorted(file for name in PACKAGES for file in (root / name).rglob("*.py"))
    random.Random(seed).shuffle(files)
    found: list[Source] = []
    plain = 0
    for file in files:
        if len(found) >= count:
            break
        data = file.read_bytes()
        few = not choose_rules(data)
        plain += few and len(data) <= largest
        if len(data) > largest or (few and plain > count // 3):
            continue
        try:
            found.append(read_source(file))
        except Unreadable:
            plain -= few
    return found


def _disguised(source: Source, number: int) -> Source:
    """The file as others may have saved it: every third with CRLF, every third with a BOM."""
    data = source.text.encode(source.encoding)
    if source.encoding == "utf-8" and "\r" not in source.text and number % 3:
        data = data.replace(b"\n", b"\r\n") if number % 3 == 1 else codecs.BOM_UTF8 + data
    text, encoding, bom = decode_bytes(data)
    return parse_text(text, source.path, encoding=encoding, bom=bom, file=source.file)


def _check(source: Source) -> bool:
    """The promises for one file; whether any mode changes it."""
    found = scan_source(source, strict=True)
    assert found == scan_source(source, strict=True, rules=load_rules()), "the byte search lost a finding"
    for finding in found:
        assert finding.place and 1 <= finding.place.line <= len(source.line_starts)
        assert finding.place.column <= len(source.read_line(finding.place.line)) + 1
    return max([_rewritten(source, mode, found) for mode in MODES])


def _rewritten(source: Source, mode: str, found: list[Finding]) -> bool:
    """The promises for one mode; whether the file was changed. One that was not is not looked at a second time."""
    text, made = migrate_source(source, mode=mode)
    _only_spans(source, text, sorted({edit for finding in made for edit in finding.edits}, key=_order))
    assert source.encode_text(text).startswith(source.bom)
    if text == source.text:
        assert "rewrite" not in {class_of(finding) for finding in found}
        return False
    again = parse_text(text, source.path, file=source.file)
    assert "rewrite" not in {class_of(finding) for finding in scan_source(again, strict=True)}
    assert migrate_source(again, mode=mode)[0] == text, "a second rewrite changes nothing"
    return True


def _order(edit: Edit) -> tuple[int, int]:
    return edit.start, edit.end


def _only_spans(source: Source, text: str, edits: list[Edit]) -> None:
    """Every letter outside the edits' spans is where it was, moved by what the edits before it added."""
    kept, shift = 0, 0
    for edit in edits:
        assert text[kept + shift : edit.start + shift] == source.text[kept : edit.start]
        assert text[edit.start + shift : edit.start + shift + len(edit.text)] == edit.text
        kept, shift = edit.end, shift + len(edit.text) - (edit.end - edit.start)
    assert text[kept + shift :] == source.text[kept:]


def _changed(count: int, seed: int, largest: int) -> int:
    """How many files were changed, in either mode, of so many that keep all promises."""
    sources = _sources(count, seed, largest)
    if not sources:
        pytest.skip("none of the packages is installed in this environment")
    assert len(sources) == count
    disguised = (_disguised(source, number) for number, source in enumerate(sources))
    return sum(map(_check, disguised))


def test_a_few() -> None:
    assert _changed(24, seed=3, largest=15_000) > 3


@pytest.mark.full
def test_three_hundred() -> None:
    assert _changed(300, seed=4, largest=200_000) > 50
