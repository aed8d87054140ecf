"""`x.type("torch.cuda.FloatTensor")`: transfer_to_npu replaces functions, and sees no name in a text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ascend_workbook.findings.finding import Edit
from ascend_workbook.migration.loop.curing import replace_node
from ascend_workbook.migration.loop.failure import Failure
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import ASCEND

SOURCE = ASCEND + "torch_npu/contrib/transfer_to_npu.py"
MESSAGES = ("Cannot initialize CUDA without ATen_cuda", "not compiled with CUDA", "type torch.cuda")
TYPE = re.compile(r"torch\.cuda\.(\w+Tensor)\Z")


def knows(failure: Failure) -> bool:
    return any(message in failure.message for message in MESSAGES)


def propose(failure: Failure) -> Iterator[tuple[Source, list[Edit]]]:
    for source in failure.walk_sources("torch.cuda."):
        yield (
            source,
            [
                replace_node(source, node, f'"torch.npu.{match.group(1)}"')
                for node, text in source.strings
                if (match := TYPE.match(text))
            ],
        )
