"""Layouts that are not dense: what is not simulated raises and names itself, and nothing crashes."""

from __future__ import annotations

import copy
from typing import Callable

import torch
from torch import nn


def refused(call: Callable[[], object], *words: str) -> None:
    try:
        result = call()
    except (RuntimeError, NotImplementedError, AssertionError, TypeError, ValueError) as error:
        assert all(word in str(error) for word in words), f"{type(error).__name__}: {error}"
        return
    raise AssertionError(f"accepted: {type(result)}")


def same(actual: torch.Tensor, expected: torch.Tensor) -> None:
    assert actual.device.type == "npu" and actual.layout == expected.layout
    torch.testing.assert_close(actual.cpu().to_dense(), expected.to_dense())


def check_sparse_coo_as_far_as_torch_npu_has_kernels() -> None:
    x = torch.tensor([[0.0, 2.0], [3.0, 0.0]])
    twice, values = torch.tensor([[0, 0, 1], [1, 1, 0]]), torch.tensor([1.0, 2.0, 4.0])
    sparse = torch.sparse_coo_tensor(twice, values, (2, 2))
    on_npu = torch.sparse_coo_tensor(twice.npu(), values.npu(), (2, 2))
    same(x.npu().to_sparse(), x.to_sparse())
    same(x.npu().to_sparse(1), x.to_sparse(1))
    same(sparse.npu(), sparse)
    same(on_npu.coalesce(), sparse.coalesce())
    assert on_npu.coalesce().values().tolist() == [3.0, 4.0] and on_npu.coalesce().is_coalesced()
    same(on_npu + on_npu, sparse + sparse)
    same(x.npu() + on_npu, x + sparse)
    same(on_npu.coalesce().sum(), sparse.coalesce().sum())


def check_sparse_coo_products_are_refused() -> None:
    x = torch.eye(2, device="npu")
    sparse = torch.eye(2).to_sparse().npu()
    refused(lambda: sparse @ x, "not currently supported on the NPU backend")
    refused(lambda: torch.sparse.mm(sparse, x), "not currently supported on the NPU backend")
    refused(lambda: torch.sparse.softmax(sparse, 1), "not currently supported on the NPU backend")
    refused(lambda: sparse + x)


def check_sparse_compressed() -> None:
    x = torch.eye(4, device="npu")
    for convert in ("to_sparse_csr", "to_sparse_csc"):
        refused(lambda c=convert: getattr(x, c)() @ x)
    refused(lambda: x.to_sparse_bsr((2, 2)) @ x)
    refused(lambda: torch.eye(4).to_sparse_csr().npu() @ x)


def check_sparse_gradient_of_an_embedding() -> None:
    layer = nn.Embedding(5, 3, sparse=True)
    twin = copy.deepcopy(layer).npu()
    for model, device in ((layer, "cpu"), (twin, "npu")):
        model(torch.tensor([1, 2, 1], device=device)).sum().backward()
    same(twin.weight.grad, layer.weight.grad)
    for model in (layer, twin):
        torch.optim.SGD(model.parameters(), 0.1).step()
    same(twin.weight.detach(), layer.weight.detach())


def check_quantized() -> None:
    x = torch.rand(2, 4, device="npu")
    scale, zero = torch.full((2,), 0.1, device="npu"), torch.zeros(2, dtype=torch.int64, device="npu")
    refused(lambda: torch.quantize_per_tensor(x, 0.1, 0, torch.qint8), "simulator lacks")
    refused(lambda: torch.quantize_per_tensor(x, scale[0], zero[0], torch.quint8))
    refused(lambda: torch.quantize_per_channel(x, scale, zero, 0, torch.qint8), "simulator lacks")
    refused(lambda: torch.quantize_per_tensor_dynamic(x, torch.qint8, False))
    refused(lambda: torch.quantize_per_tensor(x.cpu(), 0.1, 0, torch.qint8).npu())


def check_mkldnn() -> None:
    refused(lambda: torch.ones(3, device="npu").to_mkldnn())


def check_the_device_works_after_all_that() -> None:
    assert torch.ones(3, device="npu").sum().item() == 3.0


def check_complex_tensors_are_shifted_as_torch_npu_does_it() -> None:
    x = torch.randn(3, 5, dtype=torch.complex64)
    assert torch.equal(torch.fft.fftshift(x.npu()).cpu(), torch.fft.fftshift(x))
    assert torch.equal(torch.fft.ifftshift(x.npu(), 1).cpu(), torch.fft.ifftshift(x, 1))
    refused(lambda: torch.roll(x.npu(), 1, 0), "aclnnRoll")
