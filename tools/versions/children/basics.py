"""What ordinary training uses, each check alone, on the simulated NPU beside the CPU. Prints a line for each check.

Run in a pair's environment: it imports torch_npu before anything of ours.
"""

from __future__ import annotations

import copy
import io
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import torch_npu
from torch import nn
from torch.nn import functional

CHECKS: list[Callable[[], None]] = []


def check(function: Callable[[], None]) -> Callable[[], None]:
    CHECKS.append(function)
    return function


class Network(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.convolution, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.embedding, self.attention = nn.Embedding(16, 8), nn.MultiheadAttention(8, 2, batch_first=True)
        self.layer_norm, self.head = nn.LayerNorm(8), nn.Linear(8, 4)

    def forward(self, image: Any, words: Any) -> Any:
        seen = functional.gelu(self.norm(self.convolution(image))).mean((2, 3))
        read = self.embedding(words)
        read = self.layer_norm(read + self.attention(read, read, read, need_weights=False)[0])
        return self.head(seen + read.mean(1))


def train(device: str, optimizer: Callable[..., Any], steps: int = 4) -> tuple[list[float], list[Any]]:
    """Return the losses of a small training and the parameters that it ends with."""
    torch.manual_seed(0)
    network = Network()
    image, words, target = torch.randn(6, 3, 8, 8), torch.randint(16, (6, 5)), torch.randint(4, (6,))
    network, image, words, target = (each.to(device) for each in (network, image, words, target))
    update, losses = optimizer(network.parameters()), []
    for _ in range(steps):
        update.zero_grad()
        loss = functional.cross_entropy(network(image, words), target)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        update.step()
        losses.append(loss.item())
    return losses, [parameter.detach().cpu() for parameter in network.parameters()]


def compare_training(optimizer: Callable[..., Any]) -> None:
    (losses, ends), (wanted, wanted_ends) = train("npu", optimizer), train("cpu", optimizer)
    assert losses[-1] < losses[0], losses
    for loss, want in zip(losses, wanted):
        assert abs(loss - want) <= 1e-5 * abs(want), (losses, wanted)
    for end, want in zip(ends, wanted_ends):
        assert torch.allclose(end, want, rtol=1e-4, atol=1e-6), (end - want).abs().max()


@check
def training_with_sgd() -> None:
    compare_training(lambda parameters: torch.optim.SGD(parameters, 0.1, momentum=0.9))


@check
def training_with_adamw() -> None:
    compare_training(lambda parameters: torch.optim.AdamW(parameters, 0.01))


@check
def autocast_and_scaler() -> None:
    torch.manual_seed(0)
    network, data = nn.Linear(8, 8).npu(), torch.randn(4, 8).npu()
    update = torch.optim.SGD(network.parameters(), 0.1)
    scaler, losses = torch.npu.amp.GradScaler(init_scale=256.0), []
    for _ in range(3):
        with torch.npu.amp.autocast():
            out = network(data)
            assert out.dtype is torch.float16, out.dtype
            loss = out.float().pow(2).mean()
        update.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(update)
        scaler.update()
        losses.append(loss.item())
    assert losses == sorted(losses, reverse=True) and scaler.get_scale() == 256.0, losses


@check
def scaler_skips_an_overflow() -> None:
    network = nn.Linear(4, 4).npu()
    before = network.weight.detach().cpu().clone()
    update, scaler = torch.optim.SGD(network.parameters(), 0.1), torch.npu.amp.GradScaler(init_scale=65536.0)
    scaler.scale(network(torch.full((1, 4), float("inf")).npu()).sum()).backward()
    scaler.step(update)
    scaler.update()
    assert torch.equal(before, network.weight.detach().cpu()) and scaler.get_scale() == 32768.0


@check
def bfloat16_autocast() -> None:
    with torch.autocast("npu", dtype=torch.bfloat16):
        assert nn.Linear(4, 4).npu()(torch.ones(2, 4).npu()).dtype is torch.bfloat16


@check
def scaled_dot_product_attention() -> None:
    torch.manual_seed(0)
    parts = [torch.randn(2, 4, 16, 8) for _ in range(3)]
    gradients = []
    for device in ("npu", "cpu"):
        inputs = [part.to(device).requires_grad_() for part in parts]
        functional.scaled_dot_product_attention(inputs[0], inputs[1], inputs[2], is_causal=True).pow(2).sum().backward()
        gradients.append([each.grad.cpu() for each in inputs])
    for mine, wanted in zip(*gradients):
        assert torch.allclose(mine, wanted, rtol=1e-4, atol=1e-5), (mine - wanted).abs().max()


@check
def own_rms_norm() -> None:
    data, weight = torch.randn(4, 8), torch.rand(8)
    mine = torch_npu.npu_rms_norm(data.npu(), weight.npu(), epsilon=1e-6)[0].cpu()
    wanted = data * torch.rsqrt(data.pow(2).mean(-1, keepdim=True) + 1e-6) * weight
    assert torch.allclose(mine, wanted, rtol=1e-4, atol=1e-5)


@check
def own_fusion_attention() -> None:
    torch.manual_seed(0)
    query, key, value = (torch.randn(2, 4, 16, 8) for _ in range(3))
    inputs = [part.npu().half().requires_grad_() for part in (query, key, value)]
    out = torch_npu.npu_fusion_attention(*inputs, 4, "BNSD", scale=8**-0.5)[0]
    wanted = torch.softmax(query @ key.transpose(-1, -2) * 8**-0.5, -1) @ value
    assert (out.float().cpu() - wanted).abs().max() < 5e-3
    out.float().sum().backward()
    assert all(part.grad is not None and bool(part.grad.isfinite().all()) for part in inputs)


@check
def lstm_and_gru() -> None:
    for kind in (nn.LSTM, nn.GRU):
        torch.manual_seed(0)
        network, data = kind(4, 8, 2), torch.randn(5, 3, 4)
        wanted = network(data)[0]
        mine = copy.deepcopy(network).npu()(data.npu())[0]
        assert torch.allclose(mine.cpu(), wanted, rtol=1e-4, atol=1e-5), kind
        mine.sum().backward()


@check
def dropout_and_generators() -> None:
    torch.manual_seed(3)
    first = [torch.rand(4, device="npu").cpu(), functional.dropout(torch.ones(64, device="npu")).cpu()]
    torch.manual_seed(3)
    again = [torch.rand(4, device="npu").cpu(), functional.dropout(torch.ones(64, device="npu")).cpu()]
    assert all(torch.equal(*pair) for pair in zip(first, again)) and 0 < int((first[1] == 0).sum()) < 64
    assert not torch.equal(torch.rand(4, device="npu").cpu(), first[0])
    assert sorted(torch.randperm(9, device="npu").tolist()) == list(range(9))


@check
def saving_and_loading() -> None:
    network = nn.Linear(4, 4).npu()
    file = io.BytesIO()
    torch.save(network.state_dict(), file)
    for where in (None, "cpu"):  # to another NPU releases differ: 2.7.1's own Python leads to the current one
        file.seek(0)
        weight = torch.load(file, map_location=where)["weight"]
        assert str(weight.device) == (where or "npu:0"), weight.device
        assert torch.equal(weight.cpu(), network.weight.detach().cpu())


@check
def loading_batches() -> None:
    data = torch.utils.data.TensorDataset(torch.arange(40.0))
    batches = torch.utils.data.DataLoader(data, batch_size=8, num_workers=2, pin_memory=True, pin_memory_device="npu")
    assert sum(part.npu(non_blocking=True).sum().item() for (part,) in batches) == 780.0


@check
def indexing() -> None:
    data = torch.arange(24.0).reshape(4, 6)
    mine = data.npu()
    assert torch.equal(mine[mine > 7].cpu(), data[data > 7])
    assert torch.equal(mine[torch.tensor([2, 0]).npu(), 1:3].cpu(), data[[2, 0], 1:3])
    mine[1, ::2] = -1
    data[1, ::2] = -1
    assert torch.equal(mine.cpu(), data)
    values, places = mine.topk(2)
    assert torch.equal(values.cpu(), data.topk(2)[0]) and torch.equal(places.cpu(), data.topk(2)[1])


@check
def devices_memory_streams() -> None:
    assert torch.npu.device_count() >= 2 and "Ascend" in torch.npu.get_device_name(0)
    before = torch.npu.memory_allocated()
    room = torch.empty(1 << 20, dtype=torch.uint8, device="npu")
    assert torch.npu.memory_allocated() - before >= room.numel()
    begin, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
    with torch.npu.stream(torch.npu.Stream()):
        begin.record()
        doubled = torch.ones(3, device="npu") * 2
        end.record()
    torch.npu.synchronize()
    assert begin.elapsed_time(end) >= 0 and doubled.sum().item() == 6
    assert (torch.ones(2, device="npu:0").to("npu:1") + 1).device.index == 1


@check
def refusals() -> None:
    try:
        torch.ones(2, 3).npu() @ torch.ones(2, 3).npu()
    except RuntimeError:
        pass
    else:
        raise AssertionError("a product of shapes that do not fit passed")
    for data in (torch.ones(2), torch.ones(2, device="npu:1")):
        try:
            torch.ones(2, device="npu:0") + data
        except RuntimeError as error:
            assert "device" in str(error), error
        else:
            raise AssertionError(f"a tensor of {data.device} was added")


@check
def transfer_to_npu() -> None:
    """The last: it changes torch for the rest of the process."""
    from torch_npu.contrib import transfer_to_npu  # noqa: F401

    assert torch.cuda.is_available() and torch.cuda.device_count() >= 2
    network = nn.Linear(4, 4).cuda()
    assert network.weight.device.type == "npu" and torch.ones(2, device="cuda").device.type == "npu"
    with torch.cuda.amp.autocast():
        assert network(torch.ones(2, 4).cuda()).dtype is torch.float16
    torch.cuda.synchronize()


def outcomes() -> Iterator[tuple[str, str]]:
    for function in CHECKS:
        try:
            function()
        except Exception as error:  # noqa: BLE001 - the check's outcome, whatever it is
            line = traceback.extract_tb(error.__traceback__)[-1]
            text = " ".join(str(error).split())[:200]
            yield function.__name__, f"{type(error).__name__}: {text} ({Path(line.filename).name}:{line.lineno})"
        else:
            yield function.__name__, ""


if __name__ == "__main__":
    failed = 0
    for name, error in outcomes():
        failed += bool(error)
        print(f"{'failed' if error else 'passed'} {name} {error}".rstrip(), flush=True)
    sys.exit(1 if failed else 0)
