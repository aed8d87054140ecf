"""The operator that parts the runs, for a page: its line as it was, its tensors, and nothing that must not leave."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch

from ascend_workbook.precision.compare import compare
from ascend_workbook.precision.views.culprit import MOST
from tests.precision.dumps import Dump, as_capture
from tests.precision.networks import convolutions
from tests.precision.views.test_modules import GUILTY, add_modules

KEY = "hf_" + "abcDEFghiJKLmnoPQRstuVWXyz01234567"
SCRIPT = "import torch\n# 训练\n" + "\n" * 15 + f"token = '{KEY}'\n\ndef forward(x):\n    x = f(x)\n    return x\n"


def pair_of(folder: Path, task: str = "tensor", **about: Any) -> tuple[Path, Path]:
    """Two captures of a script in `folder`, whose line 21 calls the guilty operator."""
    faults = {GUILTY: lambda value: value * 1.01}
    sides = []
    for name, changes in (("a", None), ("b", faults)):
        dump = add_modules(convolutions(folder / name / "dump", task=task, faults=changes))
        for stack in dump.rglob("stack.json"):
            stack.write_text(stack.read_text().replace("/home/user/train.py", f"{folder}/train.py"))
        sides.append(as_capture(folder / name, root=str(folder), script="train.py", **about))
    return sides[0], sides[1]


def write_script(folder: Path) -> str:
    (folder / "train.py").write_text(SCRIPT, encoding="utf-8")
    return hashlib.sha256(SCRIPT.encode()).hexdigest()


def culprit_of(sides: tuple[Path, Path], **options: Any) -> dict[str, Any]:
    described = compare(*sides, replaying=False, **options).facts["culprit"]
    assert isinstance(described, dict)
    return described


def test_it_has_its_line_its_module_and_both_sides_of_every_tensor(tmp_path: Path) -> None:
    described = culprit_of(pair_of(tmp_path, script_sha256=write_script(tmp_path)))
    assert (described["operator"], described["place"], described["module"]) == (GUILTY, "train.py:21", "block.1.0")
    source = described["source"]
    assert source["lines"][source["line"] - source["first"]] == "    x = f(x)" and source["first"] == 19
    tensors = {tensor["slot"]: tensor for tensor in described["tensors"]}
    assert tensors["input.0"]["error"] == 0 and tensors["output.0"]["error"] == pytest.approx(0.01, rel=1e-3)
    for tensor in tensors.values():
        counted = tensor["histogram"]
        assert sum(counted["target"]) == sum(counted["baseline"]) == torch.Size(tensor["shape"]).numel()
    assert tensors["output.0"]["histogram"]["equal"] < 10 < tensors["input.0"]["histogram"]["equal"]
    json.dumps(described, allow_nan=False)


def test_a_script_that_is_another_now_is_not_quoted(tmp_path: Path) -> None:
    sides = pair_of(tmp_path, script_sha256=write_script(tmp_path))
    (tmp_path / "train.py").write_text(SCRIPT.replace("f(x)", "g(x)"), encoding="utf-8")
    described = culprit_of(sides)
    assert described["place"] == "train.py:21" and "source" not in described


def test_a_module_of_the_script_is_quoted_while_it_is_older_than_the_capture(tmp_path: Path) -> None:
    write_script(tmp_path)
    sides = pair_of(tmp_path)  # its checksum was not recorded, as of every file beside the script
    os.utime(tmp_path / "train.py", (1, 1))
    assert "source" in culprit_of(sides)
    os.utime(tmp_path / "train.py", (2**33, 2**33))
    assert "source" not in culprit_of(sides)


@pytest.mark.parametrize("where", ["/etc/passwd", "{folder}/notes.txt", "{folder}/inside/../../outside.py"])
def test_a_dump_cannot_name_a_file_to_be_quoted(tmp_path: Path, where: str) -> None:
    """A stack comes with the dump, from whoever made it."""
    folder = tmp_path / "project"
    (folder / "inside").mkdir(parents=True)
    for name in (folder / "notes.txt", tmp_path / "outside.py", folder / "train.py"):
        name.write_text("secret\n" * 30)
        os.utime(name, (1, 1))
    sides = pair_of(folder)
    for stack in folder.rglob("stack.json"):
        stack.write_text(stack.read_text().replace(f"{folder}/train.py", where.format(folder=folder)))
    assert "source" not in culprit_of(sides)


def test_a_secret_near_the_line_is_taken_out(tmp_path: Path) -> None:
    near = SCRIPT.replace("    x = f(x)", f"    x = f(x, token='{KEY}')")
    (tmp_path / "train.py").write_text(near, encoding="utf-8")
    described = culprit_of(pair_of(tmp_path, script_sha256=hashlib.sha256(near.encode()).hexdigest()))
    assert described["source"]["lines"] and KEY not in json.dumps(described)


@pytest.mark.parametrize("task", ["statistics", "md5"])
def test_without_values_it_says_why_there_is_no_histogram(tmp_path: Path, task: str) -> None:
    report = compare(*pair_of(tmp_path, task=task), replaying=False)
    if task == "md5":
        assert report.facts["culprit"] is None, "checksums blame nobody"
        return
    for tensor in report.facts["culprit"]["tensors"]:
        assert tensor["why"] == "unsaved" and "histogram" not in tensor
        assert {"minimum", "maximum", "norm"} <= tensor["figures"]["target"].keys()


def test_another_shape_has_no_histogram_and_many_tensors_are_bounded(tmp_path: Path) -> None:
    sides = []
    for name, size in (("a", 3), ("b", 4)):
        dump = Dump(tmp_path / name)
        many = [torch.ones(2) for _ in range(30)]
        dump.forward("Torch.cat", [many], [torch.ones(size)])
        dump.save()
        sides.append(tmp_path / name)
    described = culprit_of((sides[0], sides[1]))
    assert len(described["tensors"]) == MOST and described["left_out"] == 31 - MOST
    assert described["tensors"][0] == {
        **described["tensors"][0],
        "slot": "output.0",
        "problem": "shape",
        "why": "unpaired",
        "error": None,
    }


def test_where_nothing_parts_there_is_none(tmp_path: Path) -> None:
    same = convolutions(tmp_path)
    assert compare(same, same).facts["culprit"] is None
