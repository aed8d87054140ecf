"""The local page: this machine alone, behind a token; what is asked wrongly is refused, and it ends."""

from __future__ import annotations

import _thread
import http.client
import json
import signal
import threading
import time
from collections.abc import Iterator
from http.server import ThreadingHTTPServer

import numpy as np
import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.profiling.timeline.index import Part, build_index
from ascend_workbook.profiling.timeline.server import LOOPBACK, Refused, Session, make_server, serve
from ascend_workbook.profiling.timeline.tiles import cut_tile
from ascend_workbook.profiling.trace import Event, build_trace
from tests.profiling.timeline.large import make_large


@pytest.fixture(scope="module")
def session() -> Session:
    return Session(b"<p>page</p>", [build_index([Part(0, make_large(2000, per_step=400))])])


@pytest.fixture(scope="module")
def server(session: Session) -> Iterator[ThreadingHTTPServer]:
    made = make_server(session)
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


def ask(server: ThreadingHTTPServer, path: str, method: str = "GET") -> tuple[int, bytes, dict[str, str]]:
    connection = http.client.HTTPConnection(LOOPBACK, server.server_address[1], timeout=20)
    connection.request(method, path)
    answer = connection.getresponse()
    return answer.status, answer.read(), dict(answer.getheaders())


def test_the_page_and_its_tiles_are_behind_the_token(session: Session, server: ThreadingHTTPServer) -> None:
    assert server.server_address[0] == LOOPBACK
    status, content, headers = ask(server, f"/{session.token}/")
    assert (status, content) == (200, b"<p>page</p>")
    assert headers["Cache-Control"] == "no-store" and headers["Referrer-Policy"] == "no-referrer"
    assert "connect-src 'self'" in headers["Content-Security-Policy"]
    index = session.sides[0]
    _, content, _ = ask(server, f"/{session.token}/tile?side=0&z=12&x=0&rows=0-{index.rows - 1}")
    assert content == cut_tile(index, 0, 2**12, 1024, np.arange(index.rows)).pack()
    _, content, _ = ask(server, f"/{session.token}/find?side=0&text=softmax")
    assert json.loads(content)["count"] == 300
    for path in ("/", "/tile", "/x/", f"/{session.token[:-1]}/", f"/{session.token}x/"):
        assert ask(server, path)[:2] == (404, b"")
    assert ask(server, f"/{session.token}/", "POST")[0] == 501


@pytest.mark.parametrize(
    "asked",
    [
        *(
            "../../etc/passwd",
            "%2e%2e/%2e%2e/etc/passwd",
            "tile/../../x",
            "passwd",
            "tile",
            "tile?side=1&z=1&x=0&rows=0",
        ),
        *("tile?side=0&z=99&x=0&rows=0", "tile?side=0&z=1&x=-1&rows=0", "tile?side=0&z=1&x=0&rows=0-99999"),
        *(
            "tile?side=0&z=1&x=0&rows=a",
            "event?side=0&place=-1",
            "event?side=0&place=99999999",
            "names?side=0&numbers=1e9",
        ),
        *("curve?side=0&number=0&from=0&to=9&bins=5", "strip?side=0&text=a&from=0&to=9&bins=999999999"),
        *("hit?side=0&name=99999&number=1", "hit?side=0&text=a&number=nan", "find?side=0", "sum?" + "a=1&" * 50),
    ],
)
def test_what_is_asked_wrongly_is_refused(asked: str, session: Session) -> None:
    with pytest.raises(Refused):
        session.answer(f"/{session.token}/{asked}")


def test_no_credential_leaves_in_an_answer() -> None:
    secret = "hf_" + "abcdefghijklmnopqrstuvwxyz01234567"
    trace = build_trace([Event(f"load {secret}", "host_op", "host", 0, 5)], source="x", dialect="kineto")
    session = Session(b"", [build_index([Part(0, trace)])])
    for question in ("find?side=0&text=load", "event?side=0&place=0", "names?side=0&numbers=0"):
        _, content = session.answer(f"/{session.token}/{question}")
        assert b"load" in content and secret.encode() not in content


def test_it_ends_when_nobody_asks(session: Session) -> None:
    own = Session(session.page, session.sides)
    began = time.monotonic()
    assert serve(make_server(own), own, 0.4) == "idle"
    assert 0.3 < time.monotonic() - began < 60


def test_it_ends_when_it_is_asked_to(session: Session) -> None:
    own = Session(session.page, session.sides)
    made = make_server(own)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    try:
        threading.Timer(0.3, _thread.interrupt_main).start()
        assert serve(made, own, 60) == "stopped"
    finally:
        signal.signal(signal.SIGINT, before)
    with pytest.raises(OSError):
        ask(made, "/")


def test_a_port_that_is_taken(session: Session, server: ThreadingHTTPServer) -> None:
    with pytest.raises(WorkbookError, match="cannot be listened on"):
        make_server(session, server.server_address[1])
