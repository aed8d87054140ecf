"""What differs between two settings records: one Difference each, the riskiest first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ascend_workbook.machine.settings import risks
from ascend_workbook.machine.settings.record import READ, Settings

GROUPS = ("run", "weights", "batches", "flags", "environment", "packages", "machine")
#: Kinds of fingerprints that a capture's side holds.
KINDS = ("weights", "batches")
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
    across, skipped = left.tier != right.tier, unknown_groups(left, right)
    compared = {
        "run": _compare_runs(left, right),
        **{kind: _compare_fingerprints(left, right, kind) for kind in KINDS},
        "flags": _compare_flags(left, right),
        "environment": _compare_environments(left, right, across),
        "packages": _compare_packages(left, right, across),
    }
    differences = [each for group, differing in compared.items() if group not in skipped for each in differing]
    shown = [
        replace(
            each, name=escape_controls(each.name), left=escape_controls(each.left), right=escape_controls(each.right)
        )
        for each in [*differences, *_compare_machines(left, right, across)]
    ]
    return tuple(sorted(shown, key=lambda each: (risks.ORDER.index(each.risk), GROUPS.index(each.group), each.name)))


def unknown_groups(left: Settings, right: Settings) -> list[str]:
    """Return the groups that a side does not know: they are not compared, which is not the same as equal."""
    groups = [name for name in READ if name in left.untold or name in right.untold]
    if not (left.run and right.run):
        groups.append("run")
    groups += [kind for kind in KINDS if not are_comparable(left.sides, right.sides, kind)]
    return groups + (["machine"] if unknown_machine(left, right) else [])


def unknown_machine(left: Settings, right: Settings) -> list[str]:
    """Return what of the machines a side does not say, so is not compared; a GPU and an NPU differ anyway."""
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
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in value)


def _compare_runs(left: Settings, right: Settings) -> Iterator[Difference]:
    for name, (risk, why) in risks.RUN.items():
        values = [side.run.get(name) for side in (left, right)]
        if name == "seeds":  # `torch.manual_seed(1)`, each once, whichever accelerator's it was
            entries = [[entry for entry in value or () if isinstance(entry, dict)] for value in values]
            values = [
                sorted({f"{str(each.get('call', '?'))[:40]}({str(each.get('seed'))[:24]})" for each in side})
                for side in entries
            ]
        if values[0] != values[1] and (name != "seeds" or all(values)):
            yield Difference("run", name, _shorten_value(values[0]), _shorten_value(values[1]), risk, why)


def _compare_fingerprints(left: Settings, right: Settings, kind: str) -> Iterator[Difference]:
    places = []
    for rank in sorted(left.sides.keys() & right.sides.keys()):
        here, there = (side[rank].get(kind, {}) for side in (left.sides, right.sides))
        names = [*here, *(name for name in there if name not in here)]
        if kind == "batches":  # a step that one side did not take is another question: completeness asks it
            names = [name for name in here if name in there]
        places += [
            (rank, str(name)) for name in names if (name in here) != (name in there) or here[name] != there[name]
        ]
    if places:
        rank, name = places[0]
        prints = [_shorten_value(side.sides[rank].get(kind, {}).get(name)) for side in (left, right)]
        shown = f"{name} ({rank})" if len(left.sides.keys() & right.sides.keys()) > 1 else name
        yield Difference(kind, shown, prints[0], prints[1], risks.HIGH, kind, tuple(name for _, name in places))


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
    left_variables, right_variables = dict(left.environment), dict(right.environment)
    for variables in (left_variables, right_variables) if across else ():
        for name, answer in risks.ANSWERS.items():  # a GPU's by the name of the NPU's that answers it
            if name in variables:
                variables.setdefault(answer, variables.pop(name))
    for name in sorted(left_variables.keys() | right_variables.keys()):
        if left_variables.get(name) != right_variables.get(name):
            risk, why = risks.VARIABLES.get(risks.ANSWERS.get(name, name), (risks.LOW, "speed"))
            yield Difference("environment", name, left_variables.get(name), right_variables.get(name), risk, why)


def _compare_packages(left: Settings, right: Settings, across: bool) -> Iterator[Difference]:
    for name in sorted(left.packages.keys() | right.packages.keys()):
        here, there = left.packages.get(name, ""), right.packages.get(name, "")
        if here != there:
            risk, why = risks.package_risk(name, here, there, across)
            yield Difference("packages", name, here or None, there or None, risk, why)


def _compare_machines(left: Settings, right: Settings, across: bool) -> Iterator[Difference]:
    for name, (risk, why) in risks.MACHINE.items():
        here, there = left.machine.get(name), right.machine.get(name)
        if not (here and there) and not (across and left.tier and right.tier):
            continue  # unknown_machine tells it
        if across and name in risks.BY_TIER:
            risk, why = risks.EXPECTED, "device"
        if here != there:
            yield Difference("machine", name, here or None, there or None, risk, why)


def _shorten_value(value: Any) -> Any:
    text = " ".join(map(str, value)) if isinstance(value, list) else value
    return text[:120] if isinstance(text, str) else text


def are_comparable(left: Mapping[str, Any], right: Mapping[str, Any], kind: str) -> bool:
    """Return whether a rank has fingerprints of this kind on both sides; of batches, of the same step."""
    ranks = ((left[rank].get(kind, {}), right[rank].get(kind, {})) for rank in left.keys() & right.keys())
    return any(
        left_prints.keys() & right_prints.keys() if kind == "batches" else left_prints and right_prints
        for left_prints, right_prints in ranks
    )
