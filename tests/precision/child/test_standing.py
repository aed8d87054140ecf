"""Where ranks stand: who waits for whom, and that a rank that no one will meet is found."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.precision.child import standing
from ascend_workbook.precision.child.standing import ENDED, PATIENCE_S, RUNNING, WAITING, Standing, meets


def waits(rank: int, operation: str = "all_reduce", number: int = 3, since: float = PATIENCE_S, **more: Any) -> Any:
    call = {"op": operation, "group": [0, 1], "number": number, "peer": None, **more}
    return {"rank": rank, "status": WAITING, "step": 1, "now": 100.0, "since": 100.0 - since, "place": "a:1", **call}


def stand(rank: int, status: str) -> Any:
    return {"rank": rank, "status": status, "step": 1, "now": 100.0, "place": "a:2"}


@pytest.mark.parametrize(
    ("other", "hangs"),
    [
        (waits(1), False),
        (waits(1, number=4), True),
        (waits(1, "broadcast"), True),
        (waits(1, "broadcast", since=1.0), False),
        (stand(1, ENDED), True),
        (stand(1, RUNNING), False),
    ],
)
def test_a_rank_hangs_where_all_stand_still_and_one_elsewhere(tmp_path: Path, other: Any, hangs: bool) -> None:
    told = Standing(tmp_path, 0, 2, lambda: None, lambda *_: "")
    assert told.find_hang({0: waits(0), 1: other}) is hangs
    assert not told.find_hang({0: waits(0)})


def test_what_one_sends_another_may_receive() -> None:
    left, right = waits(0, "send", number=1, peer=1), waits(1, "recv", number=7, peer=0)
    assert meets(left, right)
    assert not meets(left, {**right, "peer": 2})


def test_a_rank_tells_its_call_and_keeps_what_was_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standing, "EVERY_S", 0.01)
    monkeypatch.setattr(standing, "LONG_S", 0.02)
    kept: list[int] = []
    told = Standing(tmp_path, 0, 2, lambda: kept.append(1), lambda *_: "/x/train.py:7")
    told.enter("all_reduce", [0, 1], 4, None)
    told.leave()
    told.enter("broadcast", [0, 1], 5, 0)
    told.start()
    path = tmp_path / "standing.rank0.json"
    until = time.monotonic() + 20
    while not kept and time.monotonic() < until:
        time.sleep(0.01)
    content = json.loads(path.read_text())
    assert (content["status"], content["op"], content["number"], content["step"]) == (WAITING, "broadcast", 1, 5)
    assert content["place"] == "/x/train.py:7"
    told.end("failed")
    content = json.loads(path.read_text())
    assert (content["status"], content["op"]) == ("failed", "broadcast")
    assert len(kept) == 1
