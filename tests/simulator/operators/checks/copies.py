"""Copies: casts, strides, overlap, host and device, card to card."""

from __future__ import annotations

import torch

DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.int8, torch.uint8, torch.int32, torch.int64, torch.bool)


def check_casts_on_the_device() -> None:
    values = torch.tensor([0.0, 1.0, 2.5, -3.25, 100.0])
    for source in DTYPES:
        for target in DTYPES:
            cpu = values.to(source)
            assert torch.equal(cpu.npu().to(target).cpu(), cpu.to(target)), (source, target)


def check_strided_copies() -> None:
    source = torch.randn(4, 6)
    target = torch.zeros(12, 8, device="npu")
    target[::3, ::2].copy_(source.npu()[:, :4])
    expected = torch.zeros(12, 8)
    expected[::3, ::2].copy_(source[:, :4])
    assert torch.equal(target.cpu(), expected)


def check_copies_that_cast_and_broadcast_between_host_and_device() -> None:
    source = torch.arange(6).view(2, 3)
    target = torch.zeros(4, 2, 3, dtype=torch.float16, device="npu")
    target.copy_(source)
    assert torch.equal(target.cpu(), source.half().expand(4, 2, 3))
    host = torch.zeros(3, 2, dtype=torch.int32)
    host.copy_(torch.arange(6.0, device="npu").view(2, 3).t())
    assert torch.equal(host, torch.arange(6, dtype=torch.int32).view(2, 3).t())


def check_copy_onto_itself_with_overlap_is_refused() -> None:
    tensor = torch.arange(6.0, device="npu")
    try:
        tensor.expand(3, 6).copy_(torch.ones(3, 6, device="npu"))
    except RuntimeError as error:
        assert "more than one element of the written-to tensor" in str(error), error
    else:
        raise AssertionError("a copy onto an expanded tensor was taken")


def check_non_blocking_copies_are_ordered() -> None:
    host = torch.empty(1 << 16, pin_memory=True)
    for value in range(20):
        device = torch.full((1 << 16,), float(value), device="npu")
        host.copy_(device, non_blocking=True)
        torch.npu.synchronize()
        assert host[0] == value and host[-1] == value
        back = host.to("npu", non_blocking=True)
        back += 1
        assert back.sum().item() == (value + 1) * (1 << 16)


def check_card_to_card() -> None:
    first = torch.randn(3, 4, device="npu:0")
    second = first.t().to("npu:1")
    assert second.device.index == 1 and torch.equal(second.cpu(), first.cpu().t())
    target = torch.zeros(3, 4, dtype=torch.float16, device="npu:1")
    target.copy_(first)
    assert torch.equal(target.cpu(), first.cpu().half())
    assert (second + 1).device.index == 1
    assert torch.ones(2, device="npu:1").sum().device.index == 1


def check_clone_and_contiguous() -> None:
    cpu = torch.randn(2, 3, 4, 5)
    npu = cpu.npu()
    assert torch.equal(npu.transpose(1, 2).contiguous().cpu(), cpu.transpose(1, 2).contiguous())
    assert npu.transpose(1, 2).contiguous().is_contiguous()
    assert npu.transpose(1, 2).clone().stride() == cpu.transpose(1, 2).clone().stride()
    expanded = npu.expand(2, 2, 3, 4, 5).clone()
    assert torch.equal(expanded.cpu(), cpu.expand(2, 2, 3, 4, 5)) and expanded.is_contiguous()


def check_channels_last_inputs() -> None:
    cpu = torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last)
    npu = cpu.npu()
    assert torch.equal(npu.cpu(), cpu) and npu.stride() == cpu.stride()
    weight = torch.randn(4, 3, 3, 3)
    expected = torch.nn.functional.conv2d(cpu, weight)
    torch.testing.assert_close(torch.nn.functional.conv2d(npu, weight.npu()).cpu(), expected)
    # torch_npu has no channels_last of its own and says so
    try:
        torch.randn(1, 3, 4, 4, device="npu").to(memory_format=torch.channels_last)
    except RuntimeError as error:
        assert "contiguous_format or preserve_format" in str(error), error
    else:
        raise AssertionError("channels_last was taken on the NPU")


def check_float64_becomes_float32_where_torch_npu_says_so() -> None:
    tensor = torch.ones(3, device="npu")
    assert tensor.double().dtype == torch.float32
    assert torch.ones(3, dtype=torch.float64).npu().dtype == torch.float64
    assert tensor.half().double().dtype == torch.float32


def check_copy_from_numpy_and_lists() -> None:
    tensor = torch.tensor([[1, 2], [3, 4]], device="npu")
    tensor[0] = torch.tensor([7, 8])
    tensor[1, 1] = 5
    assert tensor.tolist() == [[7, 8], [3, 5]]
    mask = tensor > 4
    assert tensor[mask].tolist() == [7, 8, 5]
    assert tensor[torch.tensor([1, 0])].tolist() == [[3, 5], [7, 8]]
    tensor[torch.tensor([True, False])] = 0
    assert tensor.tolist() == [[0, 0], [3, 5]]


def check_views_move_between_devices_with_their_values_and_strides() -> None:
    base = torch.arange(24.0).view(2, 3, 4)
    views = {
        "transposed": lambda t: t.transpose(0, 2),
        "sliced": lambda t: t[:, 1:, ::2],
        "expanded": lambda t: t[:1].expand(5, 3, 4),
        "empty": lambda t: t[:, :0],
        "diagonal": lambda t: t[0].diagonal(),
        "scalar": lambda t: t[1, 2, 3],
    }
    for name, view in views.items():
        expected = view(base)
        for there in (view(base.npu()).to("npu:1"), view(base).to("npu:1"), view(base.to("npu:1")).to("npu:0")):
            assert torch.equal(there.cpu(), expected), name
            assert there.stride() == expected.to(memory_format=torch.preserve_format).clone().stride(), name


def check_a_view_on_one_card_takes_a_view_of_another() -> None:
    for source, target in (("npu:0", "npu:1"), ("npu:1", "npu:0"), ("cpu", "npu:1"), ("npu:1", "cpu")):
        values = torch.arange(12.0, device=source).view(3, 4)
        base = torch.zeros(4, 6, dtype=torch.int32, device=target)
        base[:, ::2].copy_(values.t())
        expected = torch.zeros(4, 6, dtype=torch.int32)
        expected[:, ::2] = torch.arange(12).view(3, 4).t()
        assert torch.equal(base.cpu(), expected), (source, target)


def check_the_gradient_comes_back_over_the_cards() -> None:
    leaf = torch.arange(6.0, device="npu:0").view(2, 3).requires_grad_()
    (leaf.t().to("npu:1") * torch.arange(6.0, device="npu:1").view(3, 2)).cpu().sum().backward()
    assert leaf.grad.device.index == 0 and torch.equal(leaf.grad.cpu(), torch.arange(6.0).view(3, 2).t())


def check_lists_are_copied_pair_by_pair_over_devices() -> None:
    halves, ones = torch.rand(2, 3).half().npu(), torch.ones(4, dtype=torch.int64)
    targets = [torch.zeros_like(halves), torch.zeros(4, dtype=torch.int64), torch.zeros(2, 3)]
    torch._foreach_copy_(targets, [halves, ones, halves])
    assert torch.equal(targets[0], halves) and torch.equal(targets[1], ones)
    assert torch.equal(targets[2], halves.cpu().float())
