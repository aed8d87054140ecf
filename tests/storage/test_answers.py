"""Each request of a transfer fails in each way: right data or one clear error, and nothing half taken for good."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.storage.verb import check
from tests.storage.conftest import Service
from tests.storage.test_transfer import PART, content, down, made, tree, up

FILES = {"a": b"x" * 1000, "big": content(2 * PART + 9)}
#: Every kind of request of an upload, and of a download.
SENDS = [
    ("GET", r"\?prefix"),
    ("GET", "[?&]uploads"),
    ("PUT", "/r/a$"),
    ("POST", r"\?uploads"),
    ("PUT", "partNumber=2"),
    ("POST", "uploadId="),
    ("HEAD", "/r/big"),
    ("PUT", "transfer.json"),
]
FETCHES = [
    ("HEAD", "/r$"),
    ("HEAD", "transfer.json"),
    ("GET", "transfer.json"),
    ("GET", r"\?prefix"),
    ("GET", "/r/a$"),
    ("GET", "/r/big"),
]
BURST: list[dict[str, Any]] = [{"status": 502, "body": "<html>Bad Gateway</html>"}, {"lost": True}]
#: What a proxy answers that wants a login: good by its status, and here well-formed XML too.
LOGIN = {"status": 200, "body": "<html><body>log in, please</body></html>"}


def test_the_end_of_an_object_is_no_spoilt_object(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    bucket = service.requests
    bucket.write_object("r/a", b"0123456789")
    spans = {(): b"0123456789", (4,): b"456789", (4, 3): b"456", (0, 3): b"012"}
    assert {span: bucket.read_object("r/a", *span) for span in spans} == spans
    monkeypatch.setattr(bucket, "_sdk", SimpleNamespace(GetObjectHeader=lambda range: None))  # a service without ranges
    with pytest.raises(WorkbookError, match="all of the object came"):
        bucket.read_object("r/a", 4)


@pytest.mark.parametrize("fault", BURST, ids=["502", "lost"])
def test_a_burst_at_any_request_is_overcome(service: Service, tmp_path: Path, fault: dict[str, Any]) -> None:
    """All requests of both ways meet three in a row; `lost`: it was done, and the answer never came."""
    source = made(tmp_path / "in", FILES)
    service.requests.write_object("r/transfer.json", b"{}")
    service.fail(
        *(
            {"method": method, "match": match, "times": 3, **fault}
            for method, match in [*SENDS, ("DELETE", "transfer.json")]
        )
    )
    sent = up(source, f"{service.place}/r")
    assert len(sent.files) == 2 and len(service.asked("fault")) == 3 * (len(SENDS) + 1)
    service.fail(*({"method": method, "match": match, "times": 3, **fault} for method, match in FETCHES))
    found = down(f"{service.place}/r", tmp_path / "out")
    assert not found.wrong and tree(tmp_path / "out") == FILES
    assert len(service.asked("fault")) == 3 * (len(SENDS) + 1 + len(FETCHES))
    assert up(source, f"{service.place}/r").kept == 2 and not list(service.requests.unfinished_uploads(""))


@pytest.mark.parametrize(("method", "match"), SENDS)
def test_a_service_that_fails_for_good_leaves_nothing_that_passes_for_whole(
    service: Service, tmp_path: Path, method: str, match: str
) -> None:
    source, place = made(tmp_path / "in", FILES), f"{service.place}/r"
    service.fail({"method": method, "match": match, "times": 99, **LOGIN})
    if (method, match) == ("POST", "uploadId="):  # what is there is looked at, whatever was answered
        with pytest.raises((WorkbookError, FileNotFoundError), match="big"):
            up(source, place)
    else:
        with pytest.raises(WorkbookError, match=f"obs://{service.bucket}/.* in 4 attempts, .*proxy"):
            up(source, place)
    service.fail()
    with pytest.raises(WorkbookError, match="has not ended|transfer.json|nothing is there"):
        down(place, tmp_path / "out")
    up(source, place)
    assert not down(place, tmp_path / "out").wrong and tree(tmp_path / "out") == FILES


@pytest.mark.parametrize(("method", "match"), FETCHES)
def test_a_proxy_that_wants_a_login_is_no_object(service: Service, tmp_path: Path, method: str, match: str) -> None:
    up(made(tmp_path / "in", FILES), f"{service.place}/r")
    service.fail({"method": method, "match": match, "times": 99, **LOGIN})
    with pytest.raises(WorkbookError, match=f"obs://{service.bucket}/.* in 4 attempts, .*proxy"):
        down(f"{service.place}/r", tmp_path / "out")
    assert not (tmp_path / "out" / "transfer.json").exists()
    service.fail()
    assert not down(f"{service.place}/r", tmp_path / "out").wrong and tree(tmp_path / "out") == FILES


def test_bytes_that_change_on_the_way_are_fetched_anew(service: Service, tmp_path: Path) -> None:
    place = f"{service.place}/r"
    up(made(tmp_path / "in", FILES), place)
    service.fail(*({"match": match, "garble": True} for match in ("/r/a$", "/r/big$", "transfer.json")))
    assert not down(place, tmp_path / "out").wrong and tree(tmp_path / "out") == FILES
    service.fail({"method": "GET", "match": "/r/(a|big)$", "times": 99, "garble": True})
    found = down(place, tmp_path / "again")
    assert found.wrong == {name: ("storage.wrong.sum", len(data)) for name, data in FILES.items()}
    assert tree(tmp_path / "again") == {} and len(service.asked("GET", "/r/big", "fault")) == 1 + 2 * 3
    with pytest.raises(WorkbookError, match=r"/r/a: .* in 4 attempts, .*another SHA-256"):
        service.requests.read_object("r/a")
    assert set(check(place).wrong) == {"a", "big"}


def test_bytes_that_change_on_their_way_there_are_sent_again(service: Service, tmp_path: Path) -> None:
    service.fail({"method": "PUT", "match": "/r/a$", "times": 2, "status": 400, "code": "BadDigest"})
    up(made(tmp_path / "in", FILES), f"{service.place}/r")
    assert not down(f"{service.place}/r", tmp_path / "out").wrong


def test_an_etag_that_is_another_is_told(service: Service, tmp_path: Path) -> None:
    """A cache between that answers an older object under the same key."""
    place = f"{service.place}/r"
    up(made(tmp_path / "in", {"big": content(2 * PART)}), place)  # parts of one length: any may be asked for first
    service.fail({"method": "GET", "match": "/r/big$", "status": 206, "body": "y" * PART, "headers": {"ETag": '"old"'}})
    with pytest.raises(WorkbookError, match="/r/big was written to while it was fetched"):
        down(place, tmp_path / "out")
    assert "big" not in tree(tmp_path / "out") and not down(place, tmp_path / "out").wrong


@pytest.mark.parametrize("told", ["", "<NextMarker>r/0</NextMarker>"])
def test_a_listing_without_an_end_ends(service: Service, told: str) -> None:
    page = f"<ListBucketResult><Name>b</Name><IsTruncated>true</IsTruncated>{told}</ListBucketResult>"
    service.fail({"match": r"\?", "times": 99, "status": 200, "body": page})
    with pytest.raises(WorkbookError, match="lists without an end"):
        list(service.requests.list_objects("r/"))
    assert len(service.asked("GET", "fault")) <= 2


def test_a_page_that_fails_in_the_middle_of_a_listing(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    bucket = service.requests
    for number in range(5):
        bucket.write_object(f"p/{number}", b"x")
    listed = bucket._client.listObjects
    monkeypatch.setattr(bucket._client, "listObjects", lambda *args, **more: listed(*args, **{**more, "max_keys": 2}))
    service.fail({"match": "marker=", "times": 3, "status": 500})
    assert len(list(bucket.list_objects("p/"))) == 5
    service.fail({"match": "marker=", "times": 99, "status": 500})
    with pytest.raises(WorkbookError, match="in 4 attempts"):
        list(bucket.list_objects("p/"))


ODD = [
    "100%25 done",
    "a%2F..%2Fb",
    "%zz",
    "中文/损失 曲线（一）",
    "a+b&c=d#e?f",
    "...",
    "~$x;,'\"",
    "\\back",
    "é/e\u0301",
    "\U0001f389",
    "z" * 255,
    "/".join(["d" * 100] * 9),
]


def test_odd_names_come_back_as_they_went(service: Service, tmp_path: Path) -> None:
    files = {name: f"content of {name}".encode() for name in ODD}
    up(made(tmp_path / "in", files), f"{service.place}/奇 怪%20")
    assert not down(f"{service.place}/奇 怪%20", tmp_path / "out").wrong and tree(tmp_path / "out") == files
    assert up(tmp_path / "in", f"{service.place}/奇 怪%20").kept == len(ODD)


@pytest.mark.full
def test_more_than_a_thousand_keys(service: Service, tmp_path: Path) -> None:
    """The service's own pages hold 1,000."""
    files = {f"d{number % 7}/{number:05}": str(number).encode() for number in range(1205)}
    up(made(tmp_path / "in", files), f"{service.place}/r")
    assert len(service.asked("PUT", "/r/d")) == 1205
    found = down(f"{service.place}/r", tmp_path / "out")
    assert not found.wrong and tree(tmp_path / "out") == files
    assert up(tmp_path / "in", f"{service.place}/r").kept == 1205 and service.asked("GET", "marker=")


@contextmanager
def line(port: int, server: str, cut_after: int) -> Iterator[list[int]]:
    """Stands between as a network does: passes bytes both ways, and after so many of them is gone, listening too."""
    listener = socket.create_server(("127.0.0.1", port))
    passed, held = [0], [listener]

    def passing(source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(1 << 15):
                passed[0] += len(data)
                if passed[0] > cut_after:
                    for one in held:
                        one.shutdown(socket.SHUT_RDWR)
                        one.close()
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            return

    def accepting() -> None:
        with_port = urlsplit(server)
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            far = socket.create_connection((str(with_port.hostname), int(with_port.port or 0)))
            held.extend((near, far))
            for pair in ((near, far), (far, near)):
                threading.Thread(target=passing, args=pair, daemon=True).start()

    threading.Thread(target=accepting, daemon=True).start()
    try:
        yield passed
    finally:
        for one in held:
            one.close()


def test_a_network_that_goes_in_the_middle(service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refused from then on; the next start does the rest alone."""
    files = {"big": content(8 * PART), "small": b"1"}
    source, place, server = made(tmp_path / "in", files), f"{service.place}/r", os.environ["OBS_SERVER"]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    monkeypatch.setenv("OBS_SERVER", f"http://127.0.0.1:{port}")
    with line(port, server, 5 * PART), pytest.raises(WorkbookError, match="in 4 attempts") as caught:
        up(source, place)
    assert "what has arrived is kept" in caught.value.hint("en")
    monkeypatch.setenv("OBS_SERVER", server)
    rest = up(source, place)
    assert 0 < rest.moved < 8 * PART, "what had arrived was sent again"
    monkeypatch.setenv("OBS_SERVER", f"http://127.0.0.1:{port}")
    with line(port, server, 5 * PART), pytest.raises(WorkbookError, match="in 4 attempts"):
        down(place, tmp_path / "out")
    assert not (tmp_path / "out" / "big").exists()
    monkeypatch.setenv("OBS_SERVER", server)
    rest_down = down(place, tmp_path / "out")
    assert 0 < rest_down.moved < 8 * PART and tree(tmp_path / "out") == files


def test_a_bucket_that_is_gone_or_closed_is_one_error(service: Service, tmp_path: Path) -> None:
    source, place = made(tmp_path / "in", FILES), f"{service.place}-none/r"
    with pytest.raises(WorkbookError, match="no such bucket"):
        up(source, place)
    with pytest.raises(WorkbookError, match="no such bucket"):
        down(place, tmp_path / "out")
    denied = {"times": 99, "status": 403, "code": "AccessDenied"}
    service.fail({"method": "GET", **denied}, {"method": "HEAD", **denied})
    with pytest.raises(WorkbookError, match=f"obs://{service.bucket}/r.* not allowed") as caught:
        down(f"{service.place}/r", tmp_path / "out")
    assert "need to list" in caught.value.hint("en") and not (tmp_path / "out").exists()
    assert len(service.asked("fault")) == 1
