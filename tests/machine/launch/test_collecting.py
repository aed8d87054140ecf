"""What was imported is not looked through again; what the script makes is collected as ever."""

from __future__ import annotations

import gc
import weakref

from ascend_workbook.machine.launch.child.collecting import importing


class Ring:
    def __init__(self) -> None:
        self.self = self


def test_what_is_made_while_importing_stays_and_later_garbage_goes() -> None:
    try:
        with importing():
            assert not gc.isenabled()
            imported = weakref.ref(Ring())
        later = weakref.ref(Ring())
        gc.collect()
        assert gc.isenabled() and imported() is not None and later() is None
    finally:
        gc.unfreeze()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with importing():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
        gc.unfreeze()
