"""Runs the little scripts of this folder."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from ascend_workbook.machine import device
from ascend_workbook.machine.launch import LaunchResult, LaunchSpec, Plugin, launch
from ascend_workbook.storage.names import read_user_output

HERE = Path(__file__).resolve().parent
SCRIPTS = HERE / "scripts"


def run(out: Path, script: str | Path, *args: str, **options: Any) -> LaunchResult:
    """Launches a script of scripts/ with its working folder in `out`."""
    work = out / "work"
    work.mkdir(parents=True, exist_ok=True)
    options.setdefault("env", device.child_environment("cpu"))
    return launch(LaunchSpec(out=out, script=SCRIPTS / script, args=args, **{"cwd": work, "timeout_s": 120, **options}))


def output(result: LaunchResult) -> str:
    return read_user_output(result.output_path)


def printed(result: LaunchResult, name: str) -> list[float]:
    """The numbers the script itself printed after a word."""
    return [float(number) for number in re.findall(rf"{name} (\S+)", output(result))]


def recorder(out: Path, **config: Any) -> tuple[Plugin, Path]:
    """The recording plugin and the file it will write."""
    return Plugin(HERE / "plugins" / "recorder.py", {"name": "told.json", **config}), out / "told.json"


def told(path: Path) -> list[Any]:
    content: list[Any] = json.loads(path.read_text(encoding="utf-8"))
    return content
