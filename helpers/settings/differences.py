"""What differs between two settings records: one Difference each, the riskiest first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from helpers.settings import fingerprints, risks
from helpers.settings.record import READ, Settings

GROUPS = ("run", "weights", "batches", "flags", "environment", "packages", "machine")


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
    return tuple(sorted(found, key=lambda one: (risks.ORDER.index(one.risk), GROUPS.index(one.group), one.name)))


def unknown(left: Settings, right: Settings) -> list[str]:
    """Groups that a side does not know: they are not compared, which is not the same as equal."""
    found = [name for name in READ if name in left.untold or name in right.untold]
    if not (left.run and right.run):
        found.append("run")
    sides = (left.sides, right.sides)
    return found + [kind for kind in fingerprints.KINDS if not all(fingerprints.known(side, kind) for side in sides)]


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
        names = [] if kind in skipped else fingerprints.different(left.sides, right.sides, kind)
        if names:
            one, other = (_print(side.sides, kind, names[0]) for side in (left, right))
            yield Difference(kind, names[0], one, other, risks.HIGH, kind, tuple(names))


def _print(sides: Mapping[str, Any], kind: str, name: str) -> str | None:
    found = next((side[kind][name] for side in sides.values() if name in side.get(kind, {})), None)
    return None if found is None else _short(found)


def _flags(left: Settings, right: Settings) -> Iterator[Difference]:
    for name in sorted(left.flags.keys() | right.flags.keys()):
        one, other = left.flags.get(name), right.flags.get(name)
        if one == other:
            continue
        risk, why = risks.FLAGS.get(name, (risks.LOW, "other"))
        if name.endswith("_format"):
            one, other = one or "float32", other or "float32"
        if one is None or other is None:
            risk, why = risks.LOW, "unread"
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
        if one != other:
            expected = across and name in risks.BY_TIER
            yield Difference("machine", name, one or None, other or None, risks.EXPECTED if expected else risk,
                             "device" if expected else why)  # fmt: skip


def _short(value: Any) -> Any:
    text = " ".join(map(str, value)) if isinstance(value, list) else value
    return text[:120] if isinstance(text, str) else text
