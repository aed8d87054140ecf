"""Trainings of two ranks: gradients averaged by DDP, by hand, shards of optimizer state, shards of weights."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from tests.precision.state import optimizers, trainings
from tests.precision.state.trainings import Planted, Recipe

WORLD = 2
RECIPES = {
    recipe.name: recipe
    for recipe in (
        Recipe("ddp", "sgd", norm=True, ranks="ddp"),
        Recipe("ddpgpt", "adamw", clips=1.0, groups=True, ranks="ddp"),
        Recipe("averaged", "adamw", clips=1.0, groups=True, ranks="hand"),
        Recipe("averagedconv", "sgd", norm=True, micro=2, ranks="hand"),
        Recipe("zero", "adam", ranks="zero"),
        Recipe("fsdp", "adamw", groups=True, ranks="fsdp"),
    )
}
FAULTS = {
    "all-reduce of one parameter missing": ("ddp", "hand"),
    "summed for averaged": ("ddp", "hand", "zero"),
    "not averaged": ("ddp", "hand"),
    "data of the other rank": ("ddp", "hand", "zero", "fsdp"),
    "buffers not synchronised": ("ddp",),
    "averaged in bfloat16": ("hand",),
    "shard not gathered": ("zero",),
    "shard of one rank lost": ("fsdp",),
    "shard of one rank doubled": ("fsdp",),
    "one rank's rate": ("ddp", "hand", "fsdp"),
    "one rank's update skipped": ("ddp", "hand"),
    "one rank seeded otherwise": ("ddp", "hand"),
}


def applies(recipe: Recipe, fault: str) -> bool:
    """Return whether the training has what the fault breaks."""
    return recipe.ranks in FAULTS[fault] and (fault != "buffers not synchronised" or recipe.norm)


def train(name: str, fault: str, start: int, seed: int, foreach: bool | None, rank: int) -> Iterator[int]:
    """Runs one rank, yielding before each step."""
    recipe = RECIPES[name]
    torch.manual_seed(seed)
    on = Planted(fault, start)
    plain = trainings.build(recipe)
    model: nn.Module = plain
    if recipe.ranks == "fsdp":
        from torch.distributed.fsdp import fully_shard

        for block in plain.blocks:  # type: ignore[union-attr]
            fully_shard(block)
        fully_shard(plain)
    elif recipe.ranks == "ddp":
        model = _wrap_ddp(plain, on)
    parameters = list(plain.parameters())
    own = parameters[rank::WORLD] if recipe.ranks == "zero" else parameters
    groups = [{"params": own}] if recipe.ranks == "zero" else trainings.groups_of(recipe, plain, "")
    optimizer = optimizers.make(recipe.optimizer, groups, on, foreach)
    draw = torch.Generator().manual_seed(seed + 99 + rank)
    for step in range(trainings.STEPS):
        on.step = step
        yield step
        plain.zero_grad()
        if on("one rank seeded otherwise") and rank:
            torch.rand(1)
        if on("one rank's rate") and rank and step == start:
            for group in optimizer.param_groups:
                group["lr"] *= 1.1
        if on("data of the other rank") and step == start:
            draw = torch.Generator().manual_seed(seed + 99)
            for _ in range(step * recipe.micro):
                trainings.batch_of(recipe, draw)
        for _ in range(recipe.micro):
            x, labels = trainings.batch_of(recipe, draw)
            if recipe.ranks == "ddp" and on("buffers not synchronised"):
                model.broadcast_buffers = False  # type: ignore[assignment]
            alone = recipe.ranks == "ddp" and on("not averaged")
            with model.no_sync() if alone else contextlib.nullcontext():  # type: ignore[operator]
                (trainings.loss_of(model(x), labels, "") / recipe.micro).backward()
        _average(recipe, parameters, on, rank)
        if recipe.clips:
            torch.nn.utils.clip_grad_norm_(parameters, recipe.clips)
        if not (on("one rank's update skipped") and rank and step == start):
            optimizer.step()
        elif rank:
            optimizer.param_groups[0]["params"], kept = (
                optimizer.param_groups[0]["params"][:1],
                optimizer.param_groups[0]["params"],
            )
            optimizer.step()
            optimizer.param_groups[0]["params"] = kept
        if recipe.ranks == "zero":
            for at, value in enumerate(parameters):
                if not (on("shard not gathered") and at % WORLD == 1):
                    dist.broadcast(value.data, at % WORLD)


def _wrap_ddp(plain: nn.Module, on: Planted) -> nn.Module:
    if on.fault == "all-reduce of one parameter missing":
        name = [name for name, _ in plain.named_parameters()][2]
        DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(plain, [name])
    model = DistributedDataParallel(plain)

    if on.fault == "summed for averaged":
        # torch refuses annotations that are words
        model.register_comm_hook(on, lambda on, bucket: _combine(on, bucket))
    return model


def _combine(on: Any, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    share = 1 if on("summed for averaged") else WORLD
    work = dist.all_reduce(bucket.buffer().div_(share), async_op=True)
    return work.get_future().then(lambda done: done.value()[0])


def _average(recipe: Recipe, parameters: list[Any], on: Planted, rank: int) -> None:
    if recipe.ranks in ("hand", "zero") and not on("not averaged"):
        for at, value in enumerate(parameters):
            if on("all-reduce of one parameter missing") and at == 2:
                continue
            grad = value.grad
            if on("averaged in bfloat16"):
                grad = grad.bfloat16()
            dist.all_reduce(grad)
            value.grad.copy_(grad if on("summed for averaged") else grad / WORLD)
    if recipe.ranks == "fsdp" and rank == 1:
        local = parameters[3].grad.to_local()
        if on("shard of one rank lost"):
            local.zero_()
        if on("shard of one rank doubled"):
            local.mul_(2)
