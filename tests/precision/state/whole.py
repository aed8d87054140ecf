"""`python -m tests.precision.state.whole [--draw N] [--task statistics] [--half held]`: what `align` names first.

Operators' faults and faults beside them in one matrix, each in a training that is recorded whole; what the command
names first must be the operator with its step, or the stage with its step. The cases are drawn at run time; the half
that a pair is in never changes, and what is right was written before the command saw a case."""

from __future__ import annotations

import argparse
import random
import secrets
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report
from ascend_workbook.precision.align import align
from ascend_workbook.precision.state.events import OF_DATA
from benchmarks.matrix import faults
from benchmarks.matrix.cases import AMONG, UNSEEN_IN_BF16
from benchmarks.matrix.recorder import Call
from benchmarks.matrix.replaying import in_this_process
from tests.precision.state import cases, dumping, running
from tests.precision.state.cases import HELD, NEW, WORKING, Case
from tests.precision.state.dumping import Dumps
from tests.precision.state.trainings import NEWER, RECIPES

NAMES = ("right", "near", "wrong", "missed", "hidden")
#: Faults of a script that stand in an operator: naming that one is right too.
IN_OPERATORS = {
    "loss summed": ("cross_entropy",),
    "labels shifted": ("cross_entropy", "binary_cross_entropy_with_logits"),
    "another dropout": ("dropout",),
    "accumulation not divided": ("__truediv__", "div"),
    "running_var stale": ("batch_norm",),
    "running_mean stale": ("batch_norm",),
    "running_var biased": ("batch_norm",),
    "buffers of another momentum": ("batch_norm",),
}
#: Faults that the record of the experiment tells, by its fact: it is told first, and names what is declared otherwise.
IN_EXPERIMENT = {
    "hyper": ("rate", "decay", "rule", "parameters"),
    "schedule": ("rate",),
    "optimizer": ("rule",),
    "scaler": ("scale",),
}
COARSE = ("float16", "bfloat16")


@dataclass(frozen=True)
class Struck:
    """A case, and the operator call that is struck; none where the fault is beside the operators."""

    case: Case
    task: str
    operator: str = ""

    @property
    def name(self) -> str:
        return f"{self.case.name} {self.operator} {self.task}"


@dataclass(frozen=True)
class Named:
    """What stands first in a report: its rule and key, the operators, the step."""

    status: Status
    key: str
    operators: tuple[str, ...] = ()
    step: int | None = None

    def __str__(self) -> str:
        return f"{self.key} {list(self.operators)[:3]} at step {self.step}"


def read_named(report: Report) -> Named:
    """Read the headline of `align`."""
    # neither side had an NPU, which is told first and is nothing that was planted
    finding = replace(report, findings=tuple(one for one in report.findings if one.rule != "ACC206"), parts=()).headline
    if finding is None or finding.status < Status.LOOK:
        return Named(Status.GOOD if finding is None else finding.status, finding.key if finding else "")
    return Named(finding.status, finding.key, _read_operators(finding), _read_step(finding))


def _read_operators(finding: Finding) -> tuple[str, ...]:
    if finding.rule not in ("ACC230", "ACC232", "ACC237"):
        return ()
    named = finding.args.get("operators") or finding.args.get("operator") or ()
    return tuple(map(str, named)) if isinstance(named, (list, tuple)) else (str(named),)


def _read_step(finding: Finding) -> int | None:
    for key in ("step", "name"):
        text = str(finding.args.get(key, ""))
        if text.isdigit():
            return int(text)
    return None


def judge_named(struck: Struck, named: Named, size: float | None) -> str:
    """What naming this first is worth."""
    case, quiet = struck.case, named.status < Status.LOOK
    if not case.fault:
        return "quiet" if quiet else "flagged"
    if struck.operator:
        wanted = faults.expected(case.fault, _call(struck.operator))
        hidden = _is_hidden(struck, size)
        if quiet:
            return "hidden" if hidden else "missed"
        if wanted in named.operators[:AMONG] and named.step == case.start:
            return "right" if named.operators == (wanted,) else "near"
        return "near" if wanted in named.operators else "wrong"
    if quiet:
        return "missed"
    label, step = case.label, cases.first_step(case)
    word = named.key.partition(".")[2]
    kind = "data" if named.key.startswith("ACC205.") and word in OF_DATA else word.partition("_")[0]
    here = step is None or named.step == step
    if named.key.startswith("ACC205.") and set(IN_EXPERIMENT.get(word, ())) & set(label.kinds):
        return "right"
    if kind in label.kinds and named.key.startswith(("ACC237.", "ACC205.")):
        return "right" if here else "near"
    if case.fault in IN_OPERATORS and any(
        f".{api}." in name for api in IN_OPERATORS[case.fault] for name in named.operators
    ):
        return "right" if step is None or named.step in (step, step + 1) else "near"
    return "near" if kind in label.near else "wrong"


def _call(name: str) -> Call:
    head, _, number = name.rpartition(".")
    return Call(head, int(number), True, (), {})


def _is_hidden(struck: Struck, size: float | None) -> bool:
    """Whether the training's own format rounds by more than the fault changed."""
    if size == 0.0:
        return True
    if {**RECIPES, **NEWER}[struck.case.recipe].autocast not in COARSE:
        return False
    return struck.case.fault in faults.SMALL or (size or 1.0) < UNSEEN_IN_BF16


def record_base(struck: Struck, root: Path) -> Path:
    """The baseline's side of a case, recorded once."""
    base = root / f"baseline-{struck.task}-{struck.case.seed}" / struck.case.recipe
    running.record_once(base, struck.case.recipe, seed=struck.case.seed, dumps=Dumps(struck.task))
    return base


def judge_case(struck: Struck, root: Path) -> tuple[str, str]:
    """Record both sides and read what `align` names: the outcome, and its words."""
    case = struck.case
    base = record_base(struck, root)
    with tempfile.TemporaryDirectory(dir=root) as folder:
        target = Path(folder) / "target"
        strike = Dumps(struck.task, case.fault, struck.operator, case.start, case.seed)
        fault = "" if struck.operator else case.fault
        running.record(target, case.recipe, fault, case.start, case.noise, case.seed, dumps=strike)
        named = read_named(align(base, target))
        size = dumping.read_size(target) if struck.operator else None
    return judge_named(struck, named, size), str(named)


def draw_run(half: str, seed: int, count: int, healthy: int, task: str, root: Path) -> list[Struck]:
    """As many faults of operators as faults beside them, and healthy pairs."""
    draw = random.Random(seed)
    beside = [replace(case, device="cpu") for case in cases.draw_run(half, seed, 4 * count, healthy, 0.0)]
    recipes = NEWER if half == NEW else RECIPES
    beside = [replace(case, noise=_quiet(case)) for case in beside if case.recipe in recipes]
    chosen = [Struck(case, task) for case in [case for case in beside if case.fault][: count // 2]]
    pairs = [(name, kind) for name in recipes for kind in faults.KINDS if half in (NEW, cases.half_of(name, kind))]
    draw.shuffle(pairs)
    of_operators: list[Struck] = []
    for name, kind in pairs:
        if len(of_operators) >= count - len(chosen):
            break
        noise = draw.choice(("ulp", "ulp", "reordered", "update", "other loop", "none", "start"))
        case = Case(name, kind, draw.choice((0, 1, 2)), noise, half, seed % 100_000)
        case = replace(case, noise=_quiet(case))
        sites = dumping.read_sites(record_base(Struck(case, task), root)).get(kind)
        if sites:
            of_operators.append(Struck(case, task, draw.choice(sites)))
    return [*of_operators, *chosen, *(Struck(case, task) for case in beside if not case.fault)]


def _quiet(case: Case) -> str:
    """A noise that is drawn anew where a checkpoint is computed again is no device's: the record holds the first."""
    recipe = {**RECIPES, **NEWER}.get(case.recipe)
    again = recipe is not None and recipe.recomputes and case.noise in ("ulp", "update")
    # a compiled network calls no operator that could be recorded
    return "reordered" if again or case.noise == "compiled" else case.noise


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.precision.state.whole", description=__doc__)
    parser.add_argument("--half", choices=(WORKING, HELD, NEW), default=WORKING)
    parser.add_argument("--draw", type=int, default=20)
    parser.add_argument("--healthy", type=int, default=6)
    parser.add_argument("--task", choices=("tensor", "statistics"), default="tensor")
    parser.add_argument("--only", default="")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1 << 31))
    args = parser.parse_args()
    print(f"seed {args.seed}", flush=True)
    begun, counts = (
        time.process_time(),
        {"operators": Counter[str](), "beside": Counter[str](), "healthy": Counter[str]()},
    )
    with tempfile.TemporaryDirectory(prefix="whole-") as aside, in_this_process():
        for struck in draw_run(args.half, args.seed, args.draw, args.healthy, args.task, Path(aside)):
            if args.only not in struck.name:
                continue
            outcome, words = judge_case(struck, Path(aside))
            kind = "operators" if struck.operator else "beside" if struck.case.fault else "healthy"
            counts[kind][outcome] += 1
            if outcome not in ("right", "quiet"):
                print(f"{outcome:8} {struck.name} from {struck.case.start}: {words}", flush=True)
    for kind, found in counts.items():
        print(
            f"{kind} {sum(found.values())}: " + ", ".join(f"{name} {number}" for name, number in sorted(found.items()))
        )
    print(f"{time.process_time() - begun:.0f} s of this process")


if __name__ == "__main__":
    main()
