"""A service that fails, lies or is another: asked again a bounded number of times, then told as what it is."""

from __future__ import annotations

import socket
import time
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.storage import open_storage
from ascend_workbook.storage.requests import Bucket
from ascend_workbook.storage.retrying import Patience
from tests.storage.conftest import HURRIED, KEY, SECRET, TOKEN, Service
from tests.storage.test_transfer import PART, content, down, made, tree, up


@pytest.mark.parametrize(
    "fault", [{"status": 500}, {"status": 503, "code": "SlowDown"}, {"reset": True}, {"status": 429}]
)
def test_three_failures_are_overcome(service: Service, tmp_path: Path, fault: dict[str, Any]) -> None:
    source = made(tmp_path / "in", {"a": b"x" * 1000, "big": content(PART + 9)})
    service.fail(
        {"method": "PUT", "match": "/a$", "times": 3, **fault},
        {"method": "PUT", "match": "partNumber=1", "times": 3, **fault},
    )
    up(source, f"{service.place}/r")
    service.fail({"match": "/a$", "times": 3, **fault}, {"match": "/big$", "times": 3, **fault})
    found = down(f"{service.place}/r", tmp_path / "out")
    assert not found.wrong and tree(tmp_path / "out") == tree(source)
    assert len(service.asked("PUT", "/r/a ", "fault")) == 3 and len(service.asked("GET", "/r/a ", "fault")) == 3


def test_an_answer_that_is_cut_short_is_asked_for_again(service: Service, tmp_path: Path) -> None:
    up(made(tmp_path / "in", {"big": content(PART + 9)}), f"{service.place}/r")
    service.fail({"match": "/r/big", "times": 2, "cut": 1000})
    assert not down(f"{service.place}/r", tmp_path / "out").wrong
    assert tree(tmp_path / "out") == tree(tmp_path / "in")


def test_it_ends_after_a_bounded_number(service: Service) -> None:
    service.fail({"match": "/x", "times": 99, "status": 500})
    bucket = service.requests
    with pytest.raises(WorkbookError, match=r"in 4 attempts, the last: 500") as caught:
        bucket.read_object("x")
    assert len(service.asked("GET", "/x")) == HURRIED.attempts and "Start again" in str(caught.value)


def test_a_service_that_is_not_there(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        monkeypatch.setenv("OBS_SERVER", f"http://127.0.0.1:{taken.getsockname()[1]}")
        with pytest.raises(WorkbookError, match="in 4 attempts, the last: ConnectionRefusedError"):
            service.requests.head_object("x")


def test_a_service_that_keeps_silent(service: Service) -> None:
    service.fail({"method": "GET", "match": "/x", "times": 9, "delay_s": 1.0, "status": 500})
    began = time.monotonic()
    with pytest.raises(WorkbookError, match=r"(?i)time.?out|timed out"):
        Bucket(service.bucket, Patience(attempts=2, pause_s=0.01, timeout_s=0.3)).read_object("x")
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_clock_that_is_wrong_is_told_as_that(service: Service, method: str) -> None:
    there = datetime.now(timezone.utc) + timedelta(hours=2)
    service.fail(
        {
            "method": method,
            "match": "/x",
            "times": 9,
            "status": 403,
            "code": "RequestTimeTooSkewed",
            "headers": {"Date": format_datetime(there, True)},
        }
    )
    bucket = service.requests
    with pytest.raises(WorkbookError, match=r"clock is 7(19|20)\d s behind") as caught:
        bucket.read_object("x") if method == "GET" else bucket.head_object("x")
    assert "timedatectl" in caught.value.hint("en") and "慢" in caught.value.message("zh")


@pytest.mark.parametrize(
    ("status", "code", "key"),
    [
        (403, "InvalidAccessKeyId", "storage.keys_refused"),
        (403, "SignatureDoesNotMatch", "storage.keys_refused"),
        (403, "AccessDenied", "storage.denied"),
        (400, "InvalidArgument", "storage.refused"),
        (404, "NoSuchBucket", "storage.no_bucket"),
    ],
)
def test_a_refusal_is_not_asked_for_again(service: Service, status: int, code: str, key: str) -> None:
    service.fail({"match": "/x", "times": 9, "status": status, "code": code})
    with pytest.raises(WorkbookError) as caught:
        service.requests.read_object("x")
    assert caught.value.key == key and len(service.asked("GET", "/x")) == 1


def test_an_answer_that_shows_the_keys_is_not_repeated(service: Service) -> None:
    service.fail({"match": "/x", "times": 9, "status": 400, "code": f"{KEY} {SECRET} {TOKEN}"})
    with pytest.raises(WorkbookError) as caught:
        service.requests.read_object("x")
    assert "***" in str(caught.value) and not any(word in str(caught.value) for word in (KEY, SECRET, TOKEN))


def test_an_object_that_changes_while_it_comes(service: Service, tmp_path: Path) -> None:
    bucket = service.requests
    bucket.write_object("x", b"old content")
    etag = bucket.head_object("x").etag
    bucket.write_object("x", b"new content")
    with pytest.raises(WorkbookError, match="was written to while it was fetched"):
        bucket.read_object("x", 0, 3, etag)


def test_a_file_that_changes_while_it_goes(service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = made(tmp_path / "in", {"a": b"x" * 100, "b": b"y" * 100})
    send = Bucket.write_object

    def put(self: Bucket, key: str, data: bytes, sha256: str = "") -> None:
        send(self, key, data, sha256)
        (source / "a").write_bytes(b"z" * 100)

    monkeypatch.setattr(Bucket, "write_object", put)
    with pytest.raises(WorkbookError, match="/a was written to while it was sent"):
        up(source, f"{service.place}/r")
    assert "r/transfer.json" not in service.held()


def test_the_package_is_not_there(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "obs", None)
    with pytest.raises(WorkbookError, match="-m pip install -c held.txt esdk-obs-python"):
        open_storage(f"{service.place}/r").read_bytes("x")
