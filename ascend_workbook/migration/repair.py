"""What has to be done about a place, and the finding that says so, with how sure its rule is and what a repair costs.

`auto` is Good, `advice` a NOTE; `rewrite` (its edit is at hand), `manual` and `unsupported` are Look. No place is Fix
by itself: which class fails a repository is the user's to say (verdict.py). An unsupported place that no `if` or `try`
stands over is reached whenever its file is: its argument `stops` says so.

Each rule has a KNOWN beside its code; `add_knowledge` puts it into the arguments of the rule's findings. What a finding
brings itself (a library's own entry in a table) is kept.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from ascend_workbook.findings.finding import Edit, Finding, Place, Status
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.migration.reading.source import Source

AUTO, REWRITE, MANUAL, UNSUPPORTED, ADVICE = CLASSES = ("auto", "rewrite", "manual", "unsupported", "advice")
STATUS = {AUTO: Status.GOOD, ADVICE: Status.NOTE, REWRITE: Status.LOOK, MANUAL: Status.LOOK, UNSUPPORTED: Status.LOOK}
#: Classes from what weighs most.
GRAVEST = (UNSUPPORTED, MANUAL, REWRITE, ADVICE, AUTO)
CODE_WIDTH = 100
Findings = Iterable[Finding]

#: Run with torch_npu; read in its documentation or source; concluded from what this file shows.
MEASURED, DOCUMENTED, INFERRED = CONFIDENCE = ("measured", "documented", "inferred")
VERSIONS = "torch 2.13.0, torch_npu 2.13.0"
#: Ascend/pytorch at a fixed commit.
ASCEND = "https://github.com/Ascend/pytorch/blob/9e73e708ab9350d203475609f36f8a43f6a0c2ab/"
TRANSFER = ASCEND + "torch_npu/contrib/transfer_to_npu.py"
VARIABLES = ASCEND + "docs/zh/api/environment_variable/"
PROFILER = ASCEND + "docs/zh/developer_notes/ascend_pytorch_profiler_user_guide.md"
INSTALLING = ASCEND + "docs/zh/installation_guide/references/installation_via_pip.md"
IMAGES = ASCEND + "docs/zh/installation_guide/references/installation_via_docker.md"
NPU_SMI = "https://www.hiascend.com/document/detail/zh/HDK/latest/A2/A2npu/npusmi_0020.html"
#: In place of versions: what holds for any, and what each entry of a table says for itself.
ANY: Scalar = Sentence("migration.versions_of.any")
BY_ENTRY: Scalar = Sentence("migration.versions_of.entry")
TODAY: Scalar = Sentence("migration.versions_of.today")
NATIVE = ASCEND + "docs/zh/api/native_api/"
#: Person-hours for one place of a class, review and a run included; an estimate to be corrected by experience.
HOURS = {AUTO: 0.0, REWRITE: 0.1, ADVICE: 0.1, MANUAL: 1.0, UNSUPPORTED: 16.0}


@dataclass(frozen=True)
class Known:
    """A rule's own facts. `hours`, `links` and `inferred` name outcomes (`kernel` of `MIG105.kernel`) that differ.

    `link` is the page that says what the rule says; where there is none, the sentence that says so."""

    confidence: str
    link: Scalar
    versions: Scalar = VERSIONS
    hours: dict[str, float] = field(default_factory=dict)
    links: dict[str, Scalar] = field(default_factory=dict)
    inferred: tuple[str, ...] = ()


def add_knowledge(finding: Finding, known: Known) -> Finding:
    """Return the finding with `confidence`, `effort_h`, `versions` and `link` among its arguments."""
    repair = class_of(finding)
    if not repair:
        return finding
    outcome = finding.key.rpartition(".")[2]
    facts: dict[str, Scalar] = {
        "confidence": INFERRED if outcome in known.inferred else known.confidence,
        "effort_h": known.hours.get(outcome, HOURS[repair]) if repair != AUTO else 0.0,
        "versions": known.versions,
        "link": known.links.get(outcome, known.link),
    }
    return replace(finding, args={**facts, **finding.args})


def finding_at(
    source: Source, node: ast.AST, key: str, repair: str, edits: tuple[Edit, ...] = (), **args: Any
) -> Finding:
    """Make a finding at a node. `key` is `<RULE>.<outcome>`; a rewrite without edits becomes manual."""
    if repair == UNSUPPORTED and not is_conditional(source, node):
        args["stops"] = True
    return _make_finding(source, source.place_of(node), key, repair, edits, args)


def found_method(source: Source, call: ast.Call, key: str, repair: str, edits: tuple[Edit, ...] = ()) -> Finding:
    """A finding at a method's name: `.cuda` of a call that goes over several lines is not where the call begins."""
    assert isinstance(call.func, ast.Attribute)
    if call.func.end_lineno == call.func.lineno:
        return finding_at(source, call.func, key, repair, edits)
    _, end = source.span_of(call.func)
    return found_at(source, end - len(call.func.attr), key, repair, edits)


def found_at(source: Source, offset: int, key: str, repair: str, edits: tuple[Edit, ...] = (), **args: Any) -> Finding:
    """A finding at an offset of a text that has no tree: a launch script, a list of requirements."""
    return _make_finding(source, source.place_at(offset), key, repair, edits, args)


def _make_finding(
    source: Source, place: Place, key: str, repair: str, edits: tuple[Edit, ...], args: dict[str, Any]
) -> Finding:
    repair = MANUAL if repair == REWRITE and not edits else repair
    args = {"class": repair, "code": shorten_line(source.read_line(place.line)), **args}
    return Finding(key.split(".")[0], STATUS[repair], key, args, place, edits=edits)


def shorten_line(line: str) -> str:
    """Shorten a line of code as a finding shows it."""
    code = line.strip()
    return code if len(code) <= CODE_WIDTH else code[: CODE_WIDTH - 1] + "…"


def is_conditional(source: Source, node: ast.AST) -> bool:
    """Under an `if`, in a `try` or its `except`, or in one arm of a conditional expression."""
    child = node
    for around in source.names.nodes_above(node):
        if isinstance(around, (ast.If, ast.IfExp)):
            left = around.test.left if isinstance(around.test, ast.Compare) else None
            guard = isinstance(around, ast.If) and getattr(left, "id", "") == "__name__"
            inside = child is not around.test and not guard
        else:
            inside = isinstance(around, ast.Try) and bool(around.handlers) and child in around.body
        if inside or isinstance(around, ast.ExceptHandler):
            return True
        child = around
    return False


def class_of(finding: Finding) -> str:
    """The class of a finding, or an empty string for those without (unreadable files, the summary)."""
    return str(finding.args.get("class", ""))


def places_of(finding: Finding) -> int:
    """Return for how many places a finding stands; one with a place of its own stands for that."""
    return 1 if finding.place else int(str(finding.args.get("count", 1)))


def sort_by_place(findings: Findings) -> list[Finding]:
    """Sort findings as the file goes on; those without a place stand first."""
    return sorted(findings, key=lambda f: (f.place.line, f.place.column, f.rule) if f.place else (0, 0, f.rule))


def counts_of(findings: Iterable[Finding]) -> Counter[str]:
    """How many places of each class the findings stand for."""
    counts: Counter[str] = Counter()
    for finding in findings:
        counts[class_of(finding)] += places_of(finding)
    return counts
