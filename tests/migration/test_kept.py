"""A stage's report keeps the sources it speaks of: both sides, bounded, without credentials, as they were scanned."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ascend_workbook.findings.report import Report
from ascend_workbook.migration import kept
from ascend_workbook.migration.rewrite import rewrite
from ascend_workbook.migration.scan import scan
from ascend_workbook.migration.verdict import join

TRAIN = "import torch\nkey = 'hf_" + "Ab3" * 12 + "'\nx = torch.zeros(1).cuda('cuda:0')\n"
RAN = Report("migration", "dry_run")


def joined(folder: Path, **options: object) -> Report:
    found = scan(folder)
    return join(found, rewrite(folder, **options), RAN)  # type: ignore[arg-type]


def test_both_sides_of_what_has_a_finding_are_kept(tmp_path: Path) -> None:
    folder = tmp_path / "训练"
    folder.mkdir()
    for name, text in {"train.py": TRAIN, "plain.py": "x = 1\n", "mark.py": "import flash_attn\n"}.items():
        (folder / name).write_text(text, encoding="utf-8")
    facts = json.loads(joined(folder, out=tmp_path / "out").to_json())["facts"]
    assert facts["root"] == str(folder) and not facts["sources_left_out"]
    assert list(facts["sources"]) == ["mark.py", "train.py"], "the gravest first, and none without a finding"
    assert facts["sources"]["mark.py"] == {"before": "import flash_attn\n", "after": None}
    before, after = facts["sources"]["train.py"]["before"], facts["sources"]["train.py"]["after"]
    assert before == TRAIN.replace(TRAIN.split("'")[1], "***")
    assert "cuda('cuda:0')" in before and ".to('cuda:0')" in after and "hf_" not in after


def test_what_was_rewritten_in_place_has_its_earlier_text(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN, encoding="utf-8")
    sides = joined(tmp_path, in_place=True).facts["sources"]["train.py"]
    assert ".cuda(" in sides["before"] and ".cuda(" not in sides["after"]


def test_nothing_is_kept_that_is_too_large_or_has_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.py", "b.py", "c.py", "d.py"):
        (tmp_path / name).write_text(TRAIN + f"# {name}\n" * (100 if name == "a.py" else 1), encoding="utf-8")
    found, changed = scan(tmp_path), rewrite(tmp_path)
    (tmp_path / "b.py").write_text("import torch\n", encoding="utf-8")
    monkeypatch.setattr(kept, "LARGEST", 400)
    monkeypatch.setattr(kept, "MOST", len(TRAIN) + 20)
    facts = join(found, changed, RAN).facts
    assert list(facts["sources"]) == ["c.py"]
    why = {name: reason.key for name, reason in facts["sources_left_out"].items()}
    assert why == {"a.py": "sources.large", "b.py": "sources.changed", "d.py": "sources.full"}
    (tmp_path / "c.py").unlink()
    assert "no such file" in join(found, changed, RAN).facts["sources_left_out"]["c.py"].text("en")
