"""Logs as other programs write them, made on the spot."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

from ascend_workbook.precision.curves.readers import events


def megatron(path: Path, losses: Sequence[float], *, every: int = 1, scales: Sequence[float] = ()) -> Path:
    """Lines of Megatron-LM's training_log(), with its line for a checkpoint every 50 iterations."""
    lines = ["using world size: 8"]
    for at, loss in enumerate(losses):
        step = 1 + at
        if step % every == 0:
            scale = scales[at] if scales else 1.0
            lines.append(
                f" [2026-01-01 00:00:00.5] iteration {step:8d}/{9999:8d} | consumed samples: {step * 8:12d} |"
                f" elapsed time per iteration (ms): 12.5 | learning rate: {1e-4:.6E} | global batch size:     8 |"
                f" lm loss: {loss:.6E} | loss scale: {scale:.1f} | grad norm: 1.250 |"
                f" number of skipped iterations:   0 | number of nan iterations:   0 |"
            )
        if step % 50 == 0:
            lines.append(f"  successfully saved checkpoint from iteration {step:7d} to /ckpt [ t 1/2 ]")
    path.write_text("\n".join(lines) + "\n")
    return path


def plain(path: Path, losses: Sequence[float], *, begin: int = 1) -> Path:
    path.write_text("".join(f"step {begin + at} loss {loss!r}\n" for at, loss in enumerate(losses)))
    return path


def event(step: int, tag: str, value: float) -> bytes:
    """An Event of TensorBoard, written by hand from event.proto: wall_time, step, summary{value{tag, simple_value}}."""
    name = tag.encode()
    inner = b"\x0a" + bytes([len(name)]) + name + b"\x15" + struct.pack("<f", value)
    summary = b"\x0a" + bytes([len(inner)]) + inner
    return b"\x09" + struct.pack("<d", 1.5e9) + b"\x10" + varint(step) + b"\x2a" + bytes([len(summary)]) + summary


def framed(records: Sequence[bytes]) -> bytes:
    """As TFRecords."""
    out = b""
    for record in records:
        head = struct.pack("<Q", len(record))
        sums = events.masked_checksums([head, record])
        out += head + struct.pack("<I", sums[0]) + record + struct.pack("<I", sums[1])
    return out


def varint(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])
