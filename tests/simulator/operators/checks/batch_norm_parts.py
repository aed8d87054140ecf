"""Batch normalisation in parts, two halves of a batch as two cards, against batch normalisation of the whole."""

from __future__ import annotations

import torch

EPS, MOMENTUM = 1e-5, 0.1


def check_parts_of_two_cards_make_the_whole() -> None:
    x, weight, bias = torch.randn(6, 3, 4), torch.rand(3) + 0.5, torch.randn(3)
    plain = x.clone().requires_grad_()
    ours, theirs = (torch.zeros(3), torch.ones(3)), (torch.zeros(3), torch.ones(3))
    expected = torch.nn.functional.batch_norm(plain, *theirs, weight, bias, True, MOMENTUM, EPS)
    grad = torch.randn_like(x)
    expected.backward(grad)

    cards = [x[:2].npu(), x[2:].npu()]
    running = [value.npu() for value in ours]
    stats = [torch.batch_norm_stats(card, EPS) for card in cards]
    means, invstds = (torch.stack(list(values)) for values in zip(*stats))
    counts = torch.tensor([8.0, 16.0]).npu()
    mean, invstd = torch.batch_norm_gather_stats_with_counts(cards[0], means, invstds, *running, MOMENTUM, EPS, counts)
    close(running[0], theirs[0])
    close(running[1], theirs[1])
    parts = [torch.batch_norm_elemt(card, weight.npu(), bias.npu(), mean, invstd, EPS) for card in cards]
    close(torch.cat(parts), expected.detach())

    grads = [grad[:2].npu(), grad[2:].npu()]
    reduced = [
        torch.batch_norm_backward_reduce(dy, card, mean, invstd, weight.npu(), True, True, True)
        for dy, card in zip(grads, cards)
    ]
    sum_dy, sum_dy_xmu = reduced[0][0] + reduced[1][0], reduced[0][1] + reduced[1][1]
    back = [
        torch.batch_norm_backward_elemt(dy, card, mean, invstd, weight.npu(), sum_dy, sum_dy_xmu, counts)
        for dy, card in zip(grads, cards)
    ]
    assert plain.grad is not None
    close(torch.cat(back), plain.grad)
    close(reduced[0][3] + reduced[1][3], grad.sum((0, 2)))


def check_products_with_a_wider_result() -> None:
    a, b = torch.randn(2, 3, 64).half().npu(), torch.randn(2, 64, 5).half().npu()
    for ours, plain in ((torch.bmm, (a, b)), (torch.mm, (a[0], b[0]))):
        result = ours(*plain, out_dtype=torch.float32)
        assert result.dtype == torch.float32
        close(result, ours(*(value.cpu().float() for value in plain)))
    out = torch.empty(3, 5, device="npu")
    torch.mm(a[0], b[0], out_dtype=torch.float32, out=out)
    close(out, a[0].cpu().float() @ b[0].cpu().float())


def close(actual: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(actual.cpu(), expected, rtol=1e-4, atol=1e-5)
