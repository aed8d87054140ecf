"""The reader of events: any layout, cut into pieces anywhere; broken files named with the place."""

from __future__ import annotations

import gzip
import json
import random
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.profiling.readers.document import Document

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


def expected(text: bytes) -> list[object]:
    """The same by json alone."""
    found = json.loads(text, parse_float=str)
    events = found["traceEvents"] if isinstance(found, dict) else found
    return [repr(one) for one in events if isinstance(one, dict)]


def read(path: Path, text: bytes, piece: int = 2**20) -> list[object]:
    path.write_bytes(text)
    return [repr(one) for batch in Document(path, piece).read_batches() for one in batch]


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
        (b'[5,\n {"ts" 2}]', "profiling.broken_json", {"line": 2, "column": 8, "byte": 11}),
        (b"[5 6]", "profiling.broken_json", {"byte": 3}),
        (b"[5,]", "profiling.broken_json", {"byte": 3}),
        (b"[] 2", "profiling.broken_json", {"byte": 3}),
        (b"[5}, {}]", "profiling.broken_json", {"byte": 2}),
        (b'{"a" 1}', "profiling.broken_json", {"byte": 5}),
        (b'{"a": 1,}', "profiling.broken_json", {"byte": 8}),
        (b"{1: 1}", "profiling.broken_json", {"byte": 1}),
        (b"\xef\xbb\xbf[5 6]", "profiling.broken_json", {"byte": 6, "line": 1, "column": 4}),
        (b"[\0\0]", "profiling.broken_json", {"byte": 1}),
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


def damaged(path: Path, content: bytes, **limits: int) -> tuple[list[dict[str, Any]], Document]:
    path.write_bytes(content)
    document = Document(path, **limits)
    return [event for batch in document.read_batches() for event in batch], document


@pytest.mark.parametrize(
    ("content", "names", "byte", "error"),
    [
        (b'[{"name": 1},\n {"name" 2}]', [1], 23, "Expecting ':' delimiter"),
        (b'[{"name": 1} {"name": 2}]', [1], 13, "expected ',', found '{'"),
        (b'[{"name": 1},]', [1], 13, "nothing follows the comma"),
        (b'[{"name": 1}] 2', [1], 14, "something follows the trace"),
        (b'[{"name": 1}}, {}]', [1], 12, "expected ',', found '}'"),
        (b'[{"name": "\xe8\xbf\xbd"}, {"name": 2},\0\0 {"name": 3}]', ["追", 2], 30, "Expecting value"),
    ],
)
def test_what_stands_before_the_damage_is_read(
    tmp_path: Path, content: bytes, names: list[object], byte: int, error: str
) -> None:
    events, document = damaged(tmp_path / "a.json", content)
    assert [event["name"] for event in events] == names
    assert document.damage is not None and document.damage["say"] == "profiling.broken_json"
    assert (document.cut_at, document.damage["args"]["byte"], document.damage["args"]["error"]) == (byte, byte, error)


@pytest.mark.parametrize("piece", [7, 2**18])
def test_bytes_that_are_no_utf8_are_replaced_and_counted(tmp_path: Path, piece: int) -> None:
    content = b'\xef\xbb\xbf[{"name": "a\xff\xfe"}, {"name": "\xe8\xbf\xbd\xe8\xbf", "x": "\xed\xa0\x80"}]'
    events, document = damaged(tmp_path / "a.json", content, piece=piece)
    assert [event["name"] for event in events] == ["a\ufffd\ufffd", "追\ufffd\ufffd"]
    assert document.odd == {"replaced_bytes": 7} and document.cut_at is None
    events, document = damaged(tmp_path / "a.json", b'\xef\xbb\xbf[{} {"name": "a\xff"}]', piece=piece)
    assert (events, document.cut_at) == ([{}], 7), "the mark counts in the file's bytes"


@pytest.mark.parametrize("piece", [7, 64, 2**18])
@pytest.mark.parametrize(
    ("content", "names", "odd"),
    [
        (b'[{"name" 1}, {"name": 2}]', [2], {"broken_events": 1}),
        (b'[{"name": 1}, {"name": 2, "args": {"a" [3]}}, {"ph": "X", "name": 3}]', [1, 3], {"broken_events": 1}),
        (b'[{"name": 1} {"name": 2}, {"name": 3}]', [1, 3], {"broken_events": 1}),
        (
            b'[{"name": 1}, {"name": 2"}, {"name": 3}, {"name": -}, {"ts": 4, "name": 4}]',
            [1, 3, 4],
            {"broken_events": 2},
        ),
        (b'[{"name": 1}, \xff{"name": 2}]', [1, 2], {"replaced_bytes": 1}),
        (b'[{"name": 1}\xff, {"name": 2}]', [1, 2], {"replaced_bytes": 1}),
        (b'{"traceEvents": [{"name": x}, {"name": 2}], "a": 5}', [2], {"broken_events": 1}),
    ],
)
def test_a_broken_event_is_passed_over(
    tmp_path: Path, content: bytes, names: list[int], odd: dict[str, int], piece: int
) -> None:
    events, document = damaged(tmp_path / "a.json", content, piece=piece)
    assert [event["name"] for event in events] == names
    assert document.odd == odd and document.cut_at is None


@pytest.mark.parametrize(
    ("content", "key"),
    [
        (b"hello\n", "not_json"),
        ("{}".encode("utf-16"), "not_json"),
        (gzip.compress(gzip.compress(b"[]")), "not_json"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "is_pointer"),
        (b"42", "not_a_trace"),
    ],
)
@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
def test_what_is_no_trace_is_named(tmp_path: Path, content: bytes, key: str, name: str) -> None:
    if key != "is_pointer" and name.endswith(".gz"):
        content = content if content.startswith(b"\x1f") else gzip.compress(content)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(WorkbookError) as told:
        list(Document(tmp_path / name).read_batches())
    assert told.value.key == f"profiling.{key}" and str(tmp_path) in told.value.message("en")


def test_a_packed_file_is_read_whatever_it_is_called(tmp_path: Path) -> None:
    events, document = damaged(tmp_path / "a.json", gzip.compress(b'[{"name": 1}]'))
    assert events == [{"name": 1}] and document.cut_at is None and not document.odd


@pytest.mark.parametrize(
    ("value", "odd"),
    [
        (b'"' + b"a" * 5000 + b'\\"\\\\"', "too_long"),
        (b'{"a": ["' + b"]}" * 3000 + b'"], "b": {}}', "too_long"),
        (b'{"x":[' * 100_000 + b"1" + b"]}" * 100_000, "too_deep"),
    ],
)
@pytest.mark.parametrize("piece", [64, 2**10])
def test_a_value_that_is_too_long_or_too_deep_is_passed_over(
    tmp_path: Path, value: bytes, odd: str, piece: int
) -> None:
    content = b'[{"name": 1}, {"name": %b}, {"name": 2}]' % value
    events, document = damaged(tmp_path / "a.json", content, piece=piece, longest=4000)
    assert [event["name"] for event in events] == [1, 2]
    assert (document.odd, document.cut_at) == ({odd: 1}, None)
    events, document = damaged(tmp_path / "a.json", content[:-30], piece=piece, longest=4000)
    assert [event["name"] for event in events] == [1] and document.cut_at == len(content) - 30


def test_control_characters_and_a_second_list(tmp_path: Path) -> None:
    content = b'{"traceEvents": [{"name": "a\0b"}, {"name": "a\nb"}], "traceEvents": [{"name": "c"}]}'
    events, document = damaged(tmp_path / "a.json", content)
    assert [event["name"] for event in events] == ["a\0b", "a\nb", "c"]
    assert document.odd == {"control_characters": 2, "more_lists": 1} and document.cut_at is None


def test_numbers_without_end_are_no_numbers(tmp_path: Path) -> None:
    events, _ = damaged(
        tmp_path / "a.json", b'[{"pid": ' + b"9" * 5000 + b', "ts": NaN, "dur": -Infinity}, {"pid": 1}]'
    )
    assert [event["pid"] for event in events] == ["9" * 5000, 1]


def test_a_gzip_cut_short_gives_what_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.json.gz"
    packed = gzip.compress(json.dumps([{"ph": "X", "name": str(number)} for number in range(5000)]).encode())
    path.write_bytes(packed[: len(packed) // 2])
    document = Document(path)
    names = [one["name"] for batch in document.read_batches() for one in batch]
    assert document.cut_at
    assert 1000 < len(names) < 4000
    assert names == [str(number) for number in range(len(names))]
    path.write_bytes(packed[:-4])
    document = Document(path)
    assert sum(len(batch) for batch in document.read_batches()) == 5000
    assert document.cut_at


@pytest.mark.parametrize(
    ("spoil", "key"), [(lambda packed: packed[:10], "cut_short"), (lambda _: b"[]", "damaged_gzip")]
)
def test_a_gzip_of_which_nothing_can_be_unpacked(tmp_path: Path, spoil: Any, key: str) -> None:
    path = tmp_path / "a.json.gz"
    path.write_bytes(spoil(gzip.compress(b'{"traceEvents": [{}]}' * 50)))
    with pytest.raises(WorkbookError) as caught:
        list(Document(path).read_batches())
    assert caught.value.key == f"profiling.{key}" and str(path) == caught.value.arguments["path"]


def test_a_damaged_gzip_is_blamed_and_what_came_before_is_read(tmp_path: Path) -> None:
    dice = random.Random(0)
    events = [{"ph": "X", "name": f"{dice.random()}"} for _ in range(20_000)]
    packed = gzip.compress(json.dumps(events).encode())
    middle = len(packed) // 2
    for content in (packed[:middle] + bytes(200) + packed[middle + 200 :], packed[:-8] + bytes(8)):
        found, document = damaged(tmp_path / "a.json.gz", content)
        assert document.damage is not None and document.damage["say"] == "profiling.damaged_gzip"
        assert 0 < document.damage["args"]["byte"] <= len(packed) and document.cut_at is not None
        assert 5000 < len(found) <= len(events) and found[:5000] == events[:5000]


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
