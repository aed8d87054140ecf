"""Files that are not on this machine are made up in the process that trains: only what failed, each noted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.planning.rehearsal.stand_ins import StandIn
from tests.planning.child import running


def run(folder: Path, code: str, **config: object) -> tuple[Any, list[StandIn], str]:
    """Run code with the plugin."""
    return running.run(folder, code, ("files.py", config))


@pytest.mark.parametrize("name", ["data/input.txt", "/nowhere/input.txt"])
def test_a_text_is_made_where_a_run_before_did_not_find_it(tmp_path: Path, name: str) -> None:
    code = f"""
text = open({name!r}, encoding="utf-8").read()
print(json.dumps([len(text) > 1_000_000, len(set(text)) < 80, len(set(text.lower().replace(".", "").split())) > 9_000]))
"""
    facts, stand_ins, errors = run(tmp_path, code, files=[name])
    assert facts == [True, True, True], errors
    assert [(each.kind, each.name, each.guessed) for each in stand_ins] == [("file", name, True)]
    assert "No such file" in run(tmp_path, 'open("other.txt")')[2]


def test_nothing_is_made_in_a_folder_of_the_users(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Where no enclosure stops it: absolute paths, paths upwards, links that the copy of a program holds."""
    own = tmp_path_factory.mktemp("own")
    names = [f"{own}/input.txt", f"../{own.name}/up.txt", f"{own}/pictures", "linked/input.txt"]
    (tmp_path / "linked").symlink_to(own)
    code = f"print(json.dumps([len(open(name).read()) > 1_000_000 for name in {[names[0], names[1], names[3]]!r}]))"
    facts, stand_ins, errors = run(tmp_path, code, files=names)
    assert facts == [True, True, True], errors
    assert [each.name for each in stand_ins] == [names[0], names[1], names[3]] and not list(own.iterdir())


def test_no_download_is_made_up_in_a_folder_of_the_users(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    own = tmp_path_factory.mktemp("own")
    code = f"""
import urllib.request, zipfile
urllib.request.urlretrieve("https://127.0.0.1:9/data.zip", "{own}/data.zip")
print(json.dumps([os.path.exists("{own}/data.zip"), zipfile.ZipFile("{own}/data.zip").namelist()]))
"""
    facts, stand_ins, errors = run(tmp_path, "import os\n" + code)
    assert facts == [True, []], errors
    assert [each.kind for each in stand_ins] == ["archive"] and not list(own.iterdir())


def test_tokens_and_packed_texts(tmp_path: Path) -> None:
    code = """
import gzip
import numpy
tokens = numpy.memmap("train.bin", dtype=numpy.uint16, mode="r")
packed = gzip.open("enwik8.gz").read()
print(json.dumps([len(tokens), int(tokens.max()), len(packed) > 95_000_000, Path("enwik8.gz").stat().st_size < 2**26]))
"""
    facts, _, errors = run(tmp_path, code, files=["train.bin", "enwik8.gz"])
    assert facts == [1_000_000, 255, True, True], errors


def test_a_pattern_finds_pictures_once_a_run_found_none(tmp_path: Path) -> None:
    code = 'import glob\nfiles = glob.glob("data/A/*.*")\nprint(json.dumps(len(files)))'
    assert run(tmp_path, code)[0] == 0
    facts, stand_ins, errors = run(tmp_path, code, pictures=True)
    assert facts == 64, errors
    assert [(each.kind, each.name) for each in stand_ins] == [("pictures", "data/A/*.*")]


@pytest.mark.parametrize(
    "line",
    [
        'requests.get("https://nowhere.invalid/verdict.txt").text',
        'urllib.request.urlopen("https://nowhere.invalid/verdict.txt").read().decode()',
        'Path(urllib.request.urlretrieve("https://nowhere.invalid/verdict.txt", "v.txt")[0]).read_text()',
    ],
)
def test_a_text_that_is_downloaded(tmp_path: Path, line: str) -> None:
    facts, stand_ins, errors = run(tmp_path, f"import requests, urllib.request\nprint(json.dumps(len({line})))")
    assert facts and facts > 1_000_000, errors
    assert [(each.kind, each.guessed) for each in stand_ins] == [("download", True)]
    other = 'import requests\nrequests.get("https://nowhere.invalid/cora.csv")'
    assert "ConnectionError" in run(tmp_path, other)[2]


def test_a_text_that_is_opened_by_its_address(tmp_path: Path) -> None:
    """As much of fsspec as is asked for; a library that asks by itself hears what it would."""
    library = tmp_path / "site-packages"
    (library / "fsspec" / "implementations").mkdir(parents=True)
    for folder in ("fsspec", "fsspec/implementations"):
        (library / folder / "__init__.py").write_text("")
    (library / "fsspec" / "implementations" / "http.py").write_text(
        "class HTTPFileSystem:\n    def _open(self, path):\n        raise FileNotFoundError(path)\n"
        "def read(path):\n    return HTTPFileSystem()._open(path).read()\n"
    )
    (library / "reader.py").write_text("from fsspec.implementations.http import read\nask = lambda path: read(path)\n")
    code = """
from fsspec.implementations.http import read
import reader
try:
    reader.ask("https://nowhere.invalid/input.txt")
except FileNotFoundError as problem:
    print(json.dumps([len(read("https://nowhere.invalid/input.txt")), str(problem)]))
"""
    facts, stand_ins, errors = running.run(tmp_path, code, ("files.py", {"files": []}), library="site-packages")
    assert facts and facts[0] > 1_000_000 and facts[1] == "https://nowhere.invalid/input.txt", errors
    assert [(each.kind, each.line) for each in stand_ins] == [("download", 7)]


def test_a_picture_is_made_where_a_run_before_did_not_find_it(tmp_path: Path) -> None:
    code = """
from PIL import Image
print(json.dumps(Image.open("images/style.jpg").size))
"""
    facts, stand_ins, errors = run(tmp_path, code, files=["images/style.jpg"])
    assert facts == [256, 256], errors
    assert stand_ins[0].sentence.args == {"name": "images/style.jpg", "size": "256 x 256"}


def test_what_is_asked_for_and_not_there_is_written_down(tmp_path: Path) -> None:
    code = """
import os
os.path.exists("train.py")
os.path.isfile("data/train.txt")
Path("pictures").is_dir()
print(json.dumps(0))
"""
    assert run(tmp_path, code)[0] == 0
    asked = [json.loads(line) for line in (tmp_path / "out" / "asked.jsonl").read_text().splitlines()]
    assert [(each["name"], each["line"]) for each in asked] == [("data/train.txt", 4), ("pictures", 5)]


@pytest.mark.parametrize("suffix", ["zip", "tar.gz"])
def test_an_archive_that_is_downloaded_holds_nothing(tmp_path: Path, suffix: str) -> None:
    code = f"""
import shutil, urllib.request
urllib.request.urlretrieve("https://nowhere.invalid/BSDS300.{suffix}", "packed.{suffix}")
Path("unpacked").mkdir()
shutil.unpack_archive("packed.{suffix}", "unpacked")
print(json.dumps([each.name for each in Path("unpacked").iterdir()]))
"""
    facts, stand_ins, errors = run(tmp_path, code)
    assert facts == [], errors
    assert [(each.kind, each.guessed, each.line) for each in stand_ins] == [("archive", True, 3)]
