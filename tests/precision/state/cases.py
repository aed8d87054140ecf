"""Which fault is planted in which training, what is right to say of it, and which half of the corpus a case is in.

A run draws more (`draw_run`): which of the pairs of its half, on which device, with which seed of the trainings; the
half that a pair is in never changes.

The labels were written before the judge saw a case. The draw (SEED) chooses for each pair of training and fault the
step from which on the fault is there, the noise of the target, and the half: `working` cases may be looked at while the
judge is written, `held` ones are run once it stands."""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass

from tests.precision.state import optimizers, ranks, trainings
from tests.precision.state.trainings import NEWER, RECIPES, Recipe

# ruff: noqa: SIM905 - a column of names reads better without quotes
SEED = 20261128
WORKING, HELD, NEW = "working", "held", "new"
#: Draws of trainings that no draw before has, with tensors and with statistics; networks and labels were committed
#: before the judge saw one.
DRAWN_NEW = (20261501, 20261502)
#: Draws of the held half, each written down before it ran, once: of the step's state, and of the whole command.
DRAWN, DRAWN_WHOLE = (1002566096, 731904552, 1255127168), (913475007,)
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
#: What a run draws besides.
MORE = {
    "batches in another order": Label(("data",), near=("gradient",)),
    "normalised otherwise": Label(("data",), near=("gradient",)),
    "last batch dropped": Label(("data",), near=("gradient",)),
    "another dropout": Label(("gradient",), near=("random",)),
    "schedule before the update": Label(("rate",)),
    "schedule stepped twice": Label(("rate",), after=1),
    "rate scaled": Label(("rate",), after=ANY),
    "average not restored": Label(("copy", "restored"), after=ANY),
    "buffers not restored": Label(("buffer", "restored"), after=ANY),
    "random state not restored": Label(("random",), after=ANY),
    "data position not restored": Label(("data",), after=ANY),
    "weights rounded on saving": Label(("restored",), after=ANY),
}
#: Of trainings of two ranks.
OF_RANKS = {
    "all-reduce of one parameter missing": Label(("ranks",), "one", near=("gradient", "changed")),
    "summed for averaged": Label(("gradient", "changed"), "factor"),
    "not averaged": Label(("ranks",), near=("gradient", "changed")),
    "data of the other rank": Label(("data",), near=("gradient",)),
    "buffers not synchronised": Label(("ranks", "buffer")),
    "averaged in bfloat16": Label(("changed",), near=("gradient",)),
    "shard not gathered": Label(("ranks",), after=1, near=("gradient",)),
    "shard of one rank lost": Label(("changed",), "zero", near=("gradient",)),
    "shard of one rank doubled": Label(("changed",), "one", near=("gradient",)),
    "one rank's rate": Label(("rate",)),
    "one rank's update skipped": Label(("parameters",), near=("ranks",)),
    "one rank seeded otherwise": Label(("random",)),
}
#: Rules that only some optimizers have a parameter for.
FAMILIES = {"adam": "adam", "adam2": "adam", "adamw": "adam", "sgd": "sgd", "rmsprop": "rmsprop"}
OF_ADAM_ALONE = {"adamw": ("decay decoupled",), "adam": ("decay coupled",), "adam2": ("decay coupled",)}


#: The trainings of the first draw.
FIRST = """
mlp conv resnet16 gpt gptbf16 gru checkpointed gan vit resumed resumedscaled rms
""".split()


@dataclass(frozen=True)
class Case:
    recipe: str
    fault: str
    start: int
    noise: str
    half: str
    seed: int = 0
    #: The target's device; draws are the host's where a training drops out on two devices.
    device: str = "cpu"

    @property
    def name(self) -> str:
        return f"{self.recipe}: {self.fault or 'healthy'} ({self.noise if self.device == 'cpu' else self.device})"

    @property
    def draws(self) -> str:
        recipe = {**RECIPES, **NEWER, **ranks.RECIPES}[self.recipe]
        return "host" if self.device != "cpu" and recipe.drops else "device"

    @property
    def label(self) -> Label:
        return {**LABELS, **MORE, **OF_RANKS}[self.fault]


def applies(recipe: Recipe, fault: str) -> bool:
    """Return whether the training has what the fault breaks."""
    if recipe.ranks:
        return fault in ranks.FAULTS and ranks.applies(recipe, fault)
    if fault in OF_RANKS:
        return False
    rules = optimizers.RULES[FAMILIES[recipe.optimizer]]
    if any(fault in every for every in optimizers.RULES.values()):
        return fault in rules and fault not in OF_ADAM_ALONE.get(recipe.optimizer, ())
    if recipe.name == "gan":
        return fault in GAN
    needs = {
        "decay on norms and biases": recipe.groups,
        "schedule off by one": recipe.schedule in ("step", "warmup"),
        "schedule before the update": recipe.schedule not in ("", "step"),
        "schedule stepped twice": recipe.schedule not in ("", "step", "warmup"),
        "rate scaled": recipe.schedule != "onecycle",
        "normalised otherwise": recipe.name in OF_NUMBERS,
        "augmentation": True,
        "another dropout": recipe.drops,
        "average not restored": recipe.resumes and recipe.averages,
        "buffers not restored": recipe.resumes and recipe.norm,
        "weights rounded on saving": recipe.resumes,
        "random state not restored": recipe.resumes,
        "schedule not stepped": recipe.schedule not in ("", "step"),
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
        "schedule not restored": recipe.resumes and recipe.schedule not in ("", "step"),
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


#: Trainings whose inputs are numbers and not words.
OF_NUMBERS = "mlp rms resumedscaled conv resnet16 vit unet resumedconv16 dropped mixer graph codes levels".split()
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
    for recipe in map(RECIPES.__getitem__, FIRST):
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


def half_of(recipe: str, fault: str) -> str:
    """The half that a pair is in, whatever a run draws."""
    return (WORKING, HELD)[hashlib.sha256(f"{SEED}{recipe}{fault}".encode()).digest()[0] % 2]


def draw_run(half: str, seed: int, faults: int, healthy: int, simulated: float = 0.25) -> list[Case]:
    """The cases of one run: so many faults and healthy pairs of a half, of all trainings, a share of them with the
    target on the simulated NPU."""
    draw = random.Random(seed)
    everything = NEWER if half == NEW else {**RECIPES, **ranks.RECIPES}
    pool = []
    for recipe in everything.values():
        for fault in {**LABELS, **MORE, **OF_RANKS}:
            # what the first draw holds of single processes is looked at already
            looked_at = recipe.name in FIRST and fault in LABELS
            if not looked_at and applies(recipe, fault) and half in (NEW, half_of(recipe.name, fault)):
                pool.append((recipe, fault))
    chosen = draw.sample(pool, min(faults, len(pool)))
    chosen += [(draw.choice(list(everything.values())), "") for _ in range(healthy)]
    cases = []
    for recipe, fault in chosen:
        start = draw.choice((1, 3) if recipe.resumes else (1, 1, 2))
        if recipe.resumes and fault.startswith("schedule"):
            start = 1
        if fault == "older weights restored":
            start = 0
        noise = draw.choice(("ulp", "ulp", "reordered", "update", "other loop", "none", "start"))
        noise = draw.choice((noise, "compiled")) if half == NEW and not fault and not recipe.autocast else noise
        device = "npu" if draw.random() < simulated and not recipe.ranks else "cpu"
        cases.append(Case(recipe.name, fault, start, noise, half, seed % 100_000, device))
    return cases


def first_step(case: Case) -> int | None:
    """The step at which the fault shows; None where the label leaves it open."""
    label = case.label
    if label.after == ANY:
        return None
    whole = case.fault in trainings.WHOLE_RUN or (case.recipe.startswith("ddp") and case.fault.startswith("all-red"))
    start = 0 if whole else case.start
    return start + label.after
