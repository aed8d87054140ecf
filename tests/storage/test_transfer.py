"""Whole folders up and down: sums, what is wrong named, what is there not sent again."""

from __future__ import annotations

import hashlib
import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.storage.requests import Part
from ascend_workbook.storage.transfer import manifest
from ascend_workbook.storage.transfer.download import receive_files
from ascend_workbook.storage.transfer.files import Moved, PartialFile
from ascend_workbook.storage.transfer.upload import send_files
from tests.storage.conftest import HURRIED, Service

PART = 1 << 18
OPTIONS: dict[str, Any] = {"patience": HURRIED, "workers": 4, "part_bytes": PART}


def content(size: int, seed: int = 0) -> bytes:
    return random.Random(seed).randbytes(size)


def made(root: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return root


def up(source: Path, place: str) -> Moved:
    return send_files(source, place, **OPTIONS)


def down(place: str, folder: Path, **more: Any) -> Moved:
    return receive_files(place, folder, **{**OPTIONS, **more})


def tree(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and path.name != manifest.NAME
    }


SMALL = {"a/b.txt": b"one", "a/中 文+&.json": b"{}", "empty": b"", "x": content(200_000)}


def test_a_folder_comes_back_as_it_was(service: Service, tmp_path: Path) -> None:
    files = {**SMALL, "big": content(2 * PART + 7), "exact": content(2 * PART, 1)}
    sent = up(made(tmp_path / "in", files), f"{service.place}/runs/a")
    assert (len(sent.files), sent.requests, sent.kept) == (6, 4 + 3 + 2, 0)
    found = down(f"{service.place}/runs/a", tmp_path / "out")
    assert tree(tmp_path / "out") == files and not found.wrong and found.requests == 3 + 3 + 2
    told = json.loads((tmp_path / "out" / manifest.NAME).read_text())
    assert (told["count"], told["bytes"]) == (6, sum(map(len, files.values())))


def test_what_is_there_is_not_moved_again(service: Service, tmp_path: Path) -> None:
    files = {**SMALL, "big": content(2 * PART + 7)}
    source = made(tmp_path / "in", files)
    up(source, f"{service.place}/r")
    assert (again := up(source, f"{service.place}/r")).requests == 0 and again.kept == 5
    made(source, {"a/b.txt": b"two"})
    assert up(source, f"{service.place}/r").requests == 1
    down(f"{service.place}/r", tmp_path / "out")
    found = down(f"{service.place}/r", tmp_path / "out")
    assert (found.requests, found.kept) == (0, 5) and (tmp_path / "out/a/b.txt").read_bytes() == b"two"


def test_one_file_goes_to_its_name(service: Service, tmp_path: Path) -> None:
    source = made(tmp_path, {"gpu.zip": content(1000)}) / "gpu.zip"
    up(source, f"{service.place}/base/one.zip")
    up(source, f"{service.place}/base/")
    assert service.held() == ["base/gpu.zip", "base/one.zip"]
    down(f"{service.place}/base/one.zip", tmp_path / "got.zip")
    (tmp_path / "folder").mkdir()
    found = down(f"{service.place}/base/one.zip", tmp_path / "folder")
    assert found.path == tmp_path / "folder" / "one.zip" and found.unchecked == 0
    assert found.path.read_bytes() == (tmp_path / "got.zip").read_bytes() == source.read_bytes()


def test_an_object_that_is_another_is_named_and_gets_no_name(service: Service, tmp_path: Path) -> None:
    up(made(tmp_path / "in", SMALL), f"{service.place}/r")
    service.requests.write_object("r/a/b.txt", b"eno")
    service.requests.write_object("r/x", b"cut")
    service.requests.delete_object("r/empty")
    found = down(f"{service.place}/r", tmp_path / "out")
    assert found.wrong == {
        "a/b.txt": ("storage.wrong.sum", 3),
        "x": ("storage.wrong.size", 3),
        "empty": ("storage.wrong.missing", 0),
    }
    assert sorted(tree(tmp_path / "out")) == ["a/中 文+&.json"] and not (tmp_path / "out" / manifest.NAME).exists()


def test_without_its_manifest_a_folder_is_not_complete(service: Service, tmp_path: Path) -> None:
    service.requests.write_object("r/a", b"x")
    with pytest.raises(WorkbookError) as caught:
        down(f"{service.place}/r", tmp_path / "out")
    assert caught.value.key == "storage.incomplete" and "--unverified" in caught.value.hint("en")
    found = down(f"{service.place}/r", tmp_path / "out", unverified=True)
    assert found.unchecked == 1 and tree(tmp_path / "out") == {"a": b"x"}
    with pytest.raises(WorkbookError, match="nothing is there"):
        down(f"{service.place}/nowhere", tmp_path / "out")


def test_a_folder_of_one_that_was_sent(service: Service, tmp_path: Path) -> None:
    up(made(tmp_path / "in", SMALL), f"{service.place}/r")
    assert down(f"{service.place}/r/a", tmp_path / "out").path == tmp_path / "out"
    assert sorted(tree(tmp_path / "out")) == ["b.txt", "中 文+&.json"]


def test_the_manifest_goes_first_and_comes_last(service: Service, tmp_path: Path) -> None:
    source = made(tmp_path / "in", SMALL)
    up(source, f"{service.place}/r")
    made(source, {"y": content(2 * PART), "x": b"new"})
    service.fail({"method": "PUT", "match": "partNumber=2", "status": 503, "times": 99})
    with pytest.raises(WorkbookError, match="no good answer from .* in 4 attempts, the last: 503"):
        up(source, f"{service.place}/r")
    assert f"r/{manifest.NAME}" not in service.held()
    service.fail()
    assert up(source, f"{service.place}/r").requests <= 2 and f"r/{manifest.NAME}" in service.held()


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ({"files": {"../evil": {"bytes": 1, "sha256": "0" * 64}}}, "is refused"),
        ({"files": {"a": {"bytes": -1, "sha256": "0" * 64}}}, "expected bytes"),
        ({"files": {"a": {"bytes": 1, "sha256": "no"}}}, "expected bytes"),
        ({"files": []}, "AttributeError"),
        ({"kind": "other"}, "expected ascend-workbook"),
        ({"count": 7}, "are not those"),
    ],
)
def test_a_hostile_manifest_is_refused(service: Service, tmp_path: Path, told: dict[str, Any], why: str) -> None:
    good = json.loads(manifest.encode_manifest({"a": manifest.Entry(1, "0" * 64)}))
    service.requests.write_object(f"r/{manifest.NAME}", json.dumps({**good, **told}).encode())
    with pytest.raises(WorkbookError, match=why):
        down(f"{service.place}/r", tmp_path / "out")
    assert not (tmp_path / "evil").exists()


def test_names_that_cannot_stand_together_are_refused(service: Service, tmp_path: Path) -> None:
    for key in ("r/a", "r/a/b"):
        service.requests.write_object(key, b"x")
    with pytest.raises(WorkbookError, match="is a file and, by a/b"):
        down(f"{service.place}/r", tmp_path / "out", unverified=True)


def test_a_link_out_of_the_target_is_refused(service: Service, tmp_path: Path) -> None:
    up(made(tmp_path / "in", {"a/b": b"x"}), f"{service.place}/r")
    (tmp_path / "out").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out" / "a").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(WorkbookError, match="leaves the folder"):
        down(f"{service.place}/r", tmp_path / "out")


def test_what_is_no_file_is_not_sent(service: Service, tmp_path: Path) -> None:
    source = made(tmp_path / "in", SMALL)
    os.mkfifo(source / "pipe")
    with pytest.raises(WorkbookError, match="no regular file"):
        up(source, f"{service.place}/r")
    assert service.held() == []


def test_a_link_is_sent_where_it_leads_to_a_file_of_the_folder(service: Service, tmp_path: Path) -> None:
    source = made(tmp_path / "in", {"a/b": b"one", ".env": b"KEY=1"})
    targets = {"inside": "a/b", "folder": "a", "loop": "loop", "nothing": "none", "out": "/etc/hostname", "key": ".env"}
    for name, target in targets.items():
        (source / name).symlink_to(target)
    sent = up(source, f"{service.place}/r")
    assert sorted(sent.files) == ["a/b", "inside"] and service.requests.read_object("r/inside") == b"one"
    links = dict.fromkeys(("folder", "loop", "nothing", "out"), "link")
    assert sent.skipped == {**links, ".env": "private", "key": "private"}


def test_a_folder_that_cannot_be_listed_is_not_left_out(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, listed = made(tmp_path / "in", {**SMALL, "closed/x": b"x"}), os.scandir

    def scandir(path: str) -> Any:
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(PermissionError, match="closed"):
        up(source, f"{service.place}/r")
    assert service.held() == []


def test_a_full_disk_is_told_before_anything_comes(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    up(made(tmp_path / "in", SMALL), f"{service.place}/r")
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr("ascend_workbook.storage.transfer.download.shutil.disk_usage", lambda path: usage)
    with pytest.raises(WorkbookError, match="MiB are needed"):
        down(f"{service.place}/r", tmp_path / "out")
    assert not service.asked("GET", "/r/x")


def test_a_disk_that_fills_keeps_what_has_come(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    up(made(tmp_path / "in", {"big": content(4 * PART)}), f"{service.place}/r")
    write = PartialFile.write_part

    def full(self: PartialFile, number: int, data: bytes) -> None:
        if number == 3:
            raise OSError(28, "No space left on device")
        write(self, number, data)

    monkeypatch.setattr(PartialFile, "write_part", full)
    with pytest.raises(OSError, match="No space left"):
        down(f"{service.place}/r", tmp_path / "out", workers=1)
    assert not (tmp_path / "out" / "big").exists()
    monkeypatch.setattr(PartialFile, "write_part", write)
    assert down(f"{service.place}/r", tmp_path / "out").requests == 1


def test_parts_of_another_content_are_not_mixed_in(service: Service, tmp_path: Path) -> None:
    place, out = f"{service.place}/r", tmp_path / "out"
    up(made(tmp_path / "in", {"big": content(4 * PART)}), place)
    first = service.requests.head_object("r/big")
    begun = PartialFile(out / "big", first.bytes, PART, first.etag)
    begun.start_file()
    begun.write_part(0, content(PART))
    assert list(out.glob(".*.done.part"))
    up(made(tmp_path / "in", {"big": content(4 * PART, 9)}), place)
    assert down(place, out).requests == 4 and tree(out) == tree(tmp_path / "in")


def test_an_upload_begun_for_other_content_is_not_completed_as_ours(service: Service, tmp_path: Path) -> None:
    """Its parts so far are ours, but it bears the sum of a file whose end was another."""
    old, new = content(3 * PART), content(3 * PART)[:-5] + b"other"
    bucket, place = service.requests, f"{service.place}/r"
    upload = bucket.begin_upload("r/big", hashlib.sha256(old).hexdigest())
    for number in (1, 2):
        bucket.send_part("r/big", upload, number, old[(number - 1) * PART : number * PART])
    sent = up(made(tmp_path / "in", {"big": new}), place)
    assert sent.requests == 1 + 3 and not list(bucket.unfinished_uploads(""))
    assert not down(place, tmp_path / "out").wrong and tree(tmp_path / "out") == {"big": new}


def test_an_upload_of_another_machine_goes_on(service: Service, tmp_path: Path) -> None:
    """It writes another key of the bucket, and ends well although the whole bucket is sent to meanwhile."""
    bucket, data = service.requests, content(PART)
    upload = bucket.begin_upload("other/big", hashlib.sha256(data).hexdigest())
    part = Part(1, PART, bucket.send_part("other/big", upload, 1, data))
    bucket.begin_upload("x", "0" * 64)
    sent = up(made(tmp_path / "in", {"x": content(3 * PART)}), service.place)
    assert sent.left == ("other/big",) and list(bucket.unfinished_uploads("")) == [("other/big", upload)]
    bucket.complete_upload("other/big", upload, [part])
    assert bucket.read_object("other/big") == data
