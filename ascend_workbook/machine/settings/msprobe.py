"""MindStudio msprobe's own config_check on two records: its ConfigChecker packs and compares, in a child.

Its packer writes every variable of its process into the pack, keys and tokens too. The child therefore has the
recorded variables only, and no more. (In 26.2.0 its env sheet heads the two sides the wrong way round; pip's is right.)
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.machine import bounded
from ascend_workbook.machine.settings.record import Settings
from ascend_workbook.redaction.exits import redact
from ascend_workbook.storage import open_storage

CHILD = Path(__file__).with_name("child") / "config_check.py"
TIMEOUT_S = 180.0
#: What the child's interpreter needs to find its packages; it deletes them before msprobe packs.
NEEDED = ("PATH", "HOME", "PYTHONPATH", "LD_LIBRARY_PATH", "VIRTUAL_ENV")


def write_xlsx(left: Settings, right: Settings, path: Path, *, python: str = sys.executable) -> Path:
    """Write msprobe's result.xlsx (sheets: summary, env, pip) to `path`; `left` is its bench, the baseline.

    Raises WorkbookError `settings.no_msprobe` where it is not installed, `settings.msprobe_failed` where it fails.
    """
    if python == sys.executable and importlib.util.find_spec("msprobe") is None:
        raise WorkbookError("settings.no_msprobe", python=python)
    with tempfile.TemporaryDirectory(prefix="config-check-") as folder:
        work = Path(folder).resolve()
        (work / "sides.json").write_text(redact(json.dumps([asdict(left), asdict(right)])), encoding="utf-8")
        env = {name: os.environ[name] for name in NEEDED if name in os.environ}
        env.update(TORCH_DEVICE_BACKEND_AUTOLOAD="0", MSPROBE_LOG_LEVEL="3")
        done = bounded.run_bounded([python, str(CHILD), str(work)], env=env, timeout_s=TIMEOUT_S, cwd=str(work))
        result = work / "result" / "result.xlsx"
        if done.code or not result.is_file():
            if "No module named 'msprobe'" in done.stderr:
                raise WorkbookError("settings.no_msprobe", python=python)
            raise WorkbookError("settings.msprobe_failed", error=done.last_error)
        target = path.resolve()
        open_storage(str(target.parent)).write_bytes(target.name, result.read_bytes())
    return path
