"""The rules of the migration stage with their examples, each with how its text is read."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from types import ModuleType

from ascend_workbook.findings.finding import Finding
from ascend_workbook.findings.rules import Check
from ascend_workbook.migration.reading.source import Source, parse_text
from ascend_workbook.migration.registry import load_rules
from ascend_workbook.migration.release import aim_at, choose_release
from ascend_workbook.migration.repair import class_of
from ascend_workbook.migration.rules import release_names
from ascend_workbook.migration.texts import containers, requirements, settings, shell, text_source
from tools.examples import Case, Mark, read_examples

#: The rules of texts that are no Python, and what a file that they judge is called.
TEXTS: dict[ModuleType, str] = {
    shell: "run.sh",
    requirements: "requirements.txt",
    settings: "config.yaml",
    containers: "Dockerfile",
}
#: In the title of a case: code that an older Python cannot read, or gives no column for.
PYTHON_3_10 = "Python 3.10"


@dataclass(frozen=True)
class Subject:
    """A rule, and the name of a text that is no Python."""

    code: str
    check: Check
    file: str = ""

    def read(self, code: str) -> Source:
        return text_source(code, self.file) if self.file else parse_text(code)

    @property
    def written_in(self) -> str:
        """Return the file of the rule itself."""
        rule = release_names.check if self.check is check_for_old_release else self.check
        return rule.__code__.co_filename

    @property
    def cases(self) -> list[Case]:
        """Return the examples that this Python can read."""
        old = sys.version_info < (3, 10)
        return [case for case in read_examples(self.code) if not (old and PYTHON_3_10 in case.title)]

    @property
    def near_misses(self) -> list[Case]:
        return [case for case in self.cases if case.near_miss]


def check_for_old_release(source: Source) -> list[Finding]:
    """Return what the rule of releases says where an old one is asked for; it is silent without."""
    with aim_at(choose_release("2.1.0")):
        return list(release_names.check(source))


SUBJECTS = [
    Subject(rule.code, check_for_old_release if rule.code == release_names.CODE else rule.check)
    for rule in load_rules()
]
SUBJECTS += [Subject(rule.CODE, rule.check, name) for rule, name in TEXTS.items()]


def mark_findings(findings: Iterable[Finding]) -> list[Mark]:
    """Return the findings as marks, in order of place."""
    placed = [(finding, finding.place) for finding in findings if finding.place]
    return sorted(
        Mark(place.line, place.column, finding.key, class_of(finding) or finding.status.name.lower())
        for finding, place in placed
    )
