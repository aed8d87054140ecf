"""A browser of this machine, started anew for each page."""

from __future__ import annotations

import shutil

import pytest


@pytest.fixture(scope="session")
def browser() -> str:
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.skip("no chromium or chrome is installed on this machine")
    return found
