"""Each kind of box in a running JupyterLab: moved, in both languages and themes; and what is left without it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
import pytest

from ascend_workbook.diagnose import explain
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.sentence import say
from ascend_workbook.profiling import analyse
from tests.browser import moves
from tests.browser.lab import Lab
from tests.browser.notebook import KERNEL, Opened, made, shown
from tests.conftest import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Browser

TRACE = ROOT / "tests" / "data" / "profiling" / "cuda.pt.trace.json"
OOM = "RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB (NPU 1; 60.97 GiB total capacity)"
SCRIPT = (
    "import torch\nimport flash_attn\n"
    + "".join(f"标签{number} = torch.zeros({number}).cuda()  # 第 {number} 行\n\n\n" for number in range(30))
    + 'y = torch.load("a.pt", map_location="cuda:0")\ntorch.cuda.synchronize()\n'
)
OTHER = "import torch\nx = torch.ones(2).cuda()\nprint(x)  # 另一个脚本\n"
CODE = {
    "findings": "from helpers import scan\nfrom helpers.boxes import findings_box\n"
    "findings_box(scan({folder!r} + '/train.py'), {lang!r})",
    "tolerance": "from pathlib import Path\nfrom ascend_workbook.findings.report import Report\n"
    "from helpers.boxes import tolerance_box\n"
    "tolerance_box(Report.from_json(Path({folder!r}, 'comparison.json').read_text()), {lang!r})",
    "timeline": "from ascend_workbook.profiling import analyse\nfrom helpers.boxes import timeline_view\n"
    "timeline_view(analyse({trace!r}), {lang!r})",
    "explain": "from helpers.boxes import explain_box\nexplain_box('', {lang!r})",
}
LIVE = "from helpers.boxes import LiveScale\nlive = LiveScale({lang!r})\nlive.box"
#: A training's lines, one in a quarter of a second.
GROW = """import time
from ascend_workbook.machine.launch import Progress
for step in range(1, 25):
    scale = 2 ** (16 if step % 8 == 0 else 15)
    line = f"step {step} loss {1 / step:.4f} loss_scale {scale}"
    live(Progress(step, 24, 1 / step, (line,)))
    time.sleep(0.25)"""
#: What stands below a box, in words that the box's reader would look for.
STILL = {"findings": "torch.zeros(", "tolerance": "torch.conv4", "timeline": "", "explain": ""}


def comparison() -> Report:
    """Eight operators, each with twice the error of the one before; the first is exactly what is allowed."""
    names = ("order", "step", "rank", "operator", "error_out", "own_error", "allowed", "judgement")
    rows = tuple((at, 0, 0, f"torch.conv{at}", 1e-6 * 2**at, 1e-6 * 2**at, 1e-6, "own") for at in range(8))
    found = Finding("ACC292", Status.LOOK, "factor.nothing")
    return Report("precision", "compare", (found,), Table(tuple(map(Column, names)), rows))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("scripts")
    (where / "train.py").write_text(SCRIPT, encoding="utf-8")
    (where / "other.py").write_text(OTHER, encoding="utf-8")
    (where / "comparison.json").write_text(comparison().to_json(), encoding="utf-8")
    return where


def move(kind: str, seen: Opened, folder: Path, lang: str) -> None:
    doing: dict[str, Any] = {
        "findings": lambda: moves.findings(seen, folder, "train.py", "other.py", lang),
        "tolerance": lambda: moves.tolerance(seen, comparison(), lang),
        "timeline": lambda: moves.timeline(seen, {part.verb: part for part in analyse(TRACE).parts}["timeline"]),
        "explain": lambda: moves.explained(seen, OOM, lang),
    }
    doing[kind]()


def notebook(server: Lab, folder: Path, kind: str, lang: str, before: str = "") -> Path:
    code = CODE[kind].format(folder=str(folder), trace=str(TRACE), lang=lang)
    return made(server.folder, f"{kind}-{lang}{'-broken' * bool(before)}", before + code, lang=lang)


@pytest.mark.parametrize("lang", ["zh", "en"])
@pytest.mark.parametrize("kind", CODE)
def test_a_box_is_moved(kind: str, lang: str, server: Lab, chromium: Browser, folder: Path, pictures: Path) -> None:
    dark = lang == "zh"
    with shown(chromium, server, notebook(server, folder, kind, lang), dark=dark) as seen:
        seen.run(120)
        assert seen.wrong() == []
        move(kind, seen, folder, lang)
        seen.picture(pictures, f"box-{kind}-{lang}")
        seen.theme(not dark)
        seen.picture(pictures, f"box-{kind}-{lang}-other-theme")
        assert seen.screen.boxes() == []
        assert (seen.screen.asked, seen.screen.complaints) == ([], [])


@pytest.mark.parametrize("kind", CODE)
def test_without_trust_or_kernel_the_same_stands_below(
    kind: str, server: Lab, chromium: Browser, folder: Path, pictures: Path
) -> None:
    with shown(chromium, server, notebook(server, folder, kind, "en")) as seen:
        seen.run(120)
        cells = seen.cells()
    kept = [{name: value for name, value in cell.items() if value is not None} for cell in cells]
    saved = nbformat.v4.new_notebook(cells=[nbformat.from_dict(cell) for cell in kept])
    saved.metadata["kernelspec"] = KERNEL
    file = server.folder / f"{kind}-read.ipynb"
    nbformat.write(saved, file)
    with shown(chromium, server, file) as seen:
        page = moves.text_of(seen.screen.page.locator(".jp-Notebook"))
        if kind == "timeline":
            assert seen.output(0).locator("img").evaluate("image => image.complete && image.naturalWidth") > 600
        else:
            assert say("explain.box.empty" if kind == "explain" else "box.asleep", "en") in page
        assert STILL[kind] in page and "VBox(" not in page and "Error displaying" not in page
        seen.picture(pictures, f"box-{kind}-untrusted")
        assert seen.screen.asked == []


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_the_loss_scale_is_drawn_while_a_training_prints(
    lang: str, server: Lab, chromium: Browser, pictures: Path
) -> None:
    """Another picture comes before the cell ends; when it has, the picture is that of all steps."""
    cells = (LIVE.format(lang=lang), GROW, "live.finish()\nprint(live.drawings)")
    with shown(chromium, server, made(server.folder, f"live-{lang}", *cells, lang=lang)) as seen:
        seen.begin()
        picture = seen.output(0).locator("img")
        early = picture.get_attribute("src")
        moves.wait(seen, "another picture", lambda: picture.get_attribute("src") != early)
        running = seen.cells()[2]
        assert running["execution_count"] is None, "the training still runs"
        seen.end(120)
        assert seen.wrong() == [] and int(moves.text_of(seen.output(2))) >= 3
        assert picture.evaluate("image => image.complete && image.naturalWidth") > 400
        seen.picture(pictures, f"box-live-{lang}")
        seen.theme(dark=True)
        seen.picture(pictures, f"box-live-{lang}-dark")
        assert (seen.screen.boxes(), seen.screen.asked, seen.screen.complaints) == ([], [], [])


def test_a_box_whose_handler_is_broken_is_told(
    server: Lab, chromium: Browser, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moves, "SECONDS", 3.0)
    broken = "import ascend_workbook.diagnose.box\nascend_workbook.diagnose.box.answer_text = lambda *given: 1 / 0\n"
    with shown(chromium, server, notebook(server, folder, "explain", "en", broken)) as seen:
        seen.run(120)
        assert seen.wrong() == []
        with pytest.raises(AssertionError, match="is not shown"):
            moves.explained(seen, OOM, "en")
    assert explain(OOM).verdict("en")
