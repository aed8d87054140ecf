"""On real files of installed packages: scanning never crashes, rewriting changes its own spans only, and parses."""

from __future__ import annotations

import random
import sysconfig
from pathlib import Path

import pytest

from helpers.migration.registry import registry, wanted
from helpers.migration.repair import class_of
from helpers.migration.rewrite import migrate
from helpers.migration.scan import scan_source
from helpers.migration.source import Source, Unreadable, parse, read

PACKAGES = ("torch", "transformers", "accelerate", "msprobe", "torch_npu", "numpy", "IPython", "pip")


def _sources(count: int, seed: int) -> list[Source]:
    """A fixed random choice, two thirds of it with something for a rule to look at."""
    root = Path(sysconfig.get_path("purelib"))
    files = sorted(file for name in PACKAGES for file in (root / name).rglob("*.py"))
    random.Random(seed).shuffle(files)
    found: list[Source] = []
    plain = 0
    for file in files:
        data = file.read_bytes()
        few = not wanted(data) or len(data) > 200_000
        plain += few
        if len(found) >= count or (few and plain > count // 3):
            continue
        try:
            found.append(read(file))
        except Unreadable:
            plain -= few
    return found


def _check(source: Source) -> bool:
    """The promises for one file; whether it was changed."""
    found = scan_source(source, strict=True)
    assert found == scan_source(source, strict=True, rules=registry()), "the byte search lost a finding"
    for finding in found:
        assert finding.place and 1 <= finding.place.line <= len(source.line_starts)
        assert finding.place.column <= len(source.line(finding.place.line)) + 1
    text, made = migrate(source)
    edits = sorted({edit for finding in made for edit in finding.edits}, key=lambda edit: (edit.start, edit.end))
    kept, shift = 0, 0
    for edit in edits:
        assert text[kept + shift : edit.start + shift] == source.text[kept : edit.start]
        assert text[edit.start + shift : edit.start + shift + len(edit.text)] == edit.text
        kept, shift = edit.end, shift + len(edit.text) - (edit.end - edit.start)
    assert text[kept + shift :] == source.text[kept:]
    again = parse(text, source.path)
    assert "rewrite" not in {class_of(finding) for finding in scan_source(again, strict=True)}
    assert migrate(again)[0] == text, "a second rewrite changes nothing"
    return bool(edits)


def test_a_few() -> None:
    sources = _sources(40, seed=3)
    if not sources:
        pytest.skip("none of the packages is installed in this environment")
    assert sum(map(_check, sources)) > 5


@pytest.mark.full
def test_three_hundred() -> None:
    sources = _sources(300, seed=4)
    if not sources:
        pytest.skip("none of the packages is installed in this environment")
    assert len(sources) == 300 and sum(map(_check, sources)) > 50
