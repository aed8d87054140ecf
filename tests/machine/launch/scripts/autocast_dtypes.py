"""Prints what dtype each operator returns under CUDA's autocast, for inputs of several dtypes.

python autocast_dtypes.py oracle      torch's own rules, on fake CUDA tensors, which need no GPU
python autocast_dtypes.py             on whatever "cuda" means in this process
"""

import json
import sys
from contextlib import nullcontext

import torch
import torch.nn.functional as F

UNARY = "acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan relu tanh sigmoid sin abs"
LOSSES = "l1_loss mse_loss smooth_l1_loss huber_loss soft_margin_loss kl_div binary_cross_entropy_with_logits"
PLAIN = ("sum", "prod", "cumsum", "cumprod", "softmax", "log_softmax", "logsumexp", "mean", "norm")


def cases(make, low):
    """Name -> call. `make(*shape, wide=...)` gives a tensor of the case's dtype, or float32 where it is mixed."""
    a, b, m = make(4, 4), make(4, 4, wide=True), make(2, 4, 4)
    image, weight = make(2, 4, 8, 8), make(4, 4, 3, 3, wide=True)
    line, volume = make(2, 4, 8), make(1, 2, 4, 4, 4)
    target = torch.zeros(4, dtype=torch.long, device="cuda")
    for name in UNARY.split():
        yield name, lambda name=name: getattr(torch, name)(a)
    for name in LOSSES.split():
        yield name, lambda name=name: getattr(F, name)(a, b)
    for name in PLAIN:
        dim = () if name in ("sum", "prod", "mean", "norm") else (1,)
        yield name, lambda name=name, dim=dim: getattr(a, name)(*dim)
    for name in ("mm", "matmul", "add", "mul", "atan2", "dist", "maximum", "pow", "cross"):
        left, right = (make(4, 3), make(4, 3, wide=True)) if name == "cross" else (a, b)
        yield name, lambda name=name, x=left, y=right: getattr(torch, name)(x, y)
    yield "sum dim", lambda: a.sum(1)
    yield "sum dtype", lambda: a.sum(dtype=low)
    yield "prod dim", lambda: a.prod(1)
    yield "softmax dtype", lambda: a.softmax(1, dtype=low)
    yield "norm dim", lambda: a.norm(2, 1)
    yield "vector_norm", lambda: torch.linalg.vector_norm(a)
    yield "matrix_norm", lambda: torch.linalg.matrix_norm(a)
    yield "pow scalar", lambda: a**2
    yield "scalar pow", lambda: 2**a
    yield "linear", lambda: F.linear(a, b, make(4))
    yield "addmm", lambda: torch.addmm(b, a, b)
    yield "addmv", lambda: torch.addmv(make(4), a, make(4, wide=True))
    yield "mv", lambda: torch.mv(a, make(4, wide=True))
    yield "addr", lambda: torch.addr(a, make(4), make(4, wide=True))
    yield "bmm", lambda: torch.bmm(m, m)
    yield "baddbmm", lambda: torch.baddbmm(m, m, m)
    yield "addbmm", lambda: torch.addbmm(a, m, m)
    yield "chain_matmul", lambda: torch.linalg.multi_dot([a, b, a])
    yield "einsum", lambda: torch.einsum("ij,jk->ik", a, b)
    yield "vecdot", lambda: torch.linalg.vecdot(a, b)
    yield "conv1d", lambda: F.conv1d(line, make(4, 4, 3, wide=True))
    yield "conv2d", lambda: F.conv2d(image, weight)
    yield "conv2d same", lambda: F.conv2d(image, weight, padding="same")
    yield "conv3d", lambda: F.conv3d(volume, make(2, 2, 3, 3, 3, wide=True))
    yield "conv_transpose1d", lambda: F.conv_transpose1d(line, make(4, 4, 3, wide=True))
    yield "conv_transpose2d", lambda: F.conv_transpose2d(image, weight)
    yield "prelu", lambda: F.prelu(image, make(4, wide=True))
    yield "attention", lambda: F.scaled_dot_product_attention(m, m, m)
    yield "gru_cell", lambda: torch.gru_cell(make(2, 4), make(2, 4), *(make(12, 4, wide=True),) * 2)
    yield "rnn_tanh_cell", lambda: torch.rnn_tanh_cell(make(2, 4), make(2, 4), *(make(4, 4, wide=True),) * 2)
    yield "softplus", lambda: F.softplus(a)
    yield "layer_norm", lambda: F.layer_norm(a, (4,), make(4, wide=True), make(4, wide=True))
    yield "group_norm", lambda: F.group_norm(image, 2)
    yield "rms_norm", lambda: F.rms_norm(a, (4,))
    yield "batch_norm", lambda: F.batch_norm(image, None, None, make(4, wide=True), make(4, wide=True), True)
    yield "cosine_similarity", lambda: F.cosine_similarity(a, b)
    yield "nll_loss", lambda: F.nll_loss(a, target)
    yield "cross_entropy", lambda: F.cross_entropy(a, target)
    yield "multi_margin_loss", lambda: F.multi_margin_loss(a, target)
    yield "margin_ranking_loss", lambda: F.margin_ranking_loss(make(4), make(4, wide=True), make(4))
    yield "hinge_embedding_loss", lambda: F.hinge_embedding_loss(a, b)
    yield "poisson_nll_loss", lambda: F.poisson_nll_loss(a, b)
    yield "triplet_margin_loss", lambda: F.triplet_margin_loss(a, b, a)
    yield "binary_cross_entropy", lambda: F.binary_cross_entropy(a.sigmoid(), b.sigmoid())
    yield "pdist", lambda: F.pdist(a)
    yield "cdist", lambda: torch.cdist(a, b)
    yield "renorm", lambda: torch.renorm(a, 2, 0, 1.0)
    yield "interpolate nearest", lambda: F.interpolate(image, scale_factor=2)
    yield "interpolate bilinear", lambda: F.interpolate(image, scale_factor=2, mode="bilinear")
    yield "interpolate bicubic", lambda: F.interpolate(image, scale_factor=2, mode="bicubic")
    yield "addcmul", lambda: torch.addcmul(a, a, b)
    yield "addcdiv", lambda: torch.addcdiv(a, a, b)
    yield "bilinear", lambda: F.bilinear(a, b, make(2, 4, 4))
    yield "dot", lambda: torch.dot(make(4), make(4, wide=True))
    yield "tensordot", lambda: torch.tensordot(a, b, 1)
    yield "scatter_add", lambda: a.scatter_add(0, target.expand(1, 4), make(1, 4, wide=True))
    yield "index_put", lambda: a.index_put((target,), make(4, 4, wide=True))
    yield "grid_sample", lambda: F.grid_sample(image, make(2, 3, 3, 2, wide=True), align_corners=False)
    # on the CPU's own list, not on CUDA's
    yield "cat", lambda: torch.cat([a, b])
    yield "stack", lambda: torch.stack([a, b])
    yield "avg_pool3d", lambda: F.avg_pool3d(volume, 2)
    yield "adaptive_avg_pool2d", lambda: F.adaptive_avg_pool2d(image, 1)
    yield "max_pool2d", lambda: F.max_pool2d(image, 2)
    yield "pad reflect", lambda: F.pad(image, (1, 1, 1, 1), mode="reflect")
    yield "trace", lambda: torch.trace(a)
    yield "gelu", lambda: F.gelu(a)


def outcome(call):
    try:
        result = call()
    except (RuntimeError, TypeError, AssertionError) as error:
        return f"{type(error).__name__}: {str(error)[:30]}"
    return str(result.dtype)


def main():
    oracle = "oracle" in sys.argv
    if oracle:
        from torch._subclasses import FakeTensorMode

        torch.cuda.amp.common.amp_definitely_not_available = lambda: False
        torch.cuda.is_bf16_supported = lambda: True
    found = {}
    with FakeTensorMode() if oracle else nullcontext():
        for low in (torch.float16, torch.bfloat16):
            for kind, narrow, wide in (
                ("float32", torch.float32, torch.float32),
                ("low", low, low),
                ("mixed", low, torch.float32),
                ("float64", torch.float64, torch.float64),
            ):

                def make(*shape, wide=False, dtypes=(narrow, wide)):
                    return torch.full(shape, 0.5, dtype=dtypes[wide], device="cuda")

                with torch.autocast("cuda", dtype=low):
                    for name, call in cases(make, low):
                        found[f"{name} | {low} | {kind}"] = outcome(call)
    print("DTYPES " + json.dumps(found))


if __name__ == "__main__":
    main()
