"""Baselines, captures and dumps are compared where they lie: `compare obs://… runs/npu`."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.precision.baselines.bundle import refuse_existing, write_bundle
from ascend_workbook.precision.compare import compare
from ascend_workbook.precision.curves import curves
from ascend_workbook.precision.curves.follow import Follow
from ascend_workbook.precision.layouts import read_dump
from ascend_workbook.storage.transfer.upload import send_files
from tests.precision.baselines.bundles import bundle_of, capture_of
from tests.storage.conftest import Service


def test_a_bundle_is_compared_at_its_address(service: Service, tmp_path: Path) -> None:
    bundle = bundle_of(capture_of(tmp_path / "gpu"), tmp_path / "gpu.zip")
    target = capture_of(tmp_path / "npu", tier="npu", faults={"Functional.batch_norm.1.forward": lambda x: 1.5 * x})
    send_files(bundle, f"{service.place}/baselines/")
    send_files(target, f"{service.place}/runs/npu")
    here = compare(bundle, target)
    there = compare(f"{service.place}/baselines/gpu.zip", f"{service.place}/runs/npu")
    assert there.facts["first_divergence"] == here.facts["first_divergence"] == "Functional.batch_norm.1.forward"
    assert there.verdict("en") == here.verdict("en") and there.table and here.table
    assert there.facts["baseline"] == f"{service.place}/baselines/gpu.zip"
    assert [row[:8] for row in there.table.rows] == [row[:8] for row in here.table.rows]
    assert curves(f"{service.place}/baselines/gpu.zip", target).status == curves(bundle, target).status


def test_curves_name_the_address(service: Service, tmp_path: Path) -> None:
    target = capture_of(tmp_path / "npu", tier="npu")
    send_files(target, f"{service.place}/npu")
    send_files(bundle_of(target, tmp_path / "npu.zip"), f"{service.place}/b/")
    for place in (f"{service.place}/npu", f"{service.place}/b/npu.zip"):
        report = curves(place, target)
        assert str(report.facts["baseline"]).startswith(place) and "workbook-obs-" not in str(report.to_json())


def test_a_dump_that_was_not_wholly_sent_is_not_compared(service: Service, tmp_path: Path) -> None:
    target = capture_of(tmp_path / "npu", tier="npu")
    send_files(target, f"{service.place}/runs/npu")
    service.requests.delete_object("runs/npu/transfer.json")
    with pytest.raises(WorkbookError, match="its transfer has not ended"):
        compare(target, f"{service.place}/runs/npu")
    send_files(target, f"{service.place}/runs/npu")
    service.requests.write_object("runs/npu/gpulog.json", b"{}")
    with pytest.raises(WorkbookError, match=r"1 files are not what was sent, the first: gpulog\.json"):
        compare(target, f"{service.place}/runs/npu")


def test_a_layout_reads_through_the_storage(service: Service, tmp_path: Path) -> None:
    target = capture_of(tmp_path / "npu", tier="npu")
    send_files(target, f"{service.place}/npu")
    here, there = (read_dump(place) for place in (target / "dump", f"{service.place}/npu/dump"))
    assert [(run.step, run.rank, [one.name for one in run.operators]) for run in there] == [
        (run.step, run.rank, [one.name for one in run.operators]) for run in here
    ]


def test_a_bundle_is_written_to_its_address_and_never_over_another(service: Service, tmp_path: Path) -> None:
    from ascend_workbook.precision.baselines.bundle import NAME, Bundle
    from ascend_workbook.precision.baselines.reading import open_side

    with open_side(bundle_of(capture_of(tmp_path / "gpu"), tmp_path / "gpu.zip")) as found:
        bundle, files = found.bundle, {name: (found.folder / name).read_bytes() for name in found.bundle.files}
    assert isinstance(bundle, Bundle) and NAME not in files
    for place in (f"{service.place}/b/gpu.zip", f"{service.place}/b/folder"):
        refuse_existing(place)
        write_bundle(place, bundle, files)
        with open_side(place) as read:
            assert read.bundle == bundle
        with pytest.raises(WorkbookError, match="there already|exists"):
            refuse_existing(place)


def test_a_log_in_object_storage_is_not_followed(service: Service, tmp_path: Path) -> None:
    with pytest.raises(WorkbookError, match="cannot be followed"):
        curves(f"{service.place}/x", tmp_path, following=Follow())


def test_compare_names_the_address(service: Service, tmp_path: Path) -> None:
    target = capture_of(tmp_path / "npu", tier="npu")
    for name in ("npu", "cut", "empty"):
        send_files(target, f"{service.place}/{name}")
    assert "workbook-obs-" not in compare(f"{service.place}/npu/", target).to_json()
    dump = next(path for path in target.rglob("dump.json"))
    dump.write_text(dump.read_text()[:50])
    send_files(target, f"{service.place}/cut")
    for read in (lambda: compare(f"{service.place}/cut/", target), lambda: read_dump(f"{service.place}/cut/dump")):
        with pytest.raises(WorkbookError) as caught:
            read()
        assert f"{service.place}/cut/dump" in str(caught.value) and "workbook-obs-" not in str(caught.value)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "x.txt").write_text("x")
    send_files(tmp_path / "other", f"{service.place}/other")
    with pytest.raises(WorkbookError) as caught:
        compare(f"{service.place}/other", target)
    assert f"{service.place}/other" in str(caught.value) and "workbook-obs-" not in str(caught.value)
