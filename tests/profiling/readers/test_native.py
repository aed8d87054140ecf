"""The scanner and the reader in Python tell the same of whatever stands in a file, odd, broken or cut."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.sentence import LANGUAGES
from ascend_workbook.machine import native
from ascend_workbook.profiling import analyse
from ascend_workbook.profiling.readers.columns import FAR, Collector, Events
from ascend_workbook.profiling.readers.document import Document
from ascend_workbook.profiling.readers.native import scanner
from ascend_workbook.profiling.readers.native.scanner import Scanner
from tests.profiling.conftest import DATA
from tests.profiling.readers.test_document import EVENT, LAYOUT, TEXT, VALUE, written

pytestmark = pytest.mark.skipif(native.find_compiler() is None, reason="no C++ compiler")
TIMELINE = "timeline_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json"
COMPACT = ((",", ":"), None, True)


class Watched(Scanner):
    """Counts the bytes that it took."""

    taken = 0

    def scan_events(
        self, text: bytearray, size: int, arrows: bool, behind_event: bool = False
    ) -> tuple[int, list[bytes]]:
        found = super().scan_events(text, size, arrows, behind_event)
        self.taken += found[0]
        return found

    def takes(self, text: bytes) -> int:
        return self.scan_events(bytearray(text + b"\0"), len(text), True)[0]


def read(path: Path, by: Scanner | None, piece: int = 2**18) -> tuple[Document, Events]:
    document, collector = Document(path, piece, scanner=by), Collector(by)
    for batch in document.read_batches():
        collector.take_batch(batch, document.is_list)
    return document, collector.collect_events()


def told(events: Events) -> list[Any]:
    """What the columns say of each row: ids that are no numbers by order of appearance, JSON texts as values."""
    numbers: dict[int, int] = {}

    def listed(column: Any) -> list[int]:
        told = range(-FAR - 2**20, -FAR + 1)
        return [-numbers.setdefault(one, len(numbers) + FAR) if one in told else one for one in column.tolist()]

    def values(texts: tuple[bytes, ...]) -> list[str]:
        return [repr(json.loads(text, parse_float=str)) if text else "" for text in texts]

    calls = [values(one) for one in events.calls]
    details = [(*one[:2], *values((one.ranks.encode(),)), *one[3:]) for one in events.details]
    columns = [one.tolist() for one in events.columns[:5]]
    rows = [
        (events.names[name], events.lanes[lane], events.groups[group], calls[called], details[detail], *ids_and_times)
        for name, lane, group, called, detail, *ids_and_times in zip(*columns, *map(listed, events.columns[5:]))
    ]
    flows = list(zip(*map(listed, events.flows)))
    texts = [events.names, events.lanes, events.groups, events.places]
    return [rows, flows, texts, events.processes, events.memory_records, sorted(events.counters), events.unpaired]


def outcome(path: Path, by: Scanner | None, piece: int = 2**18) -> Any:
    try:
        document, events = read(path, by, piece)
    except WorkbookError as error:
        return error.key, {name: value for name, value in error.arguments.items() if name != "error"}
    return document.is_list, document.members, document.cut_at, repr(told(events))


def assert_alike(path: Path, text: bytes, piece: int = 2**18) -> None:
    path.write_bytes(text)
    assert outcome(path, Watched(), piece) == outcome(path, None)


NUMBER = st.one_of(st.integers(-3, 3), st.integers(-(2**70), 2**70), st.integers(0, 9**5).map(str), st.none(), TEXT)
TIME = st.one_of(
    st.integers(0, 10**17),
    st.decimals(0, 10**16, places=3).map(str),
    st.decimals(0, 100, places=5).map(str),
    st.floats(0, 1e7),
    st.sampled_from(["", "-1.5", "1e3", ".5", "5.", "0.0005", "0.0015", "1.00050000001", "2.0025", " 3", "1.2.3"]),
    st.sampled_from(["\uff11", "9" * 16, "9" * 17, "0" * 20 + "1", "12345678901234567.5", "1234567890123456.78951"]),
)
USUAL = st.fixed_dictionaries(
    {
        "ph": st.sampled_from("XXXXXXsfBEiIMC"),
        "name": st.sampled_from(
            ["aten::add", "process_name", "[memory]", "AI Core Freq", "ncclAll", 'a"b', "追踪\n", "\x7f"]
        ),
        "ts": TIME,
    },
    optional={
        "dur": TIME,
        "cat": st.sampled_from(["cpu_op", "async_npu", "async_npu", "kernel"]),
        "pid": st.sampled_from([1, 2, "1", "Spans", None]),
        "tid": st.sampled_from([1, 2, "1", "é"]),
        "id": NUMBER,
        "bp": st.just("e"),
        "args": st.fixed_dictionaries(
            {},
            optional={
                "name": TEXT,
                "Task Type": st.sampled_from(["AI_CORE", "AI_CPU", None]),
                "Input Dims": st.sampled_from([[[1, 2], []], "1,2", [], None]),
                "Input type": st.sampled_from([["float", ""], "FLOAT"]),
                "Call stack": st.sampled_from(["a.py(1): f;\r\nb", "b.py(2): g", "追.py"]),
                "External id": NUMBER,
                "external id": NUMBER,
                "correlation": NUMBER,
                "connection_id": NUMBER,
                "device": st.sampled_from([0, 1, "0"]),
                "stream": st.sampled_from([7, None]),
                "Collective name": st.sampled_from(["allreduce", None]),
                "Process Group Ranks": st.sampled_from([[0, 1], "[0, 1]"]),
                "Seq": NUMBER,
                "dst rank": st.sampled_from([0, 2**32 - 1, "3", None]),
                "dtype": st.sampled_from(["Float", 1.5]),
                "other": VALUE,
            },
        ),
    },
)
#: Some events several times, for the scanner expects what came before
FILE = st.tuples(
    st.lists(st.one_of(USUAL, USUAL, USUAL, EVENT, VALUE), max_size=5), st.integers(1, 3), LAYOUT, st.booleans()
)
SPOILING = st.sampled_from([b'"', b"\\", b"{", b"}", b",", b"[", b"NaN", b"-", b"\0", b"1.", b"\xff"])
QUIET = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def content(file: tuple[list[Any], int, Any, bool]) -> bytes:
    events, times, layout, as_list = file
    return written(events * times if as_list else {"traceEvents": events * times, "a": 1}, layout)


@QUIET
@given(FILE, st.integers(1, 400))
def test_the_same_of_any_events(tmp_path: Path, file: Any, piece: int) -> None:
    assert_alike(tmp_path / "a.json", content(file), piece)


@QUIET
@given(FILE, st.data())
def test_the_same_of_spoilt_bytes(tmp_path: Path, file: Any, data: st.DataObject) -> None:
    text = bytearray(content(file))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        text[at : at + data.draw(st.integers(0, 2))] = data.draw(st.one_of(st.binary(max_size=2), SPOILING))
    text = text[: data.draw(st.one_of(st.just(len(text)), st.integers(0, len(text))))]
    assert_alike(tmp_path / "a.json", bytes(text))


@pytest.mark.parametrize("name", ["cpu.pt.trace.json", "cuda.pt.trace.json", "rocm.pt.trace.json", TIMELINE])
def test_nearly_all_of_a_usual_trace_is_for_the_scanner(name: str) -> None:
    path, watched = DATA / name, Watched()
    assert repr(told(read(path, watched)[1])) == repr(told(read(path, None)[1]))
    assert watched.taken > 0.8 * path.stat().st_size


ODD = [
    b'{"ph": "X", "name": 5}',
    b'{"ph": "X", "name": "a", "name": "b"}',
    b'{"ph": "X", "na\\u006de": "a"}',
    b'{"ph": "X", "tid": 1.5}',
    b'{"ph": "X", "pid": true}',
    b'{"ph": "X", "args": "a"}',
    b'{"ph": "X", "args": {"Task Type": 5}}',
    b'{"ph": "X", "args": {"External id": "a"}}',
    b'{"ph": "X", "args": {"a": NaN}}',
    b'{"ph": "X", "a": -Infinity}',
    b'{"ph": "X", "a": "\\ud83d\\ude00"}',
    b'{"ph": "X", "a": ' + b"[" * 80 + b"]" * 80 + b"}",
    b'{"ph": "X", "a": ' + b"9" * 2000 + b"}",
    b'{"ph": "s", "cat": "async_npu", "id": null}',
    b'{"ph": "\\u0058"}',
    b"[1]",
    b"5",
]
BROKEN = [
    b"01",
    b"1.",
    b"1e",
    b"-",
    b"+1",
    b".5",
    b"tru",
    b"nulL",
    b'"\\x"',
    b'"\\u12g4"',
    b'"\t"',
    b'"\xff"',
    b"[1,]",
    b"[1 2]",
    b'{"a" 1}',
    b"{1: 1}",
    b'{"a": 1,}',
    b'"\xc0\x80"',
    b'"\xed\xa0\x80"',
    b'"\xf4\x90\x80\x80"',
    b"\0",
    b'"\xe0\x80\x80"',
    b'"\xf0\x80\x80\x80"',
    b'"\xe4\xb8"',
    b"[",
    b"]",
    b'"',
    b"'a'",
]
PLAIN = b'{"ph": "X", "name": "a", "ts": 1, "dur": 2, "args": {"b": [{}, null, -1.5e+3, "\\/\\u00e9 \xe8\xbf\xbd"]}}'


def test_what_is_odd_is_left_to_python(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    for one in ODD:
        one_by = Watched()
        assert one_by.takes(b"%b, %b, %b" % (PLAIN, one, PLAIN)) == len(PLAIN), one
        assert one_by.takes(b"%b,%b]" % (PLAIN, PLAIN)) == 2 * len(PLAIN) + 1
        assert_alike(path, b"[%b, %b, %b]" % (PLAIN, one, PLAIN))


@pytest.mark.parametrize("value", BROKEN)
def test_what_is_broken_is_found(tmp_path: Path, value: bytes) -> None:
    for event in (b'{"ph": "C", "a": %b}', b'{"ph": "X", "name": %b}', b'{"ph": "X", "args": {"Input Dims": %b}}'):
        text = b"[%b, %b, %b]" % (PLAIN, event % value, PLAIN)
        assert Watched().takes(text[1:]) == len(PLAIN)
        assert_alike(tmp_path / "a.json", text)


def test_nothing_is_taken_of_an_event_that_is_not_whole() -> None:
    for size in range(len(PLAIN)):
        assert Watched().takes(PLAIN[:size]) == 0
        assert Watched().takes(PLAIN + b"," + PLAIN[:size]) == len(PLAIN)


@pytest.mark.parametrize("quote", ["", '"'])
def test_times_are_the_same_to_the_nanosecond(tmp_path: Path, quote: str) -> None:
    parts = ["", ".5", ".0005", ".0015", ".00151", ".00150", ".9999", ".9995", ".1234567", ".00149999999999"]
    wholes = ["0", "7", "123456789", "4611686018427387", "4611686018427388", "9" * 16, "9" * 17, "0012", "-1"]
    times = [quote + whole + part + quote for whole in wholes for part in parts if quote or whole != "0012"]
    events = ", ".join(f'{{"ph": "X", "ts": {one}, "dur": {one}}}' for one in [*times, '"5."', '".5"', "null", "1e3"])
    assert_alike(tmp_path / "a.json", f"[{events}]".encode())


def test_a_value_that_begins_as_the_last_one_did(tmp_path: Path) -> None:
    values = [1, 1, 12, 1, 1.5, 1, "1", "1", "12", '1"', "1", None, [1], [1], [1, 2], {}, {"a": 1}, {"a": 12}, "é", "é"]
    events = [{"ph": "X", "name": f"{one}", "args": {"stream": one, "Input Dims": one, "a": one}} for one in values]
    changed = [{**one, "ts": "1.5", "tid": at % 3 or "1"} for at, one in enumerate(events)]
    for separators in ((",", ":"), (", ", ": ")):
        text = written([*events, *changed, *events] * 3, (separators, None, False))
        assert_alike(tmp_path / "a.json", text)
        assert_alike(tmp_path / "a.json", text.replace(b"12", b"1x", 1))


def test_a_stack_that_begins_as_the_expected_one_does(tmp_path: Path) -> None:
    stacks = ["a", "ab", "a", "b", "a", "ab", 'a"', "a", 1, 12, 1, 1, [1], [1, 2], [1], [1], 1.5, 1.50, 1.5, None]
    events = [{"ph": "X", "name": "n", "ts": at, "dur": 1, "args": {"Call stack": s}} for at, s in enumerate(stacks)]
    assert_alike(tmp_path / "a.json", written(events, COMPACT))


def test_columns_outlive_the_scanner(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"[%b]" % b",".join([PLAIN] * 1000))
    columns = read(tmp_path / "a.json", Watched())[1].columns
    assert columns.duration_ns.tolist() == [2000] * 1000


@pytest.mark.parametrize("switch", ["0", ""])
def test_the_slower_reader_is_told(monkeypatch: pytest.MonkeyPatch, switch: str) -> None:
    monkeypatch.setenv(native.SWITCH, switch)
    for cached in (native.load_library, scanner._load_library):
        cached.cache_clear()
    report = analyse(DATA / "cuda.pt.trace.json")
    found = [one for part in report.parts for one in part.findings if one.key == "PRF304.slower"]
    for cached in (native.load_library, scanner._load_library):
        cached.cache_clear()
    assert [one.status for one in found] == ([Status.NOTE] if switch == "0" else [])
    assert all(native.SWITCH in one.message(lang) for one in found for lang in LANGUAGES)
