"""Small notebooks that stand in for the four: each saves a report, fails, dies or turns red as told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Callable

import nbformat
import pytest

from ascend_workbook.batch.campaign.cards import Here
from ascend_workbook.batch.stages import NOTEBOOK_NAMES

PARAMETERS = """lang: str = "en"  # language
device: str = "auto"  # device
run_dir: str = "runs/x"  # results
steps: int = 3  # steps
rate: float = 0.5  # rate
fast: bool = False  # fast
script: str = ""  # script
baseline: str = ""  # baseline
"""
SAVE = """from pathlib import Path
from helpers.notebook import begin
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report
run = begin("{stage}", lang, run_dir, device)
found = Finding("RUN400", Status.{status}, "RUN400.stopped")
report = Report("{stage}", "run", (found,), tier="cpu", facts={{"steps": steps}})
run.save(report).or_raise()
Path(run_dir, "count-{stage}").open("a").write("x")
"""
#: What the second code cell of a stage's notebook does.
BODIES = {
    "good": SAVE.format(stage="{stage}", status="GOOD"),
    "red": SAVE.format(stage="{stage}", status="FIX"),
    "red_but_quiet": SAVE.format(stage="{stage}", status="FIX").replace(".or_raise()", ""),
    "warned": SAVE.format(stage="{stage}", status="LOOK"),
    "blind": SAVE.format(stage="{stage}", status="NOT_LOOKED"),
    "partly": SAVE.format(stage="{stage}", status="NOT_LOOKED").replace(
        "(found,)", "(found, Finding('RUN400', Status.GOOD, 'RUN400.not_run'))"
    ),
    "raises": "raise ValueError('boom')",
    "out_of_memory": "raise RuntimeError('NPU out of memory. Tried to allocate 2.00 GiB <&>')",
    "dies": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "exits": "import sys; sys.exit(0)",
    "hangs": "import time; time.sleep(60)",
    "leaves": "import subprocess, time\nsubprocess.Popen(['sleep', '613'], start_new_session=True)\ntime.sleep(60)",
    "hides": "import os, subprocess, time\nenv = {k: v for k, v in os.environ.items() if k != 'ASCEND_WORKBOOK_RUN'}\n"
    "subprocess.Popen(['setsid', 'sleep', '619'], env=env)\ntime.sleep(2)\n"
    + SAVE.format(stage="{stage}", status="GOOD"),
    "devours": "kept = []\nwhile True: kept.append(bytearray(8 << 20))",
    "dies_once": "from pathlib import Path\nif not Path(run_dir, 'died').exists():\n"
    "    Path(run_dir, 'died').touch()\n    import os, signal; os.kill(os.getpid(), signal.SIGKILL)\n"
    + SAVE.format(stage="{stage}", status="GOOD"),
    "shows": SAVE.format(stage="{stage}", status="GOOD") + "import os, time\nbegan = time.time()\ntime.sleep(0.5)\n"
    "visible = os.environ.get('ASCEND_RT_VISIBLE_DEVICES', 'none')\n"
    "Path(run_dir, 'shown').write_text(visible + ' ' + str(began) + ' ' + str(time.time()))",
    "lingers": "import subprocess, time\nsubprocess.Popen(['sleep', '613'], start_new_session=True)\ntime.sleep(8)\n"
    + SAVE.format(stage="{stage}", status="GOOD"),
    "fills": "from pathlib import Path\nimport time\nwith Path(run_dir, 'filled').open('wb') as stream:\n"
    "    stream.write(bytes(30 << 20))\ntime.sleep(30)",
    "waits": "import time; time.sleep(1.5)\n" + SAVE.format(stage="{stage}", status="GOOD"),
    "silent": "x = 1",
}
#: One that does what the name of its run says, up to a `-`: runs of one plan that differ.
BODIES["as_named"] = f"from pathlib import Path\nexec({BODIES!r}[Path(run_dir).name.split('-')[0]])"


@pytest.fixture
def notebooks(tmp_path: Path) -> Callable[..., Path]:
    """`notebooks(environment="good", migration="dies")` makes them; the folder that holds `en/`."""

    def make(**bodies: str) -> Path:
        folder = tmp_path / "notebooks"
        (folder / "en").mkdir(parents=True, exist_ok=True)
        for number, (stage, body) in enumerate(bodies.items(), 1):
            parameters = nbformat.v4.new_code_cell(PARAMETERS, metadata={"tags": ["parameters"]})
            code = BODIES[body].replace("{stage}", stage).replace("{{", "{").replace("}}", "}")
            book = nbformat.v4.new_notebook(cells=[parameters, nbformat.v4.new_code_cell(code)])
            book.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
            nbformat.write(book, folder / "en" / f"{number:02}_{NOTEBOOK_NAMES.get(stage, stage)}.ipynb")
        return folder

    return make


@pytest.fixture(autouse=True)
def steady_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests are about running notebooks, not about what is installed."""
    versions = {"tier": "cpu", "torch": "1"}
    monkeypatch.setattr("ascend_workbook.batch.workbook.device_versions", lambda wanted: versions)
    for module in ("cards", "local", "cluster", "conduct"):
        monkeypatch.setattr(
            f"ascend_workbook.batch.campaign.{module}.probe_device", lambda wanted: Here("cpu", 1, versions)
        )


def saved(folder: Path, name: str) -> dict[str, object]:
    data: dict[str, object] = json.loads((folder / name).read_text())
    return data
