"""Object storage keeps the same interface as a folder, against a real server over loopback."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.storage import LocalStorage, Storage, open_storage
from ascend_workbook.storage.names import Address
from tests.storage.conftest import HURRIED, Service


def both(tmp_path: Path, service: Service) -> list[Storage]:
    return [LocalStorage(tmp_path / "local"), open_storage(f"{service.place}/runs/a")]


def test_both_storages_answer_alike(tmp_path: Path, service: Service) -> None:
    answers = []
    for storage in both(tmp_path, service):
        for name in ("step10/x", "step2/深 层+&.txt", "a1b", "a"):
            storage.write_text(name, f"content of {name} 中文")
        storage.write_bytes("empty", b"")
        with pytest.raises(FileNotFoundError):
            storage.read_bytes("missing")
        answers.append(
            [
                list(storage.list_children()),
                list(storage.list_children("step2")),
                list(storage.list_children("missing")),
                sorted(storage.list_files()),
                sorted(storage.list_files("step2")),
                storage.read_text("step2/深 层+&.txt"),
                storage.read_start("a", 3),
                storage.read_start("a", 3000),
                storage.read_start("empty", 3),
                storage.read_bytes("empty"),
                [storage.exists(name) for name in ("a", "step2", "step2/", "step", "missing", "")],
                storage.local_path("a").read_text(encoding="utf-8"),
                storage.identify("a") == storage.identify("a1b"),
            ]
        )
    assert answers[0] == answers[1]
    assert answers[0][0] == ["a", "a1b", "empty", "step2/", "step10/"] and answers[0][10] == [True] * 3 + [
        False,
        False,
        True,
    ]


def test_what_is_written_lies_below_the_prefix_alone(service: Service) -> None:
    open_storage(f"{service.place}/runs/a").write_text("b.txt", "x")
    assert service.held() == ["runs/a/b.txt"]
    assert list(open_storage(f"{service.place}/run").list_files()) == []


@pytest.mark.parametrize("name", ["../evil", "/etc/evil", "a/../../evil", "a//b", "a\0b", "a\nb", ".", "x" * 256])
def test_a_name_stays_inside(service: Service, name: str) -> None:
    with pytest.raises(WorkbookError) as caught:
        open_storage(f"{service.place}/root").write_text(name, "x")
    assert caught.value.key == "storage.key" and service.held() == []


@pytest.mark.parametrize("key", ["r/../../evil", "r//etc/evil", "r/a\u202eb", "r/./x"])
def test_a_hostile_key_is_refused_by_name(service: Service, key: str) -> None:
    service.requests.write_object(key, b"x")
    with pytest.raises(WorkbookError, match="is refused"):
        list(open_storage(f"{service.place}/r").list_files())


@pytest.mark.parametrize(
    "place", ["obs://", "obs://UPPER/x", "obs://a/x", "obs://bucket/a/../b", "obs://b..c/x", "runs/demo"]
)
def test_an_address_that_is_none_says_so(place: str) -> None:
    with pytest.raises(WorkbookError) as caught:
        Address.parse(place)
    assert caught.value.key == "storage.address"
    assert ("does not begin with obs://" in str(caught.value)) is (place == "runs/demo")


def test_more_objects_than_a_page_holds(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    bucket = service.requests
    for number in range(7):
        bucket.write_object(f"p/{number}/x", b"x")
    listed = bucket._client.listObjects
    monkeypatch.setattr(bucket._client, "listObjects", lambda *args, **more: listed(*args, **{**more, "max_keys": 2}))
    assert len(list(bucket.list_objects("p/"))) == 7 and len(bucket.list_level("p/")[1]) == 7


def test_a_bucket_that_is_not_there_says_so(service: Service) -> None:
    with pytest.raises(WorkbookError, match="no such bucket"):
        open_storage("obs://no-such-bucket-here/x").read_bytes("a")


def test_patience_is_bounded() -> None:
    assert 1 < HURRIED.attempts < 10
