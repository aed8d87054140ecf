"""What differs between two settings records: one Difference each, the riskiest first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ascend_workbook.machine.settings import fingerprints, risks
from ascend_workbook.machine.settings.record import READ, Settings

GROUPS = ("run", "weights", "batches", "flags", "environment", "packages", "machine")
#: What a machine of this tier must say of itself, for its kernels to be held against another's.
VERSIONS = {"npu": ("cann",), "npu-simulated": ("cann",), "cuda": ("cuda",)}
#: How many devices a machine has changes no number; how many a run takes is its nproc.
COUNTED = "count"


@dataclass(frozen=True)
class Difference:
    """`name` of `group` is `left` here and `right` there (None: not set). `why` ends the sentences settings.why.… and
    settings.do.…; `names` are the weights or steps whose fingerprints differ."""

    group: str
    name: str
    left: Any
    right: Any
    risk: str
    why: str
    names: tuple[str, ...] = ()


def find_differences(left: Settings, right: Settings) -> tuple[Difference, ...]:
    """Return every difference in what both sides know; what one side does not know is `unknown_groups`' business."""
    across = left.tier != right.tier
    skipped = unknown_groups(left, right)
    differences = [
        *_compare_runs(left, right, skipped),
        *_compare_fingerprints(left, right, skipped),
        *([] if "flags" in skipped else _compare_flags(left, right)),
        *([] if "environment" in skipped else _compare_environments(left, right, across)),
        *([] if "packages" in skipped else _compare_packages(left, right, across)),
        *_compare_machines(left, right, across),
    ]
    differences = [
        replace(
            difference,
            name=escape_controls(difference.name),
            left=escape_controls(difference.left),
            right=escape_controls(difference.right),
        )
        for difference in differences
    ]
    return tuple(
        sorted(
            differences,
            key=lambda difference: (
                risks.ORDER.index(difference.risk),
                GROUPS.index(difference.group),
                difference.name,
            ),
        )
    )


def unknown_groups(left: Settings, right: Settings) -> list[str]:
    """Return the groups that a side does not know: they are not compared, which is not the same as equal."""
    groups = [name for name in READ if name in left.untold or name in right.untold]
    if not (left.run and right.run):
        groups.append("run")
    groups += [kind for kind in fingerprints.KINDS if not fingerprints.are_comparable(left.sides, right.sides, kind)]
    return groups + (["machine"] if unknown_machine(left, right) else [])


def unknown_machine(left: Settings, right: Settings) -> list[str]:
    """Return what of the machines is not compared, by name, as a side does not say it. A GPU and an NPU differ in it
    anyway. A GPU and an NPU differ in it anyway.
    """
    if not (left.tier and right.tier):
        return ["tier"]
    if left.tier != right.tier:
        return []
    needed = VERSIONS.get(left.tier, ())
    left_facts, right_facts = ({name for name, value in side.machine.items() if value} for side in (left, right))
    missing = {name for name in needed if name not in left_facts or name not in right_facts}
    return [
        name
        for name in risks.MACHINE
        if name != COUNTED and (name in missing or (name in left_facts) != (name in right_facts))
    ]


def escape_controls(value: Any) -> Any:
    """Return a text with its control characters written out: a record may come from anywhere."""
    if not isinstance(value, str) or value.isprintable():
        return value
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in value
    )


def _compare_runs(left: Settings, right: Settings, skipped: list[str]) -> Iterator[Difference]:
    if "run" in skipped:
        return
    for name, (risk, why) in risks.RUN.items():
        left_value, right_value = (
            _list_seedings(side.run) if name == "seeds" else side.run.get(name) for side in (left, right)
        )
        if left_value != right_value and (name != "seeds" or (left_value and right_value)):
            yield Difference("run", name, _shorten_value(left_value), _shorten_value(right_value), risk, why)


def _list_seedings(run: Mapping[str, Any]) -> list[str]:
    """Return what the script itself seeded: `torch.manual_seed(1)`, each once, whichever accelerator's function it
    was.
    """
    entries = [entry for entry in run.get("seeds", []) if isinstance(entry, dict)]
    return sorted({f"{str(entry.get('call', '?'))[:40]}({str(entry.get('seed'))[:24]})" for entry in entries})


def _compare_fingerprints(left: Settings, right: Settings, skipped: list[str]) -> Iterator[Difference]:
    for kind in fingerprints.KINDS:
        places = [] if kind in skipped else fingerprints.differing_places(left.sides, right.sides, kind)
        if places:
            rank, name = places[0]
            left_print, right_print = (
                _shorten_value(side.sides[rank].get(kind, {}).get(name)) for side in (left, right)
            )
            shown = f"{name} ({rank})" if len(left.sides.keys() & right.sides.keys()) > 1 else name
            yield Difference(kind, shown, left_print, right_print, risks.HIGH, kind, tuple(name for _, name in places))


def _compare_flags(left: Settings, right: Settings) -> Iterator[Difference]:
    for name in sorted(left.flags.keys() | right.flags.keys()):
        left_flag, right_flag = left.flags.get(name), right.flags.get(name)
        if left_flag is None or right_flag is None:  # not read, on both sides too: that is not the same as equal
            yield Difference("flags", name, left_flag, right_flag, risks.LOW, "unread")
            continue
        if left_flag == right_flag:
            continue
        risk, why = risks.FLAGS.get(name, (risks.LOW, "other"))
        if name.endswith("_format"):
            left_flag, right_flag = left_flag or "float32", right_flag or "float32"
        if {left_flag, right_flag} == {"hf32", "tf32"}:  # both round the inputs to about 10 bits
            risk, why = risks.LOW, "formats"
        yield Difference("flags", name, left_flag, right_flag, risk, why)


def _compare_environments(left: Settings, right: Settings, across: bool) -> Iterator[Difference]:
    left_variables, right_variables = (_rename_answered(side.environment, across) for side in (left, right))
    for name in sorted(left_variables.keys() | right_variables.keys()):
        if left_variables.get(name) != right_variables.get(name):
            risk, why = risks.VARIABLES.get(risks.ANSWERS.get(name, name), (risks.LOW, "speed"))
            yield Difference("environment", name, left_variables.get(name), right_variables.get(name), risk, why)


def _rename_answered(environment: Mapping[str, str], across: bool) -> dict[str, str]:
    """Return the variables; across tiers a GPU's goes by the name of the NPU's that answers it, where that one is not
    set.
    """
    if not across:
        return dict(environment)
    renamed = {answer: environment[name] for name, answer in risks.ANSWERS.items() if name in environment}
    return {**renamed, **{name: value for name, value in environment.items() if name not in risks.ANSWERS}}


def _compare_packages(left: Settings, right: Settings, across: bool) -> Iterator[Difference]:
    for name in sorted(left.packages.keys() | right.packages.keys()):
        left_version, right_version = left.packages.get(name, ""), right.packages.get(name, "")
        if left_version != right_version:
            yield Difference(
                "packages",
                name,
                left_version or None,
                right_version or None,
                *risks.package_risk(name, left_version, right_version, across),
            )


def _compare_machines(left: Settings, right: Settings, across: bool) -> Iterator[Difference]:
    for name, (risk, why) in risks.MACHINE.items():
        left_fact, right_fact = left.machine.get(name), right.machine.get(name)
        if not (left_fact and right_fact) and (not across or not (left.tier and right.tier)):
            continue  # unknown_machine tells it
        if left_fact != right_fact:
            expected = across and name in risks.BY_TIER
            yield Difference(
                "machine",
                name,
                left_fact or None,
                right_fact or None,
                risks.EXPECTED if expected else risk,
                "device" if expected else why,
            )


def _shorten_value(value: Any) -> Any:
    text = " ".join(map(str, value)) if isinstance(value, list) else value
    return text[:120] if isinstance(text, str) else text
