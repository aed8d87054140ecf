"""An S3-compatible server over loopback (moto), as a process of its own, that counts requests and fails on purpose.

`python server.py FOLDER` prints its port. Each request is a line of FOLDER/requests, of one that is answered as asked
once the bucket has it. FOLDER/faults is a list of
{"method", "match", "times", "status", "code", "cut", "reset", "lost", "garble", "body", "delay_s", "headers"} in JSON:
requests of that method whose path matches are answered so, that many times. `lost` does what was asked and answers
nothing, `garble` changes the first byte of the answer.
"""

from __future__ import annotations

import io
import json
import re
import socket
import struct
import sys
import threading
import time
from pathlib import Path
from typing import Any

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

LOCK, MOTO = threading.Lock(), threading.Lock()


class Quiet(WSGIRequestHandler):
    """One that writes no line per request."""

    def log(self, type: str, message: str, *args: Any) -> None: ...


class Faulty:
    """Around the real application."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.inner = DomainDispatcherApplication(create_backend_app)
        self.used: dict[str, int] = {}

    def __call__(self, environ: dict[str, Any], start: Any) -> Any:
        path = environ["PATH_INFO"] + ("?" + environ["QUERY_STRING"] if environ["QUERY_STRING"] else "")
        path = path.encode("latin-1").decode("utf-8", "replace")
        fault = self._fault(environ["REQUEST_METHOD"], path)
        line = f"{environ['REQUEST_METHOD']} {path} {'fault' if fault else 'ok'}\n"
        if fault is None:  # noted once it is done: whoever waits for the line finds what was sent
            answer = self._real(environ, start)
            self._note(line)
            return answer
        self._note(line)
        time.sleep(fault.get("delay_s", 0))
        if fault.get("lost"):
            self._real(environ, lambda *args: None)
        if fault.get("reset") or fault.get("lost"):
            environ["werkzeug.socket"].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            raise ConnectionResetError
        if "cut" in fault:
            return self._cut(environ, start, fault["cut"])
        if fault.get("garble"):
            (data,) = self._real(environ, start)
            return [bytes([data[0] ^ 1]) + data[1:]]
        if "status" not in fault:
            return self._real(environ, start)
        environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        told = f"<Error><Code>{fault.get('code', '')}</Code><Message>on purpose</Message></Error>"
        body = fault.get("body", told).encode()
        headers = [("Content-Type", "application/xml"), ("Content-Length", str(len(body)))]
        start(f"{fault['status']} Fault", [*headers, *fault.get("headers", {}).items()])
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]

    def _note(self, line: str) -> None:
        with LOCK, (self.folder / "requests").open("a", encoding="utf-8") as lines:
            lines.write(line)

    def _fault(self, method: str, path: str) -> dict[str, Any] | None:
        with LOCK:
            file = self.folder / "faults"
            for fault in json.loads(file.read_text()) if file.exists() else []:
                key = json.dumps(fault)
                fits = fault["method"] == method and re.search(fault["match"], path)
                if fits and self.used.get(key, 0) < fault["times"]:
                    self.used[key] = self.used.get(key, 0) + 1
                    return dict(fault)
        return None

    def _cut(self, environ: dict[str, Any], start: Any, count: int) -> Any:
        """The real answer's headers with fewer bytes of its body."""
        (data,) = self._real(environ, start)
        return [data[:count]]

    def _real(self, environ: dict[str, Any], start: Any) -> list[bytes]:
        """moto's answer. Its handler is one object that keeps the request at hand: one request at a time."""
        size = int(environ.get("CONTENT_LENGTH") or 0)
        body = environ["wsgi.input"].read(size)
        if len(body) < size or (environ["REQUEST_METHOD"] == "PUT" and not environ.get("CONTENT_LENGTH")):
            raise ConnectionResetError  # the client is gone, in its headers perhaps: http.server takes half of them
        environ["wsgi.input"] = io.BytesIO(body)
        environ["HTTP_AUTHORIZATION"] = "AWS key:sum"  # a real sum with four `/` names a service to moto
        with MOTO:
            return [b"".join(self.inner(environ, start))]


if __name__ == "__main__":
    server = make_server("127.0.0.1", 0, Faulty(Path(sys.argv[1])), threaded=True, request_handler=Quiet)
    print(server.server_port, flush=True)
    server.serve_forever()
