"""Which enclosure a script gets on a device, and what is to be said of it afterwards."""

from __future__ import annotations

import math
import os
import sys
import tempfile
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine import bounded
from ascend_workbook.machine.device import PROBE, Device, child_environment
from ascend_workbook.machine.launch.child import reading
from ascend_workbook.machine.sandbox import (
    GUARD_VARIABLE,
    GUARDS,
    LANDLOCK,
    NAMESPACES,
    NONE,
    Account,
    Change,
    Enclosure,
    enclose,
    find_guard,
    why_weaker,
)

#: How long an enclosed look at a real accelerator may take, in seconds.
TRIAL_S = 120.0
#: Places that every program fills for itself: not worth a word.
OWN_PLACES = ("/.cache/", "/.config/matplotlib/", "/.triton/", "/.nv/", "/__pycache__/", "/.local/state/")
SHOWN = 6


def choose_enclosure(where: Device, *, network: bool = False, python: str = sys.executable) -> Enclosure:
    """Choose the strongest guard under which the device is still seen: a real accelerator is looked for in it first.

    Where a stage's processes note what they read, so that it is not run again for nothing, the script's do too."""
    guard = find_guard()
    if where.accelerator != "cpu" and not where.simulated:
        guard = _find_guard_with_device(where.tier, python)
    notes = Path(os.environ.get(reading.FOLDER, ""))
    writable = (notes.resolve(),) if notes.name and notes.is_dir() else ()
    return Enclosure(writable, guard=guard, network=network, seconds=math.inf)


@cache
def _find_guard_with_device(tier: str, python: str) -> str:
    for guard in GUARDS[GUARDS.index(find_guard()) : -1]:
        with tempfile.TemporaryDirectory(prefix="guard_") as name:
            results = Path(name).resolve() / "results"
            results.mkdir()
            with enclose([python, str(PROBE), tier], Enclosure((results,), guard=guard), results) as enclosed:
                done = bounded.run_bounded(enclosed.command, env=child_environment(tier), timeout_s=TRIAL_S)
        if done.code == 0 and '"count"' in done.stdout:
            return guard
    return NONE


def describe_guard(guard: str, *, network: bool, copied: bool = True) -> Sentence:
    """Say what protected the machine while other people's code ran, in a copy of its folder or where it lies."""
    if guard == NONE and not copied:
        return Sentence("sandbox.ran_in_place")
    return Sentence(f"sandbox.ran_{guard}", network=Sentence(f"sandbox.network_{'on' if network else 'off'}"))


def announce_guard(guard: str, *, copied: bool = False) -> Sentence | None:
    """Say, before a script runs in a copy of its folder or where it lies, what guard remains where name spaces are not
    the guard, and why they are not; None where they are."""
    if guard == NAMESPACES:
        return None
    if guard == NONE and not copied:
        return Sentence("sandbox.before_in_place")
    unseen = find_guard() == NAMESPACES
    return Sentence(f"sandbox.before_{guard}", why=Sentence("sandbox.device_unseen") if unseen else why_weaker())


def report_accounts(
    accounts: Sequence[Account], codes: Sequence[str], *, network: bool, errors: Sequence[str] = (), copied: bool = True
) -> list[Finding]:
    """Report how the machine was protected, and what scripts tried outside their results.

    codes: those of the guard and of what was tried; `errors` are what the scripts ended with.
    """
    if not accounts:
        return []
    weakest = max((account.guard for account in accounts), key=GUARDS.index)
    guard = describe_guard(weakest, network=network, copied=copied)
    status = Status.NOTE if weakest == NONE else Status.GOOD
    findings = [Finding(codes[0], status, f"{codes[0]}.guard", {"guard": guard})]

    def add(key: str, status: Status, **args: Scalar) -> None:
        findings.append(Finding(codes[1], status, f"{codes[1]}.{key}", args))

    attempts = list_attempts(accounts)
    if attempts:
        grave = any(attempt.kind != "made" for attempt in attempts)
        unlisted = sum(account.changed_places - len(account.changes) for account in accounts)
        add("tried", Status.LOOK if grave else Status.NOTE, tried=describe_attempts(attempts, unlisted))
    read_only: list[Scalar] = list(dict.fromkeys(place for account in accounts for place in account.read_only))
    if read_only:
        add("read_only", Status.NOTE, count=len(read_only), places=read_only[:SHOWN])
    refused = [error for error in errors if "Permission denied" in error]
    if refused and weakest == LANDLOCK:
        add("refused", Status.LOOK, error=refused[0], variable=GUARD_VARIABLE)
    sends = sum(account.refused_sends for account in accounts)
    if sends:
        add("network", Status.LOOK if errors else Status.NOTE, count=sends)
    return findings


def list_attempts(accounts: Iterable[Account]) -> list[Change]:
    """List what scripts tried to change outside their results, once each; folders of caches and logs left out."""
    own = (tempfile.gettempdir().rstrip("/") + "/", "/tmp/", "/var/tmp/")
    changes = {(change.kind, change.path): change for account in accounts for change in account.changes}
    return [
        change
        for change in changes.values()
        if change.kind != "made" or not (change.path.startswith(own) or any(part in change.path for part in OWN_PLACES))
    ]


def describe_attempts(attempts: Sequence[Change], unlisted: int = 0) -> Sentence:
    """Say what was tried, the first few by name, worst first; `unlisted` more are counted."""
    order = ("set-user-id", "deleted", "replaced", "changed", "made")
    ranked = sorted(attempts, key=lambda change: (order.index(change.kind), change.path))
    places: list[Scalar] = []
    for change in ranked[:SHOWN]:  # a script chooses the names of its files
        shown = "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in change.path)
        places.append(f"{shown} ({change.kind})")
    if len(attempts) + unlisted > SHOWN:
        places.append("…")
    return Sentence("sandbox.tried", count=len(attempts) + unlisted, places=places)
