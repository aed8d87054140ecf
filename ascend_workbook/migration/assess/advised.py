"""Which versions to migrate to: the set that the vendor recommends, and what belongs to the torch that is pinned.

From the lists that `check` judges a machine by (ascend_workbook/machine/compatibility.json), so that the two never
disagree.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine import versions
from ascend_workbook.machine.versions import Together
from ascend_workbook.migration.files import Tree
from ascend_workbook.migration.knowledge import VERSIONS
from ascend_workbook.migration.reading.undecoded import Unreadable
from ascend_workbook.migration.texts import read_text
from ascend_workbook.migration.texts.pins import Pin, find_pins

RULE = "MIG161"
SUPPORTED = ("development", "maintenance")
#: How a pin and a line of torch_npu stand: a supported line fits, one without support does, one fits that no CANN is
#: paired with yet, or none was published.
FITS, OLD, EARLY, NONE = "fits", "old", "early", "none"


def collect_pins(where: Tree) -> list[Pin]:
    """Collect every torch that the repository asks for by version; each way to write it once, where it stands first."""
    pins_by_text: dict[str, Pin] = {}
    for file in where.texts:
        try:
            source = read_text(file, where.name_of(file))
        except (Unreadable, OSError):
            continue  # the scan has said so
        for pin in find_pins(source):
            pins_by_text.setdefault(pin.text, pin)
    return list(pins_by_text.values())


def advise_versions(pin: Pin) -> tuple[str, Together]:
    """Choose what to take for a pin: the newest supported line that it admits, else the newest it admits, else the
    first published ahead of its CANN, else the next."""
    lines = versions.newest_of_each_line()
    fitting = [line for line in lines if pin.admits_version(line.torch)]
    supported = [line for line in fitting if line.state in SUPPORTED]
    if fitting:
        return (FITS, supported[-1]) if supported else (OLD, fitting[-1])
    early = [line for line in versions.unpaired_versions() if pin.admits_version(line.torch)]
    if early:
        return EARLY, early[0]
    wanted = versions.parse_version(pin.wanted_version)[0]
    same = [line for line in lines if versions.parse_version(line.torch)[0][:2] == wanted[:2]]
    later = [line for line in lines if versions.parse_version(line.torch)[0] > wanted and line.state in SUPPORTED]
    return NONE, next(iter(same or later), versions.recommended_versions())


def report_versions(pins: Iterable[Pin]) -> Report:
    """Report a row for the recommended versions and one for each pin."""
    outcomes = {pin: advise_versions(pin) for pin in pins}
    tried: Scalar = Sentence("migration.versions.recommended", tried=VERSIONS)
    rows = [_make_version_row(Sentence("migration.versions.new"), "", versions.recommended_versions(), tried)]
    groups: dict[tuple[str, Together], list[Pin]] = {}
    for pin, chosen in outcomes.items():
        groups.setdefault(chosen, []).append(pin)
    for (outcome, line), together in groups.items():
        advice: Scalar = Sentence(f"migration.versions.{outcome}")
        rows.append(_make_version_row([pin.text for pin in together], str(together[0].place), line, advice))
    columns = (
        Column("versions_for", wrap=40),
        Column("risk_first", wrap=40),
        *(Column(f"versions_{name}") for name in ("torch", "torch_npu", "cann", "driver", "python")),
        Column("versions_state", wrap=44),
        Column("versions_advice", wrap=50),
        Column("link", detail=True),
    )
    finding = _make_versions_finding(outcomes)
    facts = collect_version_facts(outcomes)
    return Report("migration", "assess_versions", (finding,), Table(columns, tuple(rows)), facts=facts)


def collect_version_facts(outcomes: dict[Pin, tuple[str, Together]]) -> dict[str, object]:
    best = versions.recommended_versions()
    pin_facts = [
        {"pin": pin.text, "place": str(pin.place), "outcome": outcome, **_as_fact(line)}
        for pin, (outcome, line) in outcomes.items()
    ]
    sources = versions.load_compatibility()["sources"]
    return {"recommended": _as_fact(best), "pinned": pin_facts, "sources": [sources["pairs"], sources["support"]]}


def describe_versions(line: Together) -> Scalar:
    """Describe all versions of a set in one sentence."""
    args: dict[str, Scalar] = {
        "torch": line.torch,
        "torch_npu": line.torch_npu,
        "cann": line.cann,
        "driver": line.driver or None,
        "python": _format_python_range(line) or None,
    }
    return Sentence("migration.versions.set", **args)


def _make_version_row(pin_text: Scalar, place: str, line: Together, advice: Scalar) -> tuple[Scalar, ...]:
    state: Scalar = Sentence(f"migration.line.{line.state or 'not_listed'}", until=line.until)
    link = versions.load_compatibility()["sources"]["support"]
    known = (line.driver or None, _format_python_range(line) or None)
    return pin_text, place or None, line.torch, line.torch_npu, line.cann or None, *known, state, advice, link


def _format_python_range(line: Together) -> str:
    return f"{line.python[0]} – {line.python[-1]}" if line.python else ""


def _make_versions_finding(outcomes: dict[Pin, tuple[str, Together]]) -> Finding:
    best = describe_versions(versions.recommended_versions())
    bad = [pin.text for pin, (outcome, _) in outcomes.items() if outcome != FITS]
    if bad:
        return Finding(RULE, Status.WARN, "MIG161.pinned", {"pins": list(bad)})
    return Finding(RULE, Status.NOTE, "MIG161.recommended", {"versions": best})


def _as_fact(line: Together) -> dict[str, object]:
    return {**asdict(line), "python": list(line.python)}
