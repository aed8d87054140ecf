"""What the browser tests need: Playwright from pip, and a Chromium: the machine's own, else Playwright's.

python tests/browser/install.py    installs what is missing; ends with 2 and the next step where it cannot
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = ROOT / "requirements-browser.txt"
#: Path of the browser, where it is in no usual place.
SETTING = "ASCEND_WORKBOOK_CHROMIUM"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def chromium() -> str | None:
    """The path of a Chromium or Chrome; None where there is none."""
    told = os.environ.get(SETTING)
    if told:
        return told if Path(told).is_file() else None
    return next(filter(None, map(shutil.which, NAMES)), None) or _playwrights()


def missing() -> str:
    """What is not there, as a sentence; empty where the tests can run."""
    if importlib.util.find_spec("playwright") is None:
        return f"playwright is not installed: pip install -r {REQUIREMENTS.name}, or make test-browser"
    if chromium() is None:
        return f"there is no Chromium: install one (apt install chromium), or name it in {SETTING}"
    return ""


def _playwrights() -> str | None:
    if importlib.util.find_spec("playwright") is None:
        return None
    code = "from playwright.sync_api import sync_playwright as s\nwith s() as p: print(p.chromium.executable_path)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    path = done.stdout.strip()
    return path if Path(path).is_file() else None


def main() -> int:
    if importlib.util.find_spec("playwright") is None:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        if subprocess.run([*pip, "-r", str(REQUIREMENTS)], check=False).returncode:
            return stop("pip could not install playwright.", f"Install it by hand: pip install -r {REQUIREMENTS.name}")
    if os.environ.get(SETTING) and chromium() is None:
        return stop(f"{SETTING}={os.environ[SETTING]} is no file.", "Name the browser's executable, or unset it.")
    if chromium() is None and subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"]).returncode:
        return stop(
            "there is no Chromium, and `playwright install chromium` could not fetch one.",
            f"Install the system's (apt install chromium), or name one in {SETTING}.",
        )
    told = missing()
    if told:
        return stop(told, "Then start it again.")
    print(f"browser: {chromium()}")
    return 0


def stop(what: str, next_step: str) -> int:
    print(f"browser: {what}\nbrowser: next step: {next_step}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
