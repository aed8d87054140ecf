"""Cases drawn from a seed: healthy trainings, and trainings with one fault at one step; in a working and a held half.

`python -m tests.precision.watching.corpus working [SEED]` runs a half, of SEED's draw, and prints what was missed and
what was told wrongly. A fault is labelled by what it does to the numbers, before the watcher sees it: one that does not
change its tensor's norm by EFFECT is drawn again."""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from ascend_workbook.findings.report import Report
from ascend_workbook.precision.child.watch_rules import REMARKS
from ascend_workbook.precision.watching import watch_training
from tests.precision.watching.recipes import HEALTHY, Training

SEED = 20261202
HALVES = ("working", "held")
#: Draws of the held half, each written down before it ran, once.
DRAWN = (SEED, 614207733, 1514460529)
STEPS = 120
#: A flipped bit changes the norm of its tensor by so much.
EFFECT = 30.0
#: Recipes that a fault strikes.
PLAIN = ("Training", "WarmUp", "Accumulated", "Averaged", "Decayed", "LargeBatch", "Bfloat", "StepDecay")


@dataclass(frozen=True)
class Case:
    """`fault` empty: a healthy one. `seed` draws all that the recipe leaves open."""

    half: str
    recipe: str
    fault: str
    seed: int


@dataclass
class Moment:
    """Where a training is when a fault strikes."""

    training: Training
    draw: random.Random
    scaler: torch.amp.GradScaler

    @property
    def parameters(self) -> list[torch.nn.Parameter]:
        return [value for value in self.training.model.parameters() if value.grad is not None]

    def pick(self) -> torch.nn.Parameter:
        """One weight matrix that takes part: of the gradient no less than a hundredth."""
        whole = sum(float(value.grad.norm()) ** 2 for value in self.parameters) ** 0.5  # type: ignore[union-attr]
        matrices = [value for value in self.parameters if value.dim() > 1]
        return self.draw.choice([value for value in matrices if float(value.grad.norm()) > 0.01 * whole])  # type: ignore[union-attr]

    def flip(self, tensor: torch.Tensor) -> None:
        """Flip one bit of an exponent, as memory may, so that the tensor's norm grows by EFFECT."""
        words, values = tensor.data.view(-1).view(torch.int32), tensor.data.view(-1)
        for _ in range(1000):
            at, bit = self.draw.randrange(words.numel()), self.draw.choice((26, 27, 28, 29, 30))
            before = float(values.double().norm())
            words[at] ^= 1 << bit
            after = float(values.double().norm())
            if after > EFFECT * before:
                return
            words[at] ^= 1 << bit
        raise ValueError("no bit has the effect")


def scale_gradients(at: Moment) -> None:
    factor = at.draw.choice((40.0, 80.0, 200.0))
    for value in at.parameters:
        value.grad.mul_(factor)  # type: ignore[union-attr]


def scale_one(at: Moment) -> None:
    at.pick().grad.mul_(80)  # type: ignore[union-attr]


def zero_all(at: Moment) -> None:
    for value in at.parameters:
        value.grad.zero_()  # type: ignore[union-attr]


def lose_one(at: Moment) -> None:
    at.pick().grad = None


def spoil(at: Moment) -> None:
    at.pick().grad.view(-1)[0] = at.draw.choice((float("nan"), float("inf")))  # type: ignore[union-attr]


def break_layer(at: Moment) -> None:
    """One layer gives NaN in this step's forward."""
    layers = [
        module for module in at.training.model.modules() if isinstance(module, (torch.nn.Linear, torch.nn.Conv2d))
    ]
    handle: list[torch.utils.hooks.RemovableHandle] = []

    def give_nan(module: torch.nn.Module, inputs: object, output: torch.Tensor) -> torch.Tensor:
        handle[0].remove()
        return output * float("nan")

    handle.append(at.draw.choice(layers).register_forward_hook(give_nan))


def flip_state(at: Moment) -> None:
    """A bit of Adam's first moment: the update of this step is far off."""
    optimizer = at.training.optimizers[0]
    at.flip(optimizer.state[at.pick()]["exp_avg"])


def cut_off(at: Moment) -> None:
    """From this step on a layer gets no gradient, though it asks for one."""
    at.pick().register_post_accumulate_grad_hook(lambda value: setattr(value, "grad", None))


def raise_rate(at: Moment) -> None:
    at.training.set_rate(at.draw.choice((300.0, 1000.0)))


def write(at: Moment) -> None:
    with torch.no_grad():
        at.pick().view(-1)[0] += 0.5


def collapse(at: Moment) -> None:
    at.scaler._scale.fill_(at.draw.choice((1.0, 2.0)))  # type: ignore[union-attr]


def spoil_inputs(at: Moment) -> None:
    at.training.input_factor = at.draw.choice((100.0, 1000.0))


@dataclass(frozen=True)
class Fault:
    """When it strikes, what may be said of it, how many steps later at most, the clipping that it needs."""

    when: str
    keys: tuple[str, ...]
    strike: Callable[[Moment], None]
    late: int = 0
    clip: float | None = None
    recipe: str = ""


GRADIENT, CLIPPED, BEFORE = "gradient", "clipped", "before"
FAULTS: dict[str, Fault] = {
    "all leap": Fault(GRADIENT, ("spike",), scale_gradients),
    "one x80, no clipping": Fault(GRADIENT, ("spike",), scale_one, clip=0.0),
    "one x80, clipping": Fault(GRADIENT, ("spike",), scale_one, clip=1.0),
    "one x80 behind clipping": Fault(CLIPPED, ("spike",), scale_one, clip=1.0),
    "all zero": Fault(GRADIENT, ("gone",), zero_all),
    "one zero": Fault(GRADIENT, ("gone",), lambda at: at.pick().grad.zero_()),  # type: ignore[union-attr]
    "one lost": Fault(CLIPPED, ("gone",), lose_one),
    "spoilt gradient": Fault(GRADIENT, ("nonfinite",), spoil),
    "layer gives nan": Fault(BEFORE, ("nonfinite",), break_layer),
    "bit of a weight": Fault(BEFORE, ("changed",), lambda at: at.flip(at.pick())),
    "bit of a gradient": Fault(GRADIENT, ("spike", "nonfinite"), lambda at: at.flip(at.pick().grad)),  # type: ignore[arg-type]
    "bit of the optimizer": Fault(CLIPPED, ("changed", "update", "spike", "nonfinite"), flip_state, late=1),
    "written": Fault(BEFORE, ("changed",), write),
    "layer cut off": Fault(CLIPPED, ("gone",), cut_off, late=1),
    "rate leaps": Fault(BEFORE, ("update", "spike", "nonfinite"), raise_rate, late=1),
    "bad batch": Fault(BEFORE, ("spike", "nonfinite"), spoil_inputs, recipe="Batches"),
    "scale collapses": Fault(CLIPPED, ("scale",), collapse, recipe="HalfScaled"),
}


class Batches(Training):
    """A regression whose batch a fault multiplies."""

    def make_model(self) -> torch.nn.Module:
        wide = self.draw.choice((16, 32, 64))
        return torch.nn.Sequential(torch.nn.Linear(10, wide), torch.nn.GELU(), torch.nn.Linear(wide, 1))

    def find_loss(self, step: int) -> torch.Tensor:
        x = torch.randn(self.batch, 10)
        y = x[:, :3].sum(1, keepdim=True).sin()
        factor, self.input_factor = self.input_factor, 1.0
        return (self.model(x * factor) - y).square().mean()


def draw_cases(seed: int = SEED, rounds: int = 4) -> list[Case]:
    """All cases of a seed. Each fault and each healthy recipe comes `rounds` times, half of them in each half."""
    draw = random.Random(seed)
    cases = []
    for number in range(rounds):
        for half in (HALVES[number % 2],):
            cases += [Case(half, name, "", draw.randrange(2**31)) for name in HEALTHY]
            cases += [
                Case(half, fault.recipe or draw.choice(PLAIN), name, draw.randrange(2**31))
                for name, fault in FAULTS.items()
            ]
    return cases


def run_case(case: Case, folder: Path) -> tuple[Report, int]:
    """Train it under a watcher; the report, and the step of the fault (0: none)."""
    torch.manual_seed(case.seed)
    draw = random.Random(case.seed)
    kind = Batches if case.recipe == "Batches" else HEALTHY[case.recipe]
    training = kind(draw, STEPS)
    fault = FAULTS.get(case.fault)
    at = draw.randrange(25, STEPS - 5) if fault else 0
    at += 1 if at and at % 37 == 0 else 0  # HalfScaled leaves such a step out
    if fault and fault.clip is not None:
        training.clip = fault.clip
    scaler = torch.amp.GradScaler("cpu", enabled=training.scaled, init_scale=2.0**16)
    struck = 0
    moment = Moment(training, draw, scaler)
    watcher = watch_training(
        training.model, *training.optimizers, out=folder, scaler=scaler if training.scaled else None, quiet=True
    )
    for step in range(1, STEPS + 1):

        def hit(when: str, step: int = step) -> None:
            if fault is not None and step == at and fault.when == when:
                fault.strike(moment)

        training.begin(step)
        hit(BEFORE)
        for optimizer in training.optimizers:
            optimizer.zero_grad()
        for _ in range(training.accumulate):
            with torch.autocast("cpu", training.amp or torch.bfloat16, enabled=training.amp is not None):
                loss = training.find_loss(step)
            scaler.scale(loss / training.accumulate).backward()
        hit(GRADIENT)
        if training.clip:
            for optimizer in training.optimizers:
                scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(training.model.parameters(), training.clip)
        hit(CLIPPED)
        watcher.log(loss=loss.detach())
        for optimizer in training.optimizers:
            scaler.step(optimizer)
        scaler.update()
        if step == at:  # a step is an update: one that a scaler left out is none
            struck = watcher.recorder.step
        if fault is not None and case.fault == "rate leaps" and step == at:
            training.set_rate(1.0)
        training.end(step)
    return watcher.close(), struck


def judge_case(case: Case, folder: Path) -> str:
    """An empty text where the watcher is right; else what it missed or told wrongly."""
    report, step = run_case(case, folder)
    alarms = [alarm for alarm in report.facts["alarms"] if alarm.get("kind") not in REMARKS]
    told = [(alarm["key"], alarm.get("kind"), alarm["step"], alarm.get("names", [])[:2]) for alarm in alarms]
    if not case.fault:
        return f"alarm {told}" if told else ""
    fault = FAULTS[case.fault]
    early = [alarm for alarm in told if alarm[2] < step]
    right = [alarm for alarm in told if alarm[0] in fault.keys and step <= alarm[2] <= step + fault.late]
    return f"early {early}" if early else "" if right else f"missed at {step}: {told}"


def main(half: str, seed: int = SEED, rounds: int = 4) -> None:
    counts = {"faults": 0, "found": 0, "healthy": 0, "alarms": 0}
    with tempfile.TemporaryDirectory() as name:
        for number, case in enumerate(case for case in draw_cases(seed, rounds) if case.half == half):
            wrong = judge_case(case, Path(name) / str(number))
            counts["faults" if case.fault else "healthy"] += 1
            counts["found"] += bool(case.fault and not wrong)
            counts["alarms"] += bool(wrong and not case.fault)
            if wrong:
                print(case, wrong, flush=True)
    print(counts)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:3]))
