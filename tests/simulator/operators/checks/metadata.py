"""Shapes: out= of wrong or no size, in-place metadata operators, views, storages."""

from __future__ import annotations

from typing import Any, Callable

import torch


def same(npu: torch.Tensor, cpu: torch.Tensor) -> None:
    assert npu.device.type == "npu"
    assert npu.shape == cpu.shape and npu.stride() == cpu.stride(), (npu.shape, npu.stride(), cpu.shape, cpu.stride())
    assert npu.storage_offset() == cpu.storage_offset()
    torch.testing.assert_close(npu.cpu(), cpu)


def both(change: Callable[[torch.Tensor], Any], *shape: int) -> None:
    cpu = torch.randn(*shape)
    npu = cpu.npu()
    change(cpu)
    change(npu)
    same(npu, cpu)


def check_out_of_zero_size_is_resized() -> None:
    a, b = torch.randn(3, 4), torch.randn(3, 4)
    out = torch.empty(0, device="npu")
    result = torch.add(a.npu(), b.npu(), out=out)
    assert result is out
    same(out, a + b)


def check_out_of_wrong_size_is_resized_and_keeps_its_memory_where_it_fits() -> None:
    a, b = torch.randn(2, 5), torch.randn(5, 3)
    large = torch.zeros(100, device="npu")
    pointer = large.data_ptr()
    torch.mm(a.npu(), b.npu(), out=large)
    same(large, a @ b)
    assert large.data_ptr() == pointer
    small = torch.zeros(2, device="npu")
    torch.mm(a.npu(), b.npu(), out=small)
    same(small, a @ b)


def check_out_resized_through_a_view_moves_the_base() -> None:
    base = torch.zeros(2, device="npu")
    view = base[:]
    torch.add(torch.ones(4, device="npu"), 1, out=view)
    assert base.untyped_storage().data_ptr() == view.untyped_storage().data_ptr()
    assert base.cpu().tolist() == [2.0, 2.0] and view.cpu().tolist() == [2.0] * 4


def check_out_that_is_strided() -> None:
    a = torch.randn(4, 6)
    base = torch.zeros(6, 8, device="npu")
    torch.exp(a.npu(), out=base.t()[:4, :])
    expected = torch.zeros(6, 8)
    torch.exp(a, out=expected.t()[:4, :])
    torch.testing.assert_close(base.cpu(), expected)


def check_two_outs() -> None:
    a = torch.randn(5, 7)
    values, indices = torch.empty(0, device="npu"), torch.empty(0, dtype=torch.long, device="npu")
    torch.max(a.npu(), 1, out=(values, indices))
    same(values, a.max(1).values)
    same(indices, a.max(1).indices)


def check_out_on_the_cpu_is_refused() -> None:
    for out in (torch.empty(3), torch.empty(())):
        try:
            torch.add(torch.ones_like(out, device="npu"), 1, out=out)
        except RuntimeError as error:
            assert "same device" in str(error) or "device" in str(error), error
        else:
            raise AssertionError("an out= on the CPU was taken")


def check_in_place_metadata_operators() -> None:
    both(lambda t: t.t_(), 3, 5)
    both(lambda t: t.transpose_(0, 2), 2, 3, 4)
    both(lambda t: t.swapaxes_(0, 1), 2, 3)
    both(lambda t: t.swapdims_(0, 1), 2, 3)
    both(lambda t: t.squeeze_(), 1, 3, 1)
    both(lambda t: t.squeeze_(0), 1, 3)
    both(lambda t: t.unsqueeze_(1), 3, 4)
    both(lambda t: t.as_strided_((2, 2), (1, 2), 1), 8)
    both(lambda t: t.resize_(2, 2), 3, 4)
    both(lambda t: t.resize_as_(torch.empty(2, 3, device=t.device)), 3, 4)
    both(lambda t: t.detach_().t_(), 3, 4)


def check_resize_grows_and_keeps_the_values() -> None:
    cpu = torch.arange(6.0)
    npu = cpu.npu()
    npu.resize_(4, 5)
    cpu.resize_(4, 5)
    assert npu.shape == (4, 5)
    assert npu.flatten()[:6].cpu().tolist() == cpu.flatten()[:6].tolist()


def check_set_shares_storage() -> None:
    source = torch.arange(12.0, device="npu")
    target = torch.empty(0, device="npu")
    target.set_(source.untyped_storage(), 2, (2, 3), (3, 1))
    source[2] = 50
    assert target.cpu().tolist() == [[50.0, 3.0, 4.0], [5.0, 6.0, 7.0]]
    target.set_(source)
    assert target.data_ptr() == source.data_ptr() and target.shape == (12,)
    target.set_()
    assert target.numel() == 0 and target.device.type == "npu"


def check_storage_resize() -> None:
    tensor = torch.arange(8.0, device="npu")
    storage = tensor.untyped_storage()
    storage.resize_(0)
    assert storage.nbytes() == 0
    storage.resize_(32)
    tensor.fill_(3)
    assert tensor.cpu().tolist() == [3.0] * 8
    storage.resize_(64)
    assert tensor.cpu().tolist() == [3.0] * 8


def check_views_share_memory() -> None:
    base = torch.arange(24.0, device="npu").view(2, 3, 4)
    base.transpose(0, 2)[1].fill_(-1)
    base.diagonal(dim1=0, dim2=1).mul_(2)
    base.narrow(2, 3, 1).zero_()
    base.unfold(2, 2, 2)[0, 0, 0] += 5
    base.view(-1)[::7] = 9
    expected = torch.arange(24.0).view(2, 3, 4)
    expected.transpose(0, 2)[1].fill_(-1)
    expected.diagonal(dim1=0, dim2=1).mul_(2)
    expected.narrow(2, 3, 1).zero_()
    expected.unfold(2, 2, 2)[0, 0, 0] += 5
    expected.view(-1)[::7] = 9
    same(base, expected)


def check_view_as_real_and_complex_share_memory() -> None:
    base = torch.zeros(3, 2, device="npu")
    torch.view_as_complex(base).add_(1 + 2j)
    assert base.cpu().tolist() == [[1.0, 2.0]] * 3
    torch.view_as_real(torch.view_as_complex(base)).mul_(3)
    assert base.cpu().tolist() == [[3.0, 6.0]] * 3


def check_conjugate_and_negative_views() -> None:
    cpu = torch.randn(3, 3, dtype=torch.complex64)
    npu = cpu.npu()
    torch.testing.assert_close((npu.conj() + npu.conj().imag).cpu(), cpu.conj() + cpu.conj().imag)
    torch.testing.assert_close(npu.conj().cpu(), cpu.conj().resolve_conj())


def check_zero_sized_tensors() -> None:
    empty = torch.empty(0, 3, device="npu")
    assert (empty + 1).shape == (0, 3)
    assert torch.cat([empty, torch.ones(2, 3, device="npu")]).shape == (2, 3)
    assert empty.sum().item() == 0.0


def check_a_tensor_can_be_printed_and_read() -> None:
    tensor = torch.tensor([1.5, 2.5], device="npu")
    assert repr(tensor) == "tensor([1.5000, 2.5000], device='npu:0')"
    assert tensor[0].item() == 1.5 and tensor.tolist() == [1.5, 2.5] and bool(tensor[0] > 1)
    assert float(tensor.sum()) == 4.0 and int(tensor[1]) == 2


def check_memory_accounting_is_torch_npus() -> None:
    torch.npu.empty_cache()
    before = torch.npu.memory_allocated()
    tensor = torch.ones(1 << 20, device="npu")
    doubled = tensor * 2
    # two tensors of 4 MiB, each padded by torch_npu to a whole block: no hidden third copy
    assert 2 * 4 * (1 << 20) <= torch.npu.memory_allocated() - before <= 2 * 4 * (1 << 20) + 2048
    del tensor, doubled
    assert torch.npu.memory_allocated() == before
    assert torch.npu.max_memory_allocated() >= before + 2 * 4 * (1 << 20)
