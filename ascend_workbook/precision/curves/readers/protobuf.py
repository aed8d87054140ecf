"""The few fields of TensorFlow's Event message that hold scalars, read from the wire format.

https://protobuf.dev/programming-guides/encoding/ ; event.proto, summary.proto and tensor.proto of TensorFlow.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
#: tensor.proto DataType -> how NumPy reads tensor_content
DTYPES = {1: "<f4", 2: "<f8", 3: "<i4", 9: "<i8", 19: "<f2"}


class Malformed(ValueError):
    """Bytes that are no message."""


def read_fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """(field number, value) of a message: an int of varints, the bytes of all else. Raises Malformed."""
    at = 0
    while at < len(data):
        key, at = _read_varint(data, at)
        kind = key & 7
        if kind == VARINT:
            value, at = _read_varint(data, at)
            yield key >> 3, value
            continue
        if kind == BYTES:
            size, at = _read_varint(data, at)
        elif kind in (FIXED64, FIXED32):
            size = 8 if kind == FIXED64 else 4
        else:
            raise Malformed(f"wire type {kind}")
        if at + size > len(data):
            raise Malformed("a field beyond the message's end")
        yield key >> 3, data[at : at + size]
        at += size


def read_scalars(event: bytes) -> tuple[int, list[tuple[str, float]]]:
    """(step, [(tag, value)]) of one Event; other summaries (images, histograms, text) are passed over."""
    step, tagged_values = 0, []
    for number, value in read_fields(event):
        if number == 2 and isinstance(value, int):
            step = value - (1 << 64) if value >> 63 else value
        elif number == 5 and isinstance(value, bytes):
            for inner, summary in read_fields(value):
                if inner == 1 and isinstance(summary, bytes):
                    tagged_values += _read_value(summary)
    return step, tagged_values


def _read_value(summary: bytes) -> list[tuple[str, float]]:
    tag, number = "", None
    for field, value in read_fields(summary):
        if field == 1 and isinstance(value, bytes):
            tag = value.decode("utf-8", errors="replace")
        elif field == 2 and isinstance(value, bytes) and len(value) == 4:
            number = struct.unpack("<f", value)[0]
        elif field == 8 and isinstance(value, bytes):
            number = _read_tensor(value)
    return [(tag, float(number))] if tag and number is not None else []


def _read_tensor(data: bytes) -> float | None:
    """A tensor of one number: TensorFlow 2 writes scalars so; None for any other."""
    dtype, content = 0, b""
    for field, value in read_fields(data):
        if field == 1 and isinstance(value, int):
            dtype = value
        elif field in (4, 5, 6) and isinstance(value, bytes):
            content = value
    form = DTYPES.get(dtype)
    if form is None or len(content) != np.dtype(form).itemsize:
        return None
    return float(np.frombuffer(content, form)[0])


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise Malformed("a number without an end")
