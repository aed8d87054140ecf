"""What one student does in a class, in a process and a home folder of their own: a Jupyter kernel on the simulated NPU
rests, then starts a training on two NPUs.

    python benchmarks/child/student.py FOLDER SCRIPT STEPS REST_SECONDS IMPORTS WORK

WORK is training, or exercise: the course's exercise on two ranks, with its solution, through its checker.
IMPORTS is what the kernel itself holds: helpers, as the notebooks do, or torch with a tensor on an NPU.

Writes what is going on into FOLDER/phase, and FOLDER/result.json at the end.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HELPERS = """import sys
sys.path.insert(0, {root!r})  # a kernelspec's PYTHONPATH takes the place of the session's
import ascend_workbook.profiling"""
TORCH = """
import torch, torch_npu
torch.ones(1000, 1000).npu().sum().item()"""
REST = """import time
time.sleep({rest})"""
TRAINING = """from pathlib import Path
from ascend_workbook.machine import device
from ascend_workbook.machine.launch import LaunchSpec, launch
spec = LaunchSpec(Path({folder!r}, "launch"), Path({script!r}), args=["--steps", {steps!r}], nproc=2, timeout_s=1500)
result = launch(spec.on(device.find("npu-simulated")))"""
RESULT = """import json
told = {{"ok": result.ok, "outcome": result.outcome, "trouble": result.trouble, "seconds": result.elapsed_s,
        "losses": [log.losses for log in result.logs], "devices": result.parameter_devices}}
Path({folder!r}, "told.json").write_text(json.dumps(told))"""
EXERCISE = """from course import check_task
exec({solution!r})
outcome = check_task("ranks", ranks_changes, run_dir={folder!r})
"""
JUDGED = """import json
from pathlib import Path
told = {{"ok": outcome.status == "done", "said": str(outcome)}}
Path({folder!r}, "told.json").write_text(json.dumps(told))"""


def main() -> None:
    import nbformat
    from nbclient import NotebookClient

    Path("/proc/self/oom_score_adj").write_text("1000")  # where memory runs out, none but students shall end
    folder, script, steps, rest, imports, work = Path(sys.argv[1]), *sys.argv[2:7]
    solutions = (ROOT / "notebooks" / "course" / "solutions" / "05_exercises.py").read_text(encoding="utf-8")
    names = {
        "root": str(ROOT),
        "folder": str(folder),
        "script": script,
        "steps": steps,
        "rest": rest,
        "solution": solutions.split("# %% ranks\n")[1].split("\n# %% ")[0],
    }
    first = HELPERS + TORCH if imports == "torch" else HELPERS
    last = (EXERCISE, JUDGED) if work == "exercise" else (TRAINING, RESULT)
    codes = dict(zip(("import", "rest", "training", "result"), (first, REST, *last)))
    cells = [nbformat.v4.new_code_cell(code.format(**names)) for code in codes.values()]
    client = NotebookClient(nbformat.v4.new_notebook(cells=cells), timeout=1800, kernel_name="ascend-npu-simulated")
    seconds: dict[str, float] = {}
    began = time.monotonic()
    with client.setup_kernel():
        seconds["kernel"] = time.monotonic() - began
        for number, phase in enumerate(codes):
            (folder / "phase").write_text(phase)
            began = time.monotonic()
            client.execute_cell(cells[number], number)
            seconds[phase] = time.monotonic() - began
    (folder / "phase").write_text("over")
    told = json.loads((folder / "told.json").read_text())
    (folder / "result.json").write_text(json.dumps({**told, "phases": seconds}))


if __name__ == "__main__":
    main()
