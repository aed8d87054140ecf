"""rewrite's results on disk: patches that git and patch take, in place with a way back, and what must not happen."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ascend_workbook.cli.main import main
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.migration.files import collect_files
from ascend_workbook.migration.reading.source import read_source
from ascend_workbook.migration.rewrite import rewrite, writing
from ascend_workbook.migration.rewrite.change import MODES, make_change
from ascend_workbook.migration.scan import scan
from tests.conftest import ROOT

#: Names and bytes that a patch may get wrong.
AWKWARD = {
    "a.py": b"import torch\nx = x.cuda('cuda:0')\n",
    "crlf.py": b"import torch\r\n\r\nx = x.cuda('cuda:0')\r\ny = 1\r\n",
    "no end.py": b"import torch\nx = x.cuda('cuda:0')",
    "crlf_no_end.py": b"import torch\r\nx = x.cuda('cuda:0')",
    "cr.py": b"import torch\rx = x.cuda('cuda:0')\r",
    "mixed.py": b"import torch\r\nx = x.cuda('cuda:0')\ny = 2\r\n",
    "bom.py": b"\xef\xbb\xbfimport torch\nx = x.cuda('cuda:0')\n",
    "gbk.py": "# coding: gbk\nimport torch\ns = '显卡'; x.cuda('cuda:0')\n".encode("gbk"),
    "训练/主.py": "import torch\nx = x.cuda('cuda:0')  # 放到显卡\n".encode(),
    "form\u2028feed.py": b"import torch\n\x0cx = x.cuda('cuda:0')\n",
    "run me.sh": b"#!/bin/sh\nCUDA_VISIBLE_DEVICES=0 python a.py --device cuda\n",
    "same.py": b"import os\n",
}

#: Files of a tree that are no part of a result.
OURS = rf"\.orig|^\.git/|{re.escape(writing.MARK)}$"


def _tree(root: Path, files: dict[str, bytes] = AWKWARD) -> Path:
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return root


def _bytes(root: Path) -> dict[str, bytes]:
    found = {file.relative_to(root).as_posix(): file.read_bytes() for file in root.rglob("*") if file.is_file()}
    return {name: data for name, data in found.items() if not re.search(OURS, name)}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("tool", [["git", "apply"], ["patch", "-p1", "-s", "--binary", "-i"]], ids=["git", "patch"])
def test_the_patch_makes_what_out_has(tmp_path: Path, tool: list[str], mode: str) -> None:
    if not shutil.which(tool[0]):
        pytest.skip(f"{tool[0]} is not on this machine")
    source = _tree(tmp_path / "in")
    if tool[0] == "git":
        subprocess.run(["git", "init", "-q"], cwd=source, check=True)
    report = rewrite(source, tmp_path / "out", patch=tmp_path / "p.patch", mode=mode)
    assert report.facts["scan_of_the_result"]["rewrite"] == 0 and _bytes(source) == AWKWARD
    done = subprocess.run([*tool, str(tmp_path / "p.patch")], cwd=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert _bytes(source) == _bytes(tmp_path / "out") != AWKWARD


@pytest.mark.parametrize("mode", MODES)
def test_in_place_is_what_out_has_with_the_old_bytes_beside(tmp_path: Path, mode: str) -> None:
    source = _tree(tmp_path / "in")
    (source / "run me.sh").chmod(0o755)
    rewrite(source, tmp_path / "out", mode=mode)
    report = rewrite(source, in_place=True, mode=mode)
    assert _bytes(source) == _bytes(tmp_path / "out")
    assert all((root / "run me.sh").stat().st_mode & 0o777 == 0o755 for root in (source, tmp_path / "out"))
    for name in report.facts["backups"]:
        assert (source / name).read_bytes() == AWKWARD[name[: -len(".orig")]]
    assert len(report.facts["backups"]) == len(AWKWARD) - 1
    again = rewrite(source, in_place=True, mode=mode)
    assert again.facts["backups"] == [], "a second rewrite changes nothing"
    assert _bytes(source) == _bytes(tmp_path / "out")


def test_a_backup_is_never_written_over(tmp_path: Path) -> None:
    source = _tree(tmp_path, {"a.py": AWKWARD["a.py"], "a.py.orig": b"mine\n"})
    assert rewrite(source, in_place=True).facts["backups"] == ["a.py.orig.2"]
    assert (source / "a.py.orig").read_bytes() == b"mine\n" and (source / "a.py.orig.2").read_bytes() == AWKWARD["a.py"]


def test_who_is_killed_between_files_leaves_each_whole_and_goes_on_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = _tree(tmp_path, {f"{number}.py": AWKWARD["a.py"] for number in range(4)})
    real, calls = os.fsync, []

    def fsync(handle: int) -> None:
        calls.append(handle)
        if len(calls) == 4:  # backup and file of the first are done; the second has its backup
            raise KeyboardInterrupt
        real(handle)

    monkeypatch.setattr(writing.os, "fsync", fsync)
    with pytest.raises(KeyboardInterrupt):
        rewrite(source, in_place=True)
    monkeypatch.undo()
    assert b"torch_npu" in (source / "0.py").read_bytes() or b".to(" in (source / "0.py").read_bytes()
    assert [(source / f"{number}.py").read_bytes() for number in (1, 2, 3)] == [AWKWARD["a.py"]] * 3
    assert not list(source.rglob("*.part"))
    assert len(rewrite(source, in_place=True).facts["backups"]) == 3
    assert len({(source / f"{number}.py").read_bytes() for number in range(4)}) == 1


def test_a_full_disk_is_one_error_a_file_and_nothing_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = _tree(tmp_path, {f"{number}.py": AWKWARD["a.py"] for number in range(3)})
    real, calls = os.fsync, []

    def fsync(handle: int) -> None:
        calls.append(handle)
        if len(calls) in (3, 4):  # the second file's backup, and the third's
            raise OSError(errno.ENOSPC, "No space left on device")
        real(handle)

    monkeypatch.setattr(writing.os, "fsync", fsync)
    report = rewrite(source, in_place=True)
    failed = [finding for finding in report.findings if finding.key == "MIG130.not_written"]
    assert [str(finding.place) for finding in failed] == ["1.py", "2.py"] and report.status is Status.FIX
    assert "the disk is full" in failed[0].message("en") and failed[0].hint("zh")
    assert (source / "1.py").read_bytes() == AWKWARD["a.py"] and not list(source.rglob("*.part"))


@pytest.mark.parametrize("kind", ["read-only", "link out", "link inside"])
def test_what_must_not_be_written_is_left_and_the_rest_goes_on(tmp_path: Path, kind: str) -> None:
    source, old = tmp_path / "in", AWKWARD["a.py"]
    _tree(source, {"a.py": old, "z.py": old})
    outside = tmp_path / "outside.py"
    outside.write_bytes(old)
    if kind == "read-only":
        (source / "a.py").chmod(0o444)
    else:
        (source / "a.py").unlink()
        (source / "a.py").symlink_to(outside if kind == "link out" else source / "z.py")
    report = rewrite(source, in_place=True)
    failed = [finding for finding in report.findings if finding.key == "MIG130.not_written"]
    assert [str(finding.place) for finding in failed] == ["a.py"]
    assert outside.read_bytes() == old and b".to(" in (source / "z.py").read_bytes()
    if kind == "read-only":
        assert (source / "a.py").read_bytes() == old
    if kind.startswith("link"):
        assert (source / "a.py").is_symlink()
    if kind == "link out":
        copied = rewrite(source, tmp_path / "out")
        assert not (tmp_path / "out" / "a.py").exists() and copied.status is Status.FIX


def test_a_file_that_changes_while_it_is_judged_is_refused(tmp_path: Path) -> None:
    source = _tree(tmp_path, {"a.py": AWKWARD["a.py"]})
    one = read_source(source / "a.py")
    made = make_change(one, source / "a.py", AWKWARD["a.py"], "import torch\n", [])
    (source / "a.py").write_bytes(b"import torch\nmine = 1\n")
    kept, failed = writing.in_place(collect_files(source), [made])
    assert not kept and len(failed) == 1 and (source / "a.py").read_bytes() == b"import torch\nmine = 1\n"


def test_expect_takes_the_scan_as_json_of_a_folder_above_too(tmp_path: Path) -> None:
    source = _tree(tmp_path / "in", {"pkg/a.py": AWKWARD["a.py"], "pkg/b.py": AWKWARD["a.py"]})
    seen = tmp_path / "scan.json"
    seen.write_text(scan(source).to_json(), encoding="utf-8")
    assert rewrite(source / "pkg", expect=seen).facts["sha256"]
    (source / "pkg" / "b.py").write_bytes(b"import torch\nx = x.cuda('cuda:1')\n")
    with pytest.raises(WorkbookError, match=r"b\.py has changed since"):
        rewrite(source / "pkg", in_place=True, expect=seen)
    assert (source / "pkg" / "a.py").read_bytes() == AWKWARD["a.py"], "nothing is written where one is refused"
    (source / "pkg" / "c.py").write_bytes(AWKWARD["a.py"])
    (source / "pkg" / "b.py").write_bytes(AWKWARD["a.py"])
    with pytest.raises(WorkbookError, match=r"c\.py has changed since"):
        rewrite(source, expect=seen)


def test_expect_takes_the_scan_of_a_script_without_cuda(tmp_path: Path) -> None:
    """It found nothing, so it has no text; what changed since so that there is something to repair is refused."""
    source = _tree(tmp_path / "in", {"train.py": b"import torch\n\nmodel = torch.nn.Linear(4, 4)\n"})
    seen = scan(source / "train.py").facts["sha256"]
    assert seen == {}
    done = rewrite(source / "train.py", tmp_path / "out", expect=seen)
    assert list(done.facts["sha256"]) == ["train.py"] and "torch_npu" in (tmp_path / "out" / "train.py").read_text()
    (source / "train.py").write_bytes(AWKWARD["a.py"])
    with pytest.raises(WorkbookError, match="has changed since"):
        rewrite(source / "train.py", tmp_path / "more", expect=seen)


def test_expect_refuses_the_scan_of_another_repository(tmp_path: Path) -> None:
    script = {"train.py": b"import torch\nmodel.cuda()\nfor x in y:\n    x.cuda()\n"}
    ours = _tree(tmp_path / "ours", {**script, "model.py": AWKWARD["a.py"]})
    other, seen = _tree(tmp_path / "other", {"b.py": AWKWARD["a.py"]}), tmp_path / "scan.json"
    seen.write_text(scan(other).to_json(), encoding="utf-8")
    for path in (ours, ours / "train.py", ours / "model.py"):
        before = _bytes(ours)
        with pytest.raises(WorkbookError, match="is of other files") as refused:
            rewrite(path, in_place=True, expect=seen)
        assert "train.py" in refused.value.message("zh") or path.name == "model.py"
        assert _bytes(ours) == before and not list(ours.rglob("*.orig"))
    seen.write_text(scan(ours).to_json(), encoding="utf-8")
    assert rewrite(ours, expect=seen).facts["sha256"].keys() == {"train.py", "model.py"}
    copied = shutil.copytree(ours, tmp_path / "copied")
    assert "MIG130.not_in_scan" not in {finding.key for finding in rewrite(copied, expect=seen).findings}


def test_expect_knows_a_copy_whose_start_script_alone_is_edited_and_names_it(tmp_path: Path) -> None:
    files = {
        "train.py": b"import model\nfor x in y:\n    model.run(x)\n",
        "model.py": b"import torch\ndef run(x):\n    x.cuda()\n",
    }
    source, seen = _tree(tmp_path / "in", files), tmp_path / "scan.json"
    seen.write_text(scan(source).to_json(), encoding="utf-8")
    told = {finding.key: finding for finding in rewrite(source, expect=seen).findings}
    assert "MIG130.not_in_scan" not in told
    report = rewrite(shutil.copytree(source, tmp_path / "copied"), expect=seen)
    told = {finding.key: finding for finding in report.findings}
    assert list(report.facts["sha256"]) == ["train.py"] and "train.py" in told["MIG130.not_in_scan"].message("zh")


@pytest.mark.parametrize("text", ["", "[]", "{", '{"facts": {}}', '{"facts": {"sha256": {"a": 1}}}', "[" * 9999])
def test_what_is_no_scan_is_told(tmp_path: Path, text: str) -> None:
    source = _tree(tmp_path / "in", {"a.py": AWKWARD["a.py"]})
    (tmp_path / "scan.json").write_text(text)
    with pytest.raises(WorkbookError, match="no report of `scan`"):
        rewrite(source, expect=tmp_path / "scan.json")


def test_one_bad_file_of_a_folder_does_not_stop_the_others(tmp_path: Path) -> None:
    source = _tree(tmp_path / "in", {"a.py": b"import torch\nx = (\n", "b.py": AWKWARD["a.py"], "n.ipynb": b"{torch"})
    report = rewrite(source, tmp_path / "out")
    unread = {str(finding.place) for finding in report.findings if finding.key == "MIG100.unreadable"}
    assert unread == {"a.py:2", "n.ipynb"} and b".to(" in (tmp_path / "out" / "b.py").read_bytes()
    assert (tmp_path / "out" / "a.py").read_bytes() == b"import torch\nx = (\n"


def test_a_result_inside_the_folder_is_not_rewritten_again(tmp_path: Path) -> None:
    source = _tree(tmp_path, {"a.py": AWKWARD["a.py"]})
    for _ in range(2):
        assert len(rewrite(source, source / "migrated").facts["sha256"]) == 1
    assert sorted(_bytes(source)) == ["a.py", "migrated/a.py"]


def test_a_patch_never_takes_the_place_of_another_file(tmp_path: Path) -> None:
    source = _tree(tmp_path / "in", {"a.py": AWKWARD["a.py"], "__init__.py": b"", "k.cu": b"--- ", "notes.md": b"x"})
    (tmp_path / "link.py").symlink_to(source / "a.py")
    before = _bytes(source)
    inputs = [source / name for name in before]
    for wrong in (*inputs, tmp_path / "link.py", tmp_path / "out" / "a.py"):
        with pytest.raises(WorkbookError, match="is no patch"):
            rewrite(source, tmp_path / "out", patch=wrong)
    with pytest.raises(WorkbookError, match="would overwrite the input"):
        rewrite(source, source, patch=tmp_path / "p.patch")
    assert _bytes(source) == before and not (tmp_path / "out").exists() and not (tmp_path / "p.patch").exists()
    for _ in range(2):  # an earlier patch may be replaced
        rewrite(source / "a.py", patch=tmp_path / "p.patch")
    assert (tmp_path / "p.patch").read_bytes().startswith(b"--- ")


def test_what_out_held_is_kept_beside_the_result_and_told(tmp_path: Path) -> None:
    _tree(tmp_path, {"sub/a.py": AWKWARD["a.py"], "a.py": b"mine = 1\n"})
    report = rewrite(tmp_path / "sub" / "a.py", tmp_path, into_existing=True)
    told = [finding for finding in report.findings if finding.key == "MIG130.kept"]
    assert (tmp_path / "a.py.orig").read_bytes() == b"mine = 1\n" and report.facts["backups"] == ["a.py.orig"]
    assert len(told) == 1 and told[0].status is Status.LOOK and "a.py.orig" in told[0].message("zh")
    again = rewrite(tmp_path / "sub" / "a.py", tmp_path)
    assert again.facts["backups"] == [] and again.status is Status.GOOD, "the same result again replaces nothing"


@pytest.mark.parametrize("held", ["notes.txt", "a.py", "pkg/b.py", ".env"])
def test_a_foreign_folder_is_refused_before_anything_is_written(tmp_path: Path, held: str) -> None:
    source = _tree(tmp_path / "in", {"a.py": AWKWARD["a.py"]})
    out = _tree(tmp_path / "out", {held: b"mine = 1\n"})
    with pytest.raises(WorkbookError) as refused:
        rewrite(source, out, patch=tmp_path / "p.patch")
    assert str(out) in refused.value.message("zh") and held in refused.value.message("en")
    assert "--into-existing" in refused.value.hint("en")
    assert [file.name for file in out.rglob("*") if file.is_file()] == [Path(held).name]
    assert (out / held).read_bytes() == b"mine = 1\n" and not (tmp_path / "p.patch").exists()
    asked = rewrite(source, out, into_existing=True)
    assert (out / f"{held}.orig").exists() == (held == "a.py") == (asked.status is Status.LOOK)
    assert rewrite(source, out).facts["backups"] == [], "by now it is a result of ours"
    with pytest.raises(WorkbookError, match="is a file"):
        rewrite(source, out / held)


def test_an_earlier_result_is_replaced_and_said_but_not_what_was_edited(tmp_path: Path) -> None:
    source = _tree(tmp_path / "in", {"a.py": AWKWARD["a.py"], "b.py": AWKWARD["a.py"], "c.py": b"", "d.py": b""})
    out = tmp_path / "out"
    rewrite(source, out)
    edited = (out / "b.py").read_bytes() + b"mine = 1\n"
    (out / "b.py").write_bytes(edited)
    (source / "d.py").unlink()
    again = {finding.key: finding for finding in rewrite(source, out, mode="explicit").findings}
    assert again["MIG130.replaced"].args["first"] == "a.py" and again["MIG130.kept"].args["first"] == "b.py.orig"
    assert again["MIG130.stale"].args["first"] == "d.py" and (out / "d.py").exists()
    assert (out / "b.py.orig").read_bytes() == edited and not (out / "a.py.orig").exists()


def test_the_result_of_another_source_is_refused_and_kept_where_asked(tmp_path: Path) -> None:
    one = _tree(tmp_path / "one", {"a.py": AWKWARD["a.py"], "b.py": b""})
    two = _tree(tmp_path / "two", {"a.py": AWKWARD["crlf.py"]})
    out = tmp_path / "out"
    rewrite(one / "a.py", out)
    assert rewrite(one, out).facts["backups"] == [], "a file of the folder is the same source"
    before = _bytes(out)
    with pytest.raises(WorkbookError, match="holds the result of") as refused:
        rewrite(two, out, patch=tmp_path / "p.patch")
    assert str(one.resolve()) in refused.value.message("zh") and "--into-existing" in refused.value.hint("en")
    assert _bytes(out) == before and not (tmp_path / "p.patch").exists()
    assert rewrite(two, out, into_existing=True).facts["backups"] == ["a.py.orig"]
    assert (out / "a.py.orig").read_bytes() == before["a.py"] and (out / "b.py").exists()
    assert rewrite(two, out).facts["backups"] == []
    with pytest.raises(WorkbookError, match="holds the result of"):
        rewrite(one, out)


@pytest.mark.parametrize("text", ["", "{}", '{"files": {}}', '{"written_by": "ascend-workbook rewrite", "files": 1}'])
def test_a_mark_that_is_not_ours_opens_no_folder(tmp_path: Path, text: str) -> None:
    source = _tree(tmp_path / "in", {"a.py": AWKWARD["a.py"]})
    out = _tree(tmp_path / "out", {writing.MARK: text.encode(), "a.py": b"mine = 1\n"})
    with pytest.raises(WorkbookError, match="nothing was written"):
        rewrite(source, out)


@pytest.mark.parametrize(
    ("options", "words"),
    [({"mode": "both"}, "inject, explicit"), ({"out": "x", "in_place": True}, "--out or --in-place")],
)
def test_wrong_words_are_told(tmp_path: Path, options: dict[str, object], words: str) -> None:
    source = _tree(tmp_path / "in", {"a.py": AWKWARD["a.py"]})
    with pytest.raises(WorkbookError, match=words):
        rewrite(source, **options)  # type: ignore[arg-type]


def test_the_command_prints_the_diff_alone_and_applies_it(tmp_path: Path) -> None:
    source = _tree(tmp_path / "in", {"a.py": AWKWARD["crlf.py"]})
    command = [sys.executable, "-m", "ascend_workbook", "rewrite", str(source), "--mode", "explicit", "--diff"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    subprocess.run(["git", "init", "-q"], cwd=source, check=True)
    subprocess.run(["git", "apply"], cwd=source, input=done.stdout, check=True)
    expected = b"import torch_npu\r\n" + AWKWARD["crlf.py"].replace(b".cuda('cuda:0')", b".to('npu:0')")
    assert (source / "a.py").read_bytes() == expected


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_the_last_line_says_what_was_written_and_the_way_back(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], lang: str
) -> None:
    script = b"import torch\nx = x.cuda('cuda:0')\nfor x in y:\n    x.cuda()\n"
    source = _tree(tmp_path / "in it", {"bench.py": script, "train.py": script, "sub/train.py": script})
    assert main(["rewrite", str(source), "--lang", lang]) == 0
    assert "--out" in capfd.readouterr().err, "nothing was written, and how to is said"
    assert main(["rewrite", str(source), "--out", str(tmp_path / "out"), "--lang", lang]) == 0
    said = capfd.readouterr().err.splitlines()[-1]
    assert f" {tmp_path / 'out'}" in said and f"`ascend-workbook dry-run '{source / 'train.py'}'`" in said
    assert "3 " in said and "orig" not in said
    assert main(["rewrite", str(source), "--in-place", "--lang", lang]) == 0
    said = capfd.readouterr().err.splitlines()[-1]
    back = re.search("`(mv [^`]*)`", said)
    assert back and "3 " in said and f"`ascend-workbook dry-run '{source / 'train.py'}'`" in said
    subprocess.run(back[1], shell=True, check=True)
    assert (source / "bench.py").read_bytes() == script != (source / "train.py").read_bytes()
    shutil.copy(source / "train.py", source / "bench.py")
    assert main(["rewrite", str(source), "--in-place", "--lang", lang]) == 0
    again = capfd.readouterr()
    assert again.err == "" and len(again.out.strip().splitlines()) == 1, "no empty table where nothing is left to edit"


def _notebook(path: Path, text: str) -> Path:
    path.write_bytes(text.encode("utf-8"))
    return path


CELL = '{"cell_type": "code", "execution_count": null, "metadata": {}, "outputs": [], "source": %s}'


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_notebook_keeps_the_rest_of_its_bytes(tmp_path: Path, mode: str, end: str) -> None:
    cells = [
        '["# 导入 \\ud83d\\ude00 \\"x\\"\\n", "import os, torch\\n",   "y = 1"]',
        "\"%matplotlib inline\\nx = x.cuda('cuda:0')  # \\u663e\\u5361\\n"
        '!CUDA_VISIBLE_DEVICES=0 python t.py --device cuda"',
        '["%%bash\\n", "export CUDA_VISIBLE_DEVICES=0\\n"]',
        '["%%writefile t.py\\n", "import torch\\n", "x.cuda(\'cuda:0\')"]',
        '["x = (\\n"]',
        '["m = m.cuda()\\r\\nz = x.device.type == \\"cuda\\""]',
    ]
    other = '{"cell_type": "markdown", "source": ["x.cuda(\'cuda:0\') CUDA_VISIBLE_DEVICES"]}'
    body = ",\n".join([other, *(CELL % cell for cell in cells)])
    text = '{ "cells" : [\n' + body + '], "nbformat":4,\t"x": 1.50e3}\n'
    before = text.replace("\n", end)
    file = _notebook(tmp_path / "n.ipynb", before)
    report = rewrite(file, tmp_path / "out", mode=mode)
    after = (tmp_path / "out" / "n.ipynb").read_bytes().decode()
    lines = "import torch_npu\\n" + "from torch_npu.contrib import transfer_to_npu\\n" * (mode == "inject")
    edits = [(lines, ""), ("ASCEND_RT_VISIBLE_DEVICES=0 py", "CUDA_VISIBLE_DEVICES=0 py"), ("ASCEND_RT_V", "CUDA_V")]
    edits += [(lines, "")]
    if mode == "inject":
        edits += [(".to('cuda:0')", ".cuda('cuda:0')"), (".to('cuda:0')", ".cuda('cuda:0')")]
        edits += [('in (\\"cuda\\", \\"npu\\")', '== \\"cuda\\"')]
    else:
        edits += [("--device npu", "--device cuda"), (".npu()", ".cuda()"), ('\\"npu\\"', '\\"cuda\\"')]
        edits += [(".to('npu:0')", ".cuda('cuda:0')"), (".to('npu:0')", ".cuda('cuda:0')")]
    undone = after
    for new, old in edits:
        assert new in undone, (new, after)
        undone = undone.replace(new, old, 1)
    assert undone == before
    json.loads(after)
    assert rewrite(tmp_path / "out" / "n.ipynb", mode=mode).facts["sha256"] == {}, "a second rewrite changes nothing"
    assert report.table is not None and {row[0] for row in report.table.rows} >= {"n.ipynb#cell2", "n.ipynb#cell4"}


@pytest.mark.parametrize(
    "text",
    [
        '{"cells": [%s]}' % (CELL % '["x = 1\\n"]'),
        '{"cells": [%s]}' % (CELL % "\"print('cuda')\""),
        '{"cells": [{"cell_type": "markdown", "source": "x.cuda(\'cuda:0\')"}]}',
        '{"cells": [%s]}' % (CELL % '["%%html\\n", "CUDA_VISIBLE_DEVICES=0"]'),
        '{"cells": [{"cell_type": "raw", "source": "export CUDA_VISIBLE_DEVICES=0"}]}',
    ],
)
@pytest.mark.parametrize("mode", MODES)
def test_a_notebook_that_must_not_change(tmp_path: Path, text: str, mode: str) -> None:
    file = _notebook(tmp_path / "n.ipynb", text)
    report = rewrite(file, tmp_path / "out", mode=mode)
    assert report.facts["sha256"] == {} and (tmp_path / "out" / "n.ipynb").read_bytes() == text.encode()


@pytest.mark.parametrize(
    ("cell", "after"),
    [
        ("%%time\ndef f():\n    import torch\n", "%%time\n" + "{lines}\ndef f():\n    import torch\n"),
        ("\n%%time\ndef f():\n    import torch\n", "\n%%time\n{lines}\ndef f():\n    import torch\n"),
        ("%%time", "%%time\n{lines}"),
        ("%%capture out\nimport torch\n", "%%capture out\n{lines}\nimport torch\n"),
    ],
)
def test_a_cell_magic_stays_first(tmp_path: Path, cell: str, after: str) -> None:
    other = "def g():\n    import torch\n    return torch.zeros(1).cuda()\n"
    text = json.dumps({"cells": [{"cell_type": "code", "source": source} for source in (cell, other)]})
    rewrite(_notebook(tmp_path / "n.ipynb", text), in_place=True)
    cells = json.loads((tmp_path / "n.ipynb").read_text())["cells"]
    lines = "import torch_npu\nfrom torch_npu.contrib import transfer_to_npu"
    assert [one["source"] for one in cells] == [after.format(lines=lines), other]
    assert rewrite(tmp_path / "n.ipynb").facts["sha256"] == {}, "a second rewrite changes nothing"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "cell",
    ["x.cuda('cuda:0'); ?x", "%%writefile t.py\nx = (x.cuda(", "%%cython\nimport torch\nx.cuda('cuda:0')"],
)
def test_a_cell_that_was_not_read_is_told_as_the_scan_tells_it(tmp_path: Path, cell: str, mode: str) -> None:
    text = json.dumps({"cells": [{"cell_type": "code", "source": cell}]})
    file = _notebook(tmp_path / "n.ipynb", text)
    (seen,) = scan(file).findings[1:]
    (told,) = rewrite(file, mode=mode).findings[1:]
    assert told == seen and told.status is Status.NOT_LOOKED and str(told.place).startswith("n.ipynb#cell1")


def test_a_notebook_is_rewritten_as_long_as_it_is_the_one_that_was_scanned(tmp_path: Path) -> None:
    text = '{"cells": [%s]}' % (CELL % '["import torch\\n", "x.cuda(\'cuda:0\')"]')
    file = _notebook(tmp_path / "n.ipynb", text)
    seen = scan(file).facts["sha256"]
    assert rewrite(file, expect=seen).facts["sha256"] == seen
    _notebook(file, text.replace("x.cuda", "y.cuda"))
    with pytest.raises(WorkbookError, match="changed since"):
        rewrite(file, expect=seen)


@pytest.mark.parametrize(
    ("encoding", "odd"), [("cp932", b"# \xfa\x5c\n"), ("big5hkscs", b"# \xa2\xcc\n"), ("utf-7", b"# +AGE-\n")]
)
def test_bytes_that_would_not_come_back_are_refused(tmp_path: Path, encoding: str, odd: bytes) -> None:
    text = f"# coding: {encoding}\nimport torch\nx.cuda('cuda:0')\n".encode()
    source = _tree(tmp_path / "in", {"odd.py": text + odd, "plain.py": text})
    with pytest.raises(WorkbookError, match="do not come back"):
        rewrite(source / "odd.py", in_place=True)
    report = rewrite(source, in_place=True)
    assert [str(one.place) for one in report.findings if one.key == "MIG130.not_rewritten"] == ["odd.py"]
    assert (source / "odd.py").read_bytes() == text + odd and b".to('cuda:0')" in (source / "plain.py").read_bytes()


def test_a_result_of_scripts_that_lay_elsewhere_is_set_aside(tmp_path: Path) -> None:
    """A checkout in a new folder each night, results in one that stays; what was edited in the result is not lost."""
    result = tmp_path / "run" / "migrated"
    for night in ("monday", "tuesday", "tuesday", "friday"):
        script = tmp_path / night / "train.py"
        script.parent.mkdir(exist_ok=True)
        script.write_text("import torch\ntorch.ones(2).cuda()\n")
        rewrite(script, writing.set_aside(result, script))
        (result / "notes.txt").write_text(night)
    kept = {path.name: (path / "notes.txt").read_text() for path in result.parent.glob("migrated*")}
    assert kept == {"migrated": "friday", "migrated.1": "monday", "migrated.2": "tuesday"}
