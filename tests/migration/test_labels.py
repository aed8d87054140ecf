"""The scan against hand labels of real files, line by line.

The labels are in the reference material; the files themselves are not, so a folder of them must be named:
ASCEND_WORKBOOK_LABELLED, with a file per label file, called like it without `.json`.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from helpers.migration.repair import class_of
from helpers.migration.scan import scan_source
from helpers.migration.source import decode, parse

VARIABLE = "ASCEND_WORKBOOK_LABELLED"
#: How the labels are scored: advice is no action, by hand counts as rewrite.
SCORED_AS = {"advice": "no_action", "": "no_action", "manual": "rewrite"}
SEVERITY = ("no_action", "auto", "rewrite", "unsupported")


@pytest.fixture(scope="module")
def confusion(shared: Path) -> Counter[tuple[str, str]]:
    folder = os.environ.get(VARIABLE)
    if not folder:
        pytest.skip(f"the labelled files are not here: {VARIABLE} names no folder")
    counted: Counter[tuple[str, str]] = Counter()
    for labels in sorted((shared / "facts" / "migration_labels").glob("*.json")):
        counted += _compare(labels, Path(folder) / labels.stem)
    return counted


def test_the_classes_agree_with_hand_labels(confusion: Counter[tuple[str, str]]) -> None:
    total = sum(confusion.values())
    right = sum(count for (label, said), count in confusion.items() if label == said)
    for label in SEVERITY:
        of_label = {said: count for (told, said), count in confusion.items() if told == label}
        print(f"{label:12} recall {of_label.get(label, 0)}/{sum(of_label.values())}  said {of_label}")
    assert right >= 0.95 * total, f"{right} of {total}"


def test_no_unsupported_line_is_missed(confusion: Counter[tuple[str, str]]) -> None:
    assert not [said for (label, said) in confusion if label == "unsupported" and said != "unsupported"]


def test_few_false_alarms(confusion: Counter[tuple[str, str]]) -> None:
    silent = sum(count for (label, _), count in confusion.items() if label == "no_action")
    wrong = sum(count for (label, said), count in confusion.items() if label == "no_action" != said)
    assert wrong <= 0.03 * silent


def _compare(labels: Path, file: Path) -> Counter[tuple[str, str]]:
    text, encoding, bom = decode(file.read_bytes())
    by_line: dict[int, str] = {}
    for finding in scan_source(parse(text, file.name, encoding=encoding, bom=bom), strict=True):
        said = SCORED_AS.get(class_of(finding), class_of(finding))
        line = finding.place.line if finding.place else 0
        by_line[line] = max(by_line.get(line, "no_action"), said, key=SEVERITY.index)
    counted: Counter[tuple[str, str]] = Counter()
    for entry in json.loads(labels.read_text(encoding="utf-8"))["lines"]:
        said = by_line.get(entry["line"], "no_action")
        if said != entry["label"]:
            print(f"{file.name}:{entry['line']} label {entry['label']}, said {said}")
        counted[entry["label"], said] += 1
    return counted
