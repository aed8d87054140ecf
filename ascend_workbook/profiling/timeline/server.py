"""The local page of a timeline: a server of this machine alone that cuts tiles while a reader looks.

It listens on the loopback address, answers below a path that nobody can guess, reads no file once it runs, and ends on
Ctrl-C or when no page has asked for a while (an open page asks twice a minute). All addresses of the page are relative,
so it works behind a proxy of Jupyter too."""

from __future__ import annotations

import hmac
import json
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.profiling.timeline import tiles
from ascend_workbook.profiling.timeline.index import Index
from ascend_workbook.profiling.timeline.modules import list_modules
from ascend_workbook.redaction.exits import redact

LOOPBACK = "127.0.0.1"
BINS = 1024
#: Most bins, rows, names and letters that one question may ask for
MOST_BINS, MOST_ROWS, MOST_NAMES, MOST_LETTERS = 4096, 2000, 1000, 400
LARGEST = 2**62
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
    "Content-Security-Policy": "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'",
}


class Refused(ValueError):
    """A question that is none of ours."""


@dataclass
class Session:
    """What a server answers from: the page as bytes, the sides' indexes; when it was last asked."""

    page: bytes
    sides: Sequence[Index]
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    asked: float = field(default_factory=time.monotonic)

    def answer(self, path: str) -> tuple[str, bytes]:
        """Return (type, content) for the path of a request. Raises Refused for what is none of ours."""
        parts = urlsplit(path)
        words = parts.path.split("/")
        if len(words) != 3 or not hmac.compare_digest(words[1].encode(), self.token.encode()):
            raise Refused(path)
        self.asked = time.monotonic()
        if words[2] == "":
            return "text/html; charset=utf-8", self.page
        if words[2] not in ANSWERS:
            raise Refused(path)
        try:
            asked = {name: values[-1] for name, values in parse_qs(parts.query, max_num_fields=12).items()}
            content = ANSWERS[words[2]](self, asked)
        except (KeyError, IndexError, OverflowError, ValueError) as error:
            raise Refused(path) from error
        if isinstance(content, bytes):
            return "application/octet-stream", content
        return "application/json", redact(json.dumps(content, ensure_ascii=False)).encode("utf-8", "backslashreplace")

    def side(self, asked: dict[str, str]) -> Index:
        return self.sides[_number(asked, "side", len(self.sides) - 1)]


def _number(asked: dict[str, str], name: str, most: int = LARGEST, least: int = 0) -> int:
    value = int(asked[name])
    if not least <= value <= most:
        raise Refused(name)
    return value


def _rows(asked: dict[str, str], index: Index) -> Any:
    """Return the rows that are asked for: `0-4,7`."""
    rows: list[int] = []
    for span in filter(None, asked["rows"].split(",")):
        first, _, last = span.partition("-")
        begin, end = int(first), int(last or first)
        if not 0 <= begin <= end < index.rows:
            raise Refused(span)
        rows += range(begin, end + 1)
    return np.array(sorted(set(rows)), np.int64)


def _names(asked: dict[str, str], index: Index) -> list[int]:
    if "name" in asked:
        return [_number(asked, "name", len(index.names) - 1)]
    numbers: list[int] = tiles.find_names(index, asked["text"][:MOST_LETTERS]).tolist()
    return numbers


def _answer_tile(session: Session, asked: dict[str, str]) -> bytes:
    index, width = session.side(asked), 2 ** _number(asked, "z", 60)
    rows = _rows(asked, index)[:MOST_ROWS]
    return tiles.cut_tile(index, _number(asked, "x") * BINS * width, width, BINS, rows).pack()


def _answer_strip(session: Session, asked: dict[str, str]) -> bytes:
    index = session.side(asked)
    begin, end = (_number(asked, name, least=-LARGEST) for name in ("from", "to"))
    counts = tiles.count_hits(index, _names(asked, index), begin, end, _number(asked, "bins", MOST_BINS, 1))
    return counts.astype("<i4").tobytes()


def _answer_curve(session: Session, asked: dict[str, str]) -> bytes:
    index = session.side(asked)
    begin, end = (_number(asked, name, least=-LARGEST) for name in ("from", "to"))
    number = _number(asked, "number", len(index.curves) - 1)
    return tiles.sample_curve(index, number, begin, end, _number(asked, "bins", MOST_BINS, 1)).astype("<f8").tobytes()


def _answer_hit(session: Session, asked: dict[str, str]) -> Any:
    index = session.side(asked)
    return tiles.find_hit(index, _names(asked, index), _number(asked, "number"))


def _answer_sum(session: Session, asked: dict[str, str]) -> Any:
    index = session.side(asked)
    numbers = _names(asked, index) if asked.get("text") else None
    rows = _rows(asked, index)
    return tiles.sum_window(index, _number(asked, "from"), _number(asked, "to"), rows, numbers)


def _answer_names(session: Session, asked: dict[str, str]) -> Any:
    names = session.side(asked).names
    return [names[_number({"at": number}, "at")] for number in asked["numbers"].split(",")[:MOST_NAMES]]


ANSWERS: dict[str, Callable[[Session, dict[str, str]], Any]] = {
    "tile": _answer_tile,
    "strip": _answer_strip,
    "curve": _answer_curve,
    "hit": _answer_hit,
    "sum": _answer_sum,
    "names": _answer_names,
    "find": lambda session, asked: tiles.search_names(session.side(asked), asked["text"][:MOST_LETTERS]),
    "first": lambda session, asked: tiles.find_first(session.side(asked), asked["name"], _number(asked, "after")),
    "event": lambda session, asked: tiles.describe_event(
        session.side(asked), _number(asked, "place", len(session.side(asked)) - 1)
    ),
    "modules": lambda session, asked: list_modules(session.side(asked)),
    "alive": lambda session, asked: {"alive": True},
}


def make_server(session: Session, port: int = 0) -> ThreadingHTTPServer:
    """Make the server of a session; port 0 takes one that is free. Raises WorkbookError where the port is taken."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        server_version, sys_version = "timeline", ""
        disable_nagle_algorithm, wbufsize = True, 2**16  # head and content leave together, at once

        def do_GET(self) -> None:
            try:
                kind, content = session.answer(self.path)
            except Refused:
                self._send(HTTPStatus.NOT_FOUND, "text/plain; charset=utf-8", b"")
                return
            self._send(HTTPStatus.OK, kind, content)

        def _send(self, status: HTTPStatus, kind: str, content: bytes) -> None:
            self.send_response(status)
            for name, value in {**HEADERS, "Content-Type": kind, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing: an address would stand in it."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Say nothing of a page that was closed while it was answered."""

    try:
        return Server((LOOPBACK, port), Handler)
    except OSError as error:
        raise WorkbookError("timeline.port_taken", port=port, error=error.strerror or str(error)) from error


def serve(server: ThreadingHTTPServer, session: Session, idle_s: float) -> str:
    """Serve until nobody has asked for `idle_s` seconds, or Ctrl-C; return which of both it was: idle or stopped."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.2}, daemon=True)
    thread.start()
    try:
        while time.monotonic() - session.asked < idle_s:
            time.sleep(min(0.5, idle_s))
        return "idle"
    except KeyboardInterrupt:
        return "stopped"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
