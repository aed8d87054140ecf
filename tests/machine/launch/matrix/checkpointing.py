"""Activation checkpointing: told, it is the same network without it, unless its draws are made anew on purpose."""

import functools

import torch
from telling import DEVICE, TOLD, mlp, seed, train
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint, checkpoint_sequential


class Noisy(nn.Module):
    def forward(self, x):
        return F.dropout(x, 0.3, self.training) + 0.1 * torch.rand(x.shape, device=DEVICE)


def _train(way, dropout=0.5, **options):
    seed(7)
    model = nn.Sequential(*mlp(dropout), Noisy(), nn.Linear(16, 16)).to(DEVICE)
    train(model, forward=model if TOLD and not options.get("anew") else functools.partial(way, model))


def _whole(**options):
    return lambda model, x: checkpoint(model, x.requires_grad_(), **options)


def reentrant():
    _train(_whole(use_reentrant=True))


def other():
    _train(_whole(use_reentrant=False))


def reentrant_without_dropout():
    seed(7)
    model = mlp().to(DEVICE)
    train(model, forward=lambda x: checkpoint(model, x.requires_grad_(), use_reentrant=True))


def other_without_dropout():
    seed(7)
    model = mlp().to(DEVICE)
    train(model, forward=lambda x: checkpoint(model, x, use_reentrant=False))


def reentrant_not_preserved():
    _train(_whole(use_reentrant=True, preserve_rng_state=False), anew=True)


def other_not_preserved():
    _train(_whole(use_reentrant=False, preserve_rng_state=False), anew=True)


def in_parts():
    _train(lambda model, x: checkpoint_sequential(model, 3, x, use_reentrant=False))


def nested():
    def inner(model, x):
        return checkpoint(model[2:], x, use_reentrant=False)

    _train(lambda model, x: checkpoint(lambda y: inner(model, model[:2](y)), x, use_reentrant=False))


def selective():
    from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts

    def policy(ctx, operator, *args, **kwargs):
        saved = (torch.ops.aten.addmm.default, torch.ops.aten.mm.default)
        return CheckpointPolicy.MUST_SAVE if operator in saved else CheckpointPolicy.PREFER_RECOMPUTE

    contexts = functools.partial(create_selective_checkpoint_contexts, policy)
    _train(_whole(use_reentrant=False, context_fn=contexts))


def arguments_by_name():
    """Tensors only among the keywords: torch looks for a device among the others alone, so that the GPU's stream is
    not preserved, there as here."""

    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = mlp(0.2)

        def forward(self, x=None, scale=None):
            return self.body(x) * (1.0 if scale is None else scale)

    seed(7)
    model = Scaled().to(DEVICE)
    half = torch.tensor(0.5).to(DEVICE)
    run = functools.partial(checkpoint, model, use_reentrant=False, preserve_rng_state=not TOLD)
    train(model, forward=lambda x: run(x=x, scale=half))


def twice_per_step():
    """Two segments in one step, each with draws of its own."""
    seed(7)
    first, second = mlp(0.5).to(DEVICE), mlp(0.1).to(DEVICE)
    model = nn.Sequential(first, second)

    def forward(x):
        if TOLD:
            return second(first(x)) + first(x)
        y = checkpoint(second, checkpoint(first, x, use_reentrant=False), use_reentrant=False)
        return y + checkpoint(first, x, use_reentrant=False)

    train(model, forward=forward)
