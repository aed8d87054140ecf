"""Two attempts held against each other: did what was changed between them help?"""

from __future__ import annotations

from helpers.finding import Finding, Status
from helpers.precision.attempts.record import Attempt, settings_of
from helpers.settings import compare
from helpers.words import Scalar

CODE = "ACC285"
#: A relative change of the error below this is none.
SAME = 0.05
SHOWN = 6


def helped(before: Attempt, now: Attempt) -> Finding:
    """ACC285: the first divergence is gone, later, earlier, new, or where it was with a smaller or larger error."""
    args: dict[str, Scalar] = {
        "before": before.number, "now": now.number, "changed": changed(before, now), "was": _first(before),
        "is": _first(now), "parting_before": before.parting, "parting_now": now.parting,
        "loss_before": _worst(before), "loss_now": _worst(now),
    }  # fmt: skip
    if not (before.judged and now.judged):
        which = before.number if not before.judged else now.number
        return Finding(CODE, Status.SKIPPED, "ACC285.not_judged", {**args, "which": which})
    other = incomparable(before, now)
    if other:
        return Finding(CODE, Status.SKIPPED, "ACC285.other_scope", {**args, "what": list(other)})
    key, status = _outcome(before, now)
    return Finding(CODE, status, f"ACC285.{key}", args)


def incomparable(before: Attempt, now: Attempt) -> list[str]:
    """What was looked at otherwise: the baseline, or options of the capture and the comparison."""
    names = sorted(before.scope.keys() | now.scope.keys())
    found = [name for name in names if before.scope.get(name) != now.scope.get(name)]
    return (["baseline"] if before.baseline != now.baseline else []) + found


def changed(before: Attempt, now: Attempt) -> Scalar:
    """What of the target is another, riskiest first: `args`, `torch 2.8.0 -> 2.9.0`; a sentence where nothing is, or
    where it is not known."""
    found = [f"{name} {_short(before.other.get(name))} -> {_short(now.other.get(name))}"
             for name in sorted(before.other.keys() | now.other.keys())
             if before.other.get(name, "") != now.other.get(name, "")]  # fmt: skip
    left, right = settings_of(before), settings_of(now)
    if left is None or right is None:
        return list(found) or {"say": "attempts.unknown"}
    found += [f"{one.name} {_short(one.left)} -> {_short(one.right)}" for one in compare(left, right)
              if one.why != "unread"]  # fmt: skip
    more: list[Scalar] = [{"say": "attempts.more", "args": {"count": len(found) - SHOWN}}] if len(found) > SHOWN else []
    return [*found[:SHOWN], *more] or {"say": "attempts.nothing"}


def _outcome(before: Attempt, now: Attempt) -> tuple[str, Status]:
    if before.first is None or now.first is None:
        if before.first is None and now.first is None:
            return "still_none", Status.OK
        return ("gone", Status.OK) if now.first is None else ("new", Status.WARN)
    if before.first["operator"] == now.first["operator"] and before.place[0] == now.place[0]:
        return _same_place(before, now)
    return ("later", Status.OK) if now.place > before.place else ("earlier", Status.WARN)


def _same_place(before: Attempt, now: Attempt) -> tuple[str, Status]:
    was, is_ = ((one.first or {}).get("error") for one in (before, now))
    if was is None or is_ is None or abs(is_ - was) <= SAME * was:
        return "same", Status.NOTE
    return ("smaller", Status.NOTE) if is_ < was else ("larger", Status.WARN)


def _first(attempt: Attempt) -> Scalar:
    if attempt.first is None:
        return {"say": "attempts.none"}
    args = {name: attempt.first[name] for name in ("operator", "step", "rank", "error")}
    return {"say": "attempts.place", "args": args}


def _worst(attempt: Attempt) -> Scalar:
    return attempt.loss.get("worst") if attempt.loss else None


def _short(value: object) -> str:
    """Hashes and long values by their beginning."""
    text = "-" if value in (None, "") else str(value)
    return text if len(text) <= 40 else f"{text[:12]}..."
