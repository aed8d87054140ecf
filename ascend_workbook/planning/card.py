"""What a card leaves to PyTorch: how much of the memory it is sold with is seen, and how much lies outside PyTorch."""

from __future__ import annotations

import re

from ascend_workbook.estimates.chips import Chip
from ascend_workbook.findings.errors import WorkbookError

GIB = 1 << 30
#: PyTorch sees less than a card is sold with: of 64 GB 60.96, 60.97 or 61.27 GiB (`total capacity` in out-of-memory
#: messages: vllm-project/vllm-ascend issues 19 and 1670, hiyouga/LlamaFactory 5491, sgl-project/sglang 29838).
SEEN = 60.97 / 64
#: Bytes outside PyTorch: CANN, its context and HCCL. 0.55 GiB by an out-of-memory message of one card (zai-org/CogVideo
#: issue 63: 60.97 total, 26.61 reserved, 33.81 free), 0.57 and 1.5 to 1.8 in two public profiles (msinsight).
OUTSIDE = (0.55 * GIB, 1.8 * GIB)
#: What one communicator takes: two buffers of HCCL_BUFFSIZE, 200 MB where it is not set (HCCL's documentation).
COMMUNICATOR = 2 * 200 * 2**20
SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:([kmgt])(i?)b?)?\s*")
UNITS = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


def parse_memory(text: str | None, chip: Chip) -> float:
    """Return the bytes that a card is sold with: of `64GB`, in units of 1024; `60GiB` is what PyTorch sees of it.

    None is the chip's own. Raises WorkbookError for what is no size."""
    if text is None:
        return float(chip.memory_bytes)
    match = SIZE.fullmatch(str(text).lower())
    if match is None or not float(match[1]):
        raise WorkbookError("card.memory", given=str(text))
    size = float(match[1]) * UNITS[match[2] or "g"]
    return size if (match[2] or "g") == "g" and not match[3] else size / SEEN


def seen_bytes(sold: float) -> int:
    """Return the bytes that PyTorch sees of a card that is sold with so many."""
    return round(sold * SEEN)


def outside_bytes(communicators: int) -> tuple[int, int]:
    """Return the least and the most that lies outside PyTorch on a card, in bytes."""
    low, high = OUTSIDE
    return int(low), int(max(high, low + communicators * COMMUNICATOR))
