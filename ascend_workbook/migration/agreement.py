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

from ascend_workbook.migration.reading.source import read_source
from ascend_workbook.migration.repair import class_of
from ascend_workbook.migration.scan import scan_source
from ascend_workbook.migration.texts import read_text, scan_text
from ascend_workbook.migration.texts.lines import is_text

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
        """Return the share of labelled lines whose class agrees; 0 where there are none."""
        right = sum(count for (label, judged_class), count in self.counted.items() if label == judged_class)
        return right / max(sum(self.counted.values()), 1)

    @property
    def missed_unsupported(self) -> int:
        """Return how many unsupported lines the scan gave another class."""
        of_label = sum(count for (label, _), count in self.counted.items() if label == "unsupported")
        return of_label - self.counted["unsupported", "unsupported"]

    @property
    def false_alarms(self) -> float:
        """The share of no_action lines that were given a class of work."""
        silent = sum(count for (label, _), count in self.counted.items() if label == "no_action")
        return 1 - self.counted["no_action", "no_action"] / silent if silent else 0.0

    def __add__(self, other: Confusion) -> Confusion:
        return Confusion(self.counted + other.counted, self.wrong + other.wrong)

    def format_table(self) -> str:
        """Format the confusion as a table: rows are labels, columns what the scan said."""
        lines = [f"{'label':<12}" + "".join(f"{judged_class:>13}" for judged_class in LABELS)]
        for label in LABELS:
            lines.append(f"{label:<12}" + "".join(f"{self.counted[label, judged]:>13}" for judged in LABELS))
        return "\n".join(lines)


def compare_file(labels: Path, file: Path) -> Confusion:
    """Compare one label file with the scan of its source. Raises OSError where either is missing."""
    by_line: dict[int, str] = {}
    is_script = file.suffix == ".py" or not is_text(file.name)  # else a launch script, requirements or settings
    findings = scan_source(read_source(file), strict=True) if is_script else scan_text(read_text(file, file.name))
    for finding in findings:
        judged_class = SCORED_AS.get(class_of(finding), class_of(finding))
        line = finding.place.line if finding.place else 0
        by_line[line] = max(by_line.get(line, "no_action"), judged_class, key=LABELS.index)
    counted: Counter[tuple[str, str]] = Counter()
    wrong = []
    for entry in json.loads(labels.read_text(encoding="utf-8"))["lines"]:
        judged_class = by_line.get(entry["line"], "no_action")
        counted[entry["label"], judged_class] += 1
        if judged_class != entry["label"]:
            wrong.append(f"{file.name}:{entry['line']} label {entry['label']}, said {judged_class}")
    return Confusion(counted, tuple(wrong))


def compare_all(labels: Path, sources: Path) -> Confusion:
    """Compare every label file of a folder with the file of the same name, without `.json`, in the other."""
    total = Confusion(Counter())
    for file in sorted(labels.glob("*.json")):
        total = total + compare_file(file, sources / file.stem)
    return total
