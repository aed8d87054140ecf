"""The command line of `setup`."""

from __future__ import annotations

from pathlib import Path

from ascend_workbook.cli.options import Row, Verb
from ascend_workbook.environment.installing import set_up
from ascend_workbook.environment.installing.report import write_kernel
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.report import TIERS, Report


def run(
    device: str = "auto",
    *,
    kernelspec: str | None = None,
    display_name: str = "",
    prefix: Path | None = None,
    force: bool = False,
) -> Report:
    """Plan, or write the kernel."""
    if kernelspec is not None:
        return write_kernel(kernelspec, device=device, display_name=display_name, prefix=prefix, replace=force)
    belong = {"--display-name": display_name, "--prefix": prefix, "--force": force}
    for option in (name for name, value in belong.items() if value):
        raise WorkbookError("command.belongs", option=option, needs="--kernelspec", verb="setup")
    return set_up(device, anywhere=True)


ROWS = {
    "device": Row(choices=("auto", *TIERS)),
    "kernelspec": Row(metavar="NAME"),
    "display_name": Row(metavar="TEXT"),
}
EXAMPLES = """
  ascend-workbook setup
  ascend-workbook setup --device npu --lang zh
  ascend-workbook setup --kernelspec ascend-npu
  ascend-workbook setup --kernelspec ascend-npu --display-name "Ascend NPU" --force
"""
VERB = Verb(run=run, rows=ROWS, examples=EXAMPLES)
