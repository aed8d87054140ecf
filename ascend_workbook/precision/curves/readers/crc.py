"""CRC-32C (Castagnoli, RFC 3720) of many byte strings at once; TensorFlow's record files mask it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

POLYNOMIAL = 0x82F63B78
#: https://www.tensorflow.org/tutorials/load_data/tfrecord : ((crc >> 15) | (crc << 17)) + 0xa282ead8
MASK = 0xA282EAD8


def _make_table() -> NDArray[np.uint32]:
    values = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        values = np.where(values & 1, (values >> 1) ^ np.uint32(POLYNOMIAL), values >> 1)
    return values.astype(np.uint32)


TABLE = _make_table()


def masked_checksums(strings: Sequence[bytes]) -> list[int]:
    """The masked CRC-32C of each; all strings go through one byte position after the other together."""
    order = sorted(range(len(strings)), key=lambda at: len(strings[at]), reverse=True)
    lengths = np.array([len(strings[at]) for at in order], dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64) if len(order) else lengths
    data = np.frombuffer(b"".join(strings[at] for at in order), dtype=np.uint8)
    crc = np.full(len(order), 0xFFFFFFFF, dtype=np.uint32)
    alive = len(order)
    for position in range(int(lengths[0]) if len(order) else 0):
        while alive and lengths[alive - 1] <= position:
            alive -= 1
        low = (crc[:alive] ^ data[starts[:alive] + position]) & np.uint32(0xFF)
        crc[:alive] = TABLE[low] ^ (crc[:alive] >> np.uint32(8))
    crc ^= np.uint32(0xFFFFFFFF)
    out = [0] * len(order)
    for at, value in zip(order, crc.tolist()):
        out[at] = (((value >> 15) | (value << 17)) + MASK) & 0xFFFFFFFF
    return out
