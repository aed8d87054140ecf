"""The simulated NPU as the engine knows it: seven names of the distribution `ascend_simulator`, and its errors as ours.

Without that distribution nothing is built, and what needs it says how to get it.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Callable, TypeVar, cast

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.machine import cann

__all__ = [
    "build_simulator",
    "simulator_environment",
    "is_built",
    "is_current",
    "simulator_location",
    "real_cann",
    "read_stamp",
]

Verb = TypeVar("Verb", bound=Callable[..., Any])


def import_distribution() -> Any:
    """Return the package `ascend_simulator`. Raises WorkbookError `simulator.not_installed` where there is none."""
    try:
        return import_module("ascend_simulator")
    except ModuleNotFoundError as cause:
        if cause.name != "ascend_simulator":
            raise
        raise WorkbookError("simulator.not_installed") from cause


def with_our_errors(verb: Verb) -> Verb:
    """Return the function raising WorkbookError where the simulator raises its own SimulatorError."""

    @functools.wraps(verb)
    def run_translated(*args: Any, **kwargs: Any) -> Any:
        import_distribution()
        from ascend_simulator.errors import SimulatorError

        try:
            return verb(*args, **kwargs)
        except SimulatorError as error:
            raise WorkbookError(error.key, **error.arguments) from error

    return cast(Verb, run_translated)


def is_installed() -> bool:
    """Return whether the distribution `ascend_simulator` is here."""
    try:
        return bool(import_distribution())
    except WorkbookError:
        return False


def real_cann(environ: Mapping[str, str] = os.environ) -> str:
    """Return the path that shows a real CANN or driver, which the simulator must not shadow; empty where none."""
    return str(import_distribution().real_cann(environ)) if is_installed() else cann.real_sign(environ)


def simulator_location() -> Path:
    """Return the simulator's folder: `$ASCEND_WORKBOOK_SIMULATOR`, else the one in this Python's environment."""
    return Path(import_distribution().location())


def tried_pairs() -> dict[str, str]:
    """Return the torch_npu of each torch that the simulator was tried with; none where its package is not there."""
    return dict(import_distribution().tried_pairs()) if is_installed() else {}


def is_built(where: Path | None = None) -> bool:
    """Return whether a whole build is there; whether it is up to date is the business of `build_simulator`."""
    return is_installed() and bool(import_distribution().is_built(where))


def read_stamp(where: Path | None = None) -> dict[str, object]:
    """Return what the build there was made from; empty where there is none."""
    return dict(import_distribution().stamp(where)) if is_installed() else {}


@with_our_errors
def is_current(where: Path | None = None) -> bool:
    """Return whether the build fits what is installed now. Raises WorkbookError where that cannot be told."""
    return bool(import_distribution().is_current(where))


@with_our_errors
def build_simulator(location: Path | None = None, *, force: bool = False) -> bool:
    """Build the simulator where it is missing or out of date; True if it was built now. Raises WorkbookError."""
    return bool(import_distribution().build(location, force=force))


@with_our_errors
def simulator_environment(
    devices: int | None = None,
    base: Mapping[str, str] | None = None,
    where: Path | None = None,
    *,
    force: bool = False,
    numerics: str | None = None,
    fault: str | None = None,
) -> dict[str, str]:
    """Return `base` (default: this process's environment) with what a child needs to see simulated NPUs.

    `devices` is their number (1 to 64; default 2), `numerics` cpu or ascend, `fault` a fault on purpose or a file of
    them. Raises WorkbookError `simulator.not_installed`, `simulator.not_built`, and `simulator.real_cann` where a real
    CANN or driver is, unless forced by `force` or ASCEND_WORKBOOK_SIM_FORCE=1.
    """
    options = {"force": force, "numerics": numerics, "fault": fault}
    return dict(import_distribution().environment(devices, base, where, **options))
