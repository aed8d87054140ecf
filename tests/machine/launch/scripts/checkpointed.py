"""Gradient norms of two steps under dropout, plain and with activation checkpointing, one line for each way."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint, checkpoint_sequential


class Noisy(nn.Module):
    """Draws from the GPU's stream twice: in dropout and by name of the device."""

    def forward(self, x):
        return F.dropout(x, 0.5) + torch.rand(x.shape, device="cuda") * x


def train(forward, autocast=False):
    torch.manual_seed(7)
    net = nn.Sequential(nn.Linear(16, 16), nn.Dropout(0.5), Noisy(), nn.Linear(16, 16)).to("cuda")
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    norms = []
    for _ in range(2):
        x = torch.ones(8, 16).to("cuda").requires_grad_()
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=autocast):
            loss = forward(net, x).float().pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        norms.append(f"{net[0].weight.grad.norm():.6f}")
    return [*norms, f"{torch.rand(1, device='cuda').item():.6f}"]


def show(way, forward, **options):
    print(way, *train(forward, **options))


def whole(**options):
    return lambda net, x: checkpoint(net, x, **options)


def in_parts(**options):
    return lambda net, x: checkpoint_sequential(net, 2, x, **options)


def nested(net, x):
    def inner(y):
        return checkpoint(net[2:], y, use_reentrant=False)

    return checkpoint(lambda y: inner(net[:2](y)), x, use_reentrant=False)


show("plain", lambda net, x: net(x))
show("autocast_plain", lambda net, x: net(x), autocast=True)
show("nested", nested)
for name, reentrant in (("reentrant", True), ("other", False)):
    show(name, whole(use_reentrant=reentrant))
    show(f"{name}_in_parts", in_parts(use_reentrant=reentrant))
    show(f"{name}_not_preserved", whole(use_reentrant=reentrant, preserve_rng_state=False))
    show(f"autocast_{name}", whole(use_reentrant=reentrant), autocast=True)
