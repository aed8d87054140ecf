"""Training: losses of the CPU and of the NPU, AMP, GradScaler, optimisers, saving, checkpointing."""

from __future__ import annotations

import copy
import io
import math
from typing import Any, Callable

import torch
import torch.nn.functional as F
from torch import nn


class Residual(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(width, width, 3, padding=1), nn.Conv2d(width, width, 3, padding=1)
        self.norms = nn.ModuleList([nn.BatchNorm2d(width), nn.BatchNorm2d(width)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.relu(self.norms[0](self.first(x)))
        return F.relu(x + self.norms[1](self.second(y)))


def network() -> nn.Module:
    stem = nn.Conv2d(1, 8, 3, padding=1, bias=False)
    return nn.Sequential(
        stem, Residual(8), nn.MaxPool2d(2), Residual(8), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10)
    )


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.project, self.output = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = self.project(self.norms[0](x)).chunk(3, -1)
        heads = [part.unflatten(-1, (2, -1)).transpose(1, 2) for part in parts]
        attended = F.scaled_dot_product_attention(*heads, is_causal=True).transpose(1, 2).flatten(2)
        x = x + self.output(attended)
        return x + self.feed(self.norms[1](x))


class Gpt(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(32, 16), nn.Embedding(12, 16)
        self.blocks = nn.Sequential(Block(16), Block(16))
        self.norm, self.head = nn.LayerNorm(16), nn.Linear(16, 32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        places = self.places(torch.arange(x.shape[1], device=x.device))
        return self.head(self.norm(self.blocks(self.tokens(x) + places))).transpose(1, 2)


Make = Callable[[Any], torch.optim.Optimizer]
ADAMW: Make = lambda p: torch.optim.AdamW(p, 2e-3)  # noqa: E731
SGD: Make = lambda p: torch.optim.SGD(p, 0.05, momentum=0.9, weight_decay=1e-4)  # noqa: E731


def losses(
    make: Callable[[], nn.Module],
    data: tuple[torch.Tensor, torch.Tensor],
    device: str,
    optimizer: Make,
    dtype: torch.dtype | None = None,
    steps: int = 20,
) -> list[float]:
    torch.manual_seed(3)
    model = make().to(device)
    step, scaler = optimizer(model.parameters()), torch.amp.GradScaler(device, enabled=dtype == torch.float16)
    x, target = (tensor.to(device) for tensor in data)
    found = []
    for _ in range(steps):
        step.zero_grad()
        with torch.autocast(device, dtype=dtype, enabled=dtype is not None):
            loss = F.cross_entropy(model(x), target)
        scaler.scale(loss).backward()
        scaler.unscale_(step)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(step)
        scaler.update()
        found.append(loss.item())
    return found


def images() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(16, 1, 8, 8), torch.randint(0, 10, (16,))


def text() -> tuple[torch.Tensor, torch.Tensor]:
    tokens = torch.randint(0, 32, (4, 13))
    return tokens[:, :-1], tokens[:, 1:]


def far(one: list[float], other: list[float]) -> float:
    return max(abs(a - b) / abs(b) for a, b in zip(one, other))


def check_losses_of_a_residual_network_are_the_cpus() -> None:
    data = images()
    for optimizer in (SGD, ADAMW):
        cpu, npu = (losses(network, data, device, optimizer) for device in ("cpu", "npu"))
        assert cpu[-1] < cpu[0] and far(npu, cpu) < 1e-5, (npu, cpu)


def check_losses_of_a_gpt_are_the_cpus() -> None:
    data = text()
    cpu, npu = (losses(Gpt, data, device, ADAMW) for device in ("cpu", "npu"))
    assert cpu[-1] < cpu[0] and far(npu, cpu) < 1e-5, (npu, cpu)


def check_amp_trains() -> None:
    data, words = images(), text()
    full = losses(network, data, "npu", SGD), losses(Gpt, words, "npu", ADAMW)
    for dtype in (torch.float16, torch.bfloat16):
        half = losses(network, data, "npu", SGD, dtype), losses(Gpt, words, "npu", ADAMW, dtype)
        for one, other in zip(half, full):
            assert one != other and far(one, other) < 0.05, (dtype, one, other)


def check_autocast_casts_what_torch_npu_lists() -> None:
    layer, x = nn.Linear(4, 4).npu(), torch.ones(2, 4, device="npu")
    for dtype in (torch.float16, torch.bfloat16):
        with torch.autocast("npu", dtype=dtype):
            assert layer(x).dtype == dtype
            assert F.conv2d(x[None, None], x[None, None]).dtype == dtype
            assert torch.softmax(layer(x), 1).dtype == torch.float32
            assert F.layer_norm(layer(x), (4,)).dtype in (dtype, torch.float32)
    with torch.npu.amp.autocast():
        assert layer(x).dtype == torch.float16
    assert layer(x).dtype == torch.float32


def check_grad_scaler_skips_a_step_with_an_infinite_gradient() -> None:
    for scaler in (torch.amp.GradScaler("npu", init_scale=4.0), torch.npu.amp.GradScaler(init_scale=4.0)):
        weight = torch.ones(3, device="npu", requires_grad=True)
        step = torch.optim.SGD([weight], 0.5)
        scaler.scale((weight * torch.tensor([1.0, float("inf"), 1.0], device="npu")).sum()).backward()
        scaler.step(step)
        scaler.update()
        assert weight.tolist() == [1.0] * 3, "a step with an infinite gradient was made"
        assert scaler.get_scale() == 2.0
        step.zero_grad()
        scaler.scale(weight.sum()).backward()
        scaler.step(step)
        scaler.update()
        assert weight.tolist() == [0.5] * 3 and scaler.get_scale() == 2.0


def check_every_optimizer_gives_the_cpus_parameters() -> None:
    makers: dict[str, Make] = {
        "SGD foreach": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, nesterov=True, foreach=True),
        "Adam foreach": lambda p: torch.optim.Adam(p, 0.1, amsgrad=True, foreach=True),
        "AdamW foreach": lambda p: torch.optim.AdamW(p, 0.1, foreach=True),
        "AdamW loop": lambda p: torch.optim.AdamW(p, 0.1, foreach=False),
        "Adagrad": lambda p: torch.optim.Adagrad(p, 0.1),
        "Adadelta": lambda p: torch.optim.Adadelta(p, 0.1),
        "Adamax": lambda p: torch.optim.Adamax(p, 0.1),
        "NAdam": lambda p: torch.optim.NAdam(p, 0.1),
        "RAdam": lambda p: torch.optim.RAdam(p, 0.1),
        "RMSprop": lambda p: torch.optim.RMSprop(p, 0.1, momentum=0.5, centered=True),
        "Rprop": lambda p: torch.optim.Rprop(p, 0.1),
        "ASGD": lambda p: torch.optim.ASGD(p, 0.1),
    }
    start = [torch.randn(3, 4), torch.randn(5)]
    for name, make in makers.items():
        ends = []
        for device in ("cpu", "npu"):
            parameters = [t.clone().to(device).requires_grad_() for t in start]
            optimizer = make(parameters)
            for _ in range(5):
                optimizer.zero_grad()
                sum((p * p).sum() + p.sin().sum() for p in parameters).backward()
                optimizer.step()
            ends.append([p.detach().cpu() for p in parameters])
        torch.testing.assert_close(ends[1], ends[0], rtol=1e-5, atol=1e-5, msg=lambda text, n=name: f"{n}: {text}")


def check_fused_optimizers() -> None:
    start = torch.randn(3, 4)
    makes: list[Callable[..., torch.optim.Optimizer]] = [
        torch.optim.AdamW,
        torch.optim.Adam,
        lambda p, lr, fused: torch.optim.SGD(p, lr, 0.9, fused=fused),
    ]
    for make in makes:
        ends = []
        for device, fused in (("cpu", False), ("npu", True)):
            parameter = start.clone().to(device).requires_grad_()
            optimizer = make([parameter], 0.1, fused=fused)
            for _ in range(4):
                optimizer.zero_grad()
                parameter.square().sum().backward()
                optimizer.step()
            ends.append(parameter.detach().cpu())
        torch.testing.assert_close(ends[1], ends[0], rtol=1e-5, atol=1e-5)


def check_save_load_and_deepcopy() -> None:
    model = network().npu()
    twin = copy.deepcopy(model)
    pairs = list(zip(model.parameters(), twin.parameters()))
    assert all(torch.equal(a, b) and a.data_ptr() != b.data_ptr() for a, b in pairs)
    file = io.BytesIO()
    torch.save({"model": model.state_dict(), "step": 3}, file)
    for place, device in ((None, "npu"), ("cpu", "cpu"), ("npu:1", "npu")):
        file.seek(0)
        loaded = torch.load(file, map_location=place, weights_only=True)
        weight = loaded["model"]["0.weight"]
        assert weight.device.type == device and torch.equal(weight.cpu(), model[0].weight.detach().cpu())
    assert weight.device.index == 1


def check_conv_weights_survive_the_format_cast() -> None:
    layer = nn.Conv2d(3, 4, 3)
    moved = copy.deepcopy(layer).npu()
    assert torch.equal(moved.weight.cpu(), layer.weight)
    import torch_npu

    cast = torch_npu.npu_format_cast(moved.weight.detach(), 4)
    assert torch.equal(cast.cpu(), layer.weight) and torch_npu.get_npu_format(moved.weight) in (0, 2)


def check_activation_checkpointing() -> None:
    from torch.utils.checkpoint import checkpoint

    block, x = nn.Sequential(Block(16), nn.Dropout(0.3)).npu(), torch.randn(2, 5, 16).npu()
    answers = []
    for use in (False, True):
        torch.manual_seed(9)
        leaf = x.clone().requires_grad_()
        (checkpoint(block, leaf, use_reentrant=False) if use else block(leaf)).sum().backward()
        answers.append(leaf.grad)
    assert torch.equal(*answers)


def check_pinned_batches() -> None:
    data = torch.utils.data.TensorDataset(*images())
    loader = torch.utils.data.DataLoader(data, batch_size=4, pin_memory=True, num_workers=0)
    x = [batch[0] for batch in loader]
    assert all(batch.is_pinned() for batch in x)
    assert torch.equal(torch.cat([batch.to("npu", non_blocking=True) for batch in x]).cpu(), data.tensors[0])


def check_overflow_in_half_is_infinite() -> None:
    big = torch.full((2,), 60000.0, device="npu", dtype=torch.float16)
    assert math.isinf((big * 2)[0].item())
