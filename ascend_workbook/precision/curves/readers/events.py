"""TensorBoard event files: TFRecord framing with its checksums, scalars only, no tensorboard and no tensorflow.

CRC-32C (Castagnoli, RFC 3720), which TensorFlow's record files mask;
https://protobuf.dev/programming-guides/encoding/ ; event.proto, summary.proto and tensor.proto of TensorFlow."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

import numpy as np

from ascend_workbook.precision.curves.readers.feed import Feed
from ascend_workbook.precision.curves.series import Curve, normalise_name

HEAD, TAIL = 12, 4
#: Records beyond this hold images, audio or graphs, never one number.
LARGEST = 1 << 16
#: No writer makes a record of this size: such a length is damage.
ABSURD = 1 << 31


class EventsFeed(Feed):
    """Bytes that are not a whole record yet are kept. A record whose checksum is wrong is left out and told; after a
    wrong length the rest of the file cannot be framed, and is told too."""

    def __init__(self, curve: Curve, path: str) -> None:
        super().__init__(curve, path)
        self._rest = bytearray()
        self._skip = 0
        self._at = 0
        self.records = 0
        self.lost = False

    def feed(self, data: bytes) -> None:
        if self.lost:
            return
        self._rest += data
        taken: list[tuple[int, bytes, int, bytes, int]] = []
        at = self._skip_bytes(0)
        while not self.lost and len(self._rest) - at >= HEAD:
            head = bytes(self._rest[at : at + 8])
            size, check = struct.unpack_from("<QI", self._rest, at)
            if size <= LARGEST and len(self._rest) - at < HEAD + size + TAIL:
                break
            self.records += 1
            if size > LARGEST:  # its body is passed over unread, so its length is checked at once
                if size > ABSURD or masked_checksums([head])[0] != check:
                    self._give_up(self._at + at)
                    break
                self._skip = HEAD + size + TAIL
                at = self._skip_bytes(at)
                continue
            body = bytes(self._rest[at + HEAD : at + HEAD + size])
            (sum_of_body,) = struct.unpack_from("<I", self._rest, at + HEAD + size)
            taken.append((self._at + at, head, check, body, sum_of_body))
            at += HEAD + size + TAIL
        self._take_records(taken)
        del self._rest[:at]
        self._at += at

    def end(self) -> None:
        if self._rest and not self.lost or self._skip:
            self.curve.add_note("ACC257.cut", path=self.path, line=self.records + 1)

    def _skip_bytes(self, at: int) -> int:
        now = min(self._skip, len(self._rest) - at)
        self._skip -= now
        return at + now

    def _give_up(self, offset: int) -> None:
        self.lost = True
        self.curve.add_note("ACC257.unframed", path=self.path, offset=offset)

    def _take_records(self, taken: list[tuple[int, bytes, int, bytes, int]]) -> None:
        heads = masked_checksums([record[1] for record in taken])
        bodies = masked_checksums([record[3] for record in taken])
        first = self.records - len(taken) + 1
        for number, (record, head, body) in enumerate(zip(taken, heads, bodies), first):
            offset, _, head_told, event, body_told = record
            if head != head_told:
                return self._give_up(offset)
            try:
                if body != body_told:
                    raise Malformed("checksum")
                step, scalars = read_scalars(event)
            except Malformed:
                self.curve.add_note("ACC257.checksum", path=self.path, line=number)
                continue
            for tag, value in scalars:
                if name := normalise_name(tag):
                    self.curve.add_value(name, step, value, number)


POLYNOMIAL = 0x82F63B78
#: https://www.tensorflow.org/tutorials/load_data/tfrecord : ((crc >> 15) | (crc << 17)) + 0xa282ead8
MASK = 0xA282EAD8


TABLE = np.arange(256, dtype=np.uint32)
for _ in range(8):
    TABLE = np.where(TABLE & 1, (TABLE >> 1) ^ np.uint32(POLYNOMIAL), TABLE >> 1).astype(np.uint32)


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
