"""Holds what the analysis says first of each profile against what an expert said before."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

from tools.profiles.catalogue import PublicProfile

#: One vocabulary for labels, the analysis and its judge.
WORDS = frozenset(
    re.findall(
        r"\w+",
        "loading preprocessing blocked_copy synchronisation tiny_kernels python lazy_loading start_up midflight "
        "profiler compiling garbage checkpoint logging contention rank_computing rank_host shapes_differ communication "
        "allocation fallback layout casting computing healthy untold",
    )
)
SECONDS = 600


@dataclass(frozen=True)
class Label:
    """What an expert says of a profile: the words accepted for its first and second cause, where, and the evidence."""

    first: frozenset[str]
    second: frozenset[str]
    where: str
    why: str


@dataclass(frozen=True)
class Said:
    """What the analysis says of a profile: its causes, the dearest first, and whether it is sure of the first."""

    causes: tuple[str, ...]
    sure: bool = True
    where: str = ""


@dataclass(frozen=True)
class Judged:
    """A profile with its label and what was said of it."""

    name: str
    label: Label
    said: Said

    @property
    def first(self) -> str:
        """Return the word that was said first."""
        return self.said.causes[0]

    @property
    def right(self) -> bool:
        """Return whether what was said first is accepted."""
        return self.first in self.label.first

    @property
    def untold(self) -> bool:
        """Return whether it says that it cannot tell, where an expert can."""
        return not self.right and (self.first == "untold" or not self.said.sure)

    @property
    def wrong(self) -> bool:
        """Return whether it says another cause, and is sure of it."""
        return not self.right and not self.untold

    @property
    def second_right(self) -> bool:
        """Return whether what is right is said first or second."""
        return bool(self.label.first.intersection(self.said.causes[:2]))


def read_labels(half: str, folder: Path = Path(__file__).parent) -> dict[str, Label]:
    """Return the labels of a half. Raises ValueError naming a word that is not in the vocabulary."""
    labels = {}
    for name, entry in json.loads((folder / f"labels_{half}.json").read_text(encoding="utf-8")).items():
        label = Label(frozenset(entry["first"]), frozenset(entry["second"]), entry["where"], entry["why"])
        strange = (label.first | label.second) - WORDS
        if strange or not label.first:
            raise ValueError(f"the label of {name} has {sorted(strange) or 'no first cause'}")
        labels[name] = label
    return labels


def find_causes(report: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return the causes that a report, or the first of its parts that looked for them, has; None where none looked."""
    facts = report.get("facts")
    if isinstance(facts, dict) and isinstance(facts.get("causes"), list):
        causes: list[dict[str, Any]] = facts["causes"]
        return causes
    of_parts = (find_causes(part) for part in report.get("parts", ()))
    return next((causes for causes in of_parts if causes is not None), None)


def read_said(report: Mapping[str, Any]) -> Said:
    """Return what a report says is the cause. A report without causes says that it cannot tell; one that looked and
    found none, that nothing is lost."""
    causes = find_causes(report)
    if causes is None:
        return Said(("untold",))
    if not causes:
        skipped = any(finding["rule"] == "PRF316" and finding["status"] == "Not looked" for finding in walk(report))
        return Said(("untold" if skipped else "healthy",))
    first = causes[0]
    return Said(tuple(cause["kind"] for cause in causes), first.get("confidence") != "unsure", first.get("where") or "")


def walk(report: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the findings of a report and of its parts."""
    yield from report.get("findings", ())
    for part in report.get("parts", ()):
        yield from walk(part)


def analyse_profile(path: Path) -> Said:
    """Return what `analyse` says of a profile, in a process of its own. What fails says that it cannot tell."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "report.json"
        command = [sys.executable, "-m", "ascend_workbook", "analyse", str(path), "--json", str(output)]
        try:
            subprocess.run(command, capture_output=True, timeout=SECONDS, check=False)
            return read_said(json.loads(output.read_text(encoding="utf-8")))
        except (OSError, ValueError, subprocess.TimeoutExpired):
            return Said(("untold",))


def judge_profiles(
    profiles: Iterable[PublicProfile],
    labels: Mapping[str, Label],
    folder: Path,
    analyse: Callable[[Path], Said] = analyse_profile,
) -> Iterator[Judged]:
    """Yield each profile with what is said of it. Raises OSError where one is not there."""
    for profile in profiles:
        path = profile.locate(folder)
        if not path.exists():
            raise OSError(f"{path} is not there: python -m tools.profiles fetch {folder} --half {profile.half}")
        yield Judged(profile.name, labels[profile.name], analyse(path))


def describe_case(case: Judged) -> str:
    """Return the line of a profile: right, or what is wrong with it, what was said and what is accepted."""
    verdict = "right" if case.right else "untold" if case.untold else "second" if case.second_right else "WRONG"
    causes = ", ".join(case.said.causes[:3]) + ("" if case.said.sure else " (unsure)")
    return f"{verdict:7} {case.name:32} {causes:44} {' or '.join(sorted(case.label.first))}"


def sum_up(cases: Sequence[Judged]) -> dict[str, float]:
    """Return the figures: shares in percent, counts of cases and of false alarms."""
    count = len(cases) or 1
    healthy = [case for case in cases if "healthy" in case.label.first]
    return {
        "cases": len(cases),
        "first right %": 100 * sum(case.right for case in cases) / count,
        "first or second right %": 100 * sum(case.second_right for case in cases) / count,
        "wrong with confidence %": 100 * sum(case.wrong for case in cases) / count,
        "untold %": 100 * sum(case.untold for case in cases) / count,
        "healthy": len(healthy),
        "false alarms": sum(case.wrong for case in healthy),
    }
