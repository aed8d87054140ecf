"""A profile of any size, made in columns: steps of one pattern, so that what is in it is known."""

from __future__ import annotations

import numpy as np

from ascend_workbook.profiling.trace import KINDS, Texts, Trace, assemble_trace

#: Of one operator: itself, the one inside, its launch, its kernel
OPERATORS = ("aten::linear", "aten::softmax", "aten::layer_norm", "aten::gelu", "aten::add")
INNER = ("aten::addmm", "aten::_softmax", "aten::native_layer_norm", "aten::gelu_", "aten::add_")
KERNELS = (
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64",
    "void softmax_warp_forward<float, float, float, 8, false, false>",
    "vectorized_layer_norm_kernel<float>",
    "vectorized_elementwise_kernel<4, GeluCUDAKernelImpl>",
    "vectorized_elementwise_kernel<4, CUDAFunctor_add<float>>",
)
NAMES = (*OPERATORS, *INNER, "cudaLaunchKernel", *KERNELS)
PER_OPERATOR, STREAMS = 4, 4


def make_large(events: int, *, per_step: int = 5_000, every_ns: int = 4_000) -> Trace:
    """Make a trace of about so many events: an operator begins every `every_ns`, its kernel runs on one of STREAMS."""
    steps = max(1, events // per_step)
    operators = steps * (per_step // PER_OPERATOR)
    number = np.arange(operators, dtype=np.int64)
    which, begin = (number % len(OPERATORS)).astype(np.int32), 10**15 + number * every_ns
    stream = (number % STREAMS).astype(np.int32)
    columns = (
        (which, "host_op", 0, begin, every_ns * 9 // 10, -1),
        (which + 5, "host_op", 0, begin + every_ns // 10, every_ns * 7 // 10, -1),
        (np.full(operators, 10, np.int32), "runtime", 1, begin + every_ns // 5, every_ns // 3, -1),
        (which + 11, "compute", 2, begin + every_ns * 2, every_ns * STREAMS * 8 // 10 + number % 97, operators),
    )
    name = np.concatenate([column[0] for column in columns])
    kind = np.concatenate([np.full(operators, KINDS.index(column[1]), np.int8) for column in columns])
    lane = np.concatenate([np.full(operators, column[2], np.int32) for column in columns])
    lane[3 * operators :] += stream
    start = np.concatenate([column[3] for column in columns])
    length = np.concatenate([np.broadcast_to(np.int64(column[4]), operators) for column in columns]).astype(np.int64)
    by = np.concatenate([np.full(operators, -1), np.full(operators, -1), np.full(operators, -1), number + operators])
    marks = np.arange(steps, dtype=np.int64)
    name = np.append(name, marks.astype(np.int32) + len(NAMES)).astype(np.int32)
    kind = np.append(kind, np.full(steps, KINDS.index("step"), np.int8))
    lane = np.append(lane, np.full(steps, 2 + STREAMS, np.int32)).astype(np.int32)
    step_ns = every_ns * (per_step // PER_OPERATOR)
    start = np.append(start, 10**15 + marks * step_ns)
    length = np.append(length, np.full(steps, step_ns))
    names = (*NAMES, *(f"ProfilerStep#{mark}" for mark in marks.tolist()))
    lanes = ("7/7", "7/7 launch", *(f"device 0 stream {at}" for at in range(STREAMS)), "steps")
    return assemble_trace(
        Texts(names, name),
        kind,
        Texts(lanes, lane),
        Texts(("",), np.zeros(name.size, np.int32)),
        np.append(by, np.full(steps, -1)).astype(np.int32),
        start,
        length,
        source="made",
        dialect="kineto",
    )
