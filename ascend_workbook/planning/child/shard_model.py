"""A launch plugin: the model is sharded over the ranks with PyTorch's own fully_shard (FSDP2), a block at a time.

In place of DistributedDataParallel, where the script wraps the model in that; an optimizer that was made before gets
the sharded parameters. With `offload` what is sharded lies in the host's memory between its uses (CPUOffloadPolicy),
the optimizer's state too: on one card as well, where the model is found by the first optimizer's parameters.

Configuration: offload. Runs in the user's process by path and imports nothing of the workbook but recompute.py here."""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn


def attach(observer: Any, config: dict[str, Any]) -> None:
    """Change DistributedDataParallel and the optimizers before the script makes its own."""
    sharder = Sharder(offload=bool(config.get("offload")), alone=observer.world_size == 1)
    sharder.change_wrapper()
    sharder.change_optimizers()


def find_blocks(model: nn.Module) -> list[nn.Module]:
    """Find the model's repeated blocks as recompute.py does."""
    path = Path(__file__).with_name("recompute.py")
    spec = importlib.util.spec_from_file_location("workbook_recompute", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    blocks: list[nn.Module] = module.find_blocks(model)
    return blocks


class Sharded(nn.Module):  # type: ignore[misc]
    """What stands where the script expects a DistributedDataParallel."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        self.module.set_requires_gradient_sync(False)
        try:
            yield
        finally:
            self.module.set_requires_gradient_sync(True)


class Sharder:
    """Shards one model. `alone`: the training has one process and no group."""

    def __init__(self, *, offload: bool, alone: bool) -> None:
        self.offload = offload
        self.alone = alone
        self.done = False
        self.optimizers: weakref.WeakSet[torch.optim.Optimizer] = weakref.WeakSet()

    def change_wrapper(self) -> None:
        def wrap(module: nn.Module, *args: Any, **kwargs: Any) -> nn.Module:
            changed = self.shard(module)
            for optimizer in self.optimizers:
                for group in optimizer.param_groups:
                    group["params"] = [changed.get(parameter, parameter) for parameter in group["params"]]
            return Sharded(module)

        nn.parallel.DistributedDataParallel = wrap
        nn.parallel.distributed.DistributedDataParallel = wrap

    def change_optimizers(self) -> None:
        make = torch.optim.Optimizer.__init__

        def make_changed(optimizer: Any, params: Any, defaults: Any) -> None:
            params = list(params)
            if self.alone and self.offload and not self.done:
                model = find_owner(params)
                if model is not None:
                    join_alone()
                    params = replace_parameters(params, self.shard(model))
            make(optimizer, params, defaults)
            self.optimizers.add(optimizer)

        torch.optim.Optimizer.__init__ = make_changed

    def shard(self, model: nn.Module) -> dict[Any, Any]:
        """Shard the blocks and what is left; return what became of each parameter."""
        from torch.distributed.fsdp import CPUOffloadPolicy, fully_shard

        self.done = True
        names = dict(model.named_parameters())
        options = {"offload_policy": CPUOffloadPolicy(pin_memory=False)} if self.offload else {}
        for block in find_blocks(model):
            fully_shard(block, **options)
        fully_shard(model, **options)
        after = dict(model.named_parameters())
        return {parameter: after[name] for name, parameter in names.items()}


def join_alone() -> None:
    """Make the group of one that fully_shard wants."""
    if not torch.distributed.is_initialized():
        torch.distributed.init_process_group("hccl", store=torch.distributed.HashStore(), rank=0, world_size=1)


def find_owner(params: list[Any]) -> nn.Module | None:
    """Find the module that has most of all parameters, and all that the optimizer got."""
    first = params[0]["params"] if isinstance(params[0], dict) else params
    wanted = next(iter(first), None)
    best, most = None, 0
    for module in gc.get_objects():
        if isinstance(module, nn.Module):
            own = list(module.parameters())
            if len(own) > most and any(each is wanted for each in own):
                best, most = module, len(own)
    return best


def replace_parameters(params: list[Any], changed: dict[Any, Any]) -> list[Any]:
    """Return an optimizer's parameters, or its groups of them, with those that were sharded."""
    return [
        {**each, "params": [changed.get(parameter, parameter) for parameter in each["params"]]}
        if isinstance(each, dict)
        else changed.get(each, each)
        for each in params
    ]
