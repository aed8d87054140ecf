"""What is said of several ranks: contradictions among them, and how their captures were merged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from ascend_workbook.precision.ranks.laws import Fault
from ascend_workbook.precision.ranks.reading import Call, Piece
from ascend_workbook.precision.ranks.sides import Joined, Ranks
from ascend_workbook.precision.ranks.states import Merged
from ascend_workbook.precision.state.reading import States
from tests.rules.lines import Example

ABOUT = SimpleNamespace(root=Path("/x"), about={"args": ["a"]})
SIDE: Any = SimpleNamespace(about=ABOUT, states=States({}))
LINE = "/x/train.py:7"


def of(*faults: Fault, merged: bool = True, data: tuple[Any, ...] = (), **more: Any) -> Callable[[], Any]:
    """A comparison of one rank with two, of which these are the faults."""
    ranks = Ranks(1), Ranks(2, faults=faults, **more)
    joined = Joined(SIDE, SIDE, ranks, merged, data)
    return lambda: SimpleNamespace(joined=joined, baseline=SIDE, target=SIDE, first=None, states=())


def parted_before(*faults: Fault) -> Callable[[], Any]:
    """Two sides of as many ranks, of which an operator parts in the step of these faults."""

    def make() -> Any:
        facts = of(*faults, merged=False)()
        facts.first = (SimpleNamespace(step=2), None)
        return facts

    return make


def parting(partial: bool = False, late: bool = False, **errors: float) -> Callable[[], Any]:
    """A first operator that parts, with the error of each rank's part."""
    operator = SimpleNamespace(name="linear.0.forward", place=None, order=0)
    run = SimpleNamespace(
        run=SimpleNamespace(step=1, operators=(SimpleNamespace(direction="backward", order=-1 if late else 9),)),
        partial=[(operator, "input.0", "sum")] if partial else [],
        blame={operator.name: {int(rank[1:]): error for rank, error in errors.items()}},
        blame_inputs={},
        unlike=[],
        odd=[],
        how=Counter(),
        left_out=Counter(),
    )
    pair = SimpleNamespace(target=operator, baseline=operator)
    judged = SimpleNamespace(outcome="own", agreement=SimpleNamespace(pair=pair, error_out=0.25))

    def make() -> Any:
        facts = of(runs=(run,))()
        facts.first = (SimpleNamespace(step=1), judged)
        return facts

    return make


def merging(unmerged: dict[str, str] | None = None, data: tuple[Any, ...] = (), **more: Any) -> Callable[[], Any]:
    """Two ranks, merged to three parameters."""
    own = Merged(States({}), how={"a": "copy", "b": "whole", "c": "0.1.1"}, unmerged=unmerged or {})
    run = SimpleNamespace(
        odd=[], how=Counter({"copy": 3, "laid": 2, "sum": 1}), left_out=Counter(more.pop("left_out", {}))
    )
    ranks = Ranks(1), Ranks(2, merged=own, runs=(run,), **more)  # type: ignore[arg-type]
    joined = Joined(SIDE, SIDE, ranks, True, data)
    return lambda: SimpleNamespace(joined=joined, baseline=SIDE, target=SIDE)


WEIGHT = Fault(0, (1,), "copies_weight", "", ("a", "b"), "", {"count": 2, "of": 3})
GRADIENT = Fault(2, (1,), "copies_gradient", "", ("a",), "", {"count": 1, "of": 3})
COARSE = Fault(1, (0, 1), "reduced", "coarse", ("a",), "", {"count": 1, "of": 3, "error": 0.003, "factor": 1.0})
FACTOR = Fault(1, (0, 1), "reduced", "factor", ("a",), "", {"count": 3, "of": 3, "error": 1.0, "factor": 2.0})
WRONG = Fault(0, (1,), "result", "", (), LINE, {"operation": "all_reduce", "number": 4, "error": 0.5, "allowed": 2e-6})
ORDER = Fault(
    0, (0, 1), "order", "names", ("a",), LINE, {"operation": "all_reduce", "number": 1, "left": "a", "right": "b"}
)
ABSENT = Fault(3, (1,), "absent", "", (), LINE, {"operation": "all_reduce", "number": 0})
MORE = Fault(1, (0,), "one_side", "", ("a",), LINE, {"operation": "all_reduce", "number": 2})
PIECE = Piece("bfloat16", (2,), "", 1.0, np.zeros(32), np.zeros(2))
HALF = Call(0, 1, 0, "all_reduce", (0, 1), "sum", LINE, (), (PIECE,), None, None)

EXAMPLES: list[Example] = [
    ("ACC220", of(merged=False), []),
    ("ACC220", of(merged=False, errors=("E",)), ["NOT_LOOKED ACC220.trouble error=E weight=20"]),
    (
        "ACC220",
        merging(),
        ["GOOD ACC220.merged copies=3 laid=2 left=1 parameters=3 right=2 sums=1 tensors=6 weight=12"],
    ),
    (
        "ACC220",
        merging(unmerged={"d": "shape"}, left_out={"rank": 2}),
        [
            "GOOD ACC220.merged copies=3 laid=2 left=1 parameters=3 right=2 sums=1 tensors=6 weight=12",
            "NOT_LOOKED ACC220.unmerged count=1 names=[d] weight=18",
            "NOTE ACC220.left_out count=2 weight=16",
        ],
    ),
    (
        "ACC220",
        merging(stages=True),
        [
            "GOOD ACC220.merged copies=3 laid=2 left=1 parameters=3 right=2 sums=1 tensors=6 weight=12",
            "NOT_LOOKED ACC220.stages weight=19",
        ],
    ),
    (
        "ACC220",
        merging(missing=True),
        [
            "GOOD ACC220.merged copies=3 laid=2 left=1 parameters=3 right=2 sums=1 tensors=6 weight=12",
            "NOT_LOOKED ACC220.missing weight=19",
        ],
    ),
    (
        "ACC220",
        merging(data=((0, "regrouped", {}),)),
        [
            "GOOD ACC220.merged copies=3 laid=2 left=1 parameters=3 right=2 sums=1 tensors=6 weight=12",
            "NOT_LOOKED ACC220.regrouped weight=19",
        ],
    ),
    ("ACC221", of(), []),
    (
        "ACC221",
        of(WEIGHT, GRADIENT),
        [
            (
                "FIX ACC221.copies_weight count=2 names=[a, b] "
                "of=3 place=- ranks=[1] side=precision.side_target() step=0 weight=609.268"
            ),
        ],
    ),
    (
        "ACC221",
        of(GRADIENT),
        [
            (
                "FIX ACC221.copies_gradient count=1 names=[a] of=3 "
                "place=- ranks=[1] side=precision.side_target() step=2 weight=573.483"
            ),
        ],
    ),
    (
        "ACC221",
        parted_before(GRADIENT),
        [
            (
                "FIX ACC221.copies_gradient count=1 names=[a] of=3 "
                "place=- ranks=[1] side=precision.side_target() step=2 weight=290"
            ),
        ],
    ),
    ("ACC222", of(WEIGHT), []),
    (
        "ACC222",
        of(COARSE),
        [
            (
                "LOOK ACC222.reduced_coarse count=1 error=0.003 factor=1 names=[a] "
                "of=3 place=- ranks=[0, 1] side=precision.side_target() step=1 weight=577.647"
            ),
        ],
    ),
    (
        "ACC222",
        of(FACTOR),
        [
            (
                "FIX ACC222.reduced_factor count=3 error=1 factor=2 names=[a] "
                "of=3 place=- ranks=[0, 1] side=precision.side_target() step=1 weight=577.647"
            ),
        ],
    ),
    ("ACC223", of(ORDER), []),
    (
        "ACC223",
        of(WRONG),
        [
            (
                "FIX ACC223.result allowed=2e-06 error=0.5 names=- number=4 "
                "operation=all_reduce place=train.py:7 ranks=[1] "
                "side=precision.side_target() step=0 weight=586.667 @train.py:7"
            ),
        ],
    ),
    ("ACC224", of(WRONG), []),
    (
        "ACC224",
        of(ORDER),
        [
            (
                "FIX ACC224.order_names left=a names=[a] number=1 operation=all_reduce place=train.py:7 "
                "ranks=[0, 1] right=b side=precision.side_target() step=0 weight=588.571 @train.py:7"
            ),
        ],
    ),
    (
        "ACC224",
        of(ABSENT),
        [
            (
                "FIX ACC224.absent names=- number=0 operation=all_reduce "
                "place=train.py:7 ranks=[1] side=precision.side_target() step=3 weight=571.65 @train.py:7"
            ),
        ],
    ),
    (
        "ACC224",
        of(MORE),
        [
            (
                "LOOK ACC224.one_side names=[a] number=2 operation=all_reduce "
                "place=train.py:7 ranks=[0] side=precision.side_target() step=1 weight=578.75 @train.py:7"
            ),
        ],
    ),
    ("ACC225", of(), []),
    (
        "ACC225",
        parting(r0=1e-8, r1=0.2),
        ["LOOK ACC225.rank error=0.2 name=linear.0.forward others=1e-08 ranks=[1] step=1 weight=340"],
    ),
    (
        "ACC225",
        parting(r0=0.1, r1=0.2),
        ["NOTE ACC225.all error=0.2 name=linear.0.forward others=0.2 ranks=[] step=1 weight=10"],
    ),
    (
        "ACC225",
        parting(partial=True, r0=0.1),
        ["FIX ACC225.partial error=0.25 name=linear.0.forward others=0 ranks=[] step=1 weight=578.182"],
    ),
    (
        "ACC225",
        parting(partial=True, late=True, r0=0.1),
        ["FIX ACC225.partial error=0.25 name=linear.0.forward others=0 ranks=[] step=1 weight=576.438"],
    ),
    ("ACC226", of(), []),
    (
        "ACC226",
        of(coarse=(HALF,)),
        [
            "LOOK ACC226.coarse count=1 dtype=bfloat16 operation=all_reduce place=train.py:7 "
            "side=precision.side_target() step=1 weight=330 @train.py:7"
        ],
    ),
    ("ACC227", of(), []),
    ("ACC227", of(data=((0, "regrouped", {}),)), []),
    (
        "ACC227",
        of(data=((1, "repeated", {"ranks": [1], "side": "target", "left": 8, "right": 4, "shared": 4}),)),
        [
            (
                "FIX ACC227.repeated left=8 ranks=[1] right=4 "
                "shared=4 side=precision.side_target() step=1 steps=1 weight=580"
            ),
        ],
    ),
    (
        "ACC227",
        of(data=((1, "other", {"left": 8, "right": 8, "shared": 4}),)),
        ["FIX ACC227.other left=8 right=8 shared=4 step=1 steps=1 weight=580"],
    ),
]
