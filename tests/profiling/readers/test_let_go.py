"""What a reader held is let go of when it ends, and not when Python next looks for circles."""

from __future__ import annotations

import weakref

import pytest

from helpers import native
from helpers.profiling.readers.columns import Collector
from helpers.profiling.readers.document import Document
from helpers.profiling.readers.loading import uncollected
from helpers.profiling.readers.native.scanner import Scanner
from tests.profiling.conftest import DATA


@pytest.mark.skipif(native.compiler() is None, reason="no C++ compiler")
def test_the_memory_of_the_scanner() -> None:
    with uncollected():
        scanner = Scanner()
        collector = Collector(scanner)
        for batch in Document(DATA / "cuda.pt.trace.json", scanner=scanner).batches():
            collector.take(batch)
        events, known = collector.events(), weakref.ref(scanner)
        del scanner, collector
        assert events.columns.name.size
        del events
        assert known() is None
