"""Code as a page shows it: the same lines, the change between them, and no file that is not the one looked at."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import nbformat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.report import Report
from ascend_workbook.migration.kept import keep_sources
from ascend_workbook.migration.rewrite import rewrite
from ascend_workbook.migration.scan import scan
from ascend_workbook.page import code
from ascend_workbook.page.code import SourceFile, collect_sources, describe_code, placed_findings

TEXTS = st.lists(
    st.sampled_from(["x = 1", "", "  # 注释 comment", 'print("a")', "def f(): return '''", "'''", "\ty"]), max_size=9
)
SCRIPT = "import torch\n\nmodel = torch.nn.Linear(2, 2).cuda()\n张量 = torch.zeros(2, device='cuda')  # 注释\n"


def text_of(tokens: list[str]) -> str:
    return "".join(tokens[1::2])


@settings(deadline=None)
@given(TEXTS, TEXTS, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_lines_are_those_of_the_file_and_operations_lead_from_before_to_after(
    before: list[str], after: list[str], end: str, closed: bool
) -> None:
    texts = [end.join(lines) + (end if closed else "") for lines in (before, after)]
    file = describe_code({"a.py": SourceFile(*texts)}, [])[0]
    lines = [text_of(line) for line in file["before"]]
    assert lines == texts[0].splitlines()
    made, at = [], 0
    for begin, stop, begin_after, stop_after in file.get("operations", []):
        made += lines[at:begin] + [text_of(file["after"][number]) for number in range(begin_after, stop_after)]
        at = stop
    assert [*made, *lines[at:]] == texts[1].splitlines()


@pytest.mark.parametrize("name", ["run.sh", "requirements.txt", "train.py", "no_kind", "a.yaml", "b.ipynb"])
def test_a_file_of_any_kind_keeps_its_lines(name: str) -> None:
    file = describe_code({name: SourceFile(SCRIPT)}, [])[0]
    assert [text_of(line) for line in file["before"]] == SCRIPT.splitlines()


def test_python_has_colours_and_a_long_file_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "k" in describe_code({"a.py": SourceFile(SCRIPT)}, [])[0]["before"][0]
    monkeypatch.setattr(code, "COLOURED", 10)
    assert describe_code({"a.py": SourceFile(SCRIPT)}, [])[0]["before"][0] == ["", "import torch"]


def test_the_gravest_file_stands_first_and_each_finding_under_its_line(tmp_path: Path) -> None:
    def finding(kind: str, path: str, line: int) -> Finding:
        return Finding("MIG142", Status.LOOK, "MIG142.not_shown", {"class": kind}, Place(path, line, 1))

    found = [finding("auto", "a.py", 9), finding("auto", "a.py", 2), finding("unsupported", "z.py", 1)]
    files = describe_code({"a.py": SourceFile("x\n" * 9), "z.py": SourceFile("y\n")}, found)
    assert [file["path"] for file in files] == ["z.py", "a.py"]
    assert [row["line"] for row in files[1]["findings"]] == [2, 9]


def test_a_file_that_changed_since_is_not_shown(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT, encoding="utf-8")
    report = scan(script)
    assert collect_sources(report)["train.py"].before == SCRIPT
    script.write_text(f"# new\n{SCRIPT}", encoding="utf-8")
    assert collect_sources(report) == {}
    file = describe_code(collect_sources(report), placed_findings(report))[0]
    assert file["findings"] and "before" not in file
    script.write_text(SCRIPT.replace("注释", "另一句"), encoding="utf-8")
    assert collect_sources(report) == {}, "the lines that findings quote are the same, the file is not"


def test_a_text_without_a_checksum_is_proved_by_the_lines_that_findings_quote(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n", encoding="utf-8")
    finding = Finding("MIG142", Status.LOOK, "MIG142.not_shown", {"class": "manual", "code": "two"}, Place("a.txt", 2))
    report = Report("migration", "scan", (finding,), facts={"root": str(tmp_path), "sha256": {}})
    assert collect_sources(report)["a.txt"].before == "one\ntwo\n"
    (tmp_path / "a.txt").write_text("two\none\n", encoding="utf-8")
    assert collect_sources(report) == {}


def test_what_a_report_kept_is_shown_when_the_files_are_gone(tmp_path: Path) -> None:
    report = Report("migration", "migration", facts={"sources": {"a.py": {"before": "x = 1\n", "after": "x = 2\n"}}})
    assert collect_sources(report) == {"a.py": SourceFile("x = 1\n", "x = 2\n")}


def test_a_credential_in_the_code_is_not_shown(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(f'{SCRIPT}password = "PLANTED-value-1"\n', encoding="utf-8")
    found = scan(script)
    changed = rewrite(script, tmp_path / "out")
    both = Report("migration", "migration", parts=(found, changed), facts={})
    file = collect_sources(both)["train.py"]
    assert "PLANTED" not in file.before and file.after and "PLANTED" not in file.after


@pytest.mark.parametrize("sign", ["\f", "\v", "\x1c", "\x85", "\u2028"])
def test_a_line_is_what_the_scanner_calls_one(sign: str) -> None:
    text = f"import torch\nx = '{sign}'\ny = 1\n"
    file = describe_code({"a.py": SourceFile(text)}, [])[0]
    assert [text_of(line) for line in file["before"]] == text.split("\n")[:-1]


def test_a_key_that_is_taken_out_leaves_the_lines_below_where_they_were(tmp_path: Path) -> None:
    key = "\n".join(
        ["-----BEGIN RSA PRIVATE KEY-----", *["MIIEpPLANTEDAIBAAKCAQEA" * 2] * 9, "-----END RSA PRIVATE KEY-----"]
    )
    script = tmp_path / "train.py"
    script.write_text(f'import torch\nKEY = """{key}"""\nmodel = torch.nn.Linear(2, 2).cuda()\n', encoding="utf-8")
    report = scan(script)
    lines = collect_sources(report)["train.py"].before.split("\n")
    (finding,) = [each for each in placed_findings(report) if each.args["class"] == "auto"]
    assert finding.place and ".cuda()" in lines[finding.place.line - 1] and "PLANTED" not in "".join(lines)


def test_what_stops_a_script_at_a_line_is_one_finding() -> None:
    """The dry run, the trace of operators and the verdict say the same of one line; two places of a class stay two."""

    def finding(key: str, **args: object) -> Finding:
        return Finding("MIG140", Status.FIX, key, args, Place("train.py", 27))

    parts = tuple(Report("migration", "x", (finding(key),)) for key in ("MIG141.none", "MIG142.not_shown"))
    classed = (finding("MIG141.none", **{"class": "auto"}), finding("MIG142.not_shown", **{"class": "auto"}))
    assert len(placed_findings(Report("migration", "migration", classed, parts=parts))) == 3


@pytest.mark.parametrize("kept", [False, True], ids=["scanned", "kept by the stage"])
def test_a_cell_of_a_notebook_is_shown_as_its_code(tmp_path: Path, kept: bool) -> None:
    """Cells are counted over all, text too; one of a notebook that changed since is not shown."""
    cells = [nbformat.v4.new_markdown_cell("# 标题"), nbformat.v4.new_code_cell(SCRIPT)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "a.ipynb")
    report = scan(tmp_path / "a.ipynb")

    def read_sources() -> dict[str, SourceFile]:
        nothing = Report("migration", "rewrite")
        facts = {**report.facts, **keep_sources(report, nothing)} if kept else report.facts
        return collect_sources(replace(report, facts=facts))

    assert read_sources()["a.ipynb#cell2"].before == SCRIPT
    file = describe_code(read_sources(), placed_findings(report))[0]
    assert file["path"] == "a.ipynb#cell2" and file["findings"] and file["before"][0][0] == "k", "Python's colours"
    cells[1].source += "\n# new"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "a.ipynb")
    assert read_sources() == {}
