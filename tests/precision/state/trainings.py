"""Small trainings, each with a list of what may be planted in it.

A training is a function of its faults and its noise. It is written as scripts are: a loop with zero_grad, backward, a
scaler or clipping where it has one, the update, a scheduler, an average of the weights. A fault is a word that one line
of it asks for."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
import torch.utils.checkpoint
from torch import nn

from tests.precision.state import newer, optimizers

STEPS = 5
#: Where the trainings run: "npu" in the target of some cases.
DEVICE = ["cpu"]


@dataclass(frozen=True)
class Recipe:
    """What a training has. `micro` is how many batches one update takes; `averages` keeps an average of the weights;
    `resumes` saves and loads everything before step 2; `recomputes` uses activation checkpointing."""

    name: str
    optimizer: str
    clips: float = 0.0
    micro: int = 1
    schedule: str = ""
    autocast: str = ""
    scaler: bool = False
    averages: bool = False
    resumes: bool = False
    recomputes: bool = False
    drops: bool = False
    norm: bool = False
    groups: bool = False
    ranks: str = ""


RECIPES = {
    recipe.name: recipe
    for recipe in (
        Recipe("mlp", "sgd", norm=True, schedule="step"),
        Recipe("conv", "sgd", norm=True, averages=True, micro=2),
        Recipe("resnet16", "adamw", norm=True, scaler=True, autocast="float16", clips=1.0),
        Recipe("gpt", "adamw", groups=True, schedule="warmup", clips=1.0),
        Recipe("gptbf16", "adamw", groups=True, schedule="warmup", clips=0.5, autocast="bfloat16"),
        Recipe("gru", "adam", clips=0.5, micro=4),
        Recipe("checkpointed", "adamw", recomputes=True, drops=True, groups=True),
        Recipe("gan", "adam2", norm=True),
        Recipe("vit", "adamw", micro=2, averages=True, groups=True, drops=True),
        Recipe("resumed", "adamw", resumes=True, schedule="warmup"),
        Recipe("resumedscaled", "sgd", resumes=True, scaler=True, autocast="float16", schedule="step", norm=True),
        Recipe("rms", "rmsprop", clips=1.0, norm=True),
        Recipe("resumedbf16", "adamw", resumes=True, autocast="bfloat16", clips=1.0, groups=True, schedule="cosine"),
        Recipe(
            "resumedconv16",
            "adamw",
            resumes=True,
            scaler=True,
            autocast="float16",
            schedule="onecycle",
            norm=True,
            averages=True,
        ),
        Recipe("unet", "adam", schedule="exponential", clips=2.0),
        Recipe("tower", "sgd", schedule="plateau", norm=True, micro=2),
        Recipe("checkpointed16", "adamw", recomputes=True, drops=True, groups=True, autocast="bfloat16"),
        Recipe("dropped", "rmsprop", drops=True, norm=True, schedule="multistep", averages=True),
        Recipe("moe", "adamw", clips=1.0, groups=True, schedule="warmup"),
    )
}
#: Trainings of the draw of 20261501 (newer.py), which are in no draw before it.
NEWER = {
    recipe.name: recipe
    for recipe in (
        Recipe("mixer", "adamw", recomputes=True, drops=True, groups=True, schedule="cosine"),
        Recipe("wavenet", "adam", clips=0.5, schedule="exponential", averages=True),
        Recipe("graph", "adamw", drops=True, micro=2, schedule="warmup"),
        Recipe("recommender", "rmsprop", clips=1.0, micro=4),
        Recipe("scan", "adamw", groups=True, clips=1.0, autocast="bfloat16", schedule="warmup"),
        Recipe("codes", "adamw", resumes=True, averages=True, schedule="cosine", clips=2.0),
        Recipe("conformer", "adamw", norm=True, drops=True, scaler=True, autocast="float16", clips=1.0),
        Recipe("levels", "sgd", schedule="plateau", averages=True, micro=2),
    )
}
#: The target's network is compiled where this is set.
COMPILED = [False]


class Residual(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + F.relu(self.norm(self.conv(x)))


class Block(nn.Module):
    def __init__(self, width: int, drop: float, causal: bool) -> None:
        super().__init__()
        self.attention_norm, self.mlp_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.drop, self.causal = drop, causal

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        query, key, value = self.qkv(self.attention_norm(x)).chunk(3, -1)
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        if self.causal:
            scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), -math.inf)
        x = x + F.dropout(self.out(scores.softmax(-1) @ value), self.drop, self.training)
        return x + F.dropout(self.down(F.gelu(self.up(self.mlp_norm(x)))), self.drop, self.training)


class Tokens(nn.Module):
    def __init__(self, width: int = 16, layers: int = 2, drop: float = 0.0, fault: str = "", step: Any = None) -> None:
        super().__init__()
        self.embed, self.place = nn.Embedding(23, width), nn.Parameter(0.1 * torch.randn(8, width))
        self.blocks = nn.ModuleList(Block(width, drop, True) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 23)
        self.checkpointing, self.keeps = False, True

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.embed(x) + self.place
        for block in self.blocks:
            if self.checkpointing:
                x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False, preserve_rng_state=self.keeps)
            else:
                x = block(x)
        return self.head(self.norm(x))


class Patches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cut = nn.Conv2d(1, 16, 2, 2)
        self.place = nn.Parameter(0.1 * torch.randn(16, 16))
        self.blocks = nn.ModuleList(Block(16, 0.1, False) for _ in range(2))
        self.norm, self.head = nn.LayerNorm(16), nn.Linear(16, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.cut(x).flatten(2).transpose(1, 2) + self.place
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x).mean(1))


class Sequence(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.gru, self.head = nn.Embedding(23, 12), nn.GRU(12, 20, batch_first=True), nn.Linear(20, 23)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.gru(self.embed(x))[0])


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down, self.norm = nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.GroupNorm(2, 8)
        self.deep, self.up = nn.Conv2d(8, 8, 3, padding=1), nn.ConvTranspose2d(8, 4, 2, 2)
        self.last, self.head = nn.Conv2d(5, 4, 3, padding=1), nn.Linear(4, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        low = F.silu(self.norm(self.down(x)))
        high = self.up(low + F.silu(self.deep(low)))
        return self.head(F.silu(self.last(torch.cat([x, high], 1))).mean((2, 3)))


class Tower(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bags, self.norm = nn.EmbeddingBag(23, 12), nn.BatchNorm1d(12)
        self.hidden, self.head = nn.Linear(12, 24), nn.Linear(24, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(torch.tanh(self.hidden(self.norm(self.bags(x)))))


class Experts(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.gate = nn.Linear(width, 3)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 24), nn.GELU(), nn.Linear(24, width)) for _ in "abc"
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weights = self.gate(x).softmax(-1)
        return sum(weights[..., at : at + 1] * expert(x) for at, expert in enumerate(self.experts))  # type: ignore[return-value]


class Mixture(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.place = nn.Embedding(23, 16), nn.Parameter(0.1 * torch.randn(8, 16))
        self.block, self.experts = Block(16, 0.0, True), Experts(16)
        self.norm, self.head = nn.LayerNorm(16), nn.Linear(16, 23)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.block(self.embed(x) + self.place)
        return self.head(self.norm(x + self.experts(x)))


def build(recipe: Recipe) -> nn.Module:
    """The network of a training, where trainings run."""
    model = _build(recipe).to(DEVICE[0])
    if COMPILED[0]:
        model.compile(backend="aot_eager_decomp_partition")
    return model


def _build(recipe: Recipe) -> nn.Module:
    kind = recipe.name
    others: dict[str, type[nn.Module]] = {"unet": UNet, "tower": Tower, "moe": Mixture, **newer.NETWORKS}
    if kind in others:
        return others[kind]()
    if kind == "dropped":
        return nn.Sequential(
            nn.Linear(12, 40),
            nn.BatchNorm1d(40),
            nn.ReLU(),
            nn.Dropout(0.2),
            nn.Linear(40, 24),
            nn.Tanh(),
            nn.Linear(24, 5),
        )
    if kind in ("mlp", "rms", "resumedscaled", "ddp"):
        return nn.Sequential(
            nn.Linear(12, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 24), nn.ReLU(), nn.Linear(24, 5)
        )
    if kind in ("conv", "resnet16", "resumedconv16", "averagedconv"):
        stem = nn.Conv2d(1, 8, 3, padding=1)
        return nn.Sequential(stem, Residual(8), Residual(8), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5))
    if kind == "gru":
        return Sequence()
    if kind == "vit":
        return Patches()
    return Tokens(drop=0.1 if recipe.drops else 0.0)


def batch_of(recipe: Recipe, draw: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    x, labels = _draw_batch(recipe, draw)
    return x.to(DEVICE[0]), labels.to(DEVICE[0])


def _draw_batch(recipe: Recipe, draw: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    if recipe.name in ("tower", *newer.CATEGORIES):
        return torch.randint(0, 23, (16, 4), generator=draw), torch.randint(0, 5, (16,), generator=draw)
    if recipe.name in ("mlp", "rms", "resumedscaled", "dropped", "ddp", *newer.NODES):
        return torch.randn(16, 12, generator=draw), torch.randint(0, 5, (16,), generator=draw)
    if recipe.name in ("conv", "resnet16", "vit", "unet", "resumedconv16", "averagedconv", *newer.PICTURES):
        return torch.randn(8, 1, 8, 8, generator=draw), torch.randint(0, 5, (8,), generator=draw)
    tokens = torch.randint(0, 23, (6, 9), generator=draw)
    return tokens[:, :-1], tokens[:, 1:]


def loss_of(output: torch.Tensor, labels: torch.Tensor, fault: str) -> torch.Tensor:
    reduction = "sum" if fault == "loss summed" else "mean"
    return F.cross_entropy(output.float().reshape(-1, output.shape[-1]), labels.reshape(-1), reduction=reduction)


def groups_of(recipe: Recipe, model: nn.Module, fault: str) -> list[dict[str, Any]]:
    named = list(model.named_parameters())
    if fault == "parameter left out":
        named = named[:-2]
    if not recipe.groups:
        return [{"params": [value for _, value in named]}]
    small = [value for _, value in named if value.dim() < 2]
    large = [value for _, value in named if value.dim() >= 2]
    if fault == "decay on norms and biases":
        small, large = [], [value for _, value in named]
    return [{"params": large}, *([{"params": small, "weight_decay": 0.0}] if small else [])]


class Planted:
    """Asked at one place of a training: is this the fault, and is it on at this step?"""

    def __init__(self, fault: str, start: int) -> None:
        self.fault, self.start, self.step = fault, start, 0

    def __call__(self, word: str) -> bool:
        return self.fault == word and self.step >= self.start


def watch_gradient(planted: Planted, word: str, change: Callable[[torch.Tensor], torch.Tensor]) -> Callable[..., Any]:
    return lambda gradient: change(gradient) if planted(word) else gradient


def train(name: str, fault: str = "", start: int = 1, seed: int = 0, foreach: bool | None = None) -> Iterator[int]:
    """Runs the training, yielding before each step. `start` is the step from which on the fault is there."""
    recipe = {**RECIPES, **NEWER}[name]
    if name == "gan":
        yield from train_gan(fault, start, seed, foreach)
        return
    torch.manual_seed(seed)
    on = Planted(fault, start)
    model = build(recipe)
    if recipe.recomputes:
        model.checkpointing = True
    plant_hooks(model, on)
    optimizer, schedule = make_training(recipe, model, fault, on, foreach)
    scaler = torch.amp.GradScaler(DEVICE[0], init_scale=1024.0, growth_interval=3) if recipe.scaler else None
    average = {key: value.detach().clone() for key, value in model.named_parameters()} if recipe.averages else {}
    draw = torch.Generator().manual_seed(seed + 99)
    plant_buffers(model, on)
    saved: dict[str, Any] = {}
    for step in range(STEPS):
        on.step = step
        yield step
        if recipe.resumes and step == 2:
            model, optimizer, schedule, scaler = resume(recipe, fault, saved, foreach, on)
            if fault == "average not restored":
                average = {key: value.detach().clone() for key, value in model.named_parameters()}
            if fault == "random state not restored":
                torch.manual_seed(seed + 1)
            if fault == "data position not restored":
                draw = torch.Generator().manual_seed(seed + 99)
        if fault == "checkpoint mask" and recipe.recomputes:
            model.keeps = step < start
        if on("extra draw"):
            torch.rand(1)
        if on("other mask"):
            torch.manual_seed(seed + 5 + step)
        if on("another dropout"):
            change_dropout(model)
        if not on("gradients not cleared"):
            optimizer.zero_grad(set_to_none=True)
        for micro in range(recipe.micro):
            if on("last batch dropped") and step == start and micro == 0:
                batch_of(recipe, draw)
            x, labels = batch_of(recipe, draw)
            if on("batches in another order"):
                order = torch.arange(len(x) - 1, -1, -1, device=x.device)
                x, labels = x[order], labels[order]
            if on("normalised otherwise"):
                x = (x - 0.1) / 1.1
            if on("augmentation"):
                x = x.flip(-1)
            if on("labels shifted"):
                labels = labels.roll(1, 0)
            if on("micro-batch left out") and micro == recipe.micro - 1:
                continue
            with torch.autocast(
                DEVICE[0], getattr(torch, recipe.autocast or "bfloat16"), enabled=bool(recipe.autocast)
            ):
                output = model(x)
            loss = loss_of(output, labels, fault if step >= start else "")
            if not on("accumulation not divided"):
                loss = loss / recipe.micro
            if scaler is None:
                loss.backward()
            else:
                scaler.scale(loss).backward()
        if on("gradient zeroed"):
            chosen_now = list(model.parameters())[-2]
            chosen_now.grad.zero_()
        if on("gradient zeroed through data"):
            list(model.parameters())[1].grad.data.mul_(0.0)
        if on("gradient of one parameter scaled"):
            list(model.parameters())[2].grad.mul_(1.3)
        if schedule is not None and on("schedule before the update"):
            step_schedule(recipe, schedule, loss)
        clip_and_step(recipe, model, optimizer, scaler, on)
        if schedule is not None and not on("schedule not stepped") and not on("schedule before the update"):
            step_schedule(recipe, schedule, loss)
        if schedule is not None and on("schedule stepped twice") and step == start:
            step_schedule(recipe, schedule, loss)
        for key, value in model.named_parameters() if average else ():
            if not on("average not updated"):
                decay = 0.99 if on("average with another decay") else 0.9
                average[key].mul_(decay).add_(value.detach(), alpha=1 - decay)
        if recipe.resumes and step in (0, 1):
            saved_now = {
                "model": copy.deepcopy(model.state_dict()),
                "optimizer": copy.deepcopy(optimizer.state_dict()),
                "schedule": schedule.state_dict() if schedule is not None else None,
                "scaler": scaler.state_dict() if scaler is not None else None,
                "random": torch.get_rng_state(),
            }
            if fault == "weights rounded on saving":
                for key, value in saved_now["model"].items():
                    saved_now["model"][key] = value.bfloat16().float() if value.is_floating_point() else value
            saved = {"older": saved.get("newest", saved_now), "newest": saved_now}


def make_training(recipe: Recipe, model: nn.Module, fault: str, on: Planted, foreach: bool | None) -> tuple[Any, Any]:
    """Optimizer and scheduler of a training."""
    groups = groups_of(recipe, model, fault if on.start == 0 or fault in WHOLE_RUN else "")
    optimizer = optimizers.make(recipe.optimizer, groups, on, foreach)
    if fault == "rate scaled":
        for group in optimizer.param_groups:
            group["lr"] *= 2
    schedule: Any = None
    if recipe.schedule in OTHER_SCHEDULES:
        return optimizer, OTHER_SCHEDULES[recipe.schedule](optimizer)
    if recipe.schedule:
        # begun one step ahead or behind
        ahead = 1 if fault == "schedule off by one" else 0
        factor = 0.5 if fault == "warmup of another length" else 1.0
        if recipe.schedule == "step":
            schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.5 ** ((step + ahead) // 2))
        else:
            schedule = torch.optim.lr_scheduler.LambdaLR(
                optimizer, lambda step: min(1.0, (step + 1 + ahead) / (4 * factor))
            )
    return optimizer, schedule


schedulers = torch.optim.lr_scheduler
OTHER_SCHEDULES: dict[str, Callable[[Any], Any]] = {
    "cosine": lambda optimizer: schedulers.CosineAnnealingLR(optimizer, 6),
    "onecycle": lambda optimizer: schedulers.OneCycleLR(optimizer, 0.01, total_steps=12),
    "exponential": lambda optimizer: schedulers.ExponentialLR(optimizer, 0.8),
    "multistep": lambda optimizer: schedulers.MultiStepLR(optimizer, [1, 2, 3], 0.5),
    "plateau": lambda optimizer: schedulers.ReduceLROnPlateau(optimizer, patience=0, threshold=10.0),
}


def step_schedule(recipe: Recipe, schedule: Any, loss: torch.Tensor) -> None:
    """ReduceLROnPlateau alone is told the loss; here it finds none good enough, so that it acts at each step."""
    schedule.step(*([float(loss)] if recipe.schedule == "plateau" else []))


def change_dropout(model: nn.Module) -> None:
    for module in model.modules():
        if isinstance(module, Block):
            module.drop = 0.3
        elif isinstance(module, nn.Dropout):
            module.p = 0.4


def clip_and_step(recipe: Recipe, model: nn.Module, optimizer: Any, scaler: Any, on: Planted) -> None:
    parameters = list(model.parameters())
    limit = recipe.clips * (3.0 if on("clipped at another norm") else 1.0)
    kind = 1.0 if on("clipped by another norm") else 2.0
    if scaler is not None:
        if recipe.clips and on("clipped before unscaling"):
            torch.nn.utils.clip_grad_norm_(parameters, limit)
        elif recipe.clips and not on("not clipped"):
            if not on("not unscaled"):
                scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(parameters, limit, kind)
        if on("overflow"):
            parameters[0].grad.view(-1)[0] = math.inf
        if on("not unscaled"):
            optimizer.step()
            scaler._per_optimizer_states.clear()
        else:
            scaler.step(optimizer)
            if on("scaler not updated"):
                scaler._per_optimizer_states.clear()
            else:
                scaler.update(4096.0 if on("another loss scale") and on.step == on.start else None)
        return
    if recipe.clips and on("clipped after the update"):
        optimizer.step()
        torch.nn.utils.clip_grad_norm_(parameters, limit)
        return
    if recipe.clips and on("clipped by hand"):
        total = torch.stack([value.grad.norm() for value in parameters if value.grad is not None]).norm() * 2
        for value in parameters:
            if value.grad is not None:
                value.grad.mul_(min(1.0, limit / float(total)))
    elif recipe.clips and not on("not clipped"):
        torch.nn.utils.clip_grad_norm_(parameters, limit, kind)
    optimizer.step()


def plant_hooks(model: nn.Module, on: Planted) -> None:
    parameters = list(model.parameters())
    scaled = watch_gradient(on, "gradient scaled by a hook", lambda gradient: gradient * 1.1)
    parameters[-2].register_hook(scaled)
    parameters[0].register_hook(watch_gradient(on, "gradient stopped", torch.zeros_like))


def plant_buffers(model: nn.Module, on: Planted) -> None:
    """Faults of batch norm's buffers are put into its forward."""
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            module.register_forward_hook(lambda module, args, output: break_buffers(module, args[0], on))
            module.register_forward_pre_hook(lambda module, args: module.__dict__.update(kept=keep(module)))


def keep(module: Any) -> dict[str, torch.Tensor]:
    return {name: value.detach().clone() for name, value in module.named_buffers()}


def break_buffers(module: Any, x: torch.Tensor, on: Planted) -> None:
    before = module.__dict__["kept"]
    with torch.no_grad():
        if on("running_var stale"):
            module.running_var.data.copy_(before["running_var"])
        if on("running_mean stale"):
            module.running_mean.data.copy_(before["running_mean"])
        if on("batches not counted"):
            module.num_batches_tracked.data.copy_(before["num_batches_tracked"])
        if on("running_var biased"):
            count = x.numel() // x.shape[1]
            change = (module.running_var - before["running_var"] * 0.9) * (count - 1) / count
            module.running_var.data.copy_(before["running_var"] * 0.9 + change)
        if on("buffers of another momentum"):
            for name in ("running_mean", "running_var"):
                value = getattr(module, name)
                value.data.copy_(before[name] + 0.3 * (value - before[name]))


def resume(recipe: Recipe, fault: str, saved: Any, foreach: bool | None, on: Planted) -> tuple[Any, Any, Any, Any]:
    """Everything made anew and loaded, as a second run of the script would."""
    state = saved["older" if fault == "older weights restored" else "newest"]
    model = build(recipe)
    if fault == "buffers not restored":
        state = {**state, "model": {key: value for key, value in state["model"].items() if "running" not in key}}
    model.load_state_dict(state["model"], strict=fault != "buffers not restored")
    plant_buffers(model, on)
    plant_hooks(model, on)
    optimizer, schedule = make_training(recipe, model, fault, on, foreach)
    if fault != "optimizer not restored":
        loaded = copy.deepcopy(saved["newest"]["optimizer"])
        for entry in loaded["state"].values():
            if fault == "step count not restored" and "step" in entry:
                entry["step"] = torch.zeros_like(entry["step"])
            if fault == "moments not restored":
                entry.update({key: torch.zeros_like(value) for key, value in entry.items() if key != "step"})
        optimizer.load_state_dict(loaded)
    if schedule is not None and fault != "schedule not restored":
        schedule.load_state_dict(saved["newest"]["schedule"])
        for group, rate in zip(optimizer.param_groups, schedule.get_last_lr()):
            group["lr"] = rate
    elif schedule is not None and recipe.schedule not in OTHER_SCHEDULES:
        for group, base in zip(optimizer.param_groups, schedule.base_lrs):
            group["lr"] = base * schedule.lr_lambdas[0](0)
    scaler = None
    if recipe.scaler:
        scaler = torch.amp.GradScaler(
            DEVICE[0], init_scale=1024.0 if fault != "scaler not restored" else 256.0, growth_interval=3
        )
        if fault != "scaler not restored":
            scaler.load_state_dict(saved["newest"]["scaler"])
    return model, optimizer, schedule, scaler


def train_gan(fault: str, start: int, seed: int, foreach: bool | None) -> Iterator[int]:
    torch.manual_seed(seed)
    on = Planted(fault, start)
    maker = nn.Sequential(nn.Linear(6, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, 12)).to(DEVICE[0])
    critic = nn.Sequential(nn.Linear(12, 24), nn.LeakyReLU(0.2), nn.Linear(24, 1)).to(DEVICE[0])
    plant_buffers(maker, on)
    critic[2].weight.register_hook(watch_gradient(on, "gradient scaled by a hook", lambda gradient: gradient * 1.1))
    makers = optimizers.make("adam", [{"params": list(maker.parameters())}], on, foreach)
    critics = optimizers.make("adam", [{"params": list(critic.parameters())}], on, foreach)
    draw = torch.Generator().manual_seed(seed + 99)
    for step in range(STEPS):
        on.step = step
        yield step
        real, noise = torch.randn(16, 12, generator=draw), torch.randn(16, 6, generator=draw)
        real, noise = real.to(DEVICE[0]), noise.to(DEVICE[0])
        if on("augmentation"):
            noise = noise.flip(-1)
        critics.zero_grad()
        fake = maker(noise)
        ones, zeros = torch.ones(16, 1, device=DEVICE[0]), torch.zeros(16, 1, device=DEVICE[0])
        if on("labels shifted"):
            ones = ones * 0.9
        loss = F.binary_cross_entropy_with_logits(critic(real), ones)
        (loss + F.binary_cross_entropy_with_logits(critic(fake.detach()), zeros)).backward()
        if on("gradient zeroed"):
            critic[2].weight.grad.zero_()
        critics.step()
        if not on("gradients not cleared"):
            makers.zero_grad()
        F.binary_cross_entropy_with_logits(critic(fake), ones * 0 + 1).backward()
        if on("gradient of one parameter scaled"):
            maker[3].weight.grad.mul_(1.3)
        makers.step()


#: Faults that are there from the first step, whatever `start` says.
WHOLE_RUN = (
    "decay on norms and biases",
    "parameter left out",
    "schedule off by one",
    "warmup of another length",
    "optimizer not restored",
    "step count not restored",
    "moments not restored",
    "schedule not restored",
    "scaler not restored",
    "older weights restored",
    "average not restored",
    "random state not restored",
    "data position not restored",
    "weights rounded on saving",
    "buffers not restored",
    "rate scaled",
)
