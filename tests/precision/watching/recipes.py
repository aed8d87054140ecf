"""Healthy trainings of many kinds, their specifics drawn from a seed: what a watcher must stay silent about."""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Callable

import torch
from torch.nn import functional

from tests.precision.watching.trainings import MODELS, loss_of


class Training:
    """A training step by step. A recipe changes what `begin`, `find_loss` and `end` do; both count steps from 1."""

    amp: torch.dtype | None = None
    accumulate = 1
    scaled = False

    def __init__(self, draw: random.Random, steps: int) -> None:
        self.draw, self.steps = draw, steps
        self.batch = draw.choice((8, 16, 32))
        self.rate = draw.choice((1e-3, 2e-3, 3e-3))
        self.clip = draw.choice((0.0, 1.0))
        #: What a fault multiplies inputs and targets by.
        self.input_factor = self.target_factor = 1.0
        self.model = self.make_model()
        self.optimizers = self.make_optimizers()

    def make_model(self) -> torch.nn.Module:
        return MODELS[self.draw.choice(sorted(MODELS))]()

    def make_optimizers(self) -> list[torch.optim.Optimizer]:
        return [torch.optim.AdamW(self.model.parameters(), self.rate)]

    def set_rate(self, factor: float) -> None:
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = self.rate * factor

    def begin(self, step: int) -> None:
        """What a script does before a step."""

    def find_loss(self, step: int) -> torch.Tensor:
        return loss_of(self.model, self.batch)

    def end(self, step: int) -> None:
        """What a script does behind a step."""


class WarmUp(Training):
    def begin(self, step: int) -> None:
        up = self.steps // 4
        done = (step - up) / (self.steps - up)
        self.set_rate(step / up if step <= up else 0.5 * (1 + math.cos(math.pi * done)))


class Restarts(Training):
    def begin(self, step: int) -> None:
        self.set_rate(0.01 + 0.5 * (1 + math.cos(math.pi * (step % 40) / 40)))


class LargeBatch(Training):
    def __init__(self, draw: random.Random, steps: int) -> None:
        super().__init__(draw, steps)
        self.batch, self.rate = 256, 1e-2
        self.set_rate(1.0)

    def begin(self, step: int) -> None:
        self.set_rate(min(1.0, step / 30))


class StepDecay(Training):
    def begin(self, step: int) -> None:
        self.set_rate(0.1 ** (step // 50))


class Noisy(Training):
    """One sample a step, momentum."""

    def make_optimizers(self) -> list[torch.optim.Optimizer]:
        self.batch = 2
        return [torch.optim.SGD(self.model.parameters(), 0.01, momentum=0.9)]


class Accumulated(Training):
    accumulate = 4


class Averaged(Training):
    def begin(self, step: int) -> None:
        if step == 1:
            self.average = torch.optim.swa_utils.AveragedModel(self.model)

    def end(self, step: int) -> None:
        self.average.update_parameters(self.model)


class Decayed(Training):
    def make_optimizers(self) -> list[torch.optim.Optimizer]:
        return [torch.optim.AdamW(self.model.parameters(), self.rate, weight_decay=self.draw.choice((0.1, 0.5, 5.0)))]


class HalfScaled(Training):
    """A GradScaler that leaves out updates until its scale fits, and now and then later."""

    scaled = True

    def find_loss(self, step: int) -> torch.Tensor:
        loss = super().find_loss(step)
        return loss * float("inf") if step in (1, 2, 3) or step % 37 == 0 else loss


class Bfloat(Training):
    amp = torch.bfloat16


class Freezing(Training):
    """Layers are frozen one after another, by name and by schedule."""

    def begin(self, step: int) -> None:
        parts = [part for part in self.model.children() if next(part.parameters(), None) is not None]
        if step % 30 == 0 and step // 30 < len(parts):
            parts[step // 30 - 1].requires_grad_(False)


class Unfreezing(Training):
    """The head first, then the rest."""

    def begin(self, step: int) -> None:
        parts = [part for part in self.model.children() if next(part.parameters(), None) is not None]
        for number, part in enumerate(reversed(parts)):
            part.requires_grad_(step > 25 * number)


class NewHead(Training):
    """A body that was trained, and a head that begins at zero."""

    def begin(self, step: int) -> None:
        if step > 1:
            return
        for _ in range(40):
            self.optimizers[0].zero_grad()
            loss_of(self.model, 32).backward()
            for value in self.model.parameters():
                value.data.add_(value.grad, alpha=-0.01)
        last = [module for module in self.model.modules() if isinstance(module, torch.nn.Linear)][-1]
        torch.nn.init.zeros_(last.weight)
        torch.nn.init.zeros_(last.bias)


class LowRank(torch.nn.Module):
    """A frozen layer beside a product of which one factor begins at zero."""

    def __init__(self) -> None:
        super().__init__()
        self.base = torch.nn.Linear(10, 10).requires_grad_(False)
        self.down = torch.nn.Linear(10, 2, bias=False)
        self.up = torch.nn.Linear(2, 1, bias=False)
        torch.nn.init.zeros_(self.up.weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.up(self.down(torch.tanh(self.base(x))))


class Adapter(Training):
    def make_model(self) -> torch.nn.Module:
        return LowRank()

    def make_optimizers(self) -> list[torch.optim.Optimizer]:
        return [torch.optim.AdamW([value for value in self.model.parameters() if value.requires_grad], self.rate)]


class Curriculum(Training):
    """Harder data from the middle on."""

    def make_model(self) -> torch.nn.Module:
        return MODELS["perceptron"]()

    def find_loss(self, step: int) -> torch.Tensor:
        hard = 1.0 if step < self.steps // 2 else 2.5
        x = hard * torch.randn(self.batch, 10)
        return (self.model(x) - hard * x[:, :3].sum(1, keepdim=True).sin()).square().mean()


class HeavyTailed(Training):
    """Targets with outliers, as prices and delays have; a robust loss."""

    def make_model(self) -> torch.nn.Module:
        return MODELS["perceptron"]()

    def find_loss(self, step: int) -> torch.Tensor:
        x = torch.randn(self.batch, 10)
        noise = torch.distributions.StudentT(2.5).sample((self.batch, 1))
        return functional.huber_loss(self.model(x), x[:, :2].sum(1, keepdim=True) + noise)


class Experts(torch.nn.Module):
    def __init__(self, count: int) -> None:
        super().__init__()
        self.router = torch.nn.Linear(10, count)
        self.experts = torch.nn.ModuleList(torch.nn.Linear(10, 8) for _ in range(count))
        self.head = torch.nn.Linear(8, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weights = self.router(x).softmax(1)
        best = weights.argmax(1)
        y = torch.zeros(len(x), 8)
        for number, expert in enumerate(self.experts):
            chosen = best == number
            if chosen.any():
                y = y.index_add(0, chosen.nonzero()[:, 0], expert(x[chosen]) * weights[chosen, number, None])
        return self.head(y)


class Mixture(Training):
    """Experts, of which not every one is used at every step."""

    def make_model(self) -> torch.nn.Module:
        return Experts(self.draw.choice((4, 8, 16)))

    def find_loss(self, step: int) -> torch.Tensor:
        x = torch.randn(self.batch, 10)
        return (self.model(x) - x[:, :3].sum(1, keepdim=True).sin()).square().mean()


class SparseRows(Training):
    """Sparse gradients of an embedding whose rare rows come rarely."""

    def make_model(self) -> torch.nn.Module:
        return torch.nn.Sequential(torch.nn.EmbeddingBag(300, 16, sparse=True), torch.nn.Linear(16, 1))

    def make_optimizers(self) -> list[torch.optim.Optimizer]:
        table, rest = list(self.model.children())
        return [torch.optim.SparseAdam(table.parameters(), self.rate), torch.optim.AdamW(rest.parameters(), self.rate)]

    def find_loss(self, step: int) -> torch.Tensor:
        self.clip = 0.0
        rows = (300 * torch.rand(self.batch, 6) ** 3).long().clamp(max=299)
        return (self.model(rows) - (rows % 7).float().mean(1, keepdim=True)).square().mean()


class Rewards(Training):
    """Policy gradient: the loss has no level, and the gradient is noise."""

    def make_model(self) -> torch.nn.Module:
        return torch.nn.Sequential(torch.nn.Linear(6, 24), torch.nn.Tanh(), torch.nn.Linear(24, 4))

    def find_loss(self, step: int) -> torch.Tensor:
        x = torch.randn(self.batch, 6)
        policy = torch.distributions.Categorical(logits=self.model(x))
        action = policy.sample()
        reward = (action == (x[:, 0] > 0).long() * 2).float() * self.draw.choice((0.0, 1.0, 3.0))
        return -(policy.log_prob(action) * (reward - reward.mean())).mean()


class Margin(Training):
    """A hinge: many samples, and at last whole batches, give no gradient."""

    def make_model(self) -> torch.nn.Module:
        self.centre = torch.randn(10)
        return torch.nn.Sequential(torch.nn.Linear(10, 24), torch.nn.ReLU(), torch.nn.Linear(24, 1))

    def find_loss(self, step: int) -> torch.Tensor:
        sign = torch.randint(0, 2, (self.batch, 1)) * 2.0 - 1
        x = torch.randn(self.batch, 10) + 2 * sign * self.centre
        return functional.relu(0.5 - sign * self.model(x)).mean()


class Alternating(Training):
    """Two tasks in turn, each with a head of its own."""

    def make_model(self) -> torch.nn.Module:
        body = torch.nn.Sequential(torch.nn.Linear(10, 16), torch.nn.GELU())
        return torch.nn.ModuleDict({"body": body, "a": torch.nn.Linear(16, 1), "b": torch.nn.Linear(16, 3)})

    def find_loss(self, step: int) -> torch.Tensor:
        x = torch.randn(self.batch, 10)
        y = self.model["body"](x)  # type: ignore[index]
        if step % 2:
            return (self.model["a"](y) - x[:, :2].sum(1, keepdim=True)).square().mean()  # type: ignore[index]
        return functional.cross_entropy(self.model["b"](y), x[:, :3].argmax(1))  # type: ignore[index]


class StochasticDepth(Training):
    """Blocks that are left out at random: their gradients are not there at such steps."""

    def make_model(self) -> torch.nn.Module:
        self.rest = self.draw.choice((0.1, 0.3, 0.5))
        return torch.nn.ModuleList(torch.nn.Linear(10, 10) for _ in range(6))

    def find_loss(self, step: int) -> torch.Tensor:
        x = y = torch.randn(self.batch, 10)
        for number, layer in enumerate(self.model):  # type: ignore[arg-type]
            if not number or torch.rand(()) > self.rest:
                y = y + torch.tanh(layer(y))
        return (y.mean(1) - x[:, 0].sin()).square().mean()


class Clamped(Training):
    def end(self, step: int) -> None:
        with torch.no_grad():
            for value in self.model.parameters():
                value.clamp_(-0.3, 0.3)


class Proximal(Training):
    """Small weights are set to zero behind every update."""

    def make_optimizers(self) -> list[torch.optim.Optimizer]:
        return [torch.optim.SGD(self.model.parameters(), 0.02, momentum=0.9)]

    def end(self, step: int) -> None:
        with torch.no_grad():
            for value in self.model.parameters():
                if value.dim() > 1:
                    value.copy_(value.sign() * (value.abs() - 1e-4).clamp(min=0))


class Reloaded(Training):
    """The best weights so far are loaded again in the midst."""

    def begin(self, step: int) -> None:
        if step == 30:
            self.best = copy.deepcopy(self.model.state_dict())
        if step == 90:
            self.model.load_state_dict(self.best)


class ShortBatches(Training):
    def find_loss(self, step: int) -> torch.Tensor:
        return loss_of(self.model, 2 if step % 12 == 0 else self.batch)


class WeightNormed(Training):
    def make_model(self) -> torch.nn.Module:
        wrap = torch.nn.utils.parametrizations.weight_norm
        return torch.nn.Sequential(wrap(torch.nn.Linear(10, 32)), torch.nn.GELU(), wrap(torch.nn.Linear(32, 1)))


class Penalised(Training):
    """A penalty on the gradient of the output: backward twice."""

    def make_model(self) -> torch.nn.Module:
        return MODELS["perceptron"]()

    def find_loss(self, step: int) -> torch.Tensor:
        x = torch.randn(self.batch, 10, requires_grad=True)
        y = self.model(x)
        (slope,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        return (y - x[:, :2].sum(1, keepdim=True).detach()).square().mean() + 0.1 * (
            slope.norm(dim=1) - 1
        ).square().mean()


class Adversaries(Training):
    """Two networks against one another, with two optimizers."""

    def make_model(self) -> torch.nn.Module:
        maker = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
        judge = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.LeakyReLU(0.2), torch.nn.Linear(16, 1))
        return torch.nn.ModuleList([judge, maker])

    def make_optimizers(self) -> list[torch.optim.Optimizer]:
        return [torch.optim.Adam(part.parameters(), 2e-3, betas=(0.5, 0.9)) for part in self.model.children()]

    def find_loss(self, step: int) -> torch.Tensor:
        judge, maker = self.model.children()
        score = functional.binary_cross_entropy_with_logits
        fake = maker(torch.randn(32, 4))
        judge.requires_grad_(False)
        loss = score(judge(fake), torch.ones(32, 1))
        judge.requires_grad_(True)
        real = score(judge(torch.randn(32, 2) + 1), torch.ones(32, 1))
        return loss + real + score(judge(fake.detach()), torch.zeros(32, 1))


HEALTHY: dict[str, Callable[[random.Random, int], Training]] = {
    kind.__name__: kind
    for kind in (
        *(Training, WarmUp, Restarts, LargeBatch, StepDecay, Noisy, Accumulated, Averaged, Decayed, HalfScaled, Bfloat),
        *(Freezing, Unfreezing, NewHead, Adapter, Curriculum, HeavyTailed, Mixture, SparseRows, Rewards, Margin),
        *(
            Alternating,
            StochasticDepth,
            Clamped,
            Proximal,
            Reloaded,
            ShortBatches,
            WeightNormed,
            Penalised,
            Adversaries,
        ),
    )
}
