"""For which release of torch_npu is judged, and what follows from what its wheel has."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.machine.versions import recommended_versions
from ascend_workbook.migration import release as module
from ascend_workbook.migration.assess import assess
from ascend_workbook.migration.release import aim_at, choose_release, find_lacking, find_missing, find_unmapped
from ascend_workbook.migration.repair import class_of
from ascend_workbook.migration.rewrite import rewrite
from ascend_workbook.migration.scan import scan

SCRIPT = "import torch\n\nfree = torch.cuda.mem_get_info()\nstate = torch.load('a.pt', map_location='cuda')\n"


@pytest.fixture
def script(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(SCRIPT, encoding="utf-8")
    return tmp_path / "train.py"


def test_what_is_given_holds_then_what_is_installed_then_what_is_recommended(monkeypatch: pytest.MonkeyPatch) -> None:
    for packages, wanted, chosen in (
        ({"torch_npu": "2.13.0"}, "2.6.0", ("2.6.0", "given", "2.6.0")),
        ({"torch_npu": "2.7.1.post8"}, None, ("2.7.1.post8", "installed", "2.7.1")),
        ({"torch_npu": "2.9.0"}, None, ("2.9.0", "installed", "2.7.1")),
        ({}, None, (recommended_versions().torch_npu, "recommended", "2.12.0")),
    ):
        monkeypatch.setattr(module, "installed_versions", lambda packages=packages: packages)
        release = choose_release(wanted)
        assert (release.version, release.why, release.read) == chosen


def test_what_runs_are_made_on_comes_before_what_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "installed_versions", lambda: {"torch_npu": "2.6.0"})
    assert choose_release(None, "2.13.0").version == "2.13.0" and choose_release("2.1.0", "2.13.0").version == "2.1.0"


def test_what_is_no_release_is_refused_with_those_that_are(monkeypatch: pytest.MonkeyPatch) -> None:
    for wanted, key in (("two", "release.no_version"), ("1.11.0", "release.too_old")):
        with pytest.raises(WorkbookError) as refused:
            choose_release(wanted)
        assert refused.value.key == key and "2.7.1" in refused.value.message("en")


def test_another_wheel_that_stands_in_is_named() -> None:
    assert "nearest" not in choose_release("2.6.0").describe().message("en")
    assert "2.7.1, the nearest older release" in choose_release("2.7.1.post11").describe().message("en")


def test_a_name_is_missing_only_where_a_wheel_shows_it() -> None:
    assert find_missing("cuda", "mem_get_info") == find_lacking("torch.cuda.mem_get_info") == ()
    with aim_at(choose_release("2.1.0")):
        assert (
            find_lacking("torch.cuda.mem_get_info")[0] == find_lacking("torch.cuda.memory.mem_get_info")[0] == "2.5.1"
        )
        assert not find_lacking("torch.cuda.get_device_name") and not find_lacking("torch.cuda.no_such_name")
        assert find_unmapped("torch.load")[0] == "2.5.1" and find_unmapped("torch.autocast")[0] == "2.5.1"
        assert not find_unmapped("torch.zeros")
    with aim_at(choose_release("2.5.1")):
        assert find_lacking("torch.cuda.CUDAGraph")[0] == "2.6.0" and not find_unmapped("torch.amp.autocast")
    with aim_at(choose_release("2.13.0")):  # 2.1.0 wrapped it, and nobody has to since
        assert "2.1.0" in find_missing("mapped", "torch.utils.data.DataLoader")
        assert not find_unmapped("torch.utils.data.DataLoader")


def test_scan_rewrite_and_assess_judge_alike(script: Path) -> None:
    old, new = scan(script, torch_npu="2.1.0"), scan(script, torch_npu="2.13.0")
    assert [(found.rule, class_of(found)) for found in old.findings if found.place] == [
        ("MIG162", "manual"),
        ("MIG162", "rewrite"),
    ]
    assert {class_of(found) for found in new.findings if found.place} == {"auto"}
    assert old.facts["torch_npu"] == {"version": "2.1.0", "why": "given", "read": "2.1.0"}
    assert any(found.key == "MIG162.judged" for found in old.findings)
    for wanted, text in (("2.1.0", "map_location='npu'"), ("2.13.0", "map_location='cuda'")):
        out = script.parent / wanted
        rewrite(script, out, torch_npu=wanted)
        assert text in (out / "train.py").read_text(encoding="utf-8")
    hours = [assess(script, torch_npu=wanted).facts["effort_h"]["manual"] for wanted in ("2.1.0", "2.13.0")]
    assert hours[0] > hours[1] == 0


def test_by_default_nothing_is_judged_by_another_release_than_the_facts_say(script: Path) -> None:
    report = scan(script)
    assert report.facts["torch_npu"]["why"] in ("installed", "recommended")
    assert not any(found.key == "MIG162.judged" for found in report.findings)


def test_texts_name_the_release_that_was_asked_for_and_what_was_not_looked_at(script: Path) -> None:
    for report in (verb(script, torch_npu="3.0.0") for verb in (scan, rewrite, assess)):
        assert "3.0.0 (as asked), by 2.14.0" in report.text("en") and "未检查该版本对应的 torch" in report.text("zh")


def test_an_empty_release_is_refused(script: Path) -> None:
    for verb in (scan, rewrite, assess):
        with pytest.raises(WorkbookError) as refused:
            verb(script, torch_npu="")
        assert refused.value.key == "release.no_version"


def test_autocast_is_told_by_the_release_that_was_asked_for(script: Path) -> None:
    script.write_text("import torch\n\non = torch.is_autocast_enabled()\n", encoding="utf-8")
    keys = [scan(script, torch_npu=wanted).findings[-1].key for wanted in ("2.12.0", "2.13.0")]
    assert keys == ["MIG108.asks", "MIG108.works"]
