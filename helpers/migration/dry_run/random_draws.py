"""Values drawn at random on the device: the CPU's and the NPU's generators differ, so losses part without a fault."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from helpers.finding import Finding, Place, Status
from helpers.launch import LaunchResult
from helpers.migration.dry_run.losses import LossPair, worst
from helpers.migration.dry_run.sides import Plan
from helpers.migration.reading.source import Source, decode, parse
from helpers.migration.reading.undecoded import Unreadable
from helpers.words import Scalar

WEIGHT = 1000.0
SHOWN = 8
#: By resolved name: what draws from the generator of the device that its tensors are on.
DRAWS = re.compile(
    r"torch\.(?:nn\.(?:functional\.)?(?:(?:Alpha|FeatureAlpha)?Dropout[123]?d?|\w*dropout[123]?d?_?|rrelu_?|RReLU)"
    r"|nn\.init\.(?!zeros_|ones_|constant_|eye_|dirac_)\w+_$|bernoulli|multinomial|normal|poisson|dropout\w*"
    r"|rand|randn|randint|randperm|rand_like|randn_like|randint_like)$"
)
METHODS = {"normal_", "uniform_", "bernoulli_", "bernoulli", "random_", "exponential_", "log_normal_", "cauchy_",
           "geometric_", "multinomial"}  # fmt: skip
#: Take the probability of a dropout of their own as an argument.
CHANCE = {"dropout", "dropout_p", "attn_dropout", "attention_dropout", "drop_rate", "drop_path_rate", "p"}
ON_CPU = re.compile(r"^(?:torch\.)?(?:rand|randn|randint|randperm|normal)$")


def watched(after: LaunchResult | None) -> dict[str, Any] | None:
    """What random_watch.py kept of the rank that drew first (ranks share gradients); None where none did."""
    logs = after.logs if after is not None else ()
    kept = [dict(log.meta["random"]) for log in logs if log.meta.get("random")]
    drew = [one for one in kept if one["first_step"] is not None]
    return min(drew, key=lambda one: int(one["first_step"]), default=None)


def unexcused(pairs: Sequence[LossPair], after: LaunchResult) -> list[LossPair]:
    """The steps that nothing drawn on the device accounts for: those before the first draw, and where one side alone
    has no finite loss. All of them where nothing was drawn."""
    kept = watched(after)
    if kept is None:
        return list(pairs)
    told = not after.log_losses or len(after.log_losses) == len(after.steps)  # a printed loss may be a later step's
    first = kept["first_step"] if told else 0
    return [one for one in pairs if one.step < first or one.one_broken]


def finding(plan: Plan, pairs: list[LossPair], after: LaunchResult, parted: bool) -> Finding | None:
    """None where nothing was drawn on the device. Losses that part with it are no verdict on the migration."""
    kept = watched(after)
    if kept is None:
        return None
    found = list(_places(plan, before_steps=not kept["first_step"]))
    places = [str(place) for place in found]
    said: list[Scalar] = [*places[:SHOWN], *(["…"] if len(places) > SHOWN else [])]
    if kept["count"]:
        names = ", ".join(map(str, kept["modules"])) + (" …" if kept["count"] > len(kept["modules"]) else "")
        said.append({"say": "MIG149.modules", "args": {"names": names, "count": kept["count"]}})
    first = kept["first_step"]
    far = worst(pairs)
    args: dict[str, Scalar] = {
        "when": {"say": "MIG149.step", "args": {"step": first}} if first else {"say": "MIG149.before"},
        "places": said or [{"say": "MIG149.nowhere"}],
        "steps": len(pairs),
    }
    if far is None or not far.error:
        return Finding("MIG149", Status.OK, "MIG149.drawn", args)
    args |= {"worst": f"{far.error:.2g}", "step": far.step}
    place = found[0] if found else None
    if parted:
        return Finding("MIG149", Status.WARN, "MIG149.parted", args, place, WEIGHT)
    return Finding("MIG149", Status.NOTE, "MIG149.within", args, place, WEIGHT)


def _places(plan: Plan, *, before_steps: bool) -> Iterator[Place]:
    """Lines of the training's own modules that may draw on the device, as the user has them.

    `before_steps`: the model's first values may have been drawn there too.
    """
    original = plan.original
    for name, source in _sources(original.texts, original.layout.root):
        for line in sorted(set(draws(source, initial=before_steps))):
            yield original.place(Path(name), line)


def _sources(texts: Mapping[Path, bytes], root: Path) -> Iterator[tuple[str, Source]]:
    for file, data in texts.items():
        if file.suffix == ".py":
            try:
                name = file.relative_to(root).as_posix()
                yield name, parse(decode(data)[0], name, file=file)
            except Unreadable:
                continue


def draws(source: Source, *, initial: bool = True) -> Iterator[int]:
    """Lines of calls that draw on a device: what is on the CPU by its own words is left out.

    `initial`: those that only give a model its first values too.
    """
    for call in source.nodes(ast.Call):
        name = source.names.call(call) or ""
        if DRAWS.match(name):
            if _chance(call) == 0 or ON_CPU.match(name) and not _has_device(call):
                continue
            if initial or not name.startswith("torch.nn.init."):
                yield call.lineno
        elif _draws_itself(call, name):
            yield call.lineno


def _draws_itself(call: ast.Call, name: str) -> bool:
    """`x.normal_()`, and what is given a dropout of its own: `TransformerEncoderLayer(..., dropout=0.1)`."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in METHODS:
        return True
    given = [word.value for word in call.keywords if word.arg in CHANCE - {"p"}]
    return name.startswith("torch.") and any(_number(value) != 0 for value in given)


def _has_device(call: ast.Call) -> bool:
    """A device that is not the CPU; without one torch.rand and its kin draw on the CPU."""
    for word in call.keywords:
        if word.arg == "device":
            return not (isinstance(word.value, ast.Constant) and word.value.value == "cpu")
    return False


def _chance(call: ast.Call) -> float | None:
    """The probability that a dropout is given, where it is a number."""
    given = [*call.args, *(word.value for word in call.keywords if word.arg in CHANCE)]
    numbers = [_number(value) for value in given]
    return next((number for number in numbers if number is not None), None)


def _number(node: ast.AST) -> float | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return float(node.value)
    return None
