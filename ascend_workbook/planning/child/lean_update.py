"""A launch plugin: the optimizer's update takes less memory.

Configuration: `one_by_one`: parameters are updated one after another (torch's foreach=False), without the lists of
temporary results that are as large as the weights; `sharded`: its state is spread over the ranks (ZeRO-1, torch's
ZeroRedundancyOptimizer). Runs in the user's process by path and imports nothing of the workbook."""

from __future__ import annotations

import sys
from typing import Any

import torch


def attach(observer: Any, config: dict[str, Any]) -> None:
    """Change torch's optimizers before the script makes its own."""
    if config.get("one_by_one"):
        update_one_by_one()
    if config.get("sharded"):
        shard_states()


def update_one_by_one() -> None:
    """Let no optimizer choose lists of tensors by itself; a script that asks for them gets them."""
    for name, module in list(sys.modules.items()):
        if name.startswith("torch.optim") and hasattr(module, "_default_to_fused_or_foreach"):
            module._default_to_fused_or_foreach = lambda *args, **kwargs: (False, False)  # type: ignore[attr-defined]


def shard_states() -> None:
    """Put ZeroRedundancyOptimizer in the place of the usual optimizers of torch.optim."""
    from torch.distributed.optim import ZeroRedundancyOptimizer

    def make_sharded(kind: Any) -> Any:
        return lambda params, *args, **kwargs: ZeroRedundancyOptimizer(params, optimizer_class=kind, **kwargs)

    for name in ("Adam", "AdamW", "SGD", "Adagrad", "RMSprop"):
        setattr(torch.optim, name, make_sharded(getattr(torch.optim, name)))
