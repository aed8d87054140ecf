"""torch_npu.optim.NpuFused* against torch.optim and, where PyTorch has none, the formula; five steps each."""

from __future__ import annotations

from typing import Any, Callable

import torch
import torch_npu
from torch import nn

STEPS = 5
Make = Callable[[Any], torch.optim.Optimizer]


def network() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3))


def trained(make: Make, device: str, maximum: float | None = None) -> list[torch.Tensor]:
    model = network().to(device)
    optimizer = make([{"params": model[0].parameters()}, {"params": model[2].parameters(), "lr": 3e-3}])
    torch.manual_seed(2)
    for _ in range(STEPS):
        x = torch.randn(6, 5).to(device)
        optimizer.zero_grad()
        model(x).square().mean().backward()
        if maximum is not None and device == "npu":
            optimizer.clip_grad_norm_fused_(maximum)
        elif maximum is not None:
            nn.utils.clip_grad_norm_(model.parameters(), maximum)
        optimizer.step()
    return [parameter.detach().cpu() for parameter in model.parameters()]


def same(ours: Make, theirs: Make, maximum: float | None = None) -> None:
    for one, other in zip(trained(ours, "npu", maximum), trained(theirs, "cpu", maximum)):
        torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-5)
    before = list(network().parameters())
    assert not torch.equal(before[0], trained(ours, "npu", maximum)[0])


def check_adam() -> None:
    for amsgrad in (False, True):
        options = {"lr": 1e-2, "weight_decay": 0.1, "amsgrad": amsgrad}
        same(lambda p, o=options: torch_npu.optim.NpuFusedAdam(p, **o), lambda p, o=options: torch.optim.Adam(p, **o))
        same(lambda p, o=options: torch_npu.optim.NpuFusedAdamW(p, **o), lambda p, o=options: torch.optim.AdamW(p, **o))


def check_sgd() -> None:
    for nesterov in (False, True):
        options = {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1, "nesterov": nesterov}
        same(lambda p, o=options: torch_npu.optim.NpuFusedSGD(p, **o), lambda p, o=options: torch.optim.SGD(p, **o))


def check_adadelta_and_rmsprop() -> None:
    same(lambda p: torch_npu.optim.NpuFusedAdadelta(p, lr=0.5), lambda p: torch.optim.Adadelta(p, lr=0.5))
    options = {"lr": 1e-2, "momentum": 0.9, "centered": True}
    same(lambda p: torch_npu.optim.NpuFusedRMSprop(p, **options), lambda p: torch.optim.RMSprop(p, **options))


def check_fused_clipping() -> None:
    options = {"lr": 1e-2}
    same(lambda p: torch_npu.optim.NpuFusedAdam(p, **options), lambda p: torch.optim.Adam(p, **options), 0.05)


class Lamb(torch.optim.Optimizer):
    """https://arxiv.org/abs/1904.00962: Adam's step, times the norm of the weights over the norm of the step."""

    def __init__(self, params: Any, lr: float, weight_decay: float) -> None:
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                state["m"] = 0.9 * state.get("m", 0) + 0.1 * p.grad
                state["v"] = 0.999 * state.get("v", 0) + 0.001 * p.grad**2
                step = state["m"] / (state["v"].sqrt() + 1e-6) + group["weight_decay"] * p
                ratio = p.norm().clamp(0, 10) / step.norm()
                p -= group["lr"] * ratio * step


def check_lamb() -> None:
    same(
        lambda p: torch_npu.optim.NpuFusedLamb(p, lr=1e-2, weight_decay=0.1, use_global_grad_norm=False),
        lambda p: Lamb(p, 1e-2, 0.1),
    )


def check_others_train() -> None:
    for name in ("NpuFusedAdamP", "NpuFusedBertAdam", "NpuFusedRMSpropTF"):
        make = getattr(torch_npu.optim, name)
        result = trained(lambda p, make=make: make(p, lr=1e-2), "npu")
        assert all(torch.isfinite(value).all() for value in result)
        assert not torch.equal(result[0], next(network().parameters()))
