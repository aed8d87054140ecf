"""The command line that captures one step of a run again, as its capture.json tells the run."""

from __future__ import annotations

from pathlib import PurePosixPath

from ascend_workbook.precision.capturing.withheld import shell_line
from ascend_workbook.precision.comparison import Side

#: Devices that `capture --device` takes by the name that a capture records.
DEVICES = ("npu", "npu-simulated", "cuda", "cpu")
#: Conditions of the simulated NPU, by the option that sets them.
CONDITIONS = {"--fault": "ASCEND_WORKBOOK_SIM_FAULT", "--numerics": "ASCEND_WORKBOOK_SIM_NUMERICS"}


def recapture_command(side: Side, step: int) -> str:
    """`ascend-workbook capture ... --task tensor` for this step alone; an empty string where the run was not recorded
    (a plain dump) or the device is not one that can be asked for."""
    about = side.about.about if side.about is not None else {}
    tier, args = str(about.get("tier", "")), about.get("args")
    if not about.get("script") or not isinstance(args, list) or tier not in DEVICES:
        return ""
    words = ["ascend-workbook", "capture", "--device", tier, "--task", "tensor", "--steps", str(step + 1)]
    words += ["--dump-steps", str(step)]
    for name in ("level", "seed", "nproc"):
        words += [f"--{name}", str(about[name])] if name in about else []
    force = about.get("settings")
    for option, name in CONDITIONS.items():
        words += [option, str(force[name])] if isinstance(force, dict) and force.get(name) else []
    script = PurePosixPath(str(about.get("root", ""))) / str(about["script"])
    return shell_line([*words, "--out", f"again-step{step}", str(script), *map(str, args)])
