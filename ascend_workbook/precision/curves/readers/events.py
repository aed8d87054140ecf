"""TensorBoard event files: TFRecord framing with its checksums, scalars only, no tensorboard and no tensorflow."""

from __future__ import annotations

import struct

from ascend_workbook.precision.curves.names import normalise_name
from ascend_workbook.precision.curves.readers import crc, protobuf
from ascend_workbook.precision.curves.readers.feed import Feed
from ascend_workbook.precision.curves.series import Curve

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
                if size > ABSURD or crc.masked_checksums([head])[0] != check:
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
        heads, bodies = (
            crc.masked_checksums([record[1] for record in taken]),
            crc.masked_checksums([record[3] for record in taken]),
        )
        first = self.records - len(taken) + 1
        for number, (record, head, body) in enumerate(zip(taken, heads, bodies), first):
            offset, _, head_told, event, body_told = record
            if head != head_told:
                return self._give_up(offset)
            if body != body_told:
                self.curve.add_note("ACC257.checksum", path=self.path, line=number)
                continue
            try:
                step, scalars = protobuf.read_scalars(event)
            except protobuf.Malformed:
                self.curve.add_note("ACC257.checksum", path=self.path, line=number)
                continue
            for tag, value in scalars:
                if name := normalise_name(tag):
                    self.curve.add_value(name, step, value, number)
