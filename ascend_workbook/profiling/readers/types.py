"""Types of tensors and call stacks as profilers write them -> one way to write them."""

from __future__ import annotations

from typing import Any

#: What C++, torch 1.8 to 2.13 and CANN call a dtype -> what torch does; whatever else stands there is no tensor
NAMES = {
    "float": "float32",
    "double": "float64",
    "c10::half": "float16",
    "c10::bfloat16": "bfloat16",
    "long int": "int64",
    "long": "int64",
    "int": "int32",
    "short int": "int16",
    "short": "int16",
    "signed char": "int8",
    "char": "int8",
    "unsigned char": "uint8",
    "bool": "bool",
    "c10::complex<float>": "complex64",
    "c10::complex<double>": "complex128",
    "c10::float8_e4m3fn": "float8_e4m3fn",
    "c10::float8_e5m2": "float8_e5m2",
    "float16": "float16",
    "bfloat16": "bfloat16",
    "float32": "float32",
    "float64": "float64",
    "int64": "int64",
    "int32": "int32",
    "int16": "int16",
    "int8": "int8",
    "uint8": "uint8",
    "uint16": "uint16",
    "uint32": "uint32",
    "uint64": "uint64",
    "dt_bf16": "bfloat16",
    "bf16": "bfloat16",
    "complex64": "complex64",
    "complex128": "complex128",
}


def format_dtypes(value: Any) -> str:
    """Turn `["float", "Scalar"]`, `float;\\r\\nScalar` or `FLOAT;DT_BF16` into the tensors' dtypes, `float32 bfloat16`.

    The scalars of old traces (`Int`, `Bool`, `Double`) begin with a capital and are told apart by that.
    """
    entries = value if isinstance(value, list) else str(value or "").split(";")
    texts = [str(entry).strip(' \t\r\n"') for entry in entries]
    return " ".join(NAMES[text.lower()] for text in texts if text.lower() in NAMES and not text.istitle())


def format_call_stack(value: Any) -> str:
    """Return a call stack, innermost call first, as lines."""
    first, *others = value.strip('"').split(";") if isinstance(value, str) else [""]
    return "\n".join(call for call in (first, *map(str.lstrip, others)) if call and not call.isspace())
