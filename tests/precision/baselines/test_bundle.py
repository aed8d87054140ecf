"""A bundle holds what is needed and nothing private; one that is not as it was written is refused before it is used."""

from __future__ import annotations

import io
import json
import re
import shutil
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.precision.baselines.bundle import NAME, hash_bytes
from ascend_workbook.precision.baselines.packing import pack_capture
from ascend_workbook.precision.baselines.reading import open_side
from ascend_workbook.precision.baselines.verb import baseline
from ascend_workbook.precision.capturing import manifest
from ascend_workbook.precision.experiment import differences
from ascend_workbook.precision.layouts import read_dump
from tests.precision.baselines.bundles import bundle_of, capture_of

Entries = dict[str, bytes]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle")
    return bundle_of(capture_of(folder / "capture"), folder / "gpu.zip")


def rewritten(source: Path, out: Path, change: Callable[[Entries], None]) -> Path:
    """The zip with its entries changed; the manifest is told nothing of it."""
    with zipfile.ZipFile(source) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    change(entries)
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return out


def resigned(entries: Entries, name: str, data: bytes) -> None:
    """A file changed, and its checksum with it, as a forger would."""
    content = json.loads(entries[NAME])
    content["files"][name] = {"bytes": len(data), "sha256": hash_bytes(data)}
    entries.update({name: data, NAME: json.dumps(content).encode()})


@pytest.mark.parametrize("name", ["gpu.zip", "gpu"])
def test_zip_and_folder_read_the_same(tmp_path: Path, name: str) -> None:
    capture = capture_of(tmp_path / "capture")
    with open_side(bundle_of(capture, tmp_path / name)) as found:
        assert found.bundle is not None and found.bundle.describe_machine == "NVIDIA H200"
        (run,) = read_dump(found.folder / manifest.DUMP)
        (original,) = read_dump(capture / manifest.DUMP, Path("/home/user"))
        about = manifest.load_manifest(found.folder)
        assert about is not None and not about.changed_files() and about.about["device"] == "NVIDIA H200"
    assert [op.name for op in run.operators] == [op.name for op in original.operators]
    assert [op.outputs[0].norm for op in run.operators] == [op.outputs[0].norm for op in original.operators]
    assert str(run.operators[0].place) == str(original.operators[0].place) == "train.py:20"


def test_equal_captures_make_equal_zips(tmp_path: Path) -> None:
    one, other = (bundle_of(capture_of(tmp_path / side / "capture"), tmp_path / f"{side}.zip") for side in "ab")
    assert one.read_bytes() == other.read_bytes()


TRAINING = """
import torch
net = torch.nn.Linear(2, 1).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(2):
    loss = net(torch.ones(4, 2).cuda()).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("loss", loss.item())
"""
CREDENTIALS = ["--api-key", "K9", "--hf_token=T9", "password=P9", "--db", "https://me:S9@host/x", "--SECRET", "X9"]


def test_no_credential_among_the_arguments_travels(tmp_path: Path) -> None:
    """Not in the files of the capture, and what is none stays. A capture with the values is still the same run."""
    given = [*CREDENTIALS, "--lr", "0.1", "--num-tokens", "5", "--tokenizer=gpt2"]
    argv = ["train.py", *given]
    capture = capture_of(tmp_path / "capture", args=given)
    log = json.loads((capture / "gpulog.json").read_text())
    (capture / "gpulog.json").write_text(json.dumps({**log, "meta": {**log["meta"], "argv": argv}}))
    files = pack_capture(capture)
    kept = ["--lr", "0.1", "--num-tokens", "5", "--tokenizer=gpt2"]
    sent = [re.sub(r"^[KX]9|[TP]9|me:S9", "***", word) for word in CREDENTIALS] + kept
    assert json.loads(files[manifest.NAME])["about"]["args"] == sent
    assert json.loads(files["gpulog.json"])["meta"]["argv"] == ["train.py", *sent]
    assert not re.search(r"\b[KTPSX]9\b", b"\n".join(files.values()).decode())
    with open_side(bundle_of(capture, tmp_path / "gpu.zip")) as found:
        there, here = manifest.load_manifest(found.folder), manifest.load_manifest(capture)
        assert [one.name for one in differences(there, here) if one.fact == "option"] == []
    other = manifest.load_manifest(
        capture_of(tmp_path / "other", args=["--api-key", "K9", *given[2:-1], "--tokenizer=t5"])
    )
    assert [one.name for one in differences(there, other) if one.fact == "option"] == ["args"]


def test_a_recorded_baseline_has_no_credential(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAINING)
    options = {"device": "cpu", "steps": 2, "statistics": False, "timing_steps": 2, "warmup": 0, "cwd": tmp_path}
    options.update(draws="host", rm_dropout=True)
    shown = baseline(tmp_path / "train.py", CREDENTIALS, out=tmp_path / "gpu.zip", **options)
    with zipfile.ZipFile(tmp_path / "gpu.zip") as archive:
        texts = [archive.read(name).decode() for name in archive.namelist()]
    assert len(texts) >= 3 and [text.count("--api-key") for text in texts].count(1) >= 2
    assert not re.search(r"\b[KTPSX]9\b", "\n".join([*texts, shown.to_json(), shown.text("en")]))
    assert "ACC280.withheld" in {found.key for found in shown.findings}
    # how numbers were drawn travels, and another machine is told to draw them alike
    with open_side(tmp_path / "gpu.zip") as found:
        about = manifest.load_manifest(found.folder)
    assert about is not None and (about.about["draws"], about.about["rm_dropout"]) == ("host", True)
    assert "--draws host --rm-dropout train.py" in shown.text("en") and shown.facts["run"]["losses_apart"] is None


def test_nothing_private_travels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf-planted-0123456789")
    monkeypatch.setenv("USER", "wanglei")
    monkeypatch.setenv("HOSTNAME", "gpu-node-17")
    given = ["--data=/home/wanglei/secret-project/digits", "--note", "wanglei@gpu-node-17", "--lr", "0.1"]
    side = {"weights": {"key.weight": "float32[2]:0123456789abcdef", "extra": "hf-planted-0123456789", "none": "None"}}
    capture = capture_of(tmp_path / "capture", args=given, side=side, root="/home/wanglei/secret-project")
    files = pack_capture(capture)
    text = b"\n".join(files.values()).decode()
    assert not [word for word in ("wanglei", "secret-project", "gpu-node-17", "planted", "pid") if word in text]
    content = json.loads(files[manifest.NAME])
    assert content["about"]["args"][0] == "--data=.../digits" and content["about"]["args"][-1] == "0.1"
    assert content["sides"]["rank0"]["weights"] == {
        "key.weight": "float32[2]:0123456789abcdef",
        "extra": "***",
        "none": "None",
    }


def test_a_key_among_the_facts_stops_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    side = {"weights": {"planted0secret1key2.weight": "float32[2]:0123456789abcdef"}}
    capture = capture_of(tmp_path / "capture", side=side)  # where the variable was not set: nothing was taken out
    monkeypatch.setenv("OBS_SECRET_ACCESS_KEY", "planted0secret1key2")
    with pytest.raises(WorkbookError) as caught:
        pack_capture(capture)
    assert caught.value.key == "baseline.leak" and "planted" not in str(caught.value)


def test_nothing_is_written_over(made: Path, tmp_path: Path) -> None:
    before = made.read_bytes()
    with pytest.raises(WorkbookError, match="never written over"):
        bundle_of(capture_of(tmp_path / "capture"), made)
    assert made.read_bytes() == before


def drop(name: str) -> Callable[[Entries], None]:
    return lambda entries: entries.pop(name) and None


def put(name: str, data: bytes) -> Callable[[Entries], None]:
    return lambda entries: entries.update({name: data})


def told(**fields: object) -> Callable[[Entries], None]:
    return lambda entries: entries.update({NAME: json.dumps({**json.loads(entries[NAME]), **fields}).encode()})


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (put("../evil.json", b"{}"), "leaves the bundle"),
        (put("/etc/evil.json", b"{}"), "leaves the bundle"),
        (put("a/../../evil.json", b"{}"), "leaves the bundle"),
        (put("C:\\evil.json", b"{}"), "leaves the bundle"),
        (put("model.pkl", b"\x80\x04."), r"holds \.json files only"),
        (put("extra.json", b"{}"), "not listed"),
        (put("gpulog.json", b"{}"), r"gpulog\.json is not what was written"),
        (drop("gpulog.json"), r"gpulog\.json is missing"),
        (drop(NAME), r"no baseline\.json"),
        (put(NAME, b"not json"), "Expecting value"),
        (put(NAME, b"[" * 100_000), "baseline.zip"),
        (told(schema="ascend-workbook/baseline/99"), "baseline/99"),
        (told(files={"../x.json": {"bytes": 1, "sha256": "0" * 64}}), "leaves the bundle"),
        (told(files={"x.json": {"bytes": 1 << 40, "sha256": "0" * 64}}), "size of at most"),
        (told(hardware={"tier": "cuda", "name": "x\x1b[2J", "count": 1}), "hardware"),
        (lambda entries: resigned(entries, "capture.json", b'{"schema": 1}'), "schema"),
        (
            lambda entries: resigned(
                entries,
                "capture.json",
                json.dumps(
                    {"schema": manifest.SCHEMA, "complete": True, "about": {}, "files": {}, "sides": {"rank0": 3}}
                ).encode(),
            ),
            "baseline.zip",
        ),
    ],
)
def test_what_is_not_as_it_was_written_is_refused(
    made: Path, tmp_path: Path, change: Callable[[Entries], None], expected: str
) -> None:
    bad = rewritten(made, tmp_path / "baseline.zip", change)
    with pytest.raises(WorkbookError, match=expected) as caught, open_side(bad):
        pass
    assert caught.value.key == "baseline.damaged" and "baseline.zip" in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["baseline.zip"]


def more_steps(folder: Path) -> None:
    shutil.copytree(folder / "dump" / "step0", folder / "dump" / "step9")


def linked_steps(folder: Path) -> None:
    (folder / "dump" / "step9").symlink_to(folder / "dump" / "step0")


def more_logs(folder: Path) -> None:
    (folder / "gpulog.rank1.json").write_text("{}")


@pytest.mark.parametrize("change", [more_steps, linked_steps, more_logs])
def test_what_a_folder_holds_unlisted_is_not_read(tmp_path: Path, change: Callable[[Path], None]) -> None:
    folder = bundle_of(capture_of(tmp_path / "capture"), tmp_path / "gpu")
    (folder / "notes.txt").write_text("ours")
    with open_side(folder) as found:
        assert found.bundle is not None, "what no comparison reads may lie there"
    change(folder)
    with (
        pytest.raises(WorkbookError, match=r"(step9|gpulog\.rank1\.json).* is not listed") as caught,
        open_side(folder),
    ):
        pass
    assert caught.value.key == "baseline.damaged"


def test_a_file_that_unpacks_to_more_than_told_costs_no_more_than_told(made: Path, tmp_path: Path) -> None:
    bad = rewritten(made, tmp_path / "bomb.zip", put("gpulog.json", bytes(200 << 20)))
    assert bad.stat().st_size < 1 << 20
    with pytest.raises(WorkbookError, match=r"gpulog\.json is not what was written"), open_side(bad):
        pass


def test_links_are_refused(made: Path, tmp_path: Path) -> None:
    data, stream = made.read_bytes(), io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(stream, "w") as out:
        for info in archive.infolist():
            out.writestr(info, archive.read(info))
        link = zipfile.ZipInfo("link.json")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        out.writestr(link, "/etc/passwd")
    (tmp_path / "link.zip").write_bytes(stream.getvalue())
    with pytest.raises(WorkbookError, match="is a link"), open_side(tmp_path / "link.zip"):
        pass
    folder = bundle_of(capture_of(tmp_path / "capture"), tmp_path / "gpu")
    (folder / "gpulog.json").rename(tmp_path / "outside.json")
    (folder / "gpulog.json").symlink_to(tmp_path / "outside.json")
    with pytest.raises(WorkbookError, match="is a link"), open_side(folder):
        pass


@pytest.mark.parametrize("size", [0, 10, 200])
def test_a_cut_zip_is_said(made: Path, tmp_path: Path, size: int) -> None:
    (tmp_path / "cut.zip").write_bytes(made.read_bytes()[:size])
    with pytest.raises(WorkbookError, match=r"cut\.zip"), open_side(tmp_path / "cut.zip"):
        pass


def test_other_places_are_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with open_side(tmp_path) as found:
        assert found.bundle is None and found.folder == tmp_path
    with pytest.raises(WorkbookError, match="no keys for object storage"), open_side("obs://bucket/gpu.zip"):
        pass
