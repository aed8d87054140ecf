"""Mixed precision. Told, what CUDA's autocast does to these networks is written out by hand."""

import contextlib

import torch
from telling import CUDA, DEVICE, TOLD, mlp, on_gpu, seed, tell, train
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint


class ByHand(nn.Module):
    """The mlp of telling.py under CUDA's autocast: linear in low precision, the norm in float32."""

    def __init__(self, model, dtype):
        super().__init__()
        self.model, self.dtype = model, dtype

    def round(self, x):
        return x.to(self.dtype)

    def linear(self, layer, x):
        low = [self.round(part).float() for part in (x, layer.weight, layer.bias)]
        return self.round(F.linear(*low))

    def forward(self, x):
        first, gelu, drop, norm, last = self.model
        y = drop(gelu(self.linear(first, x)))
        y = F.layer_norm(y.float(), norm.normalized_shape, norm.weight, norm.bias, norm.eps)
        return self.linear(last, y)


def _train(context, dtype, dropout=0.0, scaler=None, **options):
    seed(21)
    model = mlp(dropout).to(DEVICE)
    by_hand = ByHand(model, dtype)

    def forward(x):
        if TOLD:
            return by_hand(x)
        with context():
            return model(x)

    train(model, forward=forward, scaler=scaler, **options)


def scaler_alone():
    """A GradScaler around float32: scaling by powers of two changes no bit."""
    seed(21)
    model = mlp().to(DEVICE)
    scaler = torch.amp.GradScaler(DEVICE.type, init_scale=1024.0, growth_interval=2)
    train(model, scaler=scaler, after=scaler.state_dict)


def scaler_that_skips():
    """An infinite gradient: the update is left out and the scale halves."""
    seed(21)
    model = mlp().to(DEVICE)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    scaler = torch.amp.GradScaler(DEVICE.type, init_scale=2.0**14)
    for step in range(4):
        batch = torch.randn(8, 16).to(DEVICE)
        loss = model(batch).pow(2).mean() * (1e38 if step == 1 else 1.0)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        norm = nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        scaler.step(optimizer)
        scaler.update()
        tell(loss, model, more=[scaler.get_scale(), norm, optimizer.state_dict()["state"]])


def half():
    _train(lambda: torch.autocast("cuda" if CUDA else "cpu", dtype=torch.float16), torch.float16)


def half_with_dropout():
    _train(lambda: torch.autocast(DEVICE.type, dtype=torch.float16), torch.float16, 0.3)


def bfloat16():
    _train(lambda: torch.autocast(DEVICE.type, dtype=torch.bfloat16), torch.bfloat16)


def half_with_scaler():
    scaler = torch.amp.GradScaler(DEVICE.type, init_scale=256.0)
    _train(lambda: torch.autocast(DEVICE.type, dtype=torch.float16), torch.float16, scaler=scaler)


def old_names():
    """torch.cuda.amp of old scripts; without a GPU it does nothing."""
    import warnings

    warnings.simplefilter("ignore")
    scaler = torch.cuda.amp.GradScaler(init_scale=256.0, enabled=CUDA)
    if TOLD:
        scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
    _train(lambda: torch.cuda.amp.autocast(), torch.float16, scaler=scaler)


def switched_off():
    """`enabled=False`, as scripts pass it from their arguments, and an inner region switched off."""
    seed(21)
    model = mlp().to(DEVICE)
    scaler = torch.amp.GradScaler(DEVICE.type, enabled=False)

    def forward(x):
        with torch.autocast(DEVICE.type, enabled=False):
            return model(x)

    train(model, forward=forward, scaler=scaler, after=scaler.state_dict)


def inner_region_off():
    def context():
        stack = contextlib.ExitStack()
        stack.enter_context(torch.autocast(DEVICE.type, dtype=torch.bfloat16))
        stack.enter_context(torch.autocast(DEVICE.type, enabled=False))
        return stack

    seed(21)
    model = mlp().to(DEVICE)

    def forward(x):
        with context():
            return model(x)

    train(model, forward=forward)


def checkpointed():
    seed(21)
    model = mlp(0.4).to(DEVICE)
    by_hand = ByHand(model, torch.bfloat16)

    def forward(x):
        if TOLD:
            return by_hand(x)
        with torch.autocast(DEVICE.type, dtype=torch.bfloat16):
            return checkpoint(model, x, use_reentrant=False)

    train(model, forward=forward)


def checkpointed_reentrant():
    seed(21)
    model = mlp(0.4).to(DEVICE)
    by_hand = ByHand(model, torch.float16)

    def forward(x):
        x.requires_grad_()
        if TOLD:
            return by_hand(x)
        with torch.autocast(DEVICE.type, dtype=torch.float16):
            return checkpoint(model, x, use_reentrant=True)

    train(model, forward=forward)


class Doubled(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type=DEVICE.type)
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    @torch.amp.custom_bwd(device_type=DEVICE.type)
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad


def own_function():
    """custom_fwd and custom_bwd outside of autocast."""
    seed(22)
    model = mlp().to(DEVICE)
    train(model, forward=lambda x: Doubled.apply(model(x)))


def own_function_old_names():
    import warnings

    warnings.simplefilter("ignore")

    class Old(torch.autograd.Function):
        @staticmethod
        @torch.cuda.amp.custom_fwd
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.exp()

        @staticmethod
        @torch.cuda.amp.custom_bwd
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0].exp()

    seed(22)
    model = mlp().to(DEVICE)
    train(model, forward=lambda x: Old.apply(model(x)))


def weights_in_bfloat16():
    """A model converted whole, no autocast: the CPU's own arithmetic on both sides."""
    seed(23)
    model = mlp().to(DEVICE, torch.bfloat16)
    train(model, forward=lambda x: model(x.to(torch.bfloat16)))


def half_by_hand():
    seed(23)
    model = mlp().half().to(DEVICE)
    train(model, forward=lambda x: model(x.half()))


def after_a_region():
    """What follows an autocast region is as without it."""
    seed(24)
    model = mlp().to(DEVICE)
    if not TOLD:
        with torch.autocast(DEVICE.type), torch.no_grad():
            model(torch.ones(2, 16).to(DEVICE))
    with on_gpu():
        pass
    train(model)
