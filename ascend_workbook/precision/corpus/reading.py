"""Records of a corpus one after another: a line, a row or an element of a list, with its text or why it has none."""

from __future__ import annotations

import codecs
import csv
import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, cast

from ascend_workbook.findings.errors import WorkbookError

#: What a record's text is called, where it is one entry; and entries that are no text of it.
TEXT_FIELDS = ("text", "content")
NO_TEXT = frozenset(
    ("role", "from", "id", "idx", "index", "url", "source", "type", "name", "lang", "language", "label")
)
FORMATS = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet", ".txt", ".text", ".md")
ENCODING, SYNTAX, FIELD = "encoding", "syntax", "field"
HALF_PAIR = re.compile("[\ud800-\udfff]")
CHUNK = 1 << 20
#: The longest line, cell or element that is read; a longer one is broken, so that memory stays bounded.
LONGEST = 64 << 20


@dataclass(frozen=True)
class Record:
    """One record: `line` counts from 1 (of lists and tables the element), `raw` is what is written back."""

    line: int
    text: str = ""
    broken: str = ""
    raw: Any = None


def format_of(path: Path) -> str:
    """Return the format by the name's ending, without `.gz`. Raises WorkbookError for another one."""
    name = path.name[:-3] if path.name.endswith(".gz") else path.name
    suffix = Path(name).suffix.lower()
    if suffix not in FORMATS:
        raise WorkbookError("data.no_format", path=str(path), formats=list(FORMATS))
    return suffix


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file, unpacked where its name ends in .gz."""
    return cast("IO[bytes]", gzip.open(path, "rb")) if path.name.endswith(".gz") else path.open("rb")


def read_records(path: Path, field: str = "") -> Iterator[Record]:
    """Yield the records of a file in their order. Raises WorkbookError where the file cannot be read at all."""
    suffix = format_of(path)
    try:
        if suffix == ".parquet":
            yield from _read_parquet(path, field)
        elif suffix in (".csv", ".tsv"):
            yield from _read_table(path, field, "\t" if suffix == ".tsv" else ",")
        elif suffix == ".json":
            yield from _read_json(path, field)
        else:
            with open_bytes(path) as file:
                yield from _read_lines(file, field, is_json=suffix in (".jsonl", ".ndjson"))
    except (OSError, EOFError) as error:  # EOFError: a gzip file that was cut off
        raise WorkbookError("data.unreadable", path=str(path), error=str(error)) from error


def _read_lines(file: IO[bytes], field: str, *, is_json: bool) -> Iterator[Record]:
    number = 0
    while line := file.readline(LONGEST):
        number += 1
        whole = line.endswith(b"\n") or len(line) < LONGEST
        while not whole:  # the rest of a line without end
            rest = file.readline(LONGEST)
            whole = rest.endswith(b"\n") or len(rest) < LONGEST
            line = b""
        if not line:
            yield Record(number, broken=SYNTAX, raw=b"")
            continue
        if not line.strip():
            continue
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            yield Record(number, broken=ENCODING, raw=line)
            continue
        yield _from_json(number, text, field, line) if is_json else Record(number, text.rstrip("\r\n"), raw=line)


def _from_json(number: int, text: str, field: str, raw: Any) -> Record:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return Record(number, broken=SYNTAX, raw=raw)
    return _from_value(number, value, field, raw)


def _from_value(number: int, value: Any, field: str, raw: Any) -> Record:
    text = text_of(value, field)
    if text is None or not _is_whole(text):
        return Record(number, broken=FIELD if text is None else ENCODING, raw=raw)
    return Record(number, text, raw=raw)


def _is_whole(text: str) -> bool:
    """Return whether no half of a surrogate pair stands alone, which JSON's escapes allow."""
    return HALF_PAIR.search(text) is None


def text_of(value: Any, field: str = "") -> str | None:
    """Return a record's text: the entry `field`, or `text` or `content`, or all its texts; None where there is none."""
    if field:
        for name in field.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        return value if isinstance(value, str) else None
    if isinstance(value, dict):
        for name in TEXT_FIELDS:
            if isinstance(value.get(name), str):
                return str(value[name])
    texts = list(_all_texts(value))
    return "\n".join(texts) if texts else None


def _all_texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for entry in value:
            yield from _all_texts(entry)
    elif isinstance(value, dict):
        for name, entry in value.items():
            if name not in NO_TEXT:
                yield from _all_texts(entry)


def _read_table(path: Path, field: str, delimiter: str) -> Iterator[Record]:
    csv.field_size_limit(LONGEST)
    with open_bytes(path) as file:
        rows = csv.reader((line.replace("\0", "\ufffd") for line in _decode_lines(file)), delimiter=delimiter)
        head = next(rows, None)
        if head is None:
            return
        if field and field not in head:
            raise WorkbookError("data.no_column", path=str(path), field=field, columns=head)
        number = 1
        while True:
            number += 1
            try:
                row = next(rows, None)
            except csv.Error:
                yield Record(number, broken=SYNTAX, raw=[])
                continue
            if row is None:
                return
            if len(row) != len(head):
                yield Record(number, broken=SYNTAX, raw=row)
            elif any("\udc80" <= character <= "\udcff" for cell in row for character in cell):
                yield Record(number, broken=ENCODING, raw=row)
            else:
                yield _from_value(number, dict(zip(head, row)), field, row)


def _decode_lines(file: IO[bytes]) -> Iterator[str]:
    """Yield lines; bytes that are no UTF-8 stay as surrogates, so that the row they are in is known."""
    for number, line in enumerate(file):
        yield line.decode("utf-8-sig" if number == 0 else "utf-8", errors="surrogateescape")


def table_head(path: Path) -> list[str]:
    """Return the first row of a table."""
    delimiter = "\t" if format_of(path) == ".tsv" else ","
    with open_bytes(path) as file:
        return next(csv.reader(_decode_lines(file), delimiter=delimiter), [])


def _read_json(path: Path, field: str) -> Iterator[Record]:
    """Yield the elements of a list without reading it whole; another value is one record."""
    with open_bytes(path) as file:
        decode = codecs.getincrementaldecoder("utf-8-sig")(errors="surrogateescape")
        text = decode.decode(file.read(CHUNK)).lstrip()
        if not text.startswith("["):
            while data := file.read(CHUNK):
                text += decode.decode(data)
                if len(text) > LONGEST:
                    raise WorkbookError("data.too_long", path=str(path), mib=LONGEST >> 20)
            yield _from_json(1, text, field, text.encode("utf-8", "surrogateescape"))
            return
        decoder, at, number, ended = json.JSONDecoder(), 1, 0, False
        while True:
            while at < len(text) and text[at] in " \t\r\n,":
                at += 1
            if at < len(text) and text[at] == "]":
                return
            try:
                value, after = decoder.raw_decode(text, at)
                complete = after < len(text) or ended  # a number at the end of a piece may go on
            except (ValueError, RecursionError):
                complete, value, after = False, None, at
            if complete:
                number, at = number + 1, after
                yield _from_value(number, value, field, value)
                continue
            data = file.read(CHUNK)
            if not data or len(text) - at > LONGEST:  # what follows a broken element cannot be told apart
                yield Record(number + 1, broken=SYNTAX)
                return
            text, at = text[at:] + decode.decode(data), 0


def _read_parquet(path: Path, field: str) -> Iterator[Record]:
    if find_spec("pyarrow") is None:
        raise WorkbookError("data.no_pyarrow", path=str(path))
    import pyarrow
    import pyarrow.parquet

    try:
        file = pyarrow.parquet.ParquetFile(path, buffer_size=CHUNK, pre_buffer=False)
        if field and field.split(".")[0] not in file.schema_arrow.names:
            raise WorkbookError("data.no_column", path=str(path), field=field, columns=file.schema_arrow.names)
        number = 0
        for batch in file.iter_batches(batch_size=1000, use_threads=False):
            for value in batch.to_pylist():
                number += 1
                yield _from_value(number, value, field, None)
    except pyarrow.ArrowException as error:
        raise WorkbookError("data.unreadable", path=str(path), error=str(error)) from error
