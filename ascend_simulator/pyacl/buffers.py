"""Data buffers: an address and a size, that data sets hold."""

from __future__ import annotations

from dataclasses import dataclass

from .handles import PARAMETER, Failure, Handles, answering


@dataclass
class Buffer:
    """Memory that a client gave: where it begins and its bytes."""

    address: int
    size: int


BUFFERS = Handles("data buffer")


@answering(0, always=True)
def create_data_buffer(data: int, size: int) -> int:
    """Return a data buffer over `size` bytes at `data`."""
    if size < 0:
        raise Failure(PARAMETER, f"{size} bytes")
    return BUFFERS.add(Buffer(data, size))


@answering()
def destroy_data_buffer(data_buffer: int) -> None:
    """Give the data buffer back; its memory stays the client's."""
    BUFFERS.remove(data_buffer)


@answering(0, always=True)
def get_data_buffer_addr(data_buffer: int) -> int:
    """Return where the memory begins."""
    return int(BUFFERS.find(data_buffer).address)


@answering(0, always=True)
def get_data_buffer_size(data_buffer: int) -> int:
    """Return the memory's bytes."""
    return int(BUFFERS.find(data_buffer).size)


get_data_buffer_size_v2 = get_data_buffer_size


@answering()
def update_data_buffer(data_buffer: int, data: int, size: int) -> None:
    """Give the data buffer other memory."""
    buffer = BUFFERS.find(data_buffer)
    buffer.address, buffer.size = data, size
