"""msprobe beside it: its compare and first_diff_analyze on the same dumps, and its own record of the same networks."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from ascend_workbook.precision.capturing import manifest

ENVIRONMENT = {"MSPROBE_LOG_LEVEL": "4", "OPENBLAS_NUM_THREADS": "1"}
#: Records a network through the real msprobe. argv: name, seed, configuration.
RECORD = """
import sys
sys.path.insert(0, {root!r})
from msprobe.pytorch import PrecisionDebugger
from benchmarks.matrix import networks
model, loss = networks.build(sys.argv[1], int(sys.argv[2]))
debugger = PrecisionDebugger(config_path=sys.argv[3])
debugger.start(model=model)
loss(model).backward()
debugger.stop()
debugger.step()
"""


def compare(base: Path, target: Path, wanted: str) -> dict[str, str]:
    """`compare` and `-da` of msprobe: right, wrong, missed; quiet or flagged where nothing is wrong."""
    found = {}
    with tempfile.TemporaryDirectory() as out:
        sides = [str(side / manifest.DUMP / "step0") for side in (target, base)]
        command = [sys.executable, "-m", "msprobe.msprobe", "compare", "-tp", sides[0], "-gp", sides[1]]
        for tool, extra in (("compare", []), ("-da", ["-da"])):
            folder = Path(out, tool.strip("-"))
            folder.mkdir()
            subprocess.run(
                [*command, *extra, "-o", str(folder)],
                env={**os.environ, **ENVIRONMENT},
                check=False,
                capture_output=True,
            )
            named = _analysed(folder) if extra else _flagged(folder)
            right = bool(named) and named.startswith(wanted) if wanted else False
            found[tool] = (
                ("right" if right else "wrong" if named else "missed") if wanted else ("flagged" if named else "quiet")
            )
    return found


def _flagged(folder: Path) -> str:
    """The first row that msprobe does not let pass."""
    for path in folder.glob("*.csv"):
        with path.open(encoding="utf-8", newline="") as stream:
            for row in csv.DictReader(stream):
                if row.get("Result") in ("error", "warning"):
                    return row["NPU Name"]
    return ""


def _analysed(folder: Path) -> str:
    for path in folder.glob("diff_analyze*.json"):
        content = json.loads(path.read_text(encoding="utf-8"))
        for found in content.values():
            if found and isinstance(found, list):
                return str(found[0].get("op_name", ""))
    return ""


def real(name: str, folder: Path) -> bool:
    """Records the network through msprobe; whether every entry made here is there, with the same shapes and norms."""
    from benchmarks.matrix.cases import record
    from benchmarks.matrix.recorder import Tampering

    folder.mkdir()
    config = folder / "msprobe.json"
    own = {
        "task": "tensor",
        "dump_path": str(folder / "dump"),
        "rank": [],
        "step": [],
        "level": "L1",
        "tensor": {"scope": [], "list": [], "data_mode": ["all"]},
    }
    config.write_text(json.dumps(own), encoding="utf-8")
    code = RECORD.format(root=str(Path(__file__).resolve().parents[2]))
    subprocess.run(
        [sys.executable, "-c", code, name, "5", str(config)],
        env={**os.environ, **ENVIRONMENT},
        check=True,
        capture_output=True,
    )
    record(folder / "ours", name, 5, "none", Tampering())
    theirs, ours = (
        json.loads(next(folder.glob(f"{side}/step0/*/dump.json")).read_text(encoding="utf-8"))["data"]
        for side in ("dump", f"ours/{manifest.DUMP}")
    )
    odd = [key for key in ours if _shown(ours[key]) != _shown(theirs.get(key, {}))]
    print(f"real msprobe, {name}: {len(theirs)} entries, {len(ours)} here, {len(ours) - len(odd)} the same {odd[:6]}")
    return not odd


def _shown(entry: dict[str, object]) -> list[object]:
    return [
        (item.get("shape"), round(float(item.get("Norm") or 0), 4)) if isinstance(item, dict) else item
        for part in ("output",)
        for item in entry.get(part, [])
    ]  # type: ignore[attr-defined]
