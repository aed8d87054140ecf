"""Warnings are counted by kind, whichever part of PyTorch prints them; messages for want of memory are known."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_workbook.migration.dry_run import count_warnings, shorten_text
from ascend_workbook.migration.dry_run.memory import NO_MEMORY, available_mib

OUTPUT = """train.py:3: UserWarning: step 12 is slow
train.py:9: UserWarning: step 13 is slow
  warnings.warn(message)
[W1122 02:46:27.123 compiler_depend.ts:77] Warning: AutoNonVariableTypeMode is gone (function operator())
FutureWarning in a sentence is none
"""


def test_kinds_are_counted_without_their_numbers() -> None:
    assert list(count_warnings(OUTPUT).values()) == [2, 1]


@pytest.mark.parametrize(
    ("message", "known"),
    [
        ("MemoryError ", True),
        ("RuntimeError [enforce fail at alloc_cpu.cpp:119] DefaultCPUAllocator: can't allocate memory: you", True),
        ("OutOfMemoryError NPU out of memory. Tried to allocate 2.00 GiB", True),
        ("numpy.core._exceptions._ArrayMemoryError Unable to allocate 74.5 GiB for an array", True),
        ("ValueError memory format must be contiguous", False),
    ],
)
def test_want_of_memory_is_known(message: str, known: bool) -> None:
    assert bool(NO_MEMORY.search(message)) is known


def test_a_container_may_have_less_than_the_machine(tmp_path: Path) -> None:
    meminfo, most, used = (tmp_path / name for name in ("meminfo", "max", "current"))
    meminfo.write_text("MemTotal: 4096000 kB\nMemAvailable:    2048000 kB\n", encoding="ascii")
    most.write_text(str(1500 * 2**20), encoding="ascii")
    used.write_text(str(500 * 2**20), encoding="ascii")
    assert available_mib(meminfo, []) == 2000 and available_mib(meminfo, [(str(most), str(used))]) == 1000
    most.write_text("max\n", encoding="ascii")
    assert available_mib(meminfo, [(str(most), str(used))]) == 2000
    assert available_mib(tmp_path / "none", []) is None


def test_a_long_warning_is_cut_between_words() -> None:
    text = "UserWarning: " + "several words " * 20
    cut = shorten_text(text)
    assert len(cut) <= 102 and cut.endswith("words …") and shorten_text("short") == "short"
    assert shorten_text("x" * 300) == "x" * 99 + " …"
    assert text.strip() in count_warnings(f"a.py:3: {text}\n")
