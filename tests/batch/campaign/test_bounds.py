"""Runs that die, hang, leave processes behind or take all memory: each ends as what it was, and the others go on."""

from __future__ import annotations

import psutil

from tests.batch.campaign.conftest import Start, item

NIGHT = (
    item("devours", memory_mb=400, retries=3),
    item("good", memory_mb=4000),
    item("leaves", run_timeout_s=6),
    item("dies", retries=0),
    item("dies_once", retries=1),
    item("good-strict", require="npu"),
)


def test_each_ends_as_what_it_was(start: Start) -> None:
    runs, lines = start(NIGHT, workers=3)
    assert {name: run.state for name, run in runs.items()} == {
        "devours": "out_of_memory",
        "good": "good",
        "leaves": "timed_out",
        "dies": "died",
        "dies_once": "good",
        "good-strict": "red",
    }
    assert runs["devours"].attempts == 1 and runs["devours"].peak_mb > 400
    assert runs["dies_once"].attempts == 2
    assert "RuntimeWarning" not in (start.folder / "good" / "log.txt").read_text()
    assert [note["say"] for note in runs["dies_once"].notes] == ["plan.tried"]
    assert runs["good-strict"].verdict["args"] == {"tier": "cpu", "required": "npu"}
    assert not any(
        line[:3] == ["sleep", "613"]
        for line in (one.info["cmdline"] for one in psutil.process_iter(["cmdline"]))
        if line
    )
    assert any(line.startswith("dies_once: try 1 of 2 ended (died") for line in lines)
