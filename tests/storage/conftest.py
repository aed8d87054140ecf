"""The server for all tests of object storage, a bucket of its own for each."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.storage.names import Address
from ascend_workbook.storage.requests import Bucket
from ascend_workbook.storage.retrying import Patience

#: Sought in every output and file of every test.
KEY, SECRET, TOKEN = "AKIDTESTTESTTESTTEST", "sekret/TestTestTestTestTest+TestTestTest12", "token-TESTTESTTEST-98765"
HURRIED = Patience(attempts=4, pause_s=0.02, timeout_s=10.0)


@dataclass(frozen=True)
class Service:
    """A bucket on the server, and what it was asked."""

    folder: Path
    bucket: str

    @property
    def place(self) -> str:
        return f"obs://{self.bucket}"

    @property
    def requests(self) -> Bucket:
        """By-passes nothing: the product's own requests."""
        return Bucket(self.bucket, HURRIED)

    def asked(self, *words: str) -> list[str]:
        """Requests so far to this bucket in which all words stand."""
        lines = (self.folder / "requests").read_text(encoding="utf-8").splitlines()
        return [line for line in lines if f"/{self.bucket}" in line and all(word in line for word in words)]

    def fail(self, *faults: dict[str, Any]) -> None:
        """From now on; `match` is sought in the path."""
        marked = [{"times": 1, "method": "GET", "match": "", **fault, "of": uuid.uuid4().hex} for fault in faults]
        (self.folder / "faults").write_text(json.dumps(marked))

    def held(self) -> list[str]:
        return [one.key for one in self.requests.list_objects("")]

    def address(self, key: str = "") -> Address:
        return Address(self.bucket, key)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """(folder of its requests and faults, address)."""
    for name in ("obs", "moto.server"):
        pytest.importorskip(name, reason=f"{name} is not installed: pip install -r requirements-dev.txt")
    folder = tmp_path_factory.mktemp("server")
    command = [sys.executable, str(Path(__file__).with_name("server.py")), str(folder)]
    env = {**os.environ, "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "S3_UPLOAD_PART_MIN_SIZE": "1000"}
    with (folder / "errors").open("wb") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=env)
    try:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        assert port, (folder / "errors").read_text()
        yield folder, f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def service(server: tuple[Path, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Service]:
    """A bucket, and the environment of who may use it."""
    from obs import ObsClient

    folder, address = server
    bucket = f"test-{uuid.uuid4().hex[:12]}"
    client = ObsClient(KEY, SECRET, server=address, path_style=True)
    assert client.createBucket(bucket).status == 200
    values = {
        "OBS_ACCESS_KEY_ID": KEY,
        "OBS_SECRET_ACCESS_KEY": SECRET,
        "OBS_SERVER": address,
        "OBS_SECURITY_TOKEN": TOKEN,
        "HOME": str(tmp_path / "home"),
    }
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    (folder / "faults").unlink(missing_ok=True)
    yield Service(folder, bucket)
    for file in tmp_path.rglob("*"):
        if file.is_file():
            data = file.read_bytes()
            assert not any(word.encode() in data for word in (SECRET, TOKEN, KEY)), f"a key stands in {file}"
