"""What stands on top of operators: torch.func, torch.compile, checkpointing, streams, pickling, SyncBatchNorm."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any, Callable

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, grad, hessian, jacrev, jvp, vjp, vmap
from torch.utils.checkpoint import checkpoint, checkpoint_sequential


def both(call: Callable[..., Any], *inputs: torch.Tensor) -> None:
    expected = call(*inputs)
    actual = call(*[tensor.npu() for tensor in inputs])
    leaves = torch.utils._pytree.tree_leaves(actual)
    assert all(leaf.device.type == "npu" for leaf in leaves)
    moved = torch.utils._pytree.tree_map(lambda tensor: tensor.cpu(), actual)
    torch.testing.assert_close(moved, expected, rtol=1e-5, atol=1e-5)


def network() -> nn.Module:
    torch.manual_seed(5)
    return nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 3))


def loss_of(x: torch.Tensor) -> torch.Tensor:
    return F.softmax(x.sin() * x, -1).square().sum()


def check_vmap() -> None:
    both(vmap(torch.dot), torch.randn(3, 4), torch.randn(3, 4))
    both(vmap(lambda m, v: m @ v, in_dims=(2, 0)), torch.randn(3, 4, 5), torch.randn(5, 4))
    both(vmap(lambda x: F.gelu(F.layer_norm(x, (4,)))), torch.randn(3, 2, 4))
    both(vmap(lambda x, w: F.conv2d(x, w), in_dims=(0, None)), torch.randn(3, 1, 2, 5, 5), torch.randn(4, 2, 3, 3))


def check_vmap_draws_different_numbers() -> None:
    rows = vmap(lambda x: x + torch.rand_like(x), randomness="different")(torch.zeros(3, 8, device="npu"))
    assert not torch.equal(rows[0], rows[1])
    rows = vmap(lambda x: x + torch.rand_like(x), randomness="same")(torch.zeros(3, 8, device="npu"))
    assert torch.equal(rows[0], rows[1])


def check_grad_vjp_jvp_and_second_derivatives() -> None:
    both(grad(loss_of), torch.randn(3, 4))
    both(lambda x, v: jvp(loss_of, (x,), (v,)), torch.randn(3, 4), torch.randn(3, 4))
    both(lambda x: vjp(loss_of, x)[1](torch.ones((), device=x.device)), torch.randn(3, 4))
    both(jacrev(lambda x: F.softmax(x, 0)), torch.randn(4))
    both(hessian(loss_of), torch.randn(4))


def check_gradients_by_sample() -> None:
    def by_sample(x: torch.Tensor) -> torch.Tensor:
        model = network().to(x.device)
        parameters = {name: value.detach() for name, value in model.named_parameters()}

        def loss(values: dict[str, torch.Tensor], row: torch.Tensor) -> torch.Tensor:
            return functional_call(model, values, (row,)).square().sum()

        return vmap(grad(loss), in_dims=(None, 0))(parameters, x)["0.weight"]

    both(by_sample, torch.randn(6, 4))


def check_compile_with_eager_backends() -> None:
    def answers(model: nn.Module, x: torch.Tensor) -> list[torch.Tensor]:
        leaf = x.clone().requires_grad_()
        output = model(leaf)
        output.square().sum().backward()
        return [output.detach(), leaf.grad, *[p.grad for p in model.parameters()]]

    x = torch.randn(5, 4).npu()
    expected = answers(network().npu(), x)
    for backend in ("eager", "aot_eager"):
        torch._dynamo.reset()
        torch.testing.assert_close(answers(torch.compile(network().npu(), backend=backend), x), expected)


def check_checkpoint_in_both_modes() -> None:
    block, x = nn.Sequential(network(), nn.Linear(3, 4), nn.Dropout(0.4)).npu(), torch.randn(6, 4).npu()
    calls: list[Callable[[torch.Tensor], torch.Tensor]] = [
        block,
        lambda leaf: checkpoint(block, leaf, use_reentrant=False),
        lambda leaf: checkpoint(block, leaf, use_reentrant=True),
        lambda leaf: checkpoint_sequential(block, 2, leaf, use_reentrant=False),
    ]
    answers = []
    for call in calls:
        torch.manual_seed(9)
        block.zero_grad()
        leaf = x.clone().requires_grad_()
        call(leaf).square().sum().backward()
        answers.append([leaf.grad, *[p.grad.clone() for p in block.parameters()]])
    for other in answers[1:]:
        assert all(torch.equal(one, two) for one, two in zip(answers[0], other))


def check_checkpoint_under_autocast_recomputes_in_half() -> None:
    block, x = network().npu(), torch.randn(6, 4).npu()
    grads = []
    for use in (False, True):
        block.zero_grad()
        with torch.autocast("npu", dtype=torch.float16):
            output = checkpoint(block, x, use_reentrant=False) if use else block(x)
        output.float().square().sum().backward()
        grads.append([p.grad.clone() for p in block.parameters()])
    assert all(torch.equal(one, two) for one, two in zip(*grads))


def check_streams_and_events_order_work() -> None:
    first, second = torch.npu.Stream(), torch.npu.Stream()
    begin, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
    x = torch.ones(1 << 14, device="npu")
    begin.record()
    with torch.npu.stream(first):
        y = x * 2
        made = torch.npu.Event()
        made.record()
        assert torch.npu.current_stream() == first
    second.wait_event(made)
    with torch.npu.stream(second):
        y += 1
        y.record_stream(second)
    torch.npu.current_stream().wait_stream(second)
    end.record()
    end.synchronize()
    assert end.query() and first.query() and begin.elapsed_time(end) >= 0
    assert y.sum().item() == 3 * (1 << 14)


def check_pickling_and_deepcopy_keep_device_and_views() -> None:
    base = torch.arange(6.0, device="npu")
    pair = pickle.loads(pickle.dumps({"base": base, "view": base[2:4]}))
    assert pair["view"].device.type == "npu" and pair["view"].tolist() == [2.0, 3.0]
    file = io.BytesIO()
    torch.save({"base": base, "view": base[2:4]}, file)
    file.seek(0)
    loaded = torch.load(file, weights_only=True)
    loaded["base"][2] = 7
    assert loaded["view"][0].item() == 7, "a saved view no longer shares its storage"
    parameter = nn.Parameter(torch.ones(3, device="npu"))
    parameter.sum().backward()
    twin = copy.deepcopy(parameter)
    assert isinstance(twin, nn.Parameter) and twin.requires_grad and twin.device.type == "npu"
    optimizer = torch.optim.AdamW([parameter], 0.1)
    optimizer.step()
    state = pickle.loads(pickle.dumps(optimizer.state_dict()))
    assert state["state"][0]["exp_avg"].device.type == "npu"


def check_sync_batch_norm_trains_alone_as_batch_norm() -> None:
    x = torch.randn(4, 3, 5, 5)
    plain = nn.BatchNorm2d(3)
    synchronised = nn.SyncBatchNorm.convert_sync_batchnorm(copy.deepcopy(plain)).npu()
    answers = []
    for module, device in ((plain, "cpu"), (synchronised, "npu")):
        leaf = x.clone().to(device).requires_grad_()
        module(leaf).square().mul(0.1).sum().backward()
        answers.append([leaf.grad.cpu(), module.weight.grad.cpu(), module.running_var.cpu()])
    torch.testing.assert_close(answers[1], answers[0], rtol=1e-4, atol=1e-5)


def check_zero_and_no_dimensions() -> None:
    for shape in ((), (0,), (3, 0), (0, 3)):
        x = torch.ones(shape, device="npu")
        assert (x + 1).shape == shape and x.sum().item() == x.numel() and x.clone().half().shape == shape
        assert torch.cat([x.reshape(-1), x.reshape(-1)]).numel() == 2 * x.numel()
        leaf = x.clone().requires_grad_()
        (leaf * 2).sum().backward()
        assert leaf.grad.shape == shape
    assert (torch.ones(3, 0, device="npu") @ torch.ones(0, 4, device="npu")).tolist() == [[0.0] * 4] * 3
    assert F.linear(torch.ones(0, 3, device="npu"), torch.ones(2, 3, device="npu")).shape == (0, 2)
    assert torch.tensor(3.0, device="npu").item() == 3.0 and torch.tensor(3.0, device="npu").mean().dim() == 0
