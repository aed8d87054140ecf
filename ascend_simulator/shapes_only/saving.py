"""Checkpoints of a run of shapes only: what is large is left out of the file, and gets memory when it is loaded."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import torch

from .native import Native
from .places import own_frames, place_of
from .reads import Reads

#: No file grows beyond about this many bytes, however many small tensors it holds.
MOST_BYTES = 32 << 20
#: The record of a checkpoint that says what it lacks: storage -> bytes.
LEFT_OUT = "ascend_simulator_left_out"


class Writer:
    """torch's writer of zip files, without the large storages."""

    def __init__(self, writer: Any, native: Native) -> None:
        self._writer, self._native = writer, native
        self.left_out: dict[str, int] = {}
        self._written = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._writer, name)

    def write_record(self, name: str, data: Any, size: int) -> None:
        """Write a record, or note that it is left out."""
        if torch.is_storage(data):
            if size > self._native.keep_bytes or self._written + size > MOST_BYTES:
                self.left_out[name] = size
                return
            self._written += size
        self._writer.write_record(name, data, size)


def patch_save(native: Native, reads: Reads) -> None:
    """Make torch.save leave large storages out, and torch.load give memory for them."""
    ordinary_save, ordinary_load = torch.serialization._save, torch.serialization._load
    if getattr(ordinary_save, "of_shapes_only", False):
        return

    def save(obj: object, zip_file: Any, *args: Any, **kwargs: Any) -> None:
        writer = Writer(zip_file, native)
        with native.reading_for_itself():
            ordinary_save(obj, writer, *args, **kwargs)
        if writer.left_out:
            text = json.dumps(writer.left_out)
            zip_file.write_record(LEFT_OUT, text, len(text))
            note_file(reads, "torch.save", sum(writer.left_out.values()))

    def load(zip_file: Any, *args: Any, **kwargs: Any) -> Any:
        return ordinary_load(Reader(zip_file, native), *args, **kwargs)

    save.of_shapes_only = True  # type: ignore[attr-defined]
    torch.serialization._save = save
    for module in (torch.serialization, sys.modules.get("torch_npu.utils.serialization")):
        if module is not None and hasattr(module, "_load"):
            setattr(module, "_load", load)  # noqa: B010 - no module declares it


class Reader:
    """torch's reader of zip files, with memory in the place of what was left out."""

    def __init__(self, reader: Any, native: Native) -> None:
        self._reader, self._native = reader, native
        has = LEFT_OUT in reader.get_all_records()
        self._left_out: dict[str, int] = json.loads(reader.get_record(LEFT_OUT)) if has else {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)

    def get_storage_from_record(self, name: str, size: int, dtype: Any) -> torch.Tensor:
        """Return a tensor of a record's bytes; hollow where the file lacks it."""
        if name not in self._left_out:
            return self._reader.get_storage_from_record(name, size, dtype)
        tensor = torch.empty(size, dtype=torch.uint8)
        self._native.set_hollow(tensor)
        return tensor


def note_file(reads: Reads, operator: str, size: int) -> None:
    """Say in the list of reads that a file lacks so many bytes."""
    frames = own_frames()
    place = place_of(frames[0]) if frames else None
    reads.write(
        kind="file",
        file=place.file if place else "",
        line=place.line if place else 0,
        operator=operator,
        value=None,
        bytes_left_out=size,
        sets_shape=False,
    )


def patch_safetensors(native: Native, reads: Reads) -> None:
    """Make safetensors' save_file leave large tensors out, once that library is there."""
    try:
        import safetensors.torch as library
    except ImportError:
        return
    ordinary: Callable[..., None] = library.save_file
    if getattr(ordinary, "of_shapes_only", False):
        return

    def save_file(tensors: dict[str, torch.Tensor], filename: Any, metadata: dict[str, str] | None = None) -> None:
        small: dict[str, torch.Tensor] = {}
        left_out = written = 0
        for name, tensor in tensors.items():
            size = tensor.numel() * tensor.element_size()
            if size > native.keep_bytes or written + size > MOST_BYTES:
                left_out += size
            else:
                small[name] = tensor
                written += size
        with native.reading_for_itself():
            ordinary(small, filename, {**(metadata or {}), **({LEFT_OUT: str(left_out)} if left_out else {})})
        if left_out:
            note_file(reads, "safetensors.torch.save_file", left_out)

    save_file.of_shapes_only = True  # type: ignore[attr-defined]
    library.save_file = save_file
