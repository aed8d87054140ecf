"""What all tests share: pinned threads and CPU capability, the reference material, the simulator's environment."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

#: Kernels and children started by tests inherit these, so that printed losses do not depend on the machine's
#: number of cores or vector width.
PINNED = {
    "PYTHONHASHSEED": "0",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "ATEN_CPU_CAPABILITY": "default",
    "ONEDNN_MAX_CPU_ISA": "SSE41",
    "MKL_CBWR": "COMPATIBLE",
    "PYTHONWARNINGS": "ignore",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    "ASCEND_WORKBOOK_LANG": "en",
    "ASCEND_WORKBOOK_HEADLESS": "1",
    "MPLBACKEND": "Agg",
}
os.environ.update(PINNED)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """What gzip packed is named after its argument, not after its content: its header holds the time of day, and tests
    that are collected under other names in two processes cannot be shared out between them."""
    return argname if isinstance(val, bytes) and val.startswith(b"\x1f\x8b") else None


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference material beside the checkout; tests that need it skip where it is absent."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("the reference material ../shared is not on this machine")
    return folder


@pytest.fixture(scope="session")
def simulator_env() -> dict[str, str]:
    """The environment of a child that sees simulated NPUs. Its absence is a failure: `make setup` builds it."""
    from ascend_workbook.machine import cann, simulator

    real = cann.find_installed_cann()
    if real:
        pytest.skip(f"CANN is installed in {real.root}: the simulator is not built here")
    assert simulator.is_built(), "the simulator is not built: run `make setup`"
    return dict(simulator.simulator_environment(base={**os.environ}))


@contextlib.contextmanager
def started(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A Python module as a process of its own, ended with the block."""
    process = subprocess.Popen([sys.executable, "-m", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Dask scheduler with two workers, each a process of its own."""
    distributed, seconds = pytest.importorskip("distributed"), 60
    file = tmp_path_factory.mktemp("dask") / "scheduler.json"
    options = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file))
    with contextlib.ExitStack() as stack:
        stack.enter_context(started("distributed.cli.dask_scheduler", *options))
        where, end = "", time.monotonic() + seconds
        while not where and time.monotonic() < end:  # the file is there before all of it is written
            time.sleep(0.05)
            with contextlib.suppress(OSError, ValueError):
                where = json.loads(file.read_text())["address"]
        assert where, "the scheduler did not start"
        for _ in range(2):
            stack.enter_context(
                started(
                    "distributed.cli.dask_worker",
                    where,
                    "--nthreads",
                    "1",
                    "--no-nanny",
                    "--no-dashboard",
                    "--local-directory",
                    str(file.parent),
                )
            )
        with distributed.Client(where, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=seconds)
        yield where


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="run the tests marked `full` too")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "full: a longer suite, run by `make test-full`")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--full"):
        return
    for item in items:
        if item.get_closest_marker("full"):
            item.add_marker(pytest.mark.skip(reason="a longer suite: make test-full"))
