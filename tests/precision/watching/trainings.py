"""Small trainings that watch themselves, healthy or with a fault planted at one step."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ascend_workbook.findings.report import Report
from ascend_workbook.precision.watching import watch_training


class Attention(torch.nn.Module):
    """A block of a small language model; its keys' bias has a gradient of rounding alone."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.attention = torch.nn.MultiheadAttention(width, 2, dropout=0.1, batch_first=True)
        self.inner = torch.nn.Sequential(
            torch.nn.Linear(width, 4 * width), torch.nn.GELU(), torch.nn.Linear(4 * width, width)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.inner(x)


class Language(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(50, 16)
        self.blocks = torch.nn.Sequential(Attention(16), Attention(16))
        self.head = torch.nn.Linear(16, 50)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.blocks(self.embedding(x)))


class Residual(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.norms = torch.nn.ModuleList(torch.nn.BatchNorm2d(8) for _ in range(2))
        self.convs = torch.nn.ModuleList(torch.nn.Conv2d(8, 8, 3, padding=1, bias=False) for _ in range(2))
        self.head = torch.nn.Linear(8, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x)
        for norm, conv in zip(self.norms, self.convs):
            x = x + torch.relu(norm(conv(x)))
        return self.head(x.mean((2, 3)))


class Recurrent(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = torch.nn.LSTM(6, 12, batch_first=True)
        self.head = torch.nn.Linear(12, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.cell(x)[0])


def perceptron() -> torch.nn.Module:
    layers = [torch.nn.Linear(10, 32), torch.nn.Tanh(), torch.nn.Dropout(0.2), torch.nn.Linear(32, 32), torch.nn.Tanh()]
    return torch.nn.Sequential(*layers, torch.nn.Linear(32, 1))


def loss_of(model: torch.nn.Module, batch: int) -> torch.Tensor:
    """A loss of random data that can be learnt."""
    if isinstance(model, Language):
        x = torch.randint(0, 50, (batch, 9))
        return torch.nn.functional.cross_entropy(model(x[:, :-1]).flatten(0, 1), (x[:, :-1] * 7 % 50).flatten())
    if isinstance(model, Residual):
        x = torch.randn(batch, 3, 8, 8)
        return torch.nn.functional.cross_entropy(model(x), (x.mean((1, 2, 3)) > 0).long())
    if isinstance(model, Recurrent):
        x = torch.randn(batch, 7, 6)
        return (model(x) - x.sum(2, keepdim=True).cumsum(1)).square().mean()
    x = torch.randn(batch, 10)
    return (model(x) - x[:, :3].sum(1, keepdim=True).sin()).square().mean()


MODELS: dict[str, Callable[[], torch.nn.Module]] = {
    "language": Language,
    "residual": Residual,
    "recurrent": Recurrent,
    "perceptron": perceptron,
}


@dataclass
class Moment:
    """Where a training is when a fault may strike."""

    model: torch.nn.Module
    optimizer: torch.optim.Optimizer
    scaler: Any
    draw: random.Random

    def pick(self) -> torch.nn.Parameter:
        """One weight matrix: what a layer loses shows there."""
        return self.draw.choice([value for value in self.model.parameters() if value.dim() > 1])

    def flip(self, value: torch.Tensor, bit: int) -> None:
        """Flip one bit of a float32 tensor, as memory may."""
        words = value.data.view(-1).view(torch.int32)
        mask = -(1 << 31) if bit == 31 else 1 << bit
        words[self.draw.randrange(words.numel())] ^= mask


def scale_all(at: Moment) -> None:
    for value in at.model.parameters():
        if value.grad is not None:
            value.grad.mul_(80)


def zero_all(at: Moment) -> None:
    for value in at.model.parameters():
        if value.grad is not None:
            value.grad.zero_()


def spoil(at: Moment, number: float) -> None:
    at.pick().grad.view(-1)[0] = number  # type: ignore[union-attr]


def lose_one(at: Moment) -> None:
    at.pick().grad = None


def write_under_no_grad(at: Moment) -> None:
    with torch.no_grad():
        at.pick().view(-1)[0] += 0.5


def collapse_scale(at: Moment) -> None:
    at.scaler._scale.fill_(2.0)


#: (when it strikes, the key of the alarm, what it does): after backward, after clipping or before the next forward.
FAULTS: dict[str, tuple[str, str, Callable[[Moment], None]]] = {
    "all x80": ("gradient", "spike", scale_all),
    "one x80": ("gradient", "spike", lambda at: at.pick().grad.mul_(80)),  # type: ignore[union-attr]
    "one x80 after clipping": ("clipped", "spike", lambda at: at.pick().grad.mul_(80)),  # type: ignore[union-attr]
    "all zero": ("gradient", "gone", zero_all),
    "one zero": ("gradient", "gone", lambda at: at.pick().grad.zero_()),  # type: ignore[union-attr]
    "one lost": ("clipped", "gone", lose_one),
    "nan": ("gradient", "nonfinite", lambda at: spoil(at, float("nan"))),
    "inf": ("gradient", "nonfinite", lambda at: spoil(at, float("inf"))),
    "high bit": ("weights", "changed", lambda at: at.flip(at.pick(), 29)),
    "low bit": ("weights", "changed", lambda at: at.flip(at.pick(), 0)),
    "sign": ("weights", "changed", lambda at: at.flip(at.pick(), 31)),
    "written": ("weights", "changed", write_under_no_grad),
    "scale": ("scale", "scale", collapse_scale),
}


def train(
    out: Path,
    name: str,
    seed: int,
    *,
    fault: str = "",
    at: int = -1,
    steps: int = 60,
    clip: bool = True,
    amp: bool = False,
    accumulate: int = 1,
    warm_up: bool = False,
    last_batch: int = 0,
    batch: int = 32,
    average: bool = False,
    adam: bool = True,
    skip: tuple[int, ...] = (),
    clamp: float = 0.0,
) -> Report:
    """Train and return the report of the watcher; the fault strikes at step `at`, counted from 1."""
    torch.manual_seed(seed)
    model = MODELS[name]()
    optimizer: torch.optim.Optimizer = (
        torch.optim.AdamW(model.parameters(), 3e-3) if adam else torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    )
    scaler = torch.amp.GradScaler("cpu", enabled=amp or FAULTS.get(fault, ("",))[0] == "scale")
    moment = Moment(model, optimizer, scaler, random.Random(seed))
    when, _, strike = FAULTS.get(fault, ("", "", None))
    watcher = watch_training(model, optimizer, out=out, scaler=scaler, quiet=True)
    mean = torch.optim.swa_utils.AveragedModel(model) if average else None
    for step in range(1, steps + 1):

        def hit(now: str, step: int = step) -> None:
            if strike is not None and step == at and when == now:
                strike(moment)

        hit("weights")
        if warm_up:
            optimizer.param_groups[0]["lr"] = 3e-3 * min(1.0, step / 20)
        size = last_batch if last_batch and step % 10 == 0 else batch
        optimizer.zero_grad()
        for _ in range(accumulate):
            loss = loss_of(model, size) / accumulate
            scaler.scale(loss).backward()
        if step in skip:
            next(model.parameters()).grad.fill_(float("inf"))  # type: ignore[union-attr]
        hit("gradient")
        if clip:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        hit("clipped")
        hit("scale")
        watcher.log(loss=loss)
        scaler.step(optimizer)
        scaler.update()
        if clamp:
            with torch.no_grad():
                for value in model.parameters():
                    value.clamp_(-clamp, clamp)
        if mean is not None:
            mean.update_parameters(model)
    return watcher.close()


def train_adversaries(out: Path, seed: int, steps: int = 60) -> Report:
    """Two networks against one another, with two optimizers."""
    torch.manual_seed(seed)
    maker = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
    judge = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.LeakyReLU(0.2), torch.nn.Linear(16, 1))
    both = torch.nn.ModuleList([maker, judge])
    optimizers = [torch.optim.Adam(part.parameters(), 2e-3, betas=(0.5, 0.9)) for part in (judge, maker)]
    watcher = watch_training(both, *optimizers, out=out, quiet=True)
    score = torch.nn.functional.binary_cross_entropy_with_logits
    for _ in range(steps):
        real = torch.randn(32, 2) + 1
        fake = maker(torch.randn(32, 4))
        optimizers[0].zero_grad()
        (score(judge(real), torch.ones(32, 1)) + score(judge(fake.detach()), torch.zeros(32, 1))).backward()
        optimizers[0].step()
        optimizers[1].zero_grad()
        loss = score(judge(fake), torch.ones(32, 1))
        loss.backward()
        watcher.log(loss=loss)
        optimizers[1].step()
    return watcher.close()
