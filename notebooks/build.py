"""Builds notebooks/zh and notebooks/en from the jupytext sources in notebooks/source, and runs them; likewise
notebooks/course/zh and notebooks/course/en from notebooks/source/course.

A markdown cell tagged lang="zh" or lang="en" goes to that language only; code cells go to both, equal but for the
one `lang` line of the parameters cell and for captions: a first line `# English / 中文` is said in the notebook's
language, and is what JupyterLab shows of a cell that is collapsed. After the parameters comes the set-up cell, the same
in all: it runs notebooks/find_workbook.py, which every notebook carries in its metadata, so that one that was opened
alone finds the workbook. Outputs are committed, so that a reader needs no kernel.

    python notebooks/build.py                 only the cells (keeps the outputs of cells that have not changed)
    python notebooks/build.py --execute       run them too
    python notebooks/build.py --execute 01 03 only these
    python notebooks/build.py course/00       only this lesson
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import jupytext
import nbformat

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from ascend_workbook.modelarts import hosting, links

SOURCE = HERE / "source"
LANGUAGES = ("zh", "en")
FIND = HERE / "find_workbook.py"
LANG_LINE = 'lang: str = "en"'
#: A code cell's first line in both languages
CAPTION = re.compile(r"\A# (?P<en>[^\n]+?) / (?P<zh>[^\n]*[\u4e00-\u9fff][^\n]*)$", re.MULTILINE)
COLLAPSED = {"jupyter": {"source_hidden": True}}
#: The cell after the parameters: of notebooks as ours are named, the first that carries the finder has it run.
SET_UP = """# Set-up: finds the workbook, or fetches it / 准备：找到工作簿，没有时先获取
import json; from pathlib import Path
for note in Path().glob("0*.ipynb"): exec(json.loads(note.read_bytes())["metadata"].get("finder", ""), {})
from helpers.notebook import prepare; prepare(lang)"""
#: In find_workbook.py the place of ascend_workbook.modelarts.hosting.REPOSITORY.
NO_SOURCE = '"ASCEND_WORKBOOK_SOURCE", ""'
#: The pages with the table of launch links, and between which lines it stands.
PAGES = {lang: HERE.parent / "docs" / f"modelarts-notebook{end}.md" for lang, end in (("en", ""), ("zh", ".zh-CN"))}
MARKS = ("<!-- links -->", "<!-- /links -->")
#: A line's end at which no space belongs: behind Chinese punctuation, or between Chinese characters.
BROKEN = re.compile("[\u3001-\u303f\uff01-\uff65]\n|[\u4e00-\u9fff]\n[\u3001-\u303f\u4e00-\u9fff\uff01-\uff65]")
#: Lines that are no part of a paragraph, or begin one.
HEADS, BEGINS = re.compile(r"#|\||<"), re.compile(r"[-*+>|#<]\s|\d+[.)]\s|```|\||<|$")
#: Cell and notebook metadata that belongs to one execution on one machine.
VOLATILE = ("papermill", "execution", "widgets")


def sources() -> list[Path]:
    """The four stages' notebooks, then the course's."""
    return [*sorted(SOURCE.glob("*.py")), *sorted(SOURCE.glob("course/*.py"))]


def name_of(source: Path) -> str:
    """`01_environment`, or `course/01_environment`."""
    return source.relative_to(SOURCE).with_suffix("").as_posix()


def built(source: Path, lang: str) -> Path:
    """Where the notebook of one language lies: notebooks/zh/NAME.ipynb or notebooks/course/zh/NAME.ipynb."""
    return HERE / source.parent.relative_to(SOURCE) / lang / f"{source.stem}.ipynb"


def build(source: Path, lang: str) -> Any:
    """One language's notebook, without outputs; cell ids are the same in each build."""
    notebook = jupytext.read(source)
    cells = [cell for cell in notebook.cells if cell.metadata.get("lang", lang) == lang]
    for number, cell in enumerate(cells):
        cell.metadata.pop("lang", None)
        if lang == "zh" and cell.cell_type == "markdown":
            cell.source = joined(cell.source)
        if cell.cell_type == "code":
            cell.source = CAPTION.sub(lambda caption: f"# {caption[lang]}", cell.source)
        cell["id"] = hashlib.sha256(f"{source.stem}{number}".encode()).hexdigest()[:8]
        if "parameters" in cell.metadata.get("tags", []):
            if LANG_LINE not in cell.source:
                raise SystemExit(f"{source.name}: the parameters cell has no line {LANG_LINE!r}")
            cell.source = cell.source.replace(LANG_LINE, f'lang: str = "{lang}"', 1)
    first = [number for number, cell in enumerate(cells) if "parameters" in cell.metadata.get("tags", [])]
    if len(first) != 1:
        raise SystemExit(f"{source.name}: {len(first)} cells are tagged parameters, not one")
    cells.insert(first[0] + 1, set_up_cell(lang))
    notebook.cells = cells
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
            "language_info": {"name": "python"},
            "finder": finder(),
        }
    )
    notebook.nbformat_minor = 5
    return notebook


def joined(text: str) -> str:
    """Chinese prose with its broken lines joined: a browser shows a line's end as a space. Code in fences stays."""
    lines: list[str] = []
    fenced = False
    for line in text.split("\n"):
        fenced ^= line.startswith("```")
        begins = fenced or not lines or BEGINS.match(line.lstrip()) or HEADS.match(lines[-1])
        if not begins and BROKEN.match(f"{lines[-1][-1:]}\n{line.lstrip()}"):
            lines[-1] += line.lstrip()
        else:
            lines.append(line)
    return "\n".join(lines)


def set_up_cell(lang: str) -> Any:
    """The collapsed cell that runs the finder and adds what the kernel lacks."""
    source = CAPTION.sub(lambda caption: f"# {caption[lang]}", SET_UP)
    return nbformat.v4.new_code_cell(source, id="find", metadata=COLLAPSED)


def finder(repository: str = hosting.REPOSITORY) -> str:
    """The text that finds the workbook, or fetches it from where it is hosted."""
    text = FIND.read_text(encoding="utf-8")
    if NO_SOURCE not in text:
        raise SystemExit(f"{FIND.name}: no {NO_SOURCE!r}")
    told = json.dumps(repository, ensure_ascii=False)
    return text.replace(NO_SOURCE, f'"ASCEND_WORKBOOK_SOURCE", {told}', 1)


def strip(notebook: Any) -> Any:
    """Freed of what changes with every execution; execution counts stay, nbval compares nothing without them."""
    for name in VOLATILE:
        notebook.metadata.pop(name, None)
    notebook.metadata.language_info = nbformat.from_dict({"name": "python"})
    for number, cell in enumerate(notebook.cells):
        if "injected-parameters" in cell.metadata.get("tags", []):
            cell["id"] = f"injected{number}"
        for name in VOLATILE:
            cell.metadata.pop(name, None)
        if not cell.metadata.get("tags", True):
            del cell.metadata["tags"]
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    return notebook


def execute(notebook: Any, target: Path) -> Any:
    """Run through papermill with the parameters as they stand, in the environment in which nbval compares."""
    import papermill

    from tests.conftest import PINNED

    nbformat.write(notebook, target)
    os.environ.update(PINNED)
    try:
        papermill.execute_notebook(
            str(target), str(target), kernel_name="python3", progress_bar=False, cwd=str(target.parent)
        )
    finally:
        result = nbformat.read(target, 4)
    return strip(result)


def page(lang: str) -> str:
    """The walkthrough's page with the present table of launch links."""
    before, _, rest = PAGES[lang].read_text(encoding="utf-8").partition(MARKS[0])
    _, mark, after = rest.partition(MARKS[1])
    if not mark:
        raise SystemExit(f"{PAGES[lang].name}: no {' ... '.join(MARKS)}")
    return f"{before}{MARKS[0]}\n{links.render_markdown(lang)}\n{MARKS[1]}{after}"


def keep_outputs(fresh: Any, before: Path) -> Any:
    """Outputs of an earlier build, where every code cell is still the same; the set-up cell, which shows nothing, may
    be another."""
    if not before.is_file():
        return fresh
    old = [cell for cell in nbformat.read(before, 4).cells if cell.cell_type == "code"]
    new = [cell for cell in fresh.cells if cell.cell_type == "code"]
    if [(cell.id == "find" or cell.source) for cell in old] == [(cell.id == "find" or cell.source) for cell in new]:
        for mine, theirs in zip(new, old):
            mine.outputs, mine.execution_count = theirs.outputs, theirs.execution_count
    return fresh


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--execute", action="store_true", help="run the notebooks")
    parser.add_argument("which", nargs="*", help="beginnings of names, such as 01")
    args = parser.parse_args()
    for source in sources():
        if args.which and not name_of(source).startswith(tuple(args.which)):
            continue
        for lang in LANGUAGES:
            target = built(source, lang)
            target.parent.mkdir(parents=True, exist_ok=True)
            notebook = build(source, lang)
            done = execute(notebook, target) if args.execute else keep_outputs(notebook, target)
            nbformat.write(done, target)
            print(target.relative_to(HERE.parent))
    for lang, path in PAGES.items():
        path.write_text(page(lang), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
