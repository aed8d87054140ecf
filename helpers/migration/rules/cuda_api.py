"""Names of torch.cuda, one by one, from the API map.

transfer_to_npu puts torch_npu.npu's attributes into torch.cuda; what has no counterpart stays and raises or
answers None. data/torch_cuda.json says which is which, measured on the 2.13.0 wheel. The submodules memory,
streams and graphs keep their own functions: torch.cuda.memory.memory_allocated() answers 0 beside an NPU.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from helpers.finding import Edit, Finding
from helpers.migration import api_map
from helpers.migration.knowledge import MEASURED, TRANSFER, Known
from helpers.migration.reading.names import load
from helpers.migration.reading.source import Source
from helpers.migration.repair import ADVICE, AUTO, MANUAL, REWRITE, found

CODE = "MIG101"
WORDS = ("cuda",)
KNOWN = Known(MEASURED, TRANSFER, hours={"absent": 8.0, "untouched": 0.0}, inferred=("unknown",))
PREFIX = "torch.cuda."
#: torch.cuda.amp has a rule of its own (amp.py).
ELSEWHERE = {"amp"}
#: Submodules whose functions are those of torch.cuda itself.
SAME_AS_ABOVE = {"memory", "random", "streams", "graphs"}
#: Those that transfer_to_npu leaves alone, and what it does replace in them.
LEFT_ALONE = {"memory", "streams", "graphs"}
REPLACED_THERE = {"_record_memory_history", "_snapshot", "_dump_snapshot", "caching_allocator_enable"}
#: torch._C's own entries are not there in a build without CUDA.
BINDINGS = ("torch._C._cuda_", "torch._C._cudart")
EXAMPLES = (
    ("import torch\ntorch.cuda.set_device(0)  # 设置设备\n", "auto", None),
    ("from torch.cuda import nvtx as n\nn.range_push('step')\n", "manual", None),
    ("import torch\nx = 1; torch.cuda.get_device_capability()[0] >= 8\n", "manual", None),
    ("import torch\np = torch.cuda.get_device_properties(0)\nprint('主版本', p.major)\n", "manual", None),
    ("import torch as t\nt.cuda.jiterator._create_jit_fn('')\n", "unsupported", None),
    ("import torch\ng = torch.cuda.CUDAGraph()\n", "auto", None),
    (
        "import torch\n峰 = torch.cuda.memory.max_memory_allocated(0)\n",
        "rewrite",
        "import torch\n峰 = torch.cuda.max_memory_allocated(0)\n",
    ),
    ("from torch.cuda.memory import memory_allocated\nm = memory_allocated()\n", "manual", None),
    ("import torch\ntorch.cuda.memory._record_memory_history()\n", "auto", None),
    ("import torch\ns = torch._C._cuda_getCurrentRawStream(0)\n", "manual", None),
    ("import torch\ns = torch.cuda.current_stream().cuda_stream\n", "manual", None),
)
NEAR_MISSES = (
    "import torch\nprint('torch.cuda.is_available 是什么')\n",
    "torch = make()\ntorch.cuda.get_device_capability()\n",
    "def f(torch):\n    return torch.cuda.nvtx\n",
    "import torch.cuda\n",
    "from mine import cuda\ncuda.synchronize()\n",
    "import torch\ntorch._C._jit_set_profiling_mode(False)\n",
    "self.cuda_stream = s\n",
)


def check(source: Source) -> Iterable[Finding]:
    for node, name in source.names.named:
        if name.startswith(PREFIX) and not _part_of_longer(source, node) and not _stored(node):
            yield from _judge(source, node, name[len(PREFIX) :])
        elif name.startswith(BINDINGS) and not _part_of_longer(source, node):
            yield found(source, node, "MIG101.binding", MANUAL, name=name)
    for attribute in source.nodes(ast.Attribute):
        if attribute.attr == "cuda_stream" and load(attribute) and isinstance(attribute.value, ast.Call):
            yield found(source, attribute, "MIG101.stream_pointer", MANUAL)
        if attribute.attr in ("major", "minor") and _is_properties(source, attribute.value):
            yield found(source, attribute, "MIG101.compute_capability", MANUAL)


def _judge(source: Source, node: ast.AST, name: str) -> Iterable[Finding]:
    parts = name.split(".")
    if parts[0] in ELSEWHERE:
        return
    if parts[0] in SAME_AS_ABOVE and len(parts) > 1:
        left_alone = parts[0] in LEFT_ALONE and parts[1] not in REPLACED_THERE
        said = api_map.entry("torch_cuda", parts[1])
        if left_alone and said and said["class"] in (AUTO, ADVICE):
            yield found(source, node, "MIG101.submodule", REWRITE, _without(source, node), name=PREFIX + name)
            return
        parts = parts[1:]
    said = api_map.entry("torch_cuda", parts[0])
    if said is None:
        yield found(source, node, "MIG101.unknown", MANUAL, name=PREFIX + name)
    else:
        yield found(source, node, f"MIG101.{said['note']}", said["class"], name=PREFIX + name)


def _without(source: Source, node: ast.AST) -> tuple[Edit, ...]:
    """`torch.cuda.memory.f` as `torch.cuda.f`; nothing where the submodule has a name of its own."""
    if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Attribute):
        return ()
    (_, start), (_, end) = source.span(node.value.value), source.span(node.value)
    return (Edit(start, end, ""),) if source.text[start:end] == f".{node.value.attr}" else ()


def _part_of_longer(source: Source, node: ast.AST) -> bool:
    """`torch.cuda.nvtx` inside `torch.cuda.nvtx.range_push`: only the whole name counts."""
    above = source.names.parent(node)
    return isinstance(above, ast.Attribute) and above.value is node


def _stored(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)


def _is_properties(source: Source, node: ast.expr) -> bool:
    wanted = "torch.cuda.get_device_properties"
    if isinstance(node, ast.Name):
        return any(
            isinstance(value, ast.Call) and source.names.call(value) == wanted for value in source.names.values(node)
        )
    return source.names.call(node) == wanted
