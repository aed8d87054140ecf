"""ACC260: do convolutions or matrix products round their float32 inputs to HF32, and is that what differs?

torch_npu allows it for convolutions by default and for matrix products not; a GPU has TF32 in its place.
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.precision.advice.seen import Seen, where
from helpers.precision.divergence import Judgement
from helpers.precision.divergence.formats import KINDS
from helpers.precision.tensors import tolerance
from helpers.rules import CannotCheck
from helpers.words import Scalar

CODE = "ACC260"
SOURCE = "https://www.hiascend.com/document/detail/zh/Pytorch/600/apiref/apilist/ptaoplist_000923.html"


def check(seen: Seen) -> Iterator[Finding]:
    facts = seen.comparison
    observed = {kind: form for step in seen.steps for kind, form in step.replays.seen.items()}
    if facts.target.about is None and not observed:
        raise CannotCheck("ACC260.no_record")
    forms = {**(facts.target.about.numerics if facts.target.about else {}), **observed}
    for kind, apis in KINDS.items():
        made = [one for one in seen.forward() if one.agreement.pair.target.api in apis]
        calls = [one for one in made if _shows(one)]
        if forms.get(kind) != "hf32" or not made:
            continue
        if not any(one.own or one.agreement.error_out is not None for one in made):
            raise CannotCheck("ACC260.no_values", count=len(made))
        if not calls:
            continue
        worst = max(calls, key=_error)
        baseline = facts.baseline.about.numerics.get(kind, "") if facts.baseline.about else ""
        args: dict[str, Scalar] = {
            "what": {"say": f"ACC208.{kind}"}, "count": len(calls), "operator": where(worst.agreement.pair.target),
            "error": _error(worst), "switch": f"torch.npu.{kind}.allow_hf32 = False", "source": SOURCE,
        }  # fmt: skip
        if baseline == "tf32":
            yield Finding(CODE, Status.NOTE, "ACC260.alike", args)
        elif seen.parted:
            yield Finding(CODE, Status.WARN, "ACC260.off", args, worst.agreement.pair.target.place, weight=60)
        else:
            yield Finding(CODE, Status.NOTE, "ACC260.keep", args)


def _shows(one: Judgement) -> bool:
    """A float32 call whose result differs by more than float32's own rounding."""
    outputs = one.agreement.pair.target.outputs
    return any(t.dtype == "float32" for t in outputs) and _error(one) > tolerance.floor(t.dtype for t in outputs)


def _error(one: Judgement) -> float:
    return one.own.worst if one.own else one.agreement.error_out or 0.0
