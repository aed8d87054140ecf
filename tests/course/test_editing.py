"""Changes of a script: what is no change, or none that can be made, is told before anything runs."""

from __future__ import annotations

from typing import Any

import pytest

from ascend_workbook.findings.errors import WorkbookError
from course.exercises.editing import apply_edits, original
from course.tasks import loop, ranks, script

BEFORE = 'import torch\nprint("中文", 1)\nprint(2)\n'


def test_pairs_and_whole_texts() -> None:
    assert apply_edits([("2", "3")], BEFORE) == BEFORE.replace("2", "3")
    assert apply_edits(BEFORE + "print(4)\n", BEFORE) == BEFORE + "print(4)\n"
    windows = "\ufeff" + BEFORE.replace("\n", "\r\n")
    assert apply_edits(windows + "print(4)\r\n", BEFORE) == BEFORE + "print(4)\n"
    assert apply_edits([("1)\r\nprint(2)", "1)\r\nprint(3)")], BEFORE) == BEFORE.replace("2", "3")


@pytest.mark.parametrize(
    ("answer", "key"),
    [
        (3, "kind"),
        ({"2": "3"}, "kind"),
        ([("2",)], "pair"),
        (["23"], "pair"),
        ([("2", 3)], "pair"),
        ([("nowhere", "")], "count"),
        ([("print", "p")], "count"),
        ([("", "x")], "count"),
        ([], "unchanged"),
        (BEFORE, "unchanged"),
        ([("2)", "2")], "syntax"),
        ("import torch\0", "syntax"),
        ("print(1)", "other"),
        ("import torch" + " " * 300_000, "large"),
    ],
)
def test_what_is_no_change_is_told(answer: Any, key: str) -> None:
    with pytest.raises(WorkbookError) as refused:
        apply_edits(answer, BEFORE)
    assert refused.value.key == f"course.edit.{key}"


def test_the_scripts_hold_what_the_tasks_ask_about() -> None:
    assert all(asked in original(script.SCRIPT) for asked, _ in script.AS_ON_GPU)
    given = original(script.SCRIPT)
    assert script.as_on_gpu(given).count("True") == given.count("True") + 2
    assert str(ranks.PORT) in original(ranks.SCRIPT) and ranks.FIXED.search(original(ranks.SCRIPT))
    assert "--seed" in original(loop.SCRIPT)


@pytest.mark.parametrize(
    ("line", "fixed"),
    [
        ('init_method="tcp://127.0.0.1:29501"', True),
        ("os.environ['MASTER_PORT'] = '29501'", True),
        ('os.environ.setdefault("MASTER_PORT", "29501")', False),
        ('init_method="env://"', False),
        ('port = os.environ["MASTER_PORT"]', False),
    ],
)
def test_a_port_of_ones_own_is_seen(line: str, fixed: bool) -> None:
    assert bool(ranks.FIXED.search(line)) is fixed
