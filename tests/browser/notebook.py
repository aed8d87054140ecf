"""A notebook in JupyterLab, driven as a reader drives it, read from the model that the page holds."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat

from tests.browser.lab import Lab
from tests.browser.screen import TALLEST, WIDE, Screen, opened

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator

READY = """() => {
  const panel = window.jupyterapp?.shell.currentWidget;
  if (!panel?.context?.isReady || !panel.sessionContext?.isReady) return false;
  return panel.sessionContext.session?.kernel?.connectionStatus === 'connected';
}"""
RUN = """() => {
  window.workbookEnded = null;
  jupyterapp.commands.execute('notebook:run-all-cells').then(
    () => { window.workbookEnded = 'done'; }, error => { window.workbookEnded = String(error); });
}"""
CELLS = "() => jupyterapp.shell.currentWidget.content.model.sharedModel.toJSON().cells"
HEIGHT = """() => {
  const all = [...document.querySelectorAll('.jp-Notebook .jp-Cell')].map(cell => cell.getBoundingClientRect());
  return all.length ? all[all.length - 1].bottom - all[0].top : 0;
}"""
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}
#: What JupyterLab says where a box should be.
NOT_DRAWN = ("Error displaying widget", "Loading widget...", "[Open Browser Console")
#: Seconds for what takes one or two on a machine that nobody else uses.
PATIENCE = 180
THEMES = {False: "JupyterLab Light", True: "JupyterLab Dark"}


@dataclass
class Opened:
    """A notebook on the screen."""

    screen: Screen

    def run(self, seconds: float) -> None:
        """Runs all cells and waits for the end, however it comes."""
        self.begin()
        self.end(seconds)

    def begin(self) -> None:
        self.screen.page.evaluate(RUN)

    def end(self, seconds: float) -> None:
        self.screen.until("() => window.workbookEnded !== null", "all cells have run", seconds, self.place)

    def place(self) -> str:
        """Where a run is: the first code cell that has not ended, and the last that it printed."""
        for number, cell in enumerate(self.cells()):
            if cell["cell_type"] == "code" and cell["execution_count"] is None and "".join(cell["source"]).strip():
                source = "".join(cell["source"]).strip().splitlines()[0]
                said = "".join("".join(output.get("text", "")) for output in cell["outputs"])
                return f"At cell {number} ({source}), which said {said[-300:]!r}"
        return "Every cell has ended."

    def cells(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.screen.page.evaluate(CELLS)
        return found

    def wrong(self) -> list[str]:
        """What did not go well: errors in outputs, cells that never ran, boxes that are not drawn."""
        found = []
        for number, cell in enumerate(self.cells()):
            if cell["cell_type"] != "code" or not "".join(cell["source"]).strip():
                continue
            found += [
                f"cell {number}: {output['ename']}: {output['evalue']}"
                for output in cell["outputs"]
                if output["output_type"] == "error"
            ]
            if cell["execution_count"] is None:
                found.append(f"cell {number} was not run")
        text = self.screen.page.inner_text(".jp-Notebook")
        return found + [f"the page says {said!r}" for said in NOT_DRAWN if said in text]

    def output(self, cell: int) -> Locator:
        """The outputs of the code cell of this number, counted from 0, -1: the last."""
        return self.screen.page.locator(".jp-CodeCell").nth(cell).locator(".jp-Cell-outputArea")

    def theme(self, dark: bool) -> None:
        change = "name => jupyterapp.commands.execute('apputils:change-theme', {theme: name})"
        self.screen.page.evaluate(change, THEMES[dark])
        drawn = f"() => document.body.dataset.jpThemeName === {THEMES[dark]!r}"
        self.screen.until(drawn, f"the theme is {THEMES[dark]}", PATIENCE)

    def picture(self, folder: Path, name: str) -> Path:
        """Stores the whole notebook: the window is made as tall as it is."""
        page = self.screen.page
        # a busy machine draws late after a change of theme
        self.screen.until(f"() => ({HEIGHT})() > 0", "the notebook is drawn", PATIENCE)
        page.set_viewport_size({"width": WIDE, "height": min(TALLEST, int(page.evaluate(HEIGHT)) + 160)})
        page.evaluate("() => { for (const each of document.querySelectorAll('*')) each.scrollTop = 0; }")
        page.wait_for_timeout(400)
        return self.screen.picture(folder, name)


@contextlib.contextmanager
def shown(made: Browser, lab: Lab, notebook: Path, *, dark: bool = False) -> Iterator[Opened]:
    """A notebook of the server's folder opened, its kernel ready; the kernel ends with the block."""
    with opened(made, lab.address) as screen:
        screen.page.goto(lab.url(str(notebook.relative_to(lab.folder))))
        screen.until(READY, f"{notebook.name} is open and its kernel answers", PATIENCE)
        one = Opened(screen)
        one.theme(dark)
        try:
            yield one
        finally:
            lab.end_kernels()


def copied(source: Path, folder: Path, run_dir: Path) -> Path:
    """A copy whose results go to `run_dir`."""
    content = nbformat.read(source, 4)
    before = 'run_dir: str = "runs/notebook"'
    for cell in content.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
            if "parameters" in cell.metadata.get("tags", []):
                cell.source = cell.source.replace(before, f"run_dir: str = {str(run_dir)!r}")
    target = folder / source.parent.name / source.name
    target.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(content, target)
    return target


def made(folder: Path, name: str, *cells: str, lang: str = "en") -> Path:
    """A notebook of these code cells, under one heading."""
    heading = nbformat.v4.new_markdown_cell({"zh": "# 控件\n\n中文字符应能显示。", "en": "# Boxes"}[lang])
    content = nbformat.v4.new_notebook(cells=[heading, *map(nbformat.v4.new_code_cell, cells)])
    content.metadata["kernelspec"] = KERNEL
    nbformat.write(content, folder / f"{name}.ipynb")
    return folder / f"{name}.ipynb"
