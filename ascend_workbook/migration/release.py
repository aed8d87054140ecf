"""The release of torch_npu that a migration is for, and what it has: data/releases.json, read from its wheel.

What is given holds; else what is installed here, else what `setup` recommends. A release whose wheel was not read is
judged by the nearest older one that was, and the report says by which.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Remarks, Status
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine.packages import installed_versions
from ascend_workbook.machine.versions import NotAVersion, base_version, parse_version, recommended_versions

DATA = Path(__file__).with_name("data") / "releases.json"
#: The rule, and the line of a report that names the release; how the release came about.
RULE, JUDGED_FOR = "MIG162", "MIG162.judged"
REMARKS = Remarks(answers=(JUDGED_FOR,))
GIVEN, INSTALLED, RECOMMENDED = "given", "installed", "recommended"
TYPES = {
    "torch.float8_e4m3fn": "FLOAT8_E4M3FN",
    "torch.float8_e5m2": "FLOAT8_E5M2",
    "torch.float8_e8m0fnu": "FLOAT8_E8M0",
}
#: Names of one class: whichever transfer_to_npu wraps.
AUTOCAST = ("torch.autocast", "torch.amp.autocast_mode.autocast")
#: Names that transfer_to_npu puts in the place of torch.cuda's, where torch.npu calls them otherwise.
RENAMED = ("CUDAGraph",)
SUBMODULES = ("memory", "random", "streams", "graphs")


@dataclass(frozen=True)
class Release:
    """`version` is the release as it was named, `why` how it came about, `read` the one whose wheel stands for it."""

    version: str
    why: str
    read: str

    def describe(self) -> Finding:
        """Return the line of a report that says for which release it was judged."""
        why = Sentence(f"release.why.{self.why}")
        read = "" if self.read == self.version else Sentence("release.nearest", read=self.read)
        args: dict[str, Scalar] = {"release": self.version, "why": why, "read": read, "date": load_releases()["date"]}
        return Finding(RULE, Status.NOTE, JUDGED_FOR, args)

    def to_facts(self) -> dict[str, str]:
        return asdict(self)


@cache
def load_releases() -> dict[str, Any]:
    """Load what the wheels have."""
    content: dict[str, Any] = json.loads(DATA.read_text(encoding="utf-8"))
    return content


@cache
def list_having(kind: str) -> dict[str, tuple[str, ...]]:
    """Return for each name of a kind the releases that have it, the oldest first."""
    lists: dict[str, list[str]] = load_releases()[kind]
    return {name: tuple(having.split()) for having, lines in lists.items() for line in lines for name in line.split()}


def choose_release(wanted: str | None = None, here: str = "") -> Release:
    """Choose the release to judge for; `here` is the one that runs are made on, where that is known.

    Raises WorkbookError for no version and one older than all that were read."""
    installed = here or installed_versions().get("torch_npu", "")
    version, why = (installed, INSTALLED) if wanted is None else (wanted, GIVEN)
    if wanted is None and not version:
        version, why = recommended_versions().torch_npu, RECOMMENDED
    known = sorted(load_releases()["wheels"], key=parse_version)
    try:
        own = parse_version(base_version(version))
    except NotAVersion as cause:
        raise WorkbookError("release.no_version", version=version, known=[*known]) from cause
    older = [name for name in known if parse_version(name) <= own]
    if not older:
        raise WorkbookError("release.too_old", version=version, known=[*known])
    return Release(version, why, older[-1])


_AIM: ContextVar[Release | None] = ContextVar("release", default=None)


@contextmanager
def aim_at(release: Release | None) -> Iterator[None]:
    """Let the rules judge for a release while this lasts."""
    token = _AIM.set(release)
    try:
        yield
    finally:
        _AIM.reset(token)


def current_release() -> Release | None:
    """Return the release that rules judge for; None where nobody asked for one: they speak of 2.13.0 then."""
    return _AIM.get()


def find_missing(kind: str, name: str) -> tuple[str, ...]:
    """Return the releases that have a name which the present one lacks; nothing where it has it, or no wheel does."""
    release = current_release()
    having = list_having(kind).get(name, ()) if release is not None else ()
    return () if release is None or release.read in having else having


def find_lacking(name: str) -> tuple[str, ...]:
    """Return the releases that have a name of a script which the present one lacks; nothing where it has it."""
    if current_release() is None:
        return ()
    if name in TYPES:
        return find_missing("types", TYPES[name])
    if name.startswith("torch_npu."):
        return find_missing("names", name)
    parts = name.split(".")
    if parts[:2] not in (["torch", "cuda"], ["torch", "npu"]) or len(parts) < 3:
        return ()
    last = parts[3] if parts[2] in SUBMODULES and len(parts) > 3 else parts[2]
    renamed = parts[1] == "cuda" and last in RENAMED
    return find_missing("mapped", name) if renamed else find_missing("cuda", last)


def drop_overruled(findings: list[Finding]) -> list[Finding]:
    """Drop what other rules say of a release that has everything, where the one asked for lacks what they speak of."""
    lacking = [finding for finding in findings if finding.rule == RULE]
    places = {finding.place for finding in lacking}
    lines = {finding.place.line for finding in lacking if finding.place and "autocast" in str(finding.args["name"])}

    def is_overruled(finding: Finding) -> bool:
        works = finding.key == "MIG108.works" and finding.place is not None and finding.place.line in lines
        return finding.rule != RULE and (finding.place in places or works)

    return [finding for finding in findings if not is_overruled(finding)] if lacking else findings


def find_unmapped(name: str) -> tuple[str, ...]:
    """Return the later releases whose transfer_to_npu maps the device of a function that the present one's leaves."""
    release = current_release()
    known = AUTOCAST if name in ("torch.autocast", "torch.amp.autocast") else (name,)
    lacking = [find_missing("mapped", wrapped) for wrapped in known]
    if release is None or not all(lacking):
        return ()
    return tuple(having for each in lacking for having in each if parse_version(having) > parse_version(release.read))
