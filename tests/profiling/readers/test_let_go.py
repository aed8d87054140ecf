"""What a reader held is let go of when it ends, and not when Python next looks for circles."""

from __future__ import annotations

import weakref

import pytest

from ascend_workbook.machine import native
from ascend_workbook.profiling.readers.columns import Collector
from ascend_workbook.profiling.readers.document import Document
from ascend_workbook.profiling.readers.loading import without_garbage_collection
from ascend_workbook.profiling.readers.native.scanner import Scanner
from tests.profiling.conftest import DATA


@pytest.mark.skipif(native.find_compiler() is None, reason="no C++ compiler")
def test_the_memory_of_the_scanner() -> None:
    with without_garbage_collection():
        scanner = Scanner()
        collector = Collector(scanner)
        for batch in Document(DATA / "cuda.pt.trace.json", scanner=scanner).read_batches():
            collector.take_batch(batch)
        events, known = collector.collect_events(), weakref.ref(scanner)
        del scanner, collector
        assert events.columns.name.size
        del events
        assert known() is None
