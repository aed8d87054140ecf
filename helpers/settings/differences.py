"""What differs between two settings records: one Difference each, the riskiest first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from helpers.settings import fingerprints, risks
from helpers.settings.record import READ, Settings

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


def compare(left: Settings, right: Settings) -> tuple[Difference, ...]:
    """Every difference in what both sides know; what one side does not know is `unknown`'s business."""
    across = left.tier != right.tier
    skipped = unknown(left, right)
    found = [
        *_run(left, right, skipped),
        *_prints(left, right, skipped),
        *([] if "flags" in skipped else _flags(left, right)),
        *([] if "environment" in skipped else _environment(left, right, across)),
        *([] if "packages" in skipped else _packages(left, right, across)),
        *_machine(left, right, across),
    ]
    found = [replace(one, name=escaped(one.name), left=escaped(one.left), right=escaped(one.right)) for one in found]
    return tuple(sorted(found, key=lambda one: (risks.ORDER.index(one.risk), GROUPS.index(one.group), one.name)))


def unknown(left: Settings, right: Settings) -> list[str]:
    """Groups that a side does not know: they are not compared, which is not the same as equal."""
    found = [name for name in READ if name in left.untold or name in right.untold]
    if not (left.run and right.run):
        found.append("run")
    found += [kind for kind in fingerprints.KINDS if not fingerprints.comparable(left.sides, right.sides, kind)]
    return found + (["machine"] if unknown_machine(left, right) else [])


def unknown_machine(left: Settings, right: Settings) -> list[str]:
    """What of the machines is not compared, by name: a side does not say it. A GPU and an NPU differ in it anyway."""
    if not (left.tier and right.tier):
        return ["tier"]
    if left.tier != right.tier:
        return []
    needed = VERSIONS.get(left.tier, ())
    one, other = ({name for name, value in side.machine.items() if value} for side in (left, right))
    missing = {name for name in needed if name not in one or name not in other}
    return [name for name in risks.MACHINE if name != COUNTED and (name in missing or (name in one) != (name in other))]


def escaped(value: Any) -> Any:
    """A text with its control characters written out: a record may come from anywhere."""
    if not isinstance(value, str) or value.isprintable():
        return value
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in value)


def _run(left: Settings, right: Settings, skipped: list[str]) -> Iterator[Difference]:
    if "run" in skipped:
        return
    for name, (risk, why) in risks.RUN.items():
        one, other = (_seeds(side.run) if name == "seeds" else side.run.get(name) for side in (left, right))
        if one != other and (name != "seeds" or (one and other)):
            yield Difference("run", name, _short(one), _short(other), risk, why)


def _seeds(run: Mapping[str, Any]) -> list[str]:
    """What the script itself seeded: `torch.manual_seed(1)`, each once, whichever accelerator's function it was."""
    entries = [entry for entry in run.get("seeds", []) if isinstance(entry, dict)]
    return sorted({f"{str(one.get('call', '?'))[:40]}({str(one.get('seed'))[:24]})" for one in entries})


def _prints(left: Settings, right: Settings, skipped: list[str]) -> Iterator[Difference]:
    for kind in fingerprints.KINDS:
        places = [] if kind in skipped else fingerprints.places(left.sides, right.sides, kind)
        if places:
            rank, name = places[0]
            one, other = (_short(side.sides[rank].get(kind, {}).get(name)) for side in (left, right))
            shown = f"{name} ({rank})" if len(left.sides.keys() & right.sides.keys()) > 1 else name
            yield Difference(kind, shown, one, other, risks.HIGH, kind, tuple(name for _, name in places))


def _flags(left: Settings, right: Settings) -> Iterator[Difference]:
    for name in sorted(left.flags.keys() | right.flags.keys()):
        one, other = left.flags.get(name), right.flags.get(name)
        if one is None or other is None:  # not read, on both sides too: that is not the same as equal
            yield Difference("flags", name, one, other, risks.LOW, "unread")
            continue
        if one == other:
            continue
        risk, why = risks.FLAGS.get(name, (risks.LOW, "other"))
        if name.endswith("_format"):
            one, other = one or "float32", other or "float32"
        if {one, other} == {"hf32", "tf32"}:  # both round the inputs to about 10 bits
            risk, why = risks.LOW, "formats"
        yield Difference("flags", name, one, other, risk, why)


def _environment(left: Settings, right: Settings, across: bool) -> Iterator[Difference]:
    one, other = (_answered(side.environment, across) for side in (left, right))
    for name in sorted(one.keys() | other.keys()):
        if one.get(name) != other.get(name):
            risk, why = risks.VARIABLES.get(risks.ANSWERS.get(name, name), (risks.LOW, "speed"))
            yield Difference("environment", name, one.get(name), other.get(name), risk, why)


def _answered(environment: Mapping[str, str], across: bool) -> dict[str, str]:
    """Across tiers a GPU's variable goes by the name of the NPU's that answers it, where that one is not set."""
    if not across:
        return dict(environment)
    renamed = {answer: environment[name] for name, answer in risks.ANSWERS.items() if name in environment}
    return {**renamed, **{name: value for name, value in environment.items() if name not in risks.ANSWERS}}


def _packages(left: Settings, right: Settings, across: bool) -> Iterator[Difference]:
    for name in sorted(left.packages.keys() | right.packages.keys()):
        one, other = left.packages.get(name, ""), right.packages.get(name, "")
        if one != other:
            yield Difference("packages", name, one or None, other or None, *risks.package(name, one, other, across))


def _machine(left: Settings, right: Settings, across: bool) -> Iterator[Difference]:
    for name, (risk, why) in risks.MACHINE.items():
        one, other = left.machine.get(name), right.machine.get(name)
        if not (one and other) and (not across or not (left.tier and right.tier)):
            continue  # unknown_machine tells it
        if one != other:
            expected = across and name in risks.BY_TIER
            yield Difference("machine", name, one or None, other or None, risks.EXPECTED if expected else risk,
                             "device" if expected else why)  # fmt: skip


def _short(value: Any) -> Any:
    text = " ".join(map(str, value)) if isinstance(value, list) else value
    return text[:120] if isinstance(text, str) else text
