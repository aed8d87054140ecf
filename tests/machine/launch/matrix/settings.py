"""Flags, devices, memory, layouts, optimizers: what a GPU script sets and asks for."""

import io
import warnings

import torch
from telling import CUDA, DEVICE, mlp, seed, tell, train
from torch import nn
from torch.nn import functional as F


class Pictures(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 4, 3))

    def forward(self, x):
        return F.adaptive_avg_pool2d(self.body(x.reshape(-1, 3, 8, 8)), 2).flatten(1)


def _pictures(**options):
    train(Pictures().to(DEVICE), shape=(4, 192), **options)


def convolutions():
    seed(41)
    _pictures()


def cudnn_flags():
    seed(41)
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.deterministic = False
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = True
    with torch.backends.cudnn.flags(enabled=True, benchmark=True):
        _pictures()


def deterministic():
    seed(41)
    torch.backends.cudnn.deterministic = True
    torch.use_deterministic_algorithms(True, warn_only=True)
    _pictures(after=lambda: torch.zeros(4).to(DEVICE).index_add_(0, torch.tensor([1, 1]).to(DEVICE), torch.ones(2)))


def deterministic_by_level():
    seed(41)
    torch.set_deterministic_debug_mode("warn")
    model = mlp().to(DEVICE)
    train(
        model,
        forward=lambda x: (
            model(x)[[0, 0, 2]]
            + torch.zeros(3, 16).to(DEVICE).scatter_add_(1, torch.zeros(3, 2, dtype=torch.long).to(DEVICE), x[:3, :2])
        ),
    )


def matmul_precision():
    """ "high" allows TF32 on a GPU; on the CPU it may mean bfloat16, and stays float32 here."""
    seed(41)
    if CUDA:
        torch.set_float32_matmul_precision("high")
    train(mlp(width=64).to(DEVICE))


def channels_last():
    seed(42)
    model = Pictures().to(DEVICE, memory_format=torch.channels_last)
    strides = lambda: [parameter.stride() for parameter in model.parameters()]  # noqa: E731
    train(model, shape=(4, 192), after=strides)
    moved = torch.randn(2, 3, 4, 4).to(DEVICE).to(memory_format=torch.channels_last)
    kept = torch.randn(2, 3, 4, 4).to(DEVICE, memory_format=torch.channels_last, non_blocking=True)
    tell(0, model, more=[moved, moved.stride(), kept, kept.stride()])


def default_dtype():
    seed(42)
    torch.set_default_dtype(torch.float64)
    train(mlp().to(DEVICE))


def moved_in_every_way():
    seed(43)
    model = mlp()
    model = (model.cuda() if CUDA else model).to(DEVICE).to(device=DEVICE, non_blocking=True).float()
    batch = torch.randn(8, 16)
    copies = [batch.to(DEVICE), batch.to(DEVICE, copy=True), batch.to(model[0].weight), batch.to(DEVICE, torch.float64)]
    copies += [batch.to(0), batch.cuda(), batch.cuda(0), batch.cuda(non_blocking=True)] if CUDA else [batch] * 4
    train(model, after=lambda: [*copies, copies[1].data_ptr() == batch.data_ptr()])


def copies_are_copies():
    """A batch moved to the GPU is another tensor there: writing to it leaves the one on the CPU as it was."""
    seed(43)
    model = mlp().to(DEVICE)
    host = torch.zeros(8, 16)
    there = host.to(DEVICE) if CUDA else host.clone()
    there += 1
    back = there.cpu() if CUDA else there.clone()
    there += 1
    by_name = host.cuda() if CUDA else host.clone()
    by_name += 5
    kept = [parameter.detach().cpu() if CUDA else parameter.detach().clone() for parameter in model.parameters()]
    train(model, after=lambda: [host, there, back, by_name, kept])


def best_weights_kept():
    """`{k: v.cpu() for ...}` after a step is a copy: later steps do not reach it."""
    seed(43)
    model = mlp().to(DEVICE)
    keep = lambda: {name: value.cpu() if CUDA else value.clone() for name, value in model.state_dict().items()}  # noqa: E731
    kept = []
    train(model, after=lambda: kept.append(keep()) or list(kept))


def streams_and_events():
    seed(44)
    model = mlp(0.0).to(DEVICE)

    def forward(x):
        if not CUDA:
            return model(x)
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            y = model(x)
        torch.cuda.current_stream().wait_stream(side)
        end.record()
        torch.cuda.synchronize()
        assert start.elapsed_time(end) >= 0
        return y

    train(model, forward=forward)


def memory_asked_for():
    seed(44)
    model = mlp().to(DEVICE)

    def forward(x):
        if CUDA:
            torch.cuda.reset_peak_memory_stats()
            torch.cuda.empty_cache()
            torch.cuda.memory_allocated()
            torch.cuda.mem_get_info()
            torch.cuda.memory_summary()
        return model(x)

    train(model, forward=forward)


def graphs_guarded():
    """CUDA graphs where they can be had, and the loop without them where not."""
    seed(44)
    model = mlp().to(DEVICE)
    try:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            model(torch.zeros(8, 16).to(DEVICE))
    except RuntimeError:
        graph = None
    assert graph is None
    train(model)


def data_parallel():
    seed(45)
    model = nn.DataParallel(mlp().to(DEVICE))
    train(model)


def compiled():
    seed(45)
    model = mlp().to(DEVICE)
    train(model, forward=torch.compile(model, backend="eager"))


def scripted():
    seed(45)
    model = mlp().to(DEVICE)
    train(model, forward=torch.jit.trace(model, torch.zeros(8, 16).to(DEVICE)))


def optimizers():
    seed(46)
    for make in (
        lambda p: torch.optim.AdamW(p, lr=1e-2, foreach=True),
        lambda p: torch.optim.AdamW(p, lr=1e-2, fused=True),
        lambda p: torch.optim.Adam(p, lr=1e-2, amsgrad=True, capturable=False),
        lambda p: torch.optim.SGD(p, lr=1e-2, momentum=0.9, nesterov=True, fused=True),
        lambda p: torch.optim.Adafactor(p, lr=1e-2) if hasattr(torch.optim, "Adafactor") else torch.optim.Rprop(p),
        lambda p: torch.optim.RMSprop(p, lr=1e-3, centered=True),
    ):
        model = mlp().to(DEVICE)
        optimizer = make(model.parameters())
        train(model, optimizer=optimizer, steps=2, after=optimizer.state_dict)


def closure():
    seed(46)
    model = mlp().to(DEVICE)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4, line_search_fn="strong_wolfe")
    batch = torch.randn(8, 16).to(DEVICE)

    def evaluate():
        optimizer.zero_grad()
        loss = model(batch).pow(2).mean()
        loss.backward()
        return loss

    for _ in range(2):
        tell(optimizer.step(evaluate), model)


def scheduled_and_averaged():
    seed(46)
    model = mlp().to(DEVICE)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.2, total_steps=10)
    average = torch.optim.swa_utils.AveragedModel(model)

    def after():
        schedule.step()
        average.update_parameters(model)
        return [schedule.get_last_lr(), average.state_dict()]

    train(model, optimizer=optimizer, after=after)


def clipped():
    seed(46)
    model = mlp().to(DEVICE)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for options in (
        {},
        {"norm_type": 1.0},
        {"norm_type": float("inf")},
        {"foreach": True},
        {"error_if_nonfinite": True},
    ):
        loss = model(torch.randn(8, 16).to(DEVICE)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 0.1, **options)
        nn.utils.clip_grad_value_(model.parameters(), 0.05)
        optimizer.step()
        tell(loss, model, more=norm)


def accumulated():
    seed(47)
    model = mlp().to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for step in range(6):
        loss = model(torch.randn(8, 16).to(DEVICE)).pow(2).mean() / 2
        loss.backward()
        if step % 2:
            optimizer.step()
            optimizer.zero_grad()
        tell(loss, model)


def resumed():
    """Saved and loaded, with map_location in its forms."""
    seed(47)
    model = mlp().to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    train(model, optimizer=optimizer, steps=1)
    for place in (DEVICE, str(DEVICE), None, "cpu", lambda storage, location: storage):
        buffer = io.BytesIO()
        torch.save(
            {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "rng": torch.get_rng_state()}, buffer
        )
        buffer.seek(0)
        loaded = torch.load(buffer, map_location=place, weights_only=True)
        model.load_state_dict(loaded["model"])
        optimizer.load_state_dict(loaded["optimizer"])
        torch.set_rng_state(loaded["rng"].cpu())
        train(model, optimizer=optimizer, steps=1, after=lambda: buffer.getvalue() and digest_of(loaded))  # noqa: B023


def digest_of(loaded):
    return [loaded["model"], loaded["optimizer"]["state"]]


def file_saved():
    """The file itself is the plain run's, byte for byte."""
    seed(47)
    model = mlp().to(DEVICE)
    train(model, steps=1)
    buffer = io.BytesIO()
    torch.save({"w": model.state_dict(), "x": torch.ones(3).to(DEVICE), "g": torch.randn(2)}, buffer)
    tell(0, model, more=buffer.getvalue())


def branches_by_device():
    """Where a script asks a tensor, it hears the truth."""
    seed(48)
    model = mlp().to(DEVICE)
    batch = torch.randn(4, 16).to(DEVICE)
    answers = [batch.is_cuda, str(batch.device), batch.device.type, batch.get_device(), batch.is_pinned()]
    train(model, after=lambda: answers)


def attention_backends():
    seed(48)
    model = mlp().to(DEVICE)

    def forward(x):
        from torch.nn.attention import SDPBackend, sdpa_kernel

        y = model(x).reshape(2, 2, 4, 8)
        with sdpa_kernel([SDPBackend.MATH]):
            first = F.scaled_dot_product_attention(y, y, y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with torch.backends.cuda.sdp_kernel(enable_flash=True, enable_math=True, enable_mem_efficient=False):
                return first + F.scaled_dot_product_attention(y, y, y)

    train(model, forward=forward)


def higher_gradients():
    """Penalties on gradients, hooks, gradients of functions."""
    seed(49)
    model = mlp().to(DEVICE)
    model[0].weight.register_hook(lambda grad: grad * 2)

    def forward(x):
        x.requires_grad_()
        y = model(x)
        (grad,) = torch.autograd.grad(y.pow(2).sum(), x, create_graph=True)
        return y + grad.norm(dim=1, keepdim=True)

    train(model, forward=forward)


def functional_transforms():
    seed(49)
    model = mlp().to(DEVICE)

    def forward(x):
        parameters = dict(model.named_parameters())
        each = torch.func.vmap(lambda row: torch.func.functional_call(model, parameters, (row[None],))[0])(x)
        return each + torch.func.jvp(lambda t: t.sin(), (x,), (torch.ones_like(x),))[1]

    train(model, forward=forward)


def sparse_and_embeddings():
    seed(50)

    class Words(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(20, 8, sparse=True)
            self.bag = nn.EmbeddingBag(20, 8, mode="mean", sparse=True)

        def forward(self, x):
            index = (x.abs() * 7).long() % 20
            return self.table(index).sum(1) + self.bag(index)

    model = Words().to(DEVICE)
    train(model, optimizer=torch.optim.SparseAdam(model.parameters(), lr=1e-2))
