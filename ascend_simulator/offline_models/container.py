"""The container of an offline model: a magic of its own, a description in JSON, and an ONNX graph.

A real .om holds binaries for a device and cannot be run here: it has another beginning, and is refused by name."""

from __future__ import annotations

import hashlib
import json
import os
import struct
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

MAGIC = b"\x00SIMULATED-OM-1\n"
HEAD = struct.Struct("<QQ")
#: The name of the added input that tells a model with gears which one to run ("pyACL", set_dynamic_batch_size).
GEAR_INPUT = "ascend_mbatch_shape_data"
#: A description longer than this is none of ours.
LONGEST = 64 << 20


class NoModel(ValueError):
    """The bytes are no offline model of the simulated NPU; the text says why."""


@dataclass(frozen=True)
class Port:
    """An input or output: its name, NumPy's name of its data type, its dimensions (-1: of a gear) and its format."""

    name: str
    dtype: str
    shape: list[int]
    format: str = "ND"


@dataclass(frozen=True)
class Description:
    """What is known of a model beside its graph. `batches` are its gears; `warnings` what the conversion had to say."""

    name: str
    soc_version: str
    inputs: list[Port]
    outputs: list[Port]
    batches: list[int] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    onnx_sha256: str = ""


@dataclass(frozen=True)
class OfflineModel:
    """A description and the graph that is run, as serialized ONNX."""

    about: Description
    graph: bytes


def pack_model(about: Description, graph: bytes) -> bytes:
    """Return the container's bytes."""
    facts = {**asdict(about), "simulated": True, "graph_sha256": hashlib.sha256(graph).hexdigest()}
    head = json.dumps(facts, ensure_ascii=False).encode()
    return MAGIC + HEAD.pack(len(head), len(graph)) + head + graph


def unpack_model(data: bytes, name: str) -> OfflineModel:
    """Return the model of the bytes; `name` stands in errors. Raises NoModel."""
    if not data.startswith(MAGIC):
        raise NoModel(
            f"{name} is no offline model of the simulated NPU. A real .om holds binaries for a device and runs on that "
            "device alone: convert the ONNX model again with the simulator's atc"
        )
    begin = len(MAGIC) + HEAD.size
    try:
        head_size, graph_size = HEAD.unpack_from(data, len(MAGIC))
    except struct.error:
        raise NoModel(f"{name} is cut off after {len(data)} bytes") from None
    if head_size > LONGEST or begin + head_size + graph_size != len(data):
        raise NoModel(f"{name} is damaged: {len(data)} bytes, its head says {begin + head_size + graph_size}")
    graph = data[begin + head_size :]
    try:
        facts: dict[str, Any] = json.loads(data[begin : begin + head_size])
        sha256 = facts.pop("graph_sha256")
        del facts["simulated"]
        for key in ("inputs", "outputs"):
            facts[key] = [Port(**port) for port in facts[key]]
        about = Description(**facts)
    except (ValueError, KeyError, TypeError) as error:
        raise NoModel(f"{name} is damaged: its description cannot be read ({error})") from None
    if hashlib.sha256(graph).hexdigest() != sha256:
        raise NoModel(f"{name} is damaged: its graph has another SHA-256 sum than it says")
    return OfflineModel(about, graph)


def read_model(path: str | os.PathLike[str]) -> OfflineModel:
    """Read a file. Raises NoModel, OSError."""
    return unpack_model(Path(path).read_bytes(), os.fspath(path))


def write_model(path: str | os.PathLike[str], about: Description, graph: bytes) -> None:
    """Write a file, whole or not at all. Raises OSError."""
    place = Path(path)
    part = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        part.write_bytes(pack_model(about, graph))
        part.replace(place)
    finally:
        part.unlink(missing_ok=True)
