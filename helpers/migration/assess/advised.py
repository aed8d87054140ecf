"""Which versions to migrate to: the set that the vendor recommends, and what belongs to the torch that is pinned.

From the lists that `check` judges a machine by (helpers/compatibility.json), so that the two never disagree.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from helpers import versions
from helpers.finding import Finding, Status
from helpers.migration.files import Tree
from helpers.migration.knowledge import VERSIONS
from helpers.migration.reading.undecoded import Unreadable
from helpers.migration.texts import read_text
from helpers.migration.texts.pins import Pin, pins
from helpers.report import Column, Report, Table
from helpers.versions import Together
from helpers.words import Scalar

RULE = "MIG161"
SUPPORTED = ("development", "maintenance")
#: How a pin and a line of torch_npu stand: a supported line fits, one without support does, one fits that no CANN is
#: paired with yet, or none was published.
FITS, OLD, EARLY, NONE = "fits", "old", "early", "none"


def pinned(where: Tree) -> list[Pin]:
    """Every torch that the repository asks for by version; each way to write it once, where it stands first."""
    found: dict[str, Pin] = {}
    for file in where.texts:
        try:
            source = read_text(file, where.name(file))
        except (Unreadable, OSError):
            continue  # the scan has said so
        for pin in pins(source):
            found.setdefault(pin.text, pin)
    return list(found.values())


def advised(pin: Pin) -> tuple[str, Together]:
    """What to take for a pin: the newest supported line that it admits, else the newest it admits, else the first
    published ahead of its CANN, else the next."""
    lines = versions.newest_of_each_line()
    fitting = [line for line in lines if pin.admits(line.torch)]
    supported = [line for line in fitting if line.state in SUPPORTED]
    if fitting:
        return (FITS, supported[-1]) if supported else (OLD, fitting[-1])
    early = [line for line in versions.unpaired() if pin.admits(line.torch)]
    if early:
        return EARLY, early[0]
    wanted = versions.parse(pin.wanted)[0]
    same = [line for line in lines if versions.parse(line.torch)[0][:2] == wanted[:2]]
    later = [line for line in lines if versions.parse(line.torch)[0] > wanted and line.state in SUPPORTED]
    return NONE, next(iter(same or later), versions.recommended())


def report(asked: Iterable[Pin]) -> Report:
    """A row for the recommended versions and one for each pin."""
    outcomes = {pin: advised(pin) for pin in asked}
    tried: Scalar = {"say": "migration.versions.recommended", "args": {"tried": VERSIONS}}
    rows = [_row({"say": "migration.versions.new"}, "", versions.recommended(), tried)]
    groups: dict[tuple[str, Together], list[Pin]] = {}
    for pin, chosen in outcomes.items():
        groups.setdefault(chosen, []).append(pin)
    for (outcome, line), together in groups.items():
        advice: Scalar = {"say": f"migration.versions.{outcome}"}
        rows.append(_row([pin.text for pin in together], str(together[0].place), line, advice))
    columns = (
        Column("versions_for", wrap=40), Column("risk_first", wrap=40),
        *(Column(f"versions_{name}") for name in ("torch", "torch_npu", "cann", "driver", "python")),
        Column("versions_state", wrap=44), Column("versions_advice", wrap=50), Column("link", detail=True),
    )  # fmt: skip
    finding = _finding(outcomes)
    return Report("migration", "assess_versions", (finding,), Table(columns, tuple(rows)), facts=facts(outcomes))


def facts(outcomes: dict[Pin, tuple[str, Together]]) -> dict[str, Any]:
    best = versions.recommended()
    asked = [
        {"pin": pin.text, "place": str(pin.place), "outcome": outcome, **_as_fact(line)}
        for pin, (outcome, line) in outcomes.items()
    ]
    sources = versions.compatibility()["sources"]
    return {"recommended": _as_fact(best), "pinned": asked, "sources": [sources["pairs"], sources["support"]]}


def said(line: Together) -> Scalar:
    """All versions of a set in one sentence."""
    args: dict[str, Scalar] = {
        "torch": line.torch, "torch_npu": line.torch_npu, "cann": line.cann, "driver": line.driver or None,
        "python": _python(line) or None,
    }  # fmt: skip
    return {"say": "migration.versions.set", "args": args}


def _row(written: Scalar, place: str, line: Together, advice: Scalar) -> tuple[Scalar, ...]:
    state: Scalar = {"say": f"migration.line.{line.state or 'not_listed'}", "args": {"until": line.until}}
    link = versions.compatibility()["sources"]["support"]
    known = (line.driver or None, _python(line) or None)
    return written, place or None, line.torch, line.torch_npu, line.cann or None, *known, state, advice, link


def _python(line: Together) -> str:
    return f"{line.python[0]} – {line.python[-1]}" if line.python else ""


def _finding(outcomes: dict[Pin, tuple[str, Together]]) -> Finding:
    best = said(versions.recommended())
    bad = [pin.text for pin, (outcome, _) in outcomes.items() if outcome != FITS]
    if bad:
        return Finding(RULE, Status.WARN, "MIG161.pinned", {"pins": list(bad)})
    return Finding(RULE, Status.NOTE, "MIG161.recommended", {"versions": best})


def _as_fact(line: Together) -> dict[str, Any]:
    return {
        "torch": line.torch, "torch_npu": line.torch_npu, "cann": line.cann, "driver": line.driver,
        "python": list(line.python), "state": line.state, "until": line.until,
    }  # fmt: skip
