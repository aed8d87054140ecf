"""torch's own optimizers, and the same with one rule computed otherwise."""

from __future__ import annotations

import math
from typing import Any

import torch

RULES = {
    "adam": (
        "eps inside the root",
        "no bias correction",
        "bias correction one step late",
        "decay decoupled",
        "decay coupled",
        "another beta2",
        "maximum of the second moment",
        "update halved",
        "eps before the correction",
    ),
    "sgd": (
        "no nesterov",
        "decay decoupled",
        "dampened",
        "rate inside the buffer",
        "update halved",
        "another momentum",
    ),
    "rmsprop": ("eps inside the root", "another alpha", "update halved"),
}


def make(kind: str, groups: list[dict[str, Any]], on: Any, foreach: bool | None) -> torch.optim.Optimizer:
    """The optimizer of a recipe, which computes another rule while `on` says so."""
    optimizer: Any
    if kind == "sgd":
        optimizer = torch.optim.SGD(groups, lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.05, foreach=foreach)
        change = _sgd
    elif kind == "rmsprop":
        optimizer = torch.optim.RMSprop(groups, lr=1e-3, eps=1e-6, weight_decay=0.01, foreach=foreach)
        change = _rmsprop
    elif kind == "adam":
        optimizer = torch.optim.Adam(groups, lr=2e-3, betas=(0.9, 0.99), weight_decay=0.02, foreach=foreach)
        change = _adam
    else:
        optimizer = torch.optim.AdamW(groups, lr=3e-3, betas=(0.9, 0.98), weight_decay=0.05, foreach=foreach)
        change = _adam
    family = "adam" if kind.startswith("adam") else kind
    original = type(optimizer).step

    class Broken(type(optimizer)):  # type: ignore[misc]
        def step(self, closure: Any = None) -> None:
            rule = next((rule for rule in RULES[family] if on(rule)), "")
            if not rule:
                original.__wrapped__(self) if hasattr(original, "__wrapped__") else original(self)
                return
            with torch.no_grad():
                for group in self.param_groups:
                    for parameter in group["params"]:
                        if parameter.grad is not None:
                            change(parameter, self.state[parameter], group, rule, kind)

    Broken.__name__ = type(optimizer).__name__
    Broken.__qualname__ = Broken.__name__
    optimizer.__class__ = Broken
    Broken._patch_step_function(optimizer)
    return optimizer


def _adam(parameter: Any, state: Any, group: Any, rule: str, kind: str) -> None:
    beta1, beta2 = group["betas"]
    beta2 = beta2 if rule != "another beta2" else 1 - 2 * (1 - beta2)
    if "step" not in state:
        zeros = torch.zeros_like(parameter)
        state.update(step=torch.tensor(0.0), exp_avg=zeros, exp_avg_sq=zeros.clone())
    state["step"] += 1
    count = float(state["step"]) + (1 if rule == "bias correction one step late" else 0)
    gradient, decay, rate = parameter.grad, group["weight_decay"], group["lr"]
    coupled = (kind != "adamw") != (rule in ("decay decoupled", "decay coupled"))
    if coupled:
        gradient = gradient + decay * parameter
    else:
        parameter.mul_(1 - rate * decay)
    state["exp_avg"].lerp_(gradient, 1 - beta1)
    state["exp_avg_sq"].mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
    second = state["exp_avg_sq"]
    if rule == "maximum of the second moment":
        state["most"] = torch.maximum(state.get("most", torch.zeros_like(second)), second)
        second = state["most"]
    first_correction, second_correction = 1 - beta1**count, 1 - beta2**count
    if rule == "no bias correction":
        first_correction = second_correction = 1.0
    if rule == "eps inside the root":
        root = (second / second_correction + max(group["eps"], 1e-8)).sqrt()
    elif rule == "eps before the correction":
        root = (second.sqrt() + 1e3 * group["eps"]) / math.sqrt(second_correction)
    else:
        root = second.sqrt() / math.sqrt(second_correction) + group["eps"]
    size = -rate / first_correction * (0.5 if rule == "update halved" else 1.0)
    parameter.addcdiv_(state["exp_avg"], root, value=size)


def _sgd(parameter: Any, state: Any, group: Any, rule: str, kind: str) -> None:
    rate, decay, momentum = group["lr"], group["weight_decay"], group["momentum"]
    momentum = 0.7 if rule == "another momentum" else momentum
    gradient = parameter.grad
    if rule == "decay decoupled":
        parameter.mul_(1 - rate * decay)
    else:
        gradient = gradient + decay * parameter
    scaled = gradient * rate if rule == "rate inside the buffer" else gradient
    buffer = state.get("momentum_buffer")
    if buffer is None:
        buffer = state["momentum_buffer"] = scaled.clone()
    else:
        buffer.mul_(momentum).add_(scaled, alpha=0.9 if rule == "dampened" else 1.0)
    direction = buffer if rule == "no nesterov" else scaled + momentum * buffer
    factor = 1.0 if rule == "rate inside the buffer" else rate
    parameter.sub_(direction * factor * (0.5 if rule == "update halved" else 1.0))


def _rmsprop(parameter: Any, state: Any, group: Any, rule: str, kind: str) -> None:
    alpha = 0.9 if rule == "another alpha" else group["alpha"]
    if "square_avg" not in state:
        state.update(step=torch.tensor(0.0), square_avg=torch.zeros_like(parameter))
    state["step"] += 1
    gradient = parameter.grad + group["weight_decay"] * parameter
    state["square_avg"].mul_(alpha).addcmul_(gradient, gradient, value=1 - alpha)
    if rule == "eps inside the root":
        root = (state["square_avg"] + group["eps"]).sqrt()
    else:
        root = state["square_avg"].sqrt() + group["eps"]
    parameter.addcdiv_(gradient, root, value=-group["lr"] * (0.5 if rule == "update halved" else 1.0))
