"""Makes ascend_workbook/selftest/data/baselines.json anew: the CPU's losses of all cases.

    python tests/selftest/make_baselines.py

Look at the difference before you commit it: the losses must change with a script or its arguments only.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from ascend_workbook.machine import device
from ascend_workbook.selftest import parts
from tests.conftest import PINNED


def main() -> None:
    os.environ.update(PINNED)
    cpu = device.find("cpu")
    known = json.loads(parts.BASELINES.read_text(encoding="utf-8"))
    for case in known["cases"]:
        script = parts.SCRIPTS / case["script"]
        with tempfile.TemporaryDirectory() as folder:
            result = parts.run_script(cpu, script, case["args"], case["steps"], Path(folder), parts.SCRIPT_TIMEOUT_S)
        if result.trouble is not None:
            raise SystemExit(f"{case['script']}: {result.trouble}")
        case["losses"] = result.losses
    known["torch"] = cpu.versions["torch"]
    parts.BASELINES.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
