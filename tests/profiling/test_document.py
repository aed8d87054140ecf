"""The reader of events: any layout, cut into pieces anywhere; broken files named with the place."""

from __future__ import annotations

import gzip
import json
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.profiling.readers.document import Document
from ascend_workbook.profiling.readers.records import KINDS, Arguments, Arrow, Complete, Record, make_record

ODD = ("}, {", "]", '"', "\\", '\\"', "追踪", "\U0001f600", "\n", '{"a": [', "traceEvents")
TEXT = st.one_of(st.text(max_size=6), st.sampled_from(ODD))
LABEL = st.one_of(st.none(), TEXT, st.integers(-(2**70), 2**70))
VALUE = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXT, inner, max_size=3)),
    max_leaves=6,
)
ARGS = st.fixed_dictionaries(
    {}, optional={"Task Type": TEXT, "Input Dims": VALUE, "External id": LABEL, "stream": LABEL, "other": VALUE}
)
EVENT = st.fixed_dictionaries(
    {},
    optional={
        "name": st.one_of(TEXT, VALUE),
        "ph": st.sampled_from(["X", "X", "X", "B", "E", "i", "I", "s", "f", "M", "C", "R", "?"]),
        "cat": TEXT,
        "pid": LABEL,
        "tid": st.one_of(LABEL, st.floats()),
        "ts": st.one_of(st.integers(0, 10**16), st.floats(0, 1e16), TEXT),
        "dur": st.one_of(st.integers(0, 10**6), st.floats(0, 1e6)),
        "args": st.one_of(ARGS, VALUE),
        "other": VALUE,
    },
)
SEPARATORS = st.sampled_from([(",", ":"), (", ", ": "), (",\n  ", ":"), (" ,\t", " : "), ("\r\n,\r\n", ":\n")])
LAYOUT = st.tuples(SEPARATORS, st.sampled_from([None, 0, 1]), st.booleans())


def written(value: object, layout: tuple[tuple[str, str], int | None, bool]) -> bytes:
    separators, indent, ascii_only = layout
    return json.dumps(value, separators=separators, indent=indent, ensure_ascii=ascii_only).encode()


def plain(one: Record) -> tuple[object, ...]:
    """What a record says, the JSON texts in it as values; of all that is unused the same."""
    fields = type(one).__name__ if type(one) in KINDS else "Record"
    return (fields, *(_plain(getattr(one, name)) for name in one.__struct_fields__))


def _plain(value: Any) -> object:
    if isinstance(value, Arguments):
        return value.task or "", _value(value.dims), value.external, value.stream
    return _value(value) if isinstance(value, msgspec.Raw) else value or ""


def _value(raw: Any) -> object:
    return repr(json.loads(bytes(raw), parse_float=str)) if bytes(raw) else None


def expected(text: bytes) -> list[tuple[object, ...]]:
    """The same by json alone."""
    found = json.loads(text, parse_float=str)
    events = found["traceEvents"] if isinstance(found, dict) else found
    made = [make_record(one) for one in events if isinstance(one, dict)]
    passed_over = Arrow if isinstance(found, dict) else ()
    return [plain(Record() if isinstance(one, passed_over) else one) for one in made]


def read(path: Path, text: bytes, piece: int = 2**20) -> list[tuple[object, ...]]:
    path.write_bytes(text)
    return [plain(one) for batch in Document(path, piece).read_batches() for one in batch]


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.one_of(EVENT, VALUE), max_size=6), LAYOUT, st.integers(1, 400), st.dictionaries(TEXT, VALUE))
def test_any_json_in_any_layout(
    tmp_path: Path, events: list[object], layout: Any, piece: int, around: dict[str, object]
) -> None:
    path = tmp_path / "a.json"
    around.pop("traceEvents", None)
    document = {**around, "traceEvents": events, "behind": around}
    for content in (events, document):
        text = written(content, layout)
        assert read(path, text, piece) == expected(text)


NESTED = {"name": '}, {"ph": "\\', "ph": "X", "ts": 1.5, "args": {"x": [{"a": 1}, {"b": [{}, {}]}], "other": "]"}}


@pytest.mark.parametrize("layout", [((", ", ": "), None, True), ((",", ":"), 1, False)])
def test_a_border_of_pieces_at_every_byte(tmp_path: Path, layout: Any) -> None:
    text = written({"first": [NESTED], "traceEvents": [NESTED, {"名": "é"}, NESTED], "last": [{}, {}]}, layout)
    wanted = expected(text)
    for piece in range(1, len(text) + 2):
        assert read(tmp_path / "a.json", text, piece) == wanted


def test_cut_at_every_byte_gives_what_is_whole(tmp_path: Path) -> None:
    text = written({"first": 1, "traceEvents": [NESTED] * 3, "last": {"a": 1}}, ((", ", ": "), None, True))
    one = written(NESTED, ((", ", ": "), None, True))
    begin = text.index(one)
    ends = [begin + number * (len(one) + 2) + len(one) for number in range(3)]
    for size in range(len(text)):
        (tmp_path / "a.json").write_bytes(text[:size])
        document = Document(tmp_path / "a.json", piece=64)
        whole = sum(end <= size for end in ends)
        if whole:
            assert sum(len(batch) for batch in document.read_batches()) == whole
            assert document.cut_at == size
        else:
            with pytest.raises(WorkbookError) as caught:
                list(document.read_batches())
            assert (caught.value.key, caught.value.arguments["byte"]) == ("profiling.cut_short", size)


@pytest.mark.parametrize(
    ("content", "key", "place"),
    [
        (b'{"traceEvents": [{"na', "profiling.cut_short", {"line": 1, "byte": 21}),
        (b"", "profiling.cut_short", {"byte": 0}),
        (b'[{"ts": 1},\n {"ts" 2}]', "profiling.broken_json", {"line": 2, "column": 8, "byte": 19}),
        (b'[{"ts": 1} {"ts": 2}]', "profiling.broken_json", {"byte": 11}),
        (b'[{"ts": 1},]', "profiling.broken_json", {"byte": 10 if sys.version_info >= (3, 13) else 11}),  # the comma
        (b'[{"ts": 1}] 2', "profiling.broken_json", {"byte": 12}),
        (b'[{"ts": 1}}, {}]', "profiling.broken_json", {"byte": 10}),
        (b'{"a" 1}', "profiling.broken_json", {"byte": 5}),
        (b'{"a": 1,}', "profiling.broken_json", {"byte": 8}),
        (b"{1: 1}", "profiling.broken_json", {"byte": 1}),
        (b'{"traceEvents": [{}], "traceEvents": [{}]}', "profiling.broken_json", {"byte": 22}),
        (b'[{"name": "\xff\xfe"}]', "profiling.not_utf8", {"byte": 11}),
        (b'[{"name": 1, "unused": "\xff"}]', "profiling.not_utf8", {"byte": 24}),
        (b'[{"name": "a\nb"}]', "profiling.broken_json", {"byte": 12}),
        (b'[{"pid": ' + b"9" * 5000 + b"}]", "profiling.broken_json", {"byte": 1}),
        (b'[{"x":' * 100_000 + b"1" + b"}]" * 100_000, "profiling.broken_json", {"byte": 1}),
    ],
)
def test_a_broken_file_is_named_with_the_place(tmp_path: Path, content: bytes, key: str, place: dict[str, int]) -> None:
    path = tmp_path / "追踪.json"
    path.write_bytes(content)
    with pytest.raises(WorkbookError) as caught:
        list(Document(path).read_batches())
    assert caught.value.key == key
    assert caught.value.arguments["path"] == str(path)
    assert caught.value.arguments.items() >= place.items()
    assert "追踪.json" in caught.value.message("zh")
    assert caught.value.hint("zh")
    assert caught.value.hint("en")


def test_a_value_without_end_is_not_held(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b'[{"name": "a"}, {"name": "' + b"a" * 50_000)
    with pytest.raises(WorkbookError) as caught:
        list(Document(tmp_path / "a.json", piece=100, longest=1000).read_batches())
    assert caught.value.key == "profiling.too_long"
    assert caught.value.arguments.items() >= {"byte": 16, "limit": 1000}.items()


def test_a_gzip_cut_short_gives_what_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.json.gz"
    packed = gzip.compress(json.dumps([{"ph": "X", "name": str(number)} for number in range(5000)]).encode())
    path.write_bytes(packed[: len(packed) // 2])
    document = Document(path)
    names = [one.name for batch in document.read_batches() for one in batch if isinstance(one, Complete)]
    assert document.cut_at
    assert 1000 < len(names) < 4000
    assert names == [str(number) for number in range(len(names))]
    path.write_bytes(packed[:-4])
    document = Document(path)
    assert sum(len(batch) for batch in document.read_batches()) == 5000
    assert document.cut_at


@pytest.mark.parametrize("spoil", [lambda packed: packed[:10], lambda packed: packed[:-8] + b"\0" * 8, lambda _: b"[]"])
def test_a_gzip_that_is_damaged(tmp_path: Path, spoil: Any) -> None:
    path = tmp_path / "a.json.gz"
    path.write_bytes(spoil(gzip.compress(b'{"traceEvents": [{}]}' * 50)))
    with pytest.raises(WorkbookError) as caught:
        list(Document(path).read_batches())
    assert caught.value.key in ("profiling.unreadable", "profiling.cut_short", "profiling.broken_json")


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    event = json.dumps({"name": "aten::add", "ph": "X", "ts": "1.5", "args": {"Input Dims": [[1, 2]]}}).encode()
    path = tmp_path / "a.json.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"[" + b", ".join([event] * 100_000) + b"]")
    tracemalloc.start()
    count = sum(len(batch) for batch in Document(path, piece=2**16).read_batches())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 100_000
    assert peak < 3_000_000 < 100_000 * len(event)
