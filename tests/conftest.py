"""What all tests share: pinned threads and CPU capability, the reference material, the simulator's environment."""

from __future__ import annotations

import os
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
    from helpers import cann, simulator

    real = cann.installed()
    if real:
        pytest.skip(f"CANN is installed in {real.root}: the simulator is not built here")
    assert simulator.is_built(), "the simulator is not built: run `make setup`"
    return dict(simulator.environment(base={**os.environ}))


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
