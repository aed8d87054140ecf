"""Cards are given to one run at a time: of one runner, of two, and whatever the order in which they come and go."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from ascend_workbook.batch.campaign import cards
from ascend_workbook.batch.campaign.cards import Cards, Here, Taken, cards_for, is_lower_tier
from ascend_workbook.findings.errors import WorkbookError
from tests.batch.campaign.conftest import Start, item
from tests.conftest import ROOT

NPU = Here("npu", 4, {"tier": "npu", "torch": "1"})


@pytest.fixture(autouse=True)
def own_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cards.FOLDER, str(tmp_path / "cards"))
    for name in cards.VISIBLE.values():
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("seed", range(5))
def test_no_card_is_ever_held_twice(seed: int) -> None:
    """Two runners (each an allocator of its own) take and give at random; who is refused could not have been served."""
    draw = random.Random(seed)
    runners = [Cards("npu", tuple(range(6))), Cards("npu", (5, 4, 3, 2, 1, 0))]
    held: list[Taken] = []
    for _ in range(300):
        if held and draw.random() < 0.45:
            held.pop(draw.randrange(len(held))).give_back()
        wanted = draw.randint(1, 4)
        taken = draw.choice(runners).take_cards(wanted)
        used = [card for one in held for card in one.ids]
        assert (taken is None) == (6 - len(used) < wanted)
        if taken:
            assert len(taken.ids) == wanted
            held.append(taken)
            used += taken.ids
        assert len(set(used)) == len(used)
    for one in held:
        one.give_back()


def test_a_card_is_held_until_the_run_that_has_it_ended() -> None:
    """Also where its runner was killed: the lock goes with the last process that has it."""
    taken = Cards("npu", (0,)).take_cards(1)
    assert taken
    words = [sys.executable, "-c", "input()"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, pass_fds=taken.handles, cwd=ROOT) as process:
        taken.give_back()
        assert Cards("npu", (0,)).take_cards(1) is None and process.stdin
        process.stdin.write(b"\n")
    again = Cards("npu", (0,)).take_cards(1)
    assert again
    again.give_back()


def test_kinds_do_not_share_and_the_environment_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    npu, gpu = Cards("npu", (0,)).take_cards(1), Cards("cuda", (0,)).take_cards(1)
    assert npu and gpu and cards.make_visibility_variables("cuda", gpu.ids) == {"CUDA_VISIBLE_DEVICES": "0"}
    npu.give_back()
    gpu.give_back()
    assert cards.find_visible_cards("npu", 2) == (0, 1)
    monkeypatch.setenv("ASCEND_RT_VISIBLE_DEVICES", "6, 4")
    assert cards.find_visible_cards("npu", 2) == (6, 4) and cards.find_visible_cards("cuda", 1) == (0,)


@pytest.mark.parametrize("told", ["GPU-8f3c,GPU-77aa", "4,5,", "0,-1", "MIG-1"])
def test_cards_that_have_no_number_are_not_taken_for_the_first(told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", told)
    with pytest.raises(WorkbookError) as raised:
        cards.find_visible_cards("cuda", 2)
    assert raised.value.key == "plan.cards_by_name" and told in raised.value.message("zh")
    assert cards_for(item("good"), Here("cuda", 2, {}), (1,)) == Cards("cuda", (1,))


def test_every_user_of_the_machine_can_take_a_card(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the umask of who came first; and an existing file is opened without O_CREAT, which Linux may refuse."""
    before = os.umask(0o077)
    try:
        taken = Cards("npu", (0,)).take_cards(1)
    finally:
        os.umask(before)
    assert taken and (cards.lock_folder() / "npu-0.lock").stat().st_mode & 0o777 == 0o666
    taken.give_back()
    flags, opened = [], os.open
    monkeypatch.setattr(os, "open", lambda *words, **more: (flags.append(words[1]), opened(*words, **more))[1])
    again = Cards("npu", (0,)).take_cards(1)
    assert again and len(flags) == 1 and not flags[0] & os.O_CREAT
    again.give_back()


@pytest.mark.parametrize(
    ("tier", "ids", "count", "expected"),
    [
        ("npu", (), 1, (0, 1, 2, 3)),
        ("npu", (2, 3), 1, (2, 3)),
        ("npu", (), 0, None),
        ("cpu", (2,), 1, None),
        ("npu-simulated", (), 1, None),
        ("npu-simulated", (1,), 1, (1,)),
    ],
)
def test_who_needs_cards(tier: str, ids: tuple[int, ...], count: int, expected: tuple[int, ...] | None) -> None:
    found = cards_for(item("good", cards=count), Here(tier, 4, {}), ids)
    assert (found.ids if found else None) == expected


def test_a_tier_below_the_required() -> None:
    assert is_lower_tier("npu-simulated", "npu") and is_lower_tier("cpu", "cuda")
    assert not is_lower_tier("npu", "npu") and not is_lower_tier("npu", "cuda") and not is_lower_tier("cpu", "")


@pytest.mark.full
def test_runs_on_one_card_go_one_after_the_other(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a worker for each; one that needs none goes beside them, one that needs more than there are is red."""
    for module in ("cards", "local", "cluster", "conduct"):
        monkeypatch.setattr(f"ascend_workbook.batch.campaign.{module}.probe_device", lambda wanted: NPU)
    assert cards.probe_device("npu") is NPU
    runs, lines = start(
        [item("shows-a"), item("shows-b"), item("shows-c", cards=0), item("good-d", cards=3)],
        workers=3,
        plan={"card_ids": (3,)},
    )
    assert {name: run.cards for name, run in runs.items()} == {
        "shows-a": (3,),
        "shows-b": (3,),
        "shows-c": (),
        "good-d": (),
    }
    spans = {name: [float(word) for word in run_shown(start, name)[1:]] for name in ("shows-a", "shows-b", "shows-c")}
    assert spans["shows-a"][1] <= spans["shows-b"][0] and spans["shows-c"][0] < spans["shows-b"][0]
    assert run_shown(start, "shows-a")[0] == "3" and run_shown(start, "shows-c")[0] == "none"
    assert runs["good-d"].state == "red" and "shows-b: waits until 1 card(s) are free" in lines


def run_shown(start: Start, name: str) -> list[str]:
    return (start.folder / name / "shown").read_text().split()
