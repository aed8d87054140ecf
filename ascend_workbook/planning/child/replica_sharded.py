"""One rank of a training whose cards differ in their data alone: PyTorch's own DistributedDataParallel or fully_shard,
or DeepSpeed itself where it is installed. Its peers are imagined by the simulated NPU."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import torch
from replica_layers import BF16, Layer, Norm, make_angles, make_mask, make_weight
from torch import nn
from torch.utils.checkpoint import checkpoint

DEVICE = "npu"


class Model(nn.Module):  # type: ignore[misc]
    """A whole model with its loss, the logits in float32."""

    def __init__(self, spec: SimpleNamespace, options: dict[str, Any]) -> None:
        super().__init__()
        self.spec = spec
        self.embed = nn.Embedding(spec.vocabulary, spec.hidden, **options)
        kinds = [False] * spec.dense_layers + [True] * spec.expert_layers
        self.layers = nn.ModuleList(Layer(spec, kind, options) for kind in kinds)
        self.norm = Norm(spec.hidden, options)
        self.head = Head(spec, options)
        if spec.tied:
            self.head.weight = self.embed.weight

    def forward(self, ids: torch.Tensor, angles: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        x = self.embed(ids).transpose(0, 1).contiguous()
        for layer in self.layers:
            full = self.spec.recompute == "full"
            x = checkpoint(layer, x, angles, mask, use_reentrant=False) if full else layer(x, angles, mask)
        logits = self.head(self.norm(x)).float().flatten(0, 1)
        return nn.functional.cross_entropy(logits, ids.t().flatten())


class Head(nn.Module):  # type: ignore[misc]
    def __init__(self, spec: SimpleNamespace, options: dict[str, Any]) -> None:
        super().__init__()
        self.weight = make_weight(spec.vocabulary, spec.hidden, options=options)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.linear(x, self.weight)


def join_world(spec: SimpleNamespace) -> None:
    """Be rank 0 of as many as the strategy has; the store is this process's own."""
    place = {"RANK": 0, "LOCAL_RANK": 0, "WORLD_SIZE": spec.replicas, "LOCAL_WORLD_SIZE": min(8, spec.replicas)}
    os.environ.update({name: str(value) for name, value in place.items()}, DS_ACCELERATOR="npu")
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29500")  # asked for, never used
    torch.npu.set_device(0)
    store = torch.distributed.HashStore()
    torch.distributed.init_process_group("hccl", store=store, rank=0, world_size=spec.replicas)


def train(spec: SimpleNamespace) -> None:
    """Run two steps of two micro batches, or of one where there are no more."""
    join_world(spec)
    batches = min(2, spec.micro_batches)
    inputs = (make_angles(spec, spec.sequence), make_mask())
    if spec.framework == "deepspeed":
        return train_deepspeed(spec, batches, inputs)
    model = shard_model(spec) if spec.zero else copy_model(spec)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for _ in range(2):
        for _ in range(batches):
            with torch.autocast(DEVICE, BF16, enabled=not spec.zero):
                loss = model(make_ids(spec), *inputs)
            loss.backward()
            del loss
        optimizer.step()
        optimizer.zero_grad()


def make_ids(spec: SimpleNamespace) -> torch.Tensor:
    return torch.randint(0, spec.vocabulary, (spec.micro, spec.sequence)).to(DEVICE)


def copy_model(spec: SimpleNamespace) -> nn.Module:
    """Make the model whole on each card."""
    model = Model(spec, {"device": DEVICE})
    return nn.parallel.DistributedDataParallel(model) if spec.replicas > 1 else model


def shard_model(spec: SimpleNamespace) -> nn.Module:
    """Make the model in shards, as the lines say that a plan shows."""
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    model = Model(spec, {"device": "meta"})
    policy = MixedPrecisionPolicy(param_dtype=BF16, reduce_dtype=torch.float32)
    for layer in model.layers:
        fully_shard(layer, mp_policy=policy, reshard_after_forward=spec.zero >= 3)
    fully_shard(model, mp_policy=policy, reshard_after_forward=spec.zero >= 3)
    return model.to_empty(device=DEVICE)


def train_deepspeed(spec: SimpleNamespace, batches: int, inputs: tuple[torch.Tensor, ...]) -> None:
    """Train with DeepSpeed and the configuration that a plan shows. Raises ImportError where it is not installed."""
    import deepspeed

    world = spec.replicas
    accumulated = {"gradient_accumulation_steps": batches, "train_batch_size": spec.micro * batches * world}
    config = {**spec.deepspeed, **accumulated, "zero_allow_untested_optimizer": True}
    deepspeed.init_distributed(dist_backend="hccl")
    options = {"device": DEVICE, "dtype": BF16}
    if spec.zero >= 3:
        with deepspeed.zero.Init(config_dict_or_path=config):
            model = Model(spec, options)
    else:
        model = Model(spec, options)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    engine, *_ = deepspeed.initialize(
        model=model, model_parameters=list(model.parameters()), optimizer=optimizer, config=config
    )
    for _ in range(2 * batches):
        loss = engine(make_ids(spec), *inputs)
        engine.backward(loss)
        del loss
        engine.step()
