"""Known causes in number formats: mixed precision, HF32, float64, sums in half."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.rules import CannotCheck
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.precision.advice import evidence
from ascend_workbook.precision.advice.evidence import HALF, Seen, describe_places, floating_dtypes, in_half
from ascend_workbook.precision.divergence import Judgement
from ascend_workbook.precision.divergence.formats import KINDS
from ascend_workbook.precision.record import Operator
from ascend_workbook.precision.tensors import tolerance
from ascend_workbook.precision.tensors.tolerance import BITS, MATMULS

HF32_SOURCE = "https://www.hiascend.com/document/detail/zh/Pytorch/600/apiref/apilist/ptaoplist_000923.html"
MIXED_PRECISION_SOURCE = "https://docs.pytorch.org/docs/stable/amp.html#cuda-ops-that-can-autocast-to-float32"
# ruff: noqa: SIM905 - a column of names reads better without quotes
#: API and module names, in lower case and without underscores at either end.
LOSSES = """
cross_entropy nll_loss binary_cross_entropy_with_logits mse_loss l1_loss smooth_l1_loss kl_div crossentropyloss
nllloss mseloss bcewithlogitsloss
""".split()
NORMS = """
layer_norm group_norm rms_norm npu_rms_norm norm normalize cosine_similarity layernorm groupnorm rmsnorm llamarmsnorm
""".split()
SOFTMAX = ("softmax", "log_softmax", "softmin", "logsoftmax", "logsumexp")
POWERS = ("exp", "expm1", "log", "log10", "log2", "log1p", "pow", "rsqrt", "reciprocal")
NEEDED = {"softmax": SOFTMAX, "loss": LOSSES, "norm": NORMS, "power": POWERS}
PRODUCTS = ("matmul", "bmm", "einsum")
#: What may lie between a softmax and its product with V.
BETWEEN = ("dropout", "to", "type_as", "half", "bfloat16", "contiguous", "type")
DOUBLE_SOURCE = "https://gitcode.com/Ascend/msprof-analyze/blob/master/docs/zh/aicpu_operator_replacement_example.md"
ACCUMULATION_SOURCE = "https://docs.pytorch.org/docs/stable/notes/numerical_accuracy.html"
FLAGS = {"float16": "fp16_reduced_sums", "bfloat16": "bf16_reduced_sums"}
SUMS = ("sum", "cumsum", "prod", "cumprod", "nansum")
RUNNING = ("cumsum", "cumprod")
COMMUNICATION_SOURCE = "https://docs.pytorch.org/docs/stable/fsdp.html#torch.distributed.fsdp.MixedPrecision"
REDUCTIONS = """
all_reduce reduce reduce_scatter reduce_scatter_tensor _reduce_scatter_base all_reduce_coalesced
""".split()


def check_hf32(seen: Seen) -> Iterator[Finding]:
    """ACC260: do convolutions or matrix products round their float32 inputs to HF32, and is that what differs?

    torch_npu allows it for convolutions by default and for matrix products not; a GPU has TF32 in its place."""
    facts = seen.comparison
    observed = {kind: form for step in seen.steps for kind, form in step.replays.seen.items()}
    if facts.target.about is None and not observed:
        raise CannotCheck("ACC260.no_record")
    forms = {**(facts.target.about.numerics if facts.target.about else {}), **observed}
    for kind, apis in KINDS.items():
        judged = [pair for pair in seen.forward_judgements() if pair.agreement.pair.target.api in apis]
        if forms.get(kind) != "hf32" or not judged:
            continue
        if not any(pair.own or pair.agreement.error_out is not None for pair in judged):
            raise CannotCheck("ACC260.no_values", count=len(judged))
        calls = list(filter(_exceeds_rounding, judged))
        if not calls:
            continue
        worst = max(calls, key=_output_error)
        baseline = facts.baseline.about.numerics.get(kind, "") if facts.baseline.about else ""
        args: dict[str, Scalar] = {"what": Sentence(f"ACC208.{kind}"), "count": len(calls), "source": HF32_SOURCE}
        args.update(operator=evidence.describe_operator(worst.agreement.pair.target), error=_output_error(worst))
        args["switch"] = f"torch.npu.{kind}.allow_hf32 = False"
        if baseline == "tf32":
            yield Finding("ACC260", Status.NOTE, "ACC260.alike", args)
        elif seen.parted:
            yield Finding("ACC260", Status.LOOK, "ACC260.off", args, worst.agreement.pair.target.place, weight=60)
        else:
            yield Finding("ACC260", Status.NOTE, "ACC260.keep", args)


def _exceeds_rounding(judgement: Judgement) -> bool:
    """Return whether a float32 call's result differs by more than float32's own rounding."""
    outputs = judgement.agreement.pair.target.outputs
    return any(t.dtype == "float32" for t in outputs) and _output_error(judgement) > tolerance.rounding_floor(
        t.dtype for t in outputs
    )


def _output_error(judgement: Judgement) -> float:
    return judgement.own.worst if judgement.own else judgement.agreement.error_out or 0.0


def check_mixed_precision(seen: Seen) -> Iterator[Finding]:
    """ACC261: do operators that need float32 run in a 16-bit format: softmax, losses, norms, and attention times V
    where the baseline keeps that in float32? PyTorch's autocast brings the former to float32 on a GPU by itself."""
    operators = list(seen.forward_operators())
    if not any(not operator.is_module or _kind_of_operator(operator) for operator in operators):
        raise CannotCheck("ACC261.modules_only")
    partners = seen.baseline_by_name()
    half_by_kind: dict[str, list[Operator]] = {}
    for operator in operators:
        kind = _kind_of_operator(operator)
        if kind and in_half(operator):
            half_by_kind.setdefault(kind, []).append(operator)
    for operator in _find_attention_products(operators):
        partner = partners.get(operator.name)
        if in_half(operator) and partner is not None and floating_dtypes(partner.outputs) == {"float32"}:
            half_by_kind.setdefault("attention", []).append(operator)
    for kind, half in half_by_kind.items():
        wider = [operator for operator in half if (partner := partners.get(operator.name)) and not in_half(partner)]
        first = (wider or half)[0]
        args: dict[str, Scalar] = {"what": Sentence(f"ACC261.{kind}"), "count": len(half), "dtype": in_half(first)}
        args.update(wider=len(wider), names=describe_places(wider or half), api=first.api)
        args["source"] = MIXED_PRECISION_SOURCE
        status = Status.LOOK if wider or seen.parted else Status.NOTE
        key = "ACC261.wider" if wider else "ACC261.half"
        yield Finding("ACC261", status, key, args, first.place, weight=50 + bool(wider))


def _kind_of_operator(operator: Operator) -> str:
    name = operator.api.strip("_").lower()
    return next((kind for kind, names in NEEDED.items() if name in names), "")


def _find_attention_products(operators: list[Operator]) -> Iterator[Operator]:
    """Matrix products of what a softmax gave out: its shape, with nothing but casts and dropout between."""
    waiting: tuple[int, ...] = ()
    for operator in operators:
        name = operator.api.strip("_").lower()
        if name in SOFTMAX and operator.outputs:
            waiting = operator.outputs[0].shape
        elif name in PRODUCTS and waiting and operator.inputs and operator.inputs[0].shape == waiting:
            yield operator
            waiting = ()
        elif name not in BETWEEN and not operator.is_module:
            waiting = ()


def check_double(seen: Seen) -> Iterator[Finding]:
    """ACC264: does the script compute in float64 on the NPU? Many of its kernels have no double: torch_npu computes
    them in float32, on the slow AI CPU, or raises; the GPU computes them in full."""
    about = seen.comparison.target.about
    if about is not None and not about.tier.startswith("npu"):
        raise CannotCheck("ACC264.no_npu", tier=about.tier)
    partners = seen.baseline_by_name()
    in_double, lost = [], []
    for operator in seen.forward_operators():
        if operator.place is not None and "torch_npu" in Path(operator.place.path).parts:
            continue  # the script did not make the call, but torch_npu itself, as its GradScaler does (ACC215)
        partner = partners.get(operator.name)
        if "float64" in _all_dtypes(operator):
            in_double.append(operator)
        elif partner is not None and "float64" in _all_dtypes(partner):
            lost.append(operator)
    for key, affected in (("lost", lost), ("kept", in_double)):
        if affected:
            args: dict[str, Scalar] = {"count": len(affected), "names": describe_places(affected)}
            args["source"] = DOUBLE_SOURCE
            yield Finding("ACC264", Status.LOOK, f"ACC264.{key}", args, affected[0].place, weight=45)


def _all_dtypes(operator: Operator) -> set[str]:
    return floating_dtypes((*operator.inputs, *operator.outputs))


def check_accumulation(seen: Seen) -> Iterator[Finding]:
    """ACC265: are long sums kept in 16 bits: a GPU's split matrix products that add their parts in the reduced format,
    or the script's own sums and running sums of 16-bit tensors?"""
    operators = list(seen.forward_operators())
    long = [
        operator
        for operator in operators
        if operator.api in SUMS and in_half(operator) and _count_terms(operator) >= 2 ** BITS[in_half(operator)]
    ]
    if long:
        args: dict[str, Scalar] = {"count": len(long), "names": describe_places(long), "dtype": in_half(long[0])}
        args.update(terms=max(map(_count_terms, long)), api=long[0].api, source=ACCUMULATION_SOURCE)
        status = Status.LOOK if seen.parted else Status.NOTE
        yield Finding("ACC265", status, "ACC265.sums", args, long[0].place, weight=40)
    products = [operator for operator in operators if operator.api in MATMULS and in_half(operator)]
    about = seen.comparison.baseline.about
    if not products or (about is not None and about.tier != "cuda"):
        return
    record = evidence.recorded_settings(seen.comparison.baseline)
    if record is None:
        if long:
            return
        raise CannotCheck("ACC265.no_flags", count=len(products))
    for dtype in HALF:
        mine = [operator for operator in products if in_half(operator) == dtype]
        if mine and record.flags.get(FLAGS[dtype]) is True:
            name = f"allow_{'fp16' if dtype == 'float16' else 'bf16'}_reduced_precision_reduction"
            args = {"count": len(mine), "names": describe_places(mine), "dtype": dtype, "source": ACCUMULATION_SOURCE}
            args["switch"] = f"torch.backends.cuda.matmul.{name} = False"
            status = Status.LOOK if seen.parted else Status.NOTE
            yield Finding("ACC265", status, "ACC265.split", args, mine[0].place, weight=42)


def _count_terms(operator: Operator) -> int:
    """Count the elements that go into one result; of a running sum at most the longest side."""
    input_count = max((math.prod(record.shape) for record in operator.inputs if record.is_floating), default=0)
    output_count = max((math.prod(record.shape) for record in operator.outputs), default=1)
    if operator.api in RUNNING:
        return max((side for record in operator.inputs if record.is_floating for side in record.shape), default=0)
    return input_count // max(output_count, 1)


def check_communication(seen: Seen) -> Iterator[Finding]:
    """ACC269: are gradients or activations added up between ranks in a 16-bit format? Each addition rounds to 8 or 11
    bits, in an order that depends on the number of ranks and the algorithm."""
    about = seen.comparison.target.about
    ranks = int(about.about.get("nproc", 1)) if about else len({step.rank for step in seen.steps})
    collectives = [operator for operator in seen.forward_operators() if operator.head.startswith("Distributed.")]
    if not collectives and ranks > 1:
        raise CannotCheck("ACC269.not_recorded", ranks=ranks)
    operators = [operator for operator in collectives if operator.api in REDUCTIONS]
    half = [operator for operator in operators if floating_dtypes(operator.inputs) & set(HALF)]
    if not half:
        return
    partners = seen.baseline_by_name()
    wider = [
        operator
        for operator in half
        if (partner := partners.get(operator.name)) and not floating_dtypes(partner.inputs) & set(HALF)
    ]
    first = (wider or half)[0]
    args: dict[str, Scalar] = {"count": len(half), "all": len(operators), "names": describe_places(wider or half)}
    args.update(ranks=ranks, dtype=min(floating_dtypes(first.inputs) & set(HALF)), source=COMMUNICATION_SOURCE)
    status = Status.LOOK if wider or seen.parted else Status.NOTE
    yield Finding("ACC269", status, "ACC269.wider" if wider else "ACC269.half", args, first.place, weight=48)


RULES = {
    "ACC260": check_hf32,
    "ACC261": check_mixed_precision,
    "ACC264": check_double,
    "ACC265": check_accumulation,
    "ACC269": check_communication,
}
