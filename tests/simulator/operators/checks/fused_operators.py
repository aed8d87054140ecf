"""Products, convolutions, losses, selection, boxes, experts and Adam of torch_npu against plain PyTorch."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
import torch_npu
from comparing import DTYPES, compare, leaves, near, raises

OPS = torch.ops.npu


def check_linear_and_products() -> None:
    for dtype in DTYPES:
        compare(torch_npu.npu_linear, F.linear, leaves((4, 6), (5, 6), (5,), dtype=dtype), dtype)
        compare(
            lambda a, b: torch_npu.npu_bmmV2(a, b, []), torch.matmul, leaves((2, 3, 4), (2, 4, 5), dtype=dtype), dtype
        )
    compare(lambda a, b: torch_npu.npu_bmmV2(a, b, []), torch.matmul, leaves((2, 3, 4), (4, 5)))
    x, y, z = leaves((4, 6), (6, 5), (4, 5))
    npu = [tensor.npu() for tensor in (x, y, z)]
    near(OPS.npu_fused_matmul(npu[0], npu[1], x3=npu[2], fused_op_type="add"), x @ y + z)
    near(OPS.npu_fused_matmul(npu[0], npu[1], fused_op_type="gelu_tanh"), F.gelu(x @ y, approximate="tanh"))
    raises(lambda: torch_npu.npu_linear(npu[0].int(), npu[1].int()), "npu_linear", "int32")


def check_grouped_matmul() -> None:
    x, weights, ends = torch.randn(7, 4), [torch.randn(4, 5) for _ in range(3)], [2, 2, 7]
    starts = [0, *ends[:-1]]
    expected = torch.cat([x[a:b] @ w for a, b, w in zip(starts, ends, weights)])
    npu, npu_weights = x.npu(), [weight.npu() for weight in weights]
    cumulative, sizes = torch.tensor(ends).npu(), torch.tensor([2, 0, 5]).npu()
    split = {"split_item": 3, "group_type": 0}
    near(torch_npu.npu_grouped_matmul([npu], npu_weights, group_list=cumulative, **split)[0], expected)
    stacked = [torch.stack(weights).npu()]
    counted = torch_npu.npu_grouped_matmul([npu], stacked, group_list=sizes, group_list_type=1, **split)
    near(counted[0], expected)
    listed = torch_npu.npu_grouped_matmul([npu], npu_weights, group_list=ends, split_item=1)
    assert [len(part) for part in listed] == [2, 0, 5]
    near(torch.cat(listed), expected)
    pairs = torch_npu.npu_grouped_matmul([npu, npu], npu_weights[:2], group_type=-1)
    near(pairs[1], x @ weights[1])
    columns = torch_npu.npu_grouped_matmul([npu.t()], [npu], group_list=cumulative, split_item=3, group_type=2)[0]
    near(columns, torch.stack([x[a:b].t() @ x[a:b] for a, b in zip(starts, ends)]))
    total, gradient = torch.randn(3, 4, 4), torch.stack([x[a:b].t() @ x[a:b] for a, b in zip(starts, ends)])
    ours = total.npu()
    OPS.npu_grouped_matmul_add_(ours, npu, npu, cumulative)
    near(ours, total + gradient)
    scales, call = [torch.ones(5).npu()] * 3, torch_npu.npu_grouped_matmul
    raises(lambda: call([npu], npu_weights, scale=scales, group_list=cumulative, **split), "scale")
    raises(lambda: call([npu], npu_weights, group_list=cumulative, act_type=5, **split), "act_type")
    raises(lambda: call([npu], npu_weights, group_list=cumulative), "group_type")


def check_convolutions() -> None:
    arguments = [2, 1], [1, 0], [1, 2], 2
    for dtype in DTYPES:
        compare(
            lambda x, w, b: torch_npu.npu_convolution(x, w, b, *arguments),
            lambda x, w, b: F.conv2d(x, w, b, *arguments),
            leaves((2, 4, 6, 7), (6, 2, 3, 2), (6,), dtype=dtype),
            dtype,
        )
    compare(
        lambda x, w: torch_npu.npu_convolution(x, w, None, [1] * 3, [1] * 3, [1] * 3, 1),
        lambda x, w: F.conv3d(x, w, None, 1, 1),
        leaves((2, 3, 4, 5, 4), (4, 3, 3, 3, 3)),
    )
    compare(
        lambda x, w, b: torch_npu.npu_convolution_transpose(x, w, b, [1, 0], [1, 0], [2, 1], [1, 1], 1),
        lambda x, w, b: F.conv_transpose2d(x, w, b, (2, 1), (1, 0), (1, 0)),
        leaves((2, 4, 5, 6), (4, 3, 3, 2), (3,)),
    )
    x, w = leaves((2, 4, 6, 7), (6, 2, 3, 2))
    near(torch_npu.npu_conv2d(x.npu(), w.npu(), None, *arguments), F.conv2d(x, w, None, *arguments))
    raises(lambda: torch_npu.npu_conv2d(x.int().npu(), w.int().npu(), None, *arguments), "npu_conv2d", "int32")


def check_losses() -> None:
    target, weight = torch.randint(0, 9, (6,)), torch.rand(9) + 0.1
    fused = torch_npu.npu_cross_entropy_loss
    for dtype in DTYPES:
        compare(
            lambda x: torch_npu.npu_cross_entropy_loss(x, target.npu())[0].sum(),
            lambda x: F.cross_entropy(x, target),
            leaves((6, 9), dtype=dtype),
            dtype,
        )
    for reduction in ("mean", "sum", "none"):
        options: dict[str, Any] = {"reduction": reduction, "ignore_index": 2, "label_smoothing": 0.1}
        compare(
            lambda x, options=options: fused(x, target.npu(), weight.npu(), **options)[0].sum(),
            lambda x, options=options: F.cross_entropy(x, target, weight, **options).sum(),
            leaves((6, 9)),
        )
    labels = torch.rand(6, 9).softmax(-1)
    compare(
        lambda x: torch_npu.npu_softmax_cross_entropy_with_logits(x, labels.npu()),
        lambda x: -(labels * x.log_softmax(-1)).sum(-1),
        leaves((6, 9)),
    )
    x = torch.randn(6, 9, device="npu")
    raises(lambda: torch_npu.npu_cross_entropy_loss(x, target.npu().int()), "int64")
    raises(lambda: torch_npu.npu_cross_entropy_loss(x, target.npu(), return_zloss=True), "return_zloss")


def check_selection() -> None:
    for dim, keepdim in ((1, False), (0, True)):
        for ours, theirs in ((torch_npu.npu_max, torch.max), (torch_npu.npu_min, torch.min)):
            compare(
                lambda x, ours=ours, dim=dim, keepdim=keepdim: ours(x, dim, keepdim),
                lambda x, theirs=theirs, dim=dim, keepdim=keepdim: tuple(theirs(x, dim, keepdim)),
                leaves((4, 5)),
            )
    x = torch.randn(3, 4)
    assert torch_npu.npu_max(x.npu(), 1)[1].dtype == torch.int32
    near(torch_npu.npu_sort_v2(x.npu(), descending=True), x.sort(descending=True)[0])
    for dtype in (torch.uint8, torch.int32, torch.int64):
        plain = torch.nn.functional.one_hot(torch.tensor([[2, 0]], dtype=dtype).npu())
        assert plain.dtype == dtype and plain.tolist() == [[[0, 0, 1], [1, 0, 0]]]
    assert torch.nn.functional.one_hot(torch.tensor([1, 4]).npu(), 2).tolist() == [[0, 1], [0, 0]], "no check of range"
    small = torch.nn.functional.one_hot(torch.tensor([0, 3], dtype=torch.uint8).npu(), 300)
    assert small.sum(1).tolist() == [1, 1], "more classes than uint8 counts"
    one_hot = torch_npu.npu_one_hot(torch.tensor([5, 3, 2, 1]).npu(), depth=5)
    assert one_hot.tolist() == [[0.0] * 5, [0, 0, 0, 1, 0], [0, 0, 1, 0, 0], [0, 1, 0, 0, 0]]
    filled = x[:, :3].clone().fill_diagonal_(1.0)
    start, end = torch.tensor([[0, 1, 2]], dtype=torch.int32), torch.tensor([[1, 2, 3]], dtype=torch.int32)
    ours = torch_npu.npu_masked_fill_range(x[:, :3].npu(), start.npu(), end.npu(), torch.ones(1).npu(), 1)
    near(ours, filled)
    index = torch.tensor([[2, 0], [2, 1]])
    compare(lambda x: torch_npu.npu_gather_sparse_index(x, index.npu()), lambda x: x[index], leaves((3, 4)))


def check_shapes() -> None:
    x = torch.arange(24.0).reshape(2, 3, 4)
    npu = x.npu()
    near(torch_npu.npu_transpose(npu, (2, 0, 1)), x.permute(2, 0, 1))
    assert torch_npu.npu_transpose(npu, (2, 0, 1)).is_contiguous()
    near(torch_npu.npu_reshape(npu, (6, 4)), x.reshape(6, 4))
    near(torch_npu.npu_broadcast(npu[:, :1], (2, 3, 4)), x[:, :1].expand(2, 3, 4))
    near(torch_npu.npu_slice(npu, [0, 1, 1], [2, -1, 2]), x[:, 1:, 1:3])
    near(torch_npu.npu_pad(npu[0], [1, 2, 0, 1]), F.pad(x[0], (0, 1, 1, 2)))
    near(torch_npu.npu_indexing(npu[0], [0, 0], [3, 3], [2, 1]), x[0, 0:3:2, :3])
    near(torch_npu.npu_stride_copy(npu, (2, 2), (4, 3), 1), x.as_strided((2, 2), (4, 3), 1))
    out = torch.empty(0, device="npu")
    assert torch_npu.npu_transpose(npu, (2, 0, 1), out=out) is out
    near(out, x.permute(2, 0, 1))
    for first in (True, False):
        order, shape = (0, 2, 1), (2, 12) if first else (2, 4, 3)
        compare(
            lambda x, first=first, order=order, shape=shape: torch_npu.npu_confusion_transpose(x, order, shape, first),
            lambda x, first=first, order=order, shape=shape: (
                x.permute(order).reshape(shape) if first else x.reshape(shape).permute(order)
            ),
            [x],
        )
    y = torch_npu.npu_reshape(npu, (6, 4))
    y.zero_()
    near(npu, x)  # a copy, no view


def check_boxes() -> None:
    def corners(b: Any) -> Any:
        return b[0] - b[2] / 2, b[1] - b[3] / 2, b[0] + b[2] / 2, b[1] + b[3] / 2

    def overlaps(a: Any, b: Any) -> Any:
        (ax, ay, au, av), (bx, by, bu, bv) = corners(a), corners(b)
        inner = (torch.min(au, bu) - torch.max(ax, bx)).clamp(0) * (torch.min(av, bv) - torch.max(ay, by)).clamp(0)
        width, height = torch.max(au, bu) - torch.min(ax, bx), torch.max(av, bv) - torch.min(ay, by)
        return inner, a[2] * a[3] + b[2] * b[3] - inner, width, height

    def giou(a: Any, b: Any) -> torch.Tensor:
        inner, union, width, height = overlaps(a, b)
        return (inner / union - (width * height - union) / (width * height))[:, None]

    def diou(a: Any, b: Any) -> torch.Tensor:
        inner, union, width, height = overlaps(a, b)
        distance = (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2
        return (inner / union - distance / (width**2 + height**2))[None]

    def ciou(a: Any, b: Any) -> torch.Tensor:
        inner, union, _, _ = overlaps(a, b)
        aspect = 4 / torch.pi**2 * (torch.atan(b[2] / b[3]) - torch.atan(a[2] / a[3])) ** 2
        return diou(a, b) - (aspect * (aspect / (1 - inner / union + aspect)).detach())[None]

    boxes = [torch.rand(4, 6) + torch.tensor([0.0, 0.0, 0.5, 0.5])[:, None] for _ in range(2)]
    compare(lambda a, b: torch_npu.npu_giou(a, b, True), giou, boxes)
    compare(lambda a, b: torch_npu.npu_diou(a, b, True), diou, boxes)
    compare(lambda a, b: torch_npu.npu_ciou(a, b, True, False), ciou, boxes)
    rois, deltas = torch.tensor([[1.0, 2, 3, 4], [3, 4, 5, 6]]), torch.tensor([[5.0, 6, 7, 8], [7, 8, 9, 6]])
    decoded = torch_npu.npu_bounding_box_decode(rois.npu(), deltas.npu(), 0, 0, 0, 0, 1, 1, 1, 1, (10, 10), 0.1)
    near(decoded, torch.tensor([[2.5, 6.5, 9, 9], [9, 9, 9, 9]]))  # the documentation's example
    encoded = torch_npu.npu_bounding_box_encode(rois.npu(), deltas.npu(), 0, 0, 0, 0, 0.1, 0.1, 0.2, 0.2)
    expected = torch.tensor([[13.3333, 13.3333, 0, 0], [13.3333, 6.6667, 0, torch.nan]])  # -5.4931 on older chips
    torch.testing.assert_close(encoded.cpu(), expected, atol=1e-3, rtol=1e-3, equal_nan=True)
    flags = torch_npu.npu_anchor_response_flags(torch.tensor([[0.0, 2, 2, 4]]).npu(), [3, 4], [2, 2], 2)
    assert flags.nonzero().flatten().tolist() == [8, 9], "row 1, column 0, two anchors"
    outside = torch_npu.npu_anchor_response_flags(torch.tensor([[90.0, -9, 90, -9]]).npu(), [3, 4], [2, 2], 1)
    assert outside.nonzero().flatten().tolist() == [3], "the nearest cell: row 0, the last column"
    raises(lambda: torch_npu.npu_giou(boxes[0].npu(), boxes[1].npu(), False), "trans==True")


def check_experts() -> None:
    x, k = torch.randn(5, 7), 2
    values, experts, rows = torch_npu.npu_moe_gating_top_k_softmax(x.npu(), None, k)
    expected = x.softmax(-1).topk(k)
    near(values, expected[0])
    assert experts.tolist() == expected[1].tolist() and rows.tolist() == [[i, i + 5] for i in range(5)]
    tokens = torch.randn(5, 3)
    moved, places, order = torch_npu.npu_moe_init_routing(tokens.npu(), rows, experts, 5)
    counts = torch_npu.npu_moe_compute_expert_tokens(order, 7)
    assert counts.tolist() == torch.bincount(expected[1].flatten(), minlength=7).cumsum(0).tolist()
    scaled = moved * (order[:, None] + 1)  # an expert multiplies by its number plus one
    final = torch_npu.npu_moe_finalize_routing(scaled, None, None, None, values, places, experts)
    near(final, (tokens[:, None] * (expected[1] + 1)[..., None] * expected[0][..., None]).sum(1))


def check_token_permutation_with_gradients() -> None:
    indices = torch.tensor([[2, 0], [1, 2], [0, 1], [2, 1]], dtype=torch.int32)
    order = indices.flatten().argsort(stable=True)
    compare(lambda x: torch_npu.npu_moe_token_permute(x, indices.npu())[0], lambda x: x[order // 2], leaves((4, 3)))
    compare(
        lambda x: torch_npu.npu_moe_token_permute(x, indices.npu(), 5)[0], lambda x: x[order[:5] // 2], leaves((4, 3))
    )
    places = order.argsort(stable=True)
    compare(
        lambda x, p: torch_npu.npu_moe_token_unpermute(x, places.int().npu(), p),
        lambda x, p: (x[places] * p.reshape(-1, 1)).reshape(4, 2, 3).sum(1),
        leaves((8, 3), (4, 2)),
    )


def check_ring_attention_update() -> None:
    q, k, v = leaves((1, 2, 4, 8), (1, 2, 6, 8), (1, 2, 6, 8))
    npu = [tensor.permute(2, 0, 1, 3).flatten(2).npu() for tensor in (q, k, v)]
    whole, *blocks = (
        torch_npu.npu_fusion_attention(npu[0], npu[1][part], npu[2][part], 2, "SBH")[:3]
        for part in (slice(None), slice(0, 2), slice(2, 6))
    )
    joined = OPS.npu_ring_attention_update(*blocks[0], *blocks[1])
    for ours, theirs in zip(joined, whole):
        near(ours, theirs.cpu())


def check_adam() -> None:
    var, m, v, grad = torch.randn(6), torch.randn(6), torch.rand(6), torch.randn(6)
    ours = [tensor.npu() for tensor in (var, m, v)]
    result = torch_npu.npu_apply_adam(0.9, 0.99, 0.1, 0.9, 0.99, 1e-8, grad.npu(), False, False, out=tuple(ours))
    mean, square = 0.9 * m + 0.1 * grad, 0.99 * v + 0.01 * grad**2
    expected = var - 0.1 * (1 - 0.99) ** 0.5 / (1 - 0.9) * mean / (square.sqrt() + 1e-8)
    for one, other, same in zip(ours, (expected, mean, square), result):
        near(one, other)
        near(same, other)
    parameter = torch.nn.Parameter(var.clone())
    optimizer = torch.optim.AdamW([parameter], lr=0.1, weight_decay=0.2)
    ours = [var.npu(), torch.zeros(6).npu(), torch.zeros(6).npu()]
    for step in range(3):
        parameter.grad = grad * (step + 1)
        optimizer.step()
        powers = 0.9**step, 0.999**step
        OPS.npu_apply_adam_w.out(
            *powers, 0.1, 0.2, 0.9, 0.999, 1e-8, (grad * (step + 1)).npu(), None, False, False, out=ours
        )
    near(ours[0], parameter)


def check_float_status() -> None:
    status = torch_npu.npu_alloc_float_status(torch.ones(1, device="npu"))
    assert status.tolist() == [0.0] * 8 and torch_npu.npu_get_float_status(status).tolist() == [0.0] * 8
    assert torch_npu.npu_clear_float_status(status).shape == (8,)


def check_gating_in_groups_with_its_gradient() -> None:
    x, bias = torch.randn(5, 8), torch.randn(8)
    ours = torch_npu.npu_moe_gating_top_k(
        x.npu(), 2, bias=bias.npu(), k_group=1, group_count=2, norm_type=1, routed_scaling_factor=2.5
    )
    scores = torch.sigmoid(x)
    chosen = (scores + bias).unflatten(1, (2, 4))
    best = chosen.amax(-1).argmax(-1)
    experts = chosen[torch.arange(5), best].topk(2)[1] + 4 * best[:, None]
    picked = scores.gather(1, experts)
    near(ours[0], 2.5 * picked / picked.sum(1, keepdim=True))
    assert ours[1].tolist() == experts.tolist()

    def plain(x: Any) -> torch.Tensor:
        values = torch.sigmoid(x).topk(3)[0]
        return values / values.sum(1, keepdim=True)

    compare(lambda x: torch_npu.npu_moe_gating_top_k(x, 3, norm_type=1, out_flag=True)[0], plain, leaves((5, 8)))
    y, experts, whole = OPS.npu_moe_gating_top_k_softmax_v2(x.npu(), k=2, renorm=1, output_softmax=True)
    near(y, x.topk(2)[0].softmax(-1))
    assert whole.shape == (0,) and whole.dtype == torch.float32
    near(OPS.npu_moe_gating_top_k_softmax_v2(x.npu(), k=2, output_softmax=True)[2], x.softmax(-1))


def check_permutation_by_a_map_with_gradients() -> None:
    chosen = torch.tensor([[1, 1, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]]).bool()
    rows = chosen.t().nonzero()[:, 1]

    def permuted_and_weighed(x: torch.Tensor, p: torch.Tensor) -> torch.Tensor:
        tokens, probs, _ = OPS.npu_moe_token_permute_with_routing_map(x, chosen.npu(), probs=p, num_out_tokens=8)
        return tokens * probs[:, None]

    compare(permuted_and_weighed, lambda x, p: x[rows] * p.t()[chosen.t()][:, None], leaves((4, 3), (4, 3)))
    places = rows.argsort(stable=True).int()
    compare(
        lambda x, p: torch_npu.npu_moe_token_unpermute_with_routing_map(
            x, places.npu(), [4, 3], probs=p, routing_map=chosen.npu()
        ),
        lambda x, p: torch.zeros(4, 3).index_add(0, rows, x * p.t()[chosen.t()][:, None]),
        leaves((8, 3), (4, 3)),
    )


def check_statistics_of_synchronised_batch_norm() -> None:
    x, momentum = torch.randn(6, 3, 4), 0.1
    running = [torch.zeros(3), torch.ones(3)]
    npu = [tensor.npu() for tensor in running]
    parts = [torch_npu.batch_norm_reduce(part.npu(), 1e-5) for part in (x[:2], x[2:])]
    sums, squares = (torch.stack(list(values)) for values in zip(*parts))
    counts = torch.tensor([8, 16], dtype=torch.int32).npu()
    mean, deviation = torch_npu.batch_norm_gather_stats_update(x.npu(), sums, squares, *npu, momentum, 1e-5, counts)
    near(mean, x.mean((0, 2)))
    near(deviation, (x.var((0, 2), unbiased=False) + 1e-5).rsqrt())
    near(npu[0], momentum * x.mean((0, 2)))
