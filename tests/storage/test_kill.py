"""A transfer killed in the middle by SIGKILL, and started again: only what is missing goes, nothing half has a name."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.storage.conftest import KEY, SECRET, TOKEN, Service
from tests.storage.test_transfer import content, made, tree

PART = 1 << 20
BIG = 4 * PART + 1000


def start(*words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "ascend_workbook", "storage", *words]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Exit code and all that it printed, in which no key may stand."""
    out = process.communicate(timeout=60)[0]
    assert not any(word in out for word in (KEY, SECRET, TOKEN))
    return process.returncode, out


def killed(process: subprocess.Popen[str], when: Callable[[], bool]) -> None:
    """By SIGKILL, once it is so far; nothing of the command line may hold a key."""
    end = time.monotonic() + 60
    while not when():
        assert time.monotonic() < end and process.poll() is None, process.communicate()[0]
        time.sleep(0.02)
    line = Path(f"/proc/{process.pid}/cmdline").read_bytes()
    assert not any(word.encode() in line for word in (KEY, SECRET, TOKEN))
    process.kill()
    process.communicate()


def test_an_upload_killed_in_the_middle_sends_the_rest(service: Service, tmp_path: Path) -> None:
    source, place = made(tmp_path / "in", {"a/one": b"1", "big": content(BIG)}), f"{service.place}/r"
    service.fail({"method": "PUT", "match": "partNumber=[45]", "times": 999, "status": 503})
    arrived = lambda: service.asked("PUT", "partNumber", " ok")  # noqa: E731
    killed(start("upload", str(source), place, "--workers", "2", "--part-mib", "1"), lambda: len(arrived()) == 3)
    assert service.held() in (["r/a/one"], []) and len(list(service.requests.unfinished_uploads("r/"))) == 1
    service.fail()
    code, out = ended(start("upload", str(source), place, "--part-mib", "1"))
    assert code == 0, out
    numbers = sorted(int(line.split("partNumber=")[1][0]) for line in arrived())
    assert numbers == [1, 2, 3, 4, 5] and len(service.asked("POST", "/r/big?uploads ")) == 1
    assert not list(service.requests.unfinished_uploads("")) and "r/transfer.json" in service.held()
    assert ended(start("download", place, str(tmp_path / "out")))[0] == 0
    assert tree(tmp_path / "out") == tree(source)


@pytest.mark.full
def test_a_source_that_changed_after_the_kill_is_sent_anew(service: Service, tmp_path: Path) -> None:
    source, place = made(tmp_path / "in", {"big": content(3 * PART)}), f"{service.place}/r"
    service.fail({"method": "PUT", "match": "partNumber=3", "times": 999, "status": 503})
    arrived = lambda: service.asked("PUT", "partNumber", " ok")  # noqa: E731
    killed(start("upload", str(source), place, "--workers", "1", "--part-mib", "1"), lambda: len(arrived()) == 2)
    service.fail()
    with (source / "big").open("r+b") as stream:  # of the part that had not gone yet
        stream.seek(-5, 2)
        stream.write(b"other")
    assert ended(start("upload", str(source), place, "--part-mib", "1"))[0] == 0
    assert ended(start("verify", place))[0] == 0 and not list(service.requests.unfinished_uploads(""))
    assert service.requests.read_object("r/big", 3 * PART - 5) == b"other"


def test_a_download_killed_in_the_middle_fetches_the_rest(service: Service, tmp_path: Path) -> None:
    from tests.storage.test_transfer import up

    up(made(tmp_path / "in", {"a/one": b"1", "big": content(BIG)}), f"{service.place}/r")
    service.fail({"method": "GET", "match": "/r/big", "times": 999, "delay_s": 0.4})
    before = len(service.asked("GET", "/r/big"))
    record = tmp_path / "out"
    process = start("download", f"{service.place}/r", str(record), "--workers", "1", "--part-mib", "1")
    killed(process, lambda: any(len(path.read_text().splitlines()) >= 3 for path in record.glob(".*.done.part")))
    unfinished = {str(path.relative_to(record)) for path in record.rglob(".*.part")}
    assert tree(record).keys() - {"a/one"} == unfinished  # the small file may be whole by now, or not begun, or a part
    lines = next(record.glob(".*.done.part")).read_text().splitlines()
    service.fail()
    asked = len(service.asked("GET", "/r/big"))
    code, out = ended(start("download", f"{service.place}/r", str(record), "--part-mib", "1"))
    assert code == 0, out
    assert len(service.asked("GET", "/r/big")) - asked == 5 - (len(lines) - 1) and asked > before
    assert tree(record) == tree(tmp_path / "in") and not list(record.rglob("*.part"))


@pytest.mark.full
@pytest.mark.parametrize("moment", range(12))
def test_killed_at_any_moment(service: Service, tmp_path: Path, moment: int) -> None:
    """Both ways, at moments drawn over the length of a transfer; at most twice the work, and all is right at last."""
    files = {f"f{number}": content(200_000, number) for number in range(60)} | {"big": content(3 * PART)}
    source, place, out = made(tmp_path / "in", files), f"{service.place}/r", tmp_path / "out"
    for words in (("upload", str(source), place), ("download", place, str(out))):
        process = start(*words)
        time.sleep(0.8 + moment * 0.25)
        process.kill()
        process.communicate()
        for path in out.rglob("*"):
            if path.is_file() and not path.name.endswith(".part") and path.name != "transfer.json":
                assert path.read_bytes() == files[path.name]
        code, told = ended(start(*words))
        assert code == 0, told
    assert tree(out) == files and ended(start("verify", str(out)))[0] == 0
