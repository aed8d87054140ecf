"""The offline archive: what fits this machine is set up whole, what does not, or was touched, is refused in words."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import shlex
import shutil
import stat
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.machine import native, simulator
from ascend_workbook.machine.bounded import run_bounded as run_bounded
from tests.conftest import ROOT
from tools import bootstrap, resolve
from tools.offline import bundle, image, install

Changes = dict[str, Any]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """A project of two files, and a wheel's name."""
    made = {}
    bootstrap_text = (
        "import os, pathlib\npathlib.Path('seen').write_text('\\n'.join(f'{k}={v}' for k, v in "
        "os.environ.items() if k.startswith('PIP_')))\n"
    )
    texts = {"tools/bootstrap.py": bootstrap_text, "wheels/a-1-py3-none-any.whl": "w", "行.txt": "行\n"}
    for name, text in texts.items():
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        made[name] = path
    made["tools/bootstrap.py"].chmod(0o755)
    return made


def changed(archive: Path, target: Path, **changes: Any) -> Path:
    """The archive with other entries (name: bytes, None: gone; or a ZipInfo's attributes), the manifest as it was or
    changed by `manifest`."""
    with zipfile.ZipFile(archive) as old, zipfile.ZipFile(target, "w") as new:
        for info in old.infolist():
            data = old.read(info)
            if info.filename == install.MANIFEST and "manifest" in changes:
                told = json.loads(data)
                changes["manifest"](told)
                data = json.dumps(told).encode()
            if info.filename in changes.get("without", ()):
                continue
            new.writestr(info, changes.get("data", {}).get(info.filename, data))
        for info, data in changes.get("more", ()):
            new.writestr(info, data)
    return target


def listed(manifest: Changes, name: str, data: bytes) -> None:
    manifest["files"][name] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest(), "executable": False}


def start(archive: Path, *arguments: str, python: str = sys.executable, **environ: str) -> tuple[int, str]:
    env = {"PATH": "/usr/bin:/bin", "PIP_INDEX_URL": "https://user:word@elsewhere.example", **environ}
    done = run_bounded([python, str(archive), *arguments], env=env, timeout_s=60, cwd=str(archive.parent))
    return done.code, done.stdout + done.stderr


def test_an_archive_sets_itself_up_without_an_index(tmp_path: Path, files: dict[str, Path]) -> None:
    archive = bundle.write_archive(tmp_path, files)
    code, said = start(archive, "--into", "new place")
    assert code == 0, said
    into = tmp_path / "new place"
    assert (into / "行.txt").read_text(encoding="utf-8") == "行\n"
    assert (into / "tools" / "bootstrap.py").stat().st_mode & stat.S_IXUSR
    assert not (into / "行.txt").stat().st_mode & stat.S_IXUSR
    pip = dict(line.split("=", 1) for line in (into / "seen").read_text().splitlines())
    assert pip == {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": (into / "wheels").as_uri(), "PIP_CONFIG_FILE": os.devnull}
    again, said = start(archive, "--into", "new place")
    assert again == 2 and "is there already" in said


def test_equal_files_make_an_equal_archive(tmp_path: Path, files: dict[str, Path]) -> None:
    first = bundle.write_archive(tmp_path / "1", files)
    os.utime(files["行.txt"], (1, 1))
    assert bundle.write_archive(tmp_path / "2", files).read_bytes() == first.read_bytes()
    told = first.with_suffix(".zip.sha256").read_text().split()
    assert told == [hashlib.sha256(first.read_bytes()).hexdigest(), first.name]


def info(name: str, mode: int = 0o100644) -> zipfile.ZipInfo:
    made = zipfile.ZipInfo(name)
    made.external_attr = mode << 16
    return made


DAMAGES = {
    "another file's content": ({"data": {"行.txt": b"other\n"}}, "is not what was packed"),
    "more than was told": ({"data": {"行.txt": b"x" * 4000}}, "is not what was packed"),
    "a file is gone": ({"without": ("行.txt",)}, "other files than its manifest"),
    "a file more": ({"more": [(info("late.py"), b"")]}, "other files than its manifest"),
    "a way up": ({"more": [(info("../evil"), b"e")], "manifest": lambda m: listed(m, "../evil", b"e")}, "outside"),
    "a way up inside": (
        {"more": [(info("a/../../evil"), b"e")], "manifest": lambda m: listed(m, "a/../../evil", b"e")},
        "outside",
    ),
    "an absolute name": (
        {"more": [(info("/tmp/evil"), b"e")], "manifest": lambda m: listed(m, "/tmp/evil", b"e")},
        "outside",
    ),
    "a link": (
        {"more": [(info("link", 0o120777), b"/etc")], "manifest": lambda m: listed(m, "link", b"/etc")},
        "no file",
    ),
    "another format": ({"manifest": lambda m: m.update(format=2)}, "format 2"),
    "another Python": ({"manifest": lambda m: m["for"].update(python="3.7")}, "python3.7"),
    "another processor": ({"manifest": lambda m: m["for"].update(machine="aarch64")}, "aarch64"),
    "an older system": ({"manifest": lambda m: m["for"].update(glibc="9.9")}, "glibc"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_does_not_fit_or_was_touched_is_refused(tmp_path: Path, files: dict[str, Path], damage: str) -> None:
    changes, said = DAMAGES[damage]
    archive = changed(bundle.write_archive(tmp_path / "made", files), tmp_path / "a.zip", **changes)
    code, output = start(archive, "--into", "out")
    assert code == 2 and said in output and "next step" in output and "Traceback" not in output, output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.zip", "made", "project"]


def test_a_cut_archive_is_told(tmp_path: Path, files: dict[str, Path]) -> None:
    archive = bundle.write_archive(tmp_path / "made", files)
    cut = tmp_path / "cut.zip"
    cut.write_bytes(archive.read_bytes()[:-40])
    assert install.main(cut, ["--check"]) == 2 and install.main(archive, ["--check"]) == 0


def test_a_full_disk_is_seen_before_anything_is_written(
    tmp_path: Path, files: dict[str, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = bundle.write_archive(tmp_path / "made", files)
    monkeypatch.setattr(install, "ROOM", 1 << 50)
    assert install.main(archive, ["--into", str(tmp_path / "out")]) == 2
    assert "MiB free" in capsys.readouterr().err and not (tmp_path / "out").exists()


def test_the_installer_speaks_to_old_pythons() -> None:
    """Parsed as Python 3.7 would: what is newer would be a SyntaxError in place of a word."""
    text = (ROOT / "tools" / "offline" / "install.py").read_text(encoding="utf-8")
    ast.parse(text, feature_version=(3, 7))
    assert "from __future__ import annotations" not in text  # Python 3.6 has none
    with pytest.raises(SyntaxError):
        ast.parse("(a := 1)", feature_version=(3, 7))


@pytest.mark.parametrize(
    ("wheels", "glibc"),
    [
        (["a-1-py3-none-any.whl"], "2.17"),
        (["a-1-cp311-cp311-manylinux2014_x86_64.manylinux_2_17_x86_64.whl"], "2.17"),
        (["a-1-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl"], "2.27"),
        (["a-1-cp311-cp311-manylinux_2_9_x86_64.whl", "b-1-cp311-cp311-manylinux_2_34_x86_64.whl"], "2.34"),
    ],
)
def test_the_c_library_follows_from_the_wheels(wheels: list[str], glibc: str) -> None:
    assert bundle.oldest_glibc(wheels) == glibc


def prebuilt(folder: Path, torch: str) -> Path:
    folder.mkdir()
    (folder / "lib64").mkdir()
    (folder / "lib64" / "libascendcl.so").write_text("")
    (folder / "set_env.sh").write_text("# first\n_ascend_sim='/there'\nexport ASCEND_HOME_PATH=\"$_ascend_sim\"\n")
    (folder / "stamp.json").write_text(json.dumps({"torch": torch}))
    return folder


def test_without_a_compiler_the_prebuilt_simulator_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "PREBUILT", prebuilt(tmp_path / "prebuilt", "2.13.0+cpu"))
    monkeypatch.setattr(bootstrap, "installed_version", lambda python, package: "2.13.0+cpu")
    place = tmp_path / "it's here"
    bootstrap.take_prebuilt(Path("python"), place)
    line = f'. {shlex.quote(str(place / "set_env.sh"))}; printf %s "$ASCEND_HOME_PATH"'
    said = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True).stdout
    assert said == str(place) and (place / "stamp.json").is_file() and (place / "bin" / "msprof").is_symlink()
    monkeypatch.setattr(bootstrap, "installed_version", lambda python, package: "2.12.0")
    with pytest.raises(bootstrap.SetupError, match="for torch 2.13.0"):
        bootstrap.take_prebuilt(Path("python"), tmp_path / "other")
    monkeypatch.setattr(bootstrap, "PREBUILT", tmp_path / "none")
    with pytest.raises(bootstrap.SetupError, match="no C\\+\\+ compiler"):
        bootstrap.take_prebuilt(Path("python"), tmp_path / "third")


def test_the_built_simulator_travels_with_its_empty_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """torch_npu asks whether ASCEND_OPP_PATH is there; torch_npu itself goes as a wheel."""
    place = prebuilt(tmp_path / "simulator", "2.13.0")
    for name in ("opp", "python/torch_npu", "references/__pycache__"):
        (place / name).mkdir(parents=True)
    (place / "python" / "torch_npu" / "x.py").write_text("")
    monkeypatch.setattr(simulator, "simulator_location", lambda: place)
    monkeypatch.setattr(simulator, "is_built", lambda: True)
    monkeypatch.setattr(simulator, "is_current", lambda: True)
    names = set(bundle.list_built())
    assert names == {f"prebuilt/{one}" for one in ("opp/.keep", "lib64/libascendcl.so", "set_env.sh", "stamp.json")}
    archive = bundle.write_archive(tmp_path / "out", bundle.list_built())
    assert start(archive, "--extract-only", "--into", "in")[0] == 0 and (archive.parent / "in/prebuilt/opp").is_dir()
    monkeypatch.setattr(simulator, "is_current", lambda: False)
    assert bundle.list_built() == {}


def test_the_links_of_a_build_are_known(simulator_env: dict[str, str]) -> None:
    root = Path(simulator_env["ASCEND_HOME_PATH"])
    found = {
        path.relative_to(root).as_posix(): str(path.readlink())
        for path in root.rglob("*")
        if path.is_symlink() and "python" not in path.relative_to(root).parts
    }
    assert found == bootstrap.LINKS


def test_a_compiler_is_looked_for_in_one_way(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for names in ((), ("g++",), ("clang++",), ("mine",)):
        folder = tmp_path / "-".join(("bin", *names))
        folder.mkdir()
        for name in names:
            (folder / name).write_text("#!/bin/sh\n")
            (folder / name).chmod(0o755)
        monkeypatch.setenv("PATH", str(folder))
        monkeypatch.setenv("CXX", "mine")
        assert bootstrap.has_compiler() is (native.find_compiler() is not None) is bool(names)


def test_pip_answers_for_the_machine_that_was_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of links with a wheel for each machine, and one wanted on one machine alone."""
    for name in ("one-1-py3-none-manylinux_2_28_aarch64", "one-1-py3-none-manylinux_2_28_x86_64", "arm-1-py3-none-any"):
        wheel(tmp_path / f"{name}.whl", "Requires-Dist: arm ; platform_machine == 'aarch64'\n" if "one" in name else "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    arm = resolve.ask_pip("aarch64", "3.9", "x", ["one"])
    assert (arm.packages, arm.why) == ({"one": "1", "arm": "1"}, "")
    assert resolve.ask_pip("x86_64", "3.13", "x", ["one"]).packages == {"one": "1"}
    absent = resolve.ask_pip("aarch64", "3.9", "x", ["other"])
    assert not absent.packages and "No matching distribution found for other" in absent.why
    assert "**none** | No matching distribution" in resolve.render_table([absent])


def wheel(path: Path, more: str) -> None:
    name = path.name.split("-")[0]
    with zipfile.ZipFile(path, "w") as out:
        out.writestr(f"{name}-1.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n{more}")
        out.writestr(f"{name}-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        out.writestr(f"{name}-1.dist-info/RECORD", "")


@pytest.mark.parametrize("kind", ["3.11", "3.8-aarch64", "3.11-mips", "cp311-aarch64"])
def test_an_image_that_cannot_be_is_refused(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bundle.main(["--for", kind, "--out", str(tmp_path)]) == 2
    assert "no Python and processor" in capsys.readouterr().err and not list(tmp_path.iterdir())


@pytest.mark.parametrize("text", ["", "Package Version\ntorch 2.7.1\n", "numpy==1.26.4\ntorch>=2\n"])
def test_a_list_that_is_none_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "image.txt"
    file.write_text(text)
    with pytest.raises(bootstrap.SetupError, match="no list of packages"):
        image.read_pip_list(file)
    with pytest.raises(bootstrap.SetupError, match="No such file"):
        image.read_pip_list(tmp_path / "none")
    assert bundle.main(["--installed", str(file)]) == 2


def test_an_archive_for_an_image_brings_no_engine_and_names_the_image(
    tmp_path: Path, files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    links = tmp_path / "links"
    links.mkdir()
    monkeypatch.setattr(image, "read_requirements", lambda: {"one": "one", "jupyterlab": "jupyterlab"})
    for name, value in (("PIP_NO_INDEX", "1"), ("PIP_FIND_LINKS", str(links)), ("PIP_CONFIG_FILE", os.devnull)):
        monkeypatch.setenv(name, value)
    told, got = image.wanted_machine("3.9-aarch64"), tmp_path / "got"
    got.mkdir()
    with pytest.raises(bootstrap.SetupError, match="no wheels that fit: Python 3.9, aarch64"):
        image.download_image_wheels(got, told, None)
    wheel(links / "one-1-py3-none-manylinux_2_28_aarch64.whl", "Requires-Dist: old ; python_version < '3.10'\n")
    wheel(links / "old-1-py3-none-any.whl", "Requires-Dist: torch\n")
    wheel(links / "torch-1-py3-none-any.whl", "")
    with pytest.raises(bootstrap.SetupError, match="torch-1"):
        image.download_image_wheels(got, told, None)
    listed_there = tmp_path / "image.txt"
    listed_there.write_text("torch==1\nnumpy==2.1.16.2ae09d45\n")
    image.download_image_wheels(got, told, listed_there)
    assert sorted(path.name.partition("-")[0] for path in got.iterdir()) == ["old", "one"]
    archive = bundle.write_archive(tmp_path, files, told)
    assert archive.name.startswith("ascend-workbook-image-") and archive.name.endswith("-cp39-aarch64.zip")
    code, said = start(archive)
    assert code == 2 and "python3.9" in said and "aarch64" in said


@pytest.mark.full
def test_a_real_archive_without_a_network(tmp_path: Path) -> None:
    """Made of pip's own sources, set up in a namespace that has no network at all; minutes and gigabytes."""
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-rn", "true"], check=False).returncode:
        pytest.skip("unshare -rn is not allowed here: no namespace without a network")
    assert bundle.main(["--out", str(tmp_path)]) == 0
    (archive,) = tmp_path.glob("*.zip")
    base = getattr(sys, "_base_executable", sys.executable)
    command = ["unshare", "-rn", base, str(archive), "--into", str(tmp_path / "workbook")]
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=1200, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    check = [str(tmp_path / "workbook" / ".venv" / "bin" / "ascend-workbook"), "simulator", "status"]
    assert subprocess.run(["unshare", "-rn", *check], env=env, check=False).returncode == 0
