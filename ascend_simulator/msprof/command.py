"""The command line that torch_npu's parser uses: --export=on or --analyze=on, --output=PROF_..."""

from __future__ import annotations

import argparse
import csv
import io
import json
import sys
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from . import communication, tables, timeline
from .records import NotSimulated, Profile, read_profile

OUTPUT = "mindstudio_profiler_output"
TABLES: dict[str, Callable[[Profile], list[tables.Row]]] = {
    "api_statistic": tables.api_statistic,
    "op_statistic": tables.op_statistic,
    "task_time": tables.task_time,
    "op_summary": tables.op_summary,
}
#: torch_npu's parser looks for a table every 0.1 s. When this program has ended before it looked, the parser waits once
#: more, without listening, and then gives the whole export up (torch_npu 2.13, _task_manager.py: NON_BLOCKING tasks).
SEEN_S = 0.5
FAILED = 1


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser("msprof", description="Stand-in for CANN's msprof: profiles of the simulated NPU")
    parser.add_argument("--export", choices=("on", "off"), default="off", help="write the tables and the timeline")
    parser.add_argument("--analyze", choices=("on", "off"), default="off", help="write what the collectives took")
    parser.add_argument("--output", type=Path, help="the PROF_ folder")
    options = parser.parse_args(arguments)
    if options.output is None or "on" not in (options.export, options.analyze):
        print("msprof (simulated): there is only --export=on or --analyze=on, with --output=PROF_...", file=sys.stderr)
        return FAILED
    try:
        profile = read_profile(options.output)
    except NotSimulated as cause:
        print(f"msprof (simulated): {cause}", file=sys.stderr)
        return FAILED
    if options.export == "on":
        export_profile(profile)
    if options.analyze == "on":
        folder = profile.folder / "analyze"
        folder.mkdir(exist_ok=True)
        for name in ("communication", "communication_matrix"):
            facts = getattr(communication, f"{name}_facts")(profile)
            _write_file(folder / f"{name}.json", json.dumps(facts))
    return 0


def export_profile(profile: Profile) -> None:
    """Write the timeline, then the tables: torch_npu's parser goes on as soon as it sees a table."""
    output = profile.folder / OUTPUT
    output.mkdir(exist_ok=True)
    now = datetime.now().strftime("%Y%m%d%H%M%S")
    _write_file(output / f"msprof_{now}.json", json.dumps(timeline.make_events(profile)))
    for name, table in TABLES.items():
        _write_file(output / f"{name}_{now}.csv", _render_csv(table(profile)))
    time.sleep(SEEN_S)


def _render_csv(rows: list[tables.Row]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else ["Device_id"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _write_file(path: Path, text: str) -> None:
    """Write the file aside, then rename it: a reader never sees half a file, nor looks for the name aside."""
    aside = path.with_name(f".{path.name}.part")
    aside.write_text(text, encoding="utf-8")
    aside.chmod(0o640)
    aside.replace(path)
