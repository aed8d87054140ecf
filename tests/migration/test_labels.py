"""The scan against hand labels of real files, line by line.

The labels are in the reference material; the files themselves are not, so a folder of them must be named:
ASCEND_WORKBOOK_LABELLED, with a file per label file, called like it without `.json`.
"""

from __future__ import annotations

import json
import os
import sysconfig
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.migration import Confusion, compare_all, compare_file, make_tree

VARIABLE = "ASCEND_WORKBOOK_LABELLED"


@pytest.fixture(scope="module")
def confusion(shared: Path) -> Confusion:
    folder = os.environ.get(VARIABLE)
    if not folder:
        pytest.skip(f"the labelled files are not here: {VARIABLE} names no folder")
    return compare_all(shared / "facts" / "migration_labels", Path(folder))


def test_the_classes_agree_with_hand_labels(confusion: Confusion) -> None:
    assert confusion.agreement >= 0.95, "\n".join(confusion.wrong)


def test_no_unsupported_line_is_missed(confusion: Confusion) -> None:
    assert not confusion.missed_unsupported, "\n".join(confusion.wrong)


def test_few_false_alarms(confusion: Confusion) -> None:
    assert confusion.false_alarms <= 0.03, "\n".join(confusion.wrong)


def test_the_scoring(tmp_path: Path) -> None:
    """Advice is no action, manual counts as rewrite, the gravest of a line counts, unlabelled lines do not."""
    code = (
        "import torch\ntorch.backends.cudnn.benchmark = True  # 加速\nx = x.cuda(); torch.cuda.nvtx.mark('x')\n"
        "m = torch.nn.DataParallel(m)\nx = x.cuda()\nprint('显卡')\n"
    )
    (tmp_path / "a.py").write_text(code, encoding="utf-8")
    lines = [(2, "no_action"), (3, "rewrite"), (4, "auto"), (6, "unsupported")]
    labels = tmp_path / "a.py.json"
    labels.write_text(json.dumps({"lines": [{"line": line, "label": label} for line, label in lines]}))
    found = compare_file(labels, tmp_path / "a.py")
    assert found.counted == Counter(
        {
            ("no_action", "no_action"): 1,
            ("rewrite", "rewrite"): 1,
            ("auto", "unsupported"): 1,
            ("unsupported", "no_action"): 1,
        }
    )
    assert found.agreement == 0.5 and found.missed_unsupported == 1 and found.false_alarms == 0
    assert len(found.wrong) == 2 and "a.py:4 label auto, said unsupported" in found.wrong
    (tmp_path / "跑.sh").write_text("CUDA_VISIBLE_DEVICES=0 python t.py\n", encoding="utf-8")
    (tmp_path / "跑.sh.json").write_text(json.dumps({"lines": [{"line": 1, "label": "rewrite"}]}))
    assert compare_file(tmp_path / "跑.sh.json", tmp_path / "跑.sh").agreement == 1
    alarmed = Confusion(Counter({("no_action", "auto"): 1, ("no_action", "no_action"): 3}))
    assert alarmed.false_alarms == 0.25


def test_a_source_that_cannot_be_read_is_one_row_and_the_others_are_compared(tmp_path: Path) -> None:
    labels, sources = tmp_path / "labels", tmp_path / "sources"
    labels.mkdir()
    sources.mkdir()
    texts = {"a.py": "x = (\n", "b.py": None, "c.py": "import torch\nx = x.cuda()\n"}
    for name, text in texts.items():
        entries = [{"line": 2, "label": "auto"}, {"line": 3, "label": "no_action"}]
        (labels / f"{name}.json").write_text(json.dumps({"lines": entries}))
        if text is not None:
            (sources / name).write_text(text)
    found = compare_all(labels, sources)
    assert [row.partition(":")[0] for row in found.wrong] == ["a.py", "b.py"]
    assert found.agreement == 2 / 6, "what was not read does not agree"


def test_a_file_of_the_tree_that_cannot_be_read_is_told_once_and_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    packages = tmp_path / "packages" / "torch"
    packages.mkdir(parents=True)
    (packages / "bad.py").write_text("x = torch.cuda.(\n")
    (packages / "gone.py").symlink_to("nowhere.py")
    (packages / "hit.py").write_text("import torch\nx = x.cuda()\n")
    (packages / "plain.py").write_text("x = 1\n")
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(packages.parent))
    (tmp_path / "tree").mkdir()
    assert make_tree(tmp_path / "tree", 100) > 0
    (row,) = capsys.readouterr().out.splitlines()
    assert row.startswith(f"left out: {packages / 'bad.py'}: ")
    made = {file.read_text() for file in (tmp_path / "tree").rglob("*.py")}
    assert made == {(packages / name).read_text() for name in ("hit.py", "plain.py")}
