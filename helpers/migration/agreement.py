"""The scan against hand labels of a file, line by line: the confusion table that benchmarks and tests judge.

A label file is JSON: `lines`, each with `line` and `label` (auto, rewrite, unsupported, no_action). Lines
without a label are not scored. Advice counts as no_action, manual as rewrite; of several findings on a line
the gravest counts.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from helpers.finding import Finding
from helpers.migration.reading.source import read
from helpers.migration.repair import class_of
from helpers.migration.scan import scan_source
from helpers.migration.texts import read_text, scan_text
from helpers.migration.texts.lines import is_text

#: From harmless to grave.
LABELS = ("no_action", "auto", "rewrite", "unsupported")
SCORED_AS = {"advice": "no_action", "": "no_action", "manual": "rewrite"}


@dataclass(frozen=True)
class Confusion:
    """How often a line with a label was given which class; `wrong` are the disagreements, in words."""

    counted: Counter[tuple[str, str]]
    wrong: tuple[str, ...] = ()

    @property
    def agreement(self) -> float:
        """The share of labelled lines whose class agrees; 0 where there are none."""
        right = sum(count for (label, said), count in self.counted.items() if label == said)
        return right / max(sum(self.counted.values()), 1)

    @property
    def missed_unsupported(self) -> int:
        return sum(
            count for (label, said), count in self.counted.items() if label == "unsupported" and said != "unsupported"
        )

    @property
    def false_alarms(self) -> float:
        """The share of no_action lines that were given a class of work."""
        silent = sum(count for (label, _), count in self.counted.items() if label == "no_action")
        return 1 - self.counted["no_action", "no_action"] / silent if silent else 0.0

    def __add__(self, other: Confusion) -> Confusion:
        return Confusion(self.counted + other.counted, self.wrong + other.wrong)

    def table(self) -> str:
        """Rows are labels, columns what the scan said."""
        lines = [f"{'label':<12}" + "".join(f"{said:>13}" for said in LABELS)]
        for label in LABELS:
            lines.append(f"{label:<12}" + "".join(f"{self.counted[label, said]:>13}" for said in LABELS))
        return "\n".join(lines)


def compare(labels: Path, file: Path) -> Confusion:
    """One label file against the scan of its source. Raises OSError where either is missing."""
    by_line: dict[int, str] = {}
    for finding in _findings(file):
        said = SCORED_AS.get(class_of(finding), class_of(finding))
        line = finding.place.line if finding.place else 0
        by_line[line] = max(by_line.get(line, "no_action"), said, key=LABELS.index)
    counted: Counter[tuple[str, str]] = Counter()
    wrong = []
    for entry in json.loads(labels.read_text(encoding="utf-8"))["lines"]:
        said = by_line.get(entry["line"], "no_action")
        counted[entry["label"], said] += 1
        if said != entry["label"]:
            wrong.append(f"{file.name}:{entry['line']} label {entry['label']}, said {said}")
    return Confusion(counted, tuple(wrong))


def _findings(file: Path) -> list[Finding]:
    """Of a script, or of a launch script, a list of requirements or settings."""
    if is_text(file.name) and file.suffix != ".py":
        return scan_text(read_text(file, file.name))
    return scan_source(read(file), strict=True)


def compare_all(labels: Path, sources: Path) -> Confusion:
    """Every label file of a folder against the file of the same name, without `.json`, in the other."""
    total = Confusion(Counter())
    for file in sorted(labels.glob("*.json")):
        total = total + compare(file, sources / file.stem)
    return total
