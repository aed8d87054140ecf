"""Texts that are no Python, judged line by line: launch scripts, lists of requirements, settings, Dockerfiles."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from ascend_workbook.findings.finding import Finding
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import add_knowledge, shorten_line, sort_by_place
from ascend_workbook.migration.texts import containers, embedded, requirements, settings, shell

NOTHING = ast.Module([], [])
KNOWN = {rule.CODE: rule.KNOWN for rule in (shell, requirements, settings, containers)}


def text_source(text: str, path: str, encoding: str = "utf-8", bom: bytes = b"", file: Path | None = None) -> Source:
    """A text that is no Python, with its lines and offsets."""
    return Source(path, text, NOTHING, encoding, bom, file)


def is_text(name: str) -> bool:
    """A file that is judged line by line, by its name; one of settings only where it speaks (settings.speaks)."""
    return _rule_of_file(name) is not None


def only_settings(name: str) -> bool:
    return _rule_of_file(name) is settings


def kind_of(name: str) -> str:
    """Return what such a file is called where files are counted: requirements, launch, container or settings."""
    names = {requirements: "requirements", shell: "launch", containers: "container", settings: "settings"}
    return names[_rule_of_file(name) or requirements]


def refuse_broken(source: Source, after: str) -> None:
    """Refuse an edit that breaks the Python inside a launch script or a Dockerfile. Raises WorkbookError."""
    if _rule_of_file(Path(source.path).name) in (shell, containers):
        embedded.refuse_broken(source, after)


def scan_lines(source: Source) -> list[Finding]:
    """The findings of such a file, in order of place; of the Python in a launch script too."""
    rule = _rule_of_file(Path(source.path).name) or requirements
    line_findings = [*_judge_commands(source, rule)] if rule in (shell, containers) else [*rule.check(source)]
    line_findings += settings.report_unjudged_file(source, line_findings) if rule is settings else ()
    line_findings = [add_knowledge(finding, KNOWN[finding.rule]) for finding in line_findings]
    line_findings += embedded.check(source) if rule in (shell, containers) else ()
    return sort_by_place(line_findings)


def _rule_of_file(name: str) -> ModuleType | None:
    kinds = (
        (requirements.is_requirements, requirements),
        (shell.is_shell, shell),
        (containers.is_container, containers),
        (settings.is_settings, settings),
    )
    return next((rule for fits, rule in kinds if fits(name)), None)


def _judge_commands(source: Source, rule: ModuleType) -> Iterator[Finding]:
    """What the shell reads, each with its line as it stands in the file."""
    text = embedded.mask_programs(source)
    same = text == source.text
    for finding in rule.check(source if same else replace(source, text=text)):
        line = finding.place.line if finding.place else 0
        yield finding if same else replace(finding, args={**finding.args, "code": shorten_line(source.read_line(line))})
