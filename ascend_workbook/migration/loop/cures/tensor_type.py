"""`torch.set_default_tensor_type` takes no type of an NPU: the default device and data type say the same.

Under transfer_to_npu neither the type's name nor its class is taken (seen with torch_npu 2.13.0); torch's own
documentation names torch.set_default_dtype and torch.set_default_device in its place.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ascend_workbook.findings.finding import Edit
from ascend_workbook.migration.loop.curing import replace_node, walk_calls
from ascend_workbook.migration.loop.failure import Failure
from ascend_workbook.migration.reading.calls import string_value
from ascend_workbook.migration.reading.source import Source

SOURCE = "https://docs.pytorch.org/docs/stable/generated/torch.set_default_tensor_type.html"
NAME = "torch.set_default_tensor_type"
#: A double would become single precision on an NPU without a word: that is for a person.
DTYPES = {"FloatTensor": "float32", "HalfTensor": "float16", "BFloat16Tensor": "bfloat16"}
PREFIX = "torch.cuda."


def knows(failure: Failure) -> bool:
    return "only floating-point types are supported as the default type" in failure.message


def propose(failure: Failure) -> Iterator[tuple[Source, list[Edit]]]:
    for source, call in walk_calls(failure, NAME):
        named = call.args[0] if call.args else None
        text = string_value(named) or (source.names.resolve_name(named) if named is not None else "")
        dtype = DTYPES.get(text[len(PREFIX) :]) if text.startswith(PREFIX) else None
        if dtype is None or not isinstance(call.func, ast.Attribute):
            continue
        torch = source.text_of(call.func.value)
        yield (
            source,
            [
                replace_node(
                    source, call, f'({torch}.set_default_device("npu"), {torch}.set_default_dtype({torch}.{dtype}))'
                )
            ],
        )
