"""Which fault is planted in which training, what is right to say of it, and which half of the corpus a case is in.

The labels were written before the judge saw a case. The draw (SEED) chooses for each pair of training and fault the
step from which on the fault is there, the noise of the target, and the half: `working` cases may be looked at while the
judge is written, `held` ones are run once it stands."""

from __future__ import annotations

import random
from dataclasses import dataclass

from tests.precision.state import optimizers, trainings
from tests.precision.state.trainings import RECIPES, Recipe

SEED = 20261128
WORKING, HELD = "working", "held"
ANY = -1


@dataclass(frozen=True)
class Label:
    """What is right: the kinds of events that may be the first, what its words must hold (a parameter, a detail), and
    how many steps after the fault's start it shows; `near` are kinds that point at its neighbourhood."""

    kinds: tuple[str, ...]
    detail: str = ""
    after: int = 0
    near: tuple[str, ...] = ()


RULE = Label(("rule",), near=("update", "decay"))
LABELS = {
    **dict.fromkeys((rule for rules in optimizers.RULES.values() for rule in rules), RULE),
    # a maximum is the moment itself until that shrinks
    "maximum of the second moment": Label(("rule",), after=1, near=("update",)),
    "decay coupled": Label(("rule", "decay"), near=("update",)),
    "decay decoupled": Label(("rule", "decay"), near=("update",)),
    "decay on norms and biases": Label(("decay",), near=("rule", "update")),
    "parameter left out": Label(("parameters",), near=("update",)),
    "schedule off by one": Label(("rate",), after=ANY),
    "schedule not stepped": Label(("rate",), after=1),
    "warmup of another length": Label(("rate",), after=ANY),
    "gradient scaled by a hook": Label(("gradient",), "one"),
    "gradient stopped": Label(("gradient",), "one"),
    "gradients not cleared": Label(("gradient",), "stale"),
    "loss summed": Label(("gradient",), "factor"),
    "labels shifted": Label(("gradient",)),
    "accumulation not divided": Label(("gradient",), "factor"),
    "micro-batch left out": Label(("count",), near=("gradient",)),
    "augmentation": Label(("data",), near=("gradient",)),
    "gradient zeroed": Label(("changed",), "zero", near=("gradient",)),
    "gradient zeroed through data": Label(("changed",), "zero", near=("gradient",)),
    "gradient of one parameter scaled": Label(("changed",), "one", near=("gradient",)),
    "not clipped": Label(("clip",), near=("changed",)),
    "clipped at another norm": Label(("clip",), near=("changed",)),
    "clipped by another norm": Label(("clip",), near=("changed",)),
    "clipped before unscaling": Label(("clip",), "scaled", near=("unscale",)),
    "clipped after the update": Label(("clip",), near=("changed",)),
    "clipped by hand": Label(("clip", "changed")),
    "overflow": Label(("skipped",), near=("changed",)),
    "not unscaled": Label(("unscale",), near=("clip", "changed")),
    "scaler not updated": Label(("scale",), after=ANY),
    "another loss scale": Label(("scale",), after=1),
    "running_var stale": Label(("buffer",), "stale"),
    "running_mean stale": Label(("buffer",), "stale"),
    "batches not counted": Label(("buffer",)),
    "running_var biased": Label(("buffer",)),
    "buffers of another momentum": Label(("buffer",)),
    "average not updated": Label(("copy",)),
    "average with another decay": Label(("copy",)),
    "optimizer not restored": Label(("restored",), after=ANY),
    "step count not restored": Label(("restored",), after=ANY),
    "moments not restored": Label(("restored",), after=ANY),
    "schedule not restored": Label(("rate", "restored"), after=ANY),
    "scaler not restored": Label(("scale", "restored"), after=ANY),
    "older weights restored": Label(("restored",), after=ANY, near=("gradient",)),
    "checkpoint mask": Label(("recompute",), near=("gradient", "random")),
    "extra draw": Label(("random",), near=("gradient",)),
    "other mask": Label(("random",), near=("gradient",)),
}
#: Rules that only some optimizers have a parameter for.
FAMILIES = {"adam": "adam", "adam2": "adam", "adamw": "adam", "sgd": "sgd", "rmsprop": "rmsprop"}
OF_ADAM_ALONE = {"adamw": ("decay decoupled",), "adam": ("decay coupled",), "adam2": ("decay coupled",)}


@dataclass(frozen=True)
class Case:
    recipe: str
    fault: str
    start: int
    noise: str
    half: str

    @property
    def name(self) -> str:
        return f"{self.recipe}: {self.fault or 'healthy'} ({self.noise})"


def applies(recipe: Recipe, fault: str) -> bool:
    """Return whether the training has what the fault breaks."""
    rules = optimizers.RULES[FAMILIES[recipe.optimizer]]
    if any(fault in every for every in optimizers.RULES.values()):
        return fault in rules and fault not in OF_ADAM_ALONE.get(recipe.optimizer, ())
    if recipe.name == "gan":
        return fault in GAN
    needs = {
        "decay on norms and biases": recipe.groups,
        "schedule off by one": recipe.schedule,
        "schedule not stepped": recipe.schedule == "warmup",
        "warmup of another length": recipe.schedule == "warmup",
        "accumulation not divided": recipe.micro > 1,
        "micro-batch left out": recipe.micro > 1,
        "not clipped": recipe.clips and not recipe.scaler,
        "clipped at another norm": recipe.clips,
        "clipped by another norm": recipe.clips,
        "clipped before unscaling": recipe.clips and recipe.scaler,
        "clipped after the update": recipe.clips and not recipe.scaler,
        "clipped by hand": recipe.clips and not recipe.scaler,
        "checkpoint mask": recipe.recomputes,
        "other mask": recipe.drops,
        "schedule not restored": recipe.resumes and recipe.schedule == "warmup",
    }
    if fault in needs:
        return bool(needs[fault])
    if fault in ("overflow", "another loss scale", "scaler not updated", "not unscaled"):
        return recipe.scaler
    if "running" in fault or fault in ("batches not counted", "buffers of another momentum"):
        return recipe.norm
    if fault.startswith("average"):
        return recipe.averages
    if fault == "scaler not restored":
        return recipe.resumes and recipe.scaler
    if fault == "step count not restored":
        return recipe.resumes and recipe.optimizer == "adamw"
    if fault.endswith("restored"):
        return recipe.resumes
    return True


GAN = (
    "gradient scaled by a hook",
    "gradient zeroed",
    "gradients not cleared",
    "gradient of one parameter scaled",
    "labels shifted",
    "augmentation",
    "running_var stale",
    "running_mean stale",
    "batches not counted",
    "running_var biased",
    "buffers of another momentum",
)


def draw_cases(seed: int = SEED) -> list[Case]:
    """All cases of the corpus, each in its half: faults and healthy pairs."""
    draw = random.Random(seed)
    noises = ("ulp", "ulp", "reordered", "update", "other loop", "none", "start")
    cases = []
    for recipe in RECIPES.values():
        for fault in LABELS:
            if applies(recipe, fault):
                start = 1 if fault == "schedule not stepped" and recipe.resumes else None
                drawn = (
                    0
                    if fault in ("older weights restored",)
                    else draw.choice((1, 1, 2) if not recipe.resumes else (1, 3))
                )
                start = drawn if start is None else start
                cases.append(Case(recipe.name, fault, start, draw.choice(noises), draw.choice((WORKING, HELD))))
        for noise in ("ulp", "reordered", "update", "other loop", "start"):
            cases.append(Case(recipe.name, "", 0, noise, draw.choice((WORKING, HELD))))
    return cases


def first_step(case: Case) -> int | None:
    """The step at which the fault shows; None where the label leaves it open."""
    label = LABELS[case.fault]
    if label.after == ANY:
        return None
    start = 0 if case.fault in trainings.WHOLE_RUN else case.start
    return start + label.after
