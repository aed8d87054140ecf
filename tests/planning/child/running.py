"""Runs code with the plugins that stand in for what is not on this machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from ascend_workbook.planning.rehearsal.stand_ins import StandIn, load_stand_ins

CHILD = Path(__file__).parents[3] / "ascend_workbook" / "planning" / "child"
START = """
import atexit, json, runpy, sys
from pathlib import Path
from ascend_workbook.machine.launch.child.offers import Offers
class Observer(Offers):
    out = Path("out")
    def on_end(self, call):
        atexit.register(call, "ok")
for path, config in json.loads(sys.argv[1]):
    runpy.run_path(path)["attach"](Observer(), config)
exec(compile(Path("train.py").read_text(), "train.py", "exec"))
"""


def run(
    folder: Path, code: str, *plugins: tuple[str, dict[str, object]], library: str = ""
) -> tuple[Any, list[StandIn], str]:
    """Run code with plugins by name, a folder beside the installed packages; return what its last line printed, the
    stand-ins, its errors."""
    (folder / "out").mkdir(exist_ok=True)
    (folder / "train.py").write_text(code)
    (folder / "start.py").write_text(START)
    done = subprocess.run(
        [sys.executable, "start.py", json.dumps([(str(CHILD / name), config) for name, config in plugins])],
        cwd=folder,
        env={"PYTHONPATH": str(folder / library) if library else "", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    lines = done.stdout.splitlines()
    facts = json.loads(lines[-1]) if done.returncode == 0 and lines else None
    return facts, load_stand_ins(folder / "out" / "stand_ins.jsonl"), done.stderr
