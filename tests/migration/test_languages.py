"""All that a migration report says, in both languages: no English sentence in Chinese, nothing Chinese in English."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.cli.commands.dry_run import print_step
from ascend_workbook.findings.finding import Finding
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import say, show, title
from ascend_workbook.machine.launch import Progress
from ascend_workbook.migration import api_map
from ascend_workbook.migration.assess import assess
from ascend_workbook.migration.dry_run.failed import explain_message
from ascend_workbook.migration.rewrite import rewrite
from ascend_workbook.migration.scan import scan
from ascend_workbook.show.cells import format_cell
from tests.migration.subjects import SUBJECTS

CJK = re.compile("[\u3400-\u9fff\u3000-\u303f\uff00-\uffef]")
#: Three words of English prose in a row; names, commands and what stands in backquotes are no prose.
PROSE = re.compile(r"(?<![\w./=_-])[a-z]{2,}(?: [a-z]{2,}){2,}(?![\w./=_])")
NO_PROSE = re.compile(r"`[^`]*`|https?://\S+|(?:pip|conda) install [\w -]+")
#: Columns and arguments that are the author's, not ours.
THEIRS = {"file", "code", "edit_before", "edit_after", "risk_first", "library", "versions_for", "tf_examples"}
GIVEN = {"code", "path", "first", "command", "error", "name", "value", "magic", "kind_of_file"}


def plain(value: Any) -> Any:
    """What a script's author wrote, without Chinese of his own."""
    if isinstance(value, dict) and "args" in value:
        return {**value, "args": {key: plain(each) for key, each in value["args"].items()}}
    if isinstance(value, list):
        return [plain(each) for each in value]
    return CJK.sub("x", value) if isinstance(value, str) else value


def said(finding: Finding, lang: str) -> Iterator[str]:
    args = {key: "x" if key in GIVEN and isinstance(each, str) else plain(each) for key, each in finding.args.items()}
    told = Finding(finding.rule, finding.status, finding.key, args)
    yield from (told.message(lang), told.hint(lang))
    for key in ("link", "versions", "use", "why"):
        yield show(args.get(key), lang)


def texts(report: Report, lang: str) -> Iterator[str]:
    yield report.title(lang)
    for finding in report.findings:
        yield from said(finding, lang)
    for column in report.table.columns if report.table else ():
        yield title(column.name, lang)
    for row in report.table.rows if report.table else ():
        for value, column in zip(row, report.table.columns if report.table else ()):
            if column.name not in THEIRS:
                yield format_cell(plain(value), column, lang)
    for part in report.parts:
        yield from texts(part, lang)


def wrong(text: str, lang: str) -> bool:
    return bool(CJK.search(text) if lang == "en" else PROSE.search(NO_PROSE.sub("", text)))


def examples() -> Iterator[tuple[str, str]]:
    """Every example of every rule as a file."""
    endings = {"config.yaml": "yaml", "Dockerfile": "Dockerfile", "run.sh": "sh"}
    for subject in SUBJECTS:
        for number, case in enumerate(case for case in subject.cases if case.marks):
            if subject.file == "requirements.txt":
                yield f"requirements-{number}.txt", case.code
            else:
                ending = "json" if case.code.startswith("{") else endings.get(subject.file, "py")
                yield f"{subject.code}_{number}.{ending}", case.code
    yield "inline.sh", "python - <<E\nimport torch\nx.cuda()\nE\npython - <<E\ntorch.cuda($x +)\nE\n"


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("every") / "r"
    root.mkdir()
    for name, text in examples():
        (root / name).write_text(text, encoding="utf-8")
    for number, library in enumerate(api_map.load_map("third_party")["names"]):
        (root / f"library_{number}.py").write_text(f"import {library}\n")
    (root / "requirements.txt").write_text("torch==1.13.1\ntorchvision\n")
    (root / "broken.py").write_text("import torch\nx = (torch.cuda\n")
    (root / "binary.py").write_bytes(b"torch.cuda\0")
    (root / "kernel.cu").write_text("")
    (root / "note.cfg").write_text("cuda\n")
    (root / "no.ipynb").write_text("[]")
    (root / "r.ipynb").write_text(json.dumps({"metadata": {"language_info": {"name": "R"}}, "cells": []}))
    cells = [{"cell_type": "code", "source": "%%cython\ncuda\n"}]
    (root / "c.ipynb").write_text(json.dumps({"cells": cells}))
    return root


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_report_speaks_one_language(repository: Path, lang: str) -> None:
    rewritten = [rewrite(repository, mode=mode) for mode in ("inject", "explicit")]
    reports = [scan(repository), assess(repository, ["manual"]), *rewritten]
    every = {text for report in reports for text in texts(report, lang)}
    assert len(every) > 300
    assert sorted(text for text in every if wrong(text, lang)) == []


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_advice_of_the_tables_speaks_one_language(lang: str) -> None:
    uses = {entry["use"] for name in ("third_party", "retired") for entry in api_map.load_map(name)["names"].values()}
    every = [say(f"migration.use.{use}", lang) for use in uses]
    every += [
        show(api_map.describe_alternative(entry)["link"], lang)
        for entry in api_map.load_map("third_party")["names"].values()
    ]
    every.append(show(explain_message("No module named 'flash_attn'"), lang))
    assert len(uses) > 20 and not [text for text in every if wrong(text, lang)]


def test_the_walk_can_fail() -> None:
    assert wrong("xformers：no build was found", "zh") and wrong("see 这里", "en")
    assert not wrong("请用 `python -m torch something else here` 或 npu-smi info", "zh")


def test_every_link_is_a_page_and_no_home(repository: Path) -> None:
    links = {finding.args["link"] for finding in scan(repository).findings if isinstance(finding.args.get("link"), str)}
    assert len(links) > 20
    for link in links:
        host, *path = str(link).removeprefix("https://").rstrip("/").split("/")
        deep = 3 if host in ("github.com", "gitcode.com") else 2
        assert str(link).startswith("https://") and (len(path) >= deep or path[-1].endswith(".html")), link


def test_progress_is_told_in_the_language(capsys: pytest.CaptureFixture[str]) -> None:
    for side in ("baseline", "target"):
        for lang in ("zh", "en"):
            print_step(side, Progress(3, 5, 1.25, ()), lang=lang)
            line = capsys.readouterr().err
            assert "1.25" in line and "3/5" in line and not wrong(line, lang)
            assert bool(CJK.search(line)) == (lang == "zh")
    print_step("npu", Progress(1, None, 2.0, ()), lang="zh")
    assert "npu：" in capsys.readouterr().err
