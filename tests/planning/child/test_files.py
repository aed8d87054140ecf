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
    code = f"""
import os
print(json.dumps([*(len(open(name).read()) > 1_000_000 for name in {[names[0], names[1], names[3]]!r}),
                  len(os.listdir({names[2]!r})), Path({names[2]!r}, "picture_0.jpg").is_file()]))
"""
    facts, stand_ins, errors = run(tmp_path, code, files=names)
    assert facts == [True, True, True, 64, True], errors
    assert [each.name for each in stand_ins] == names and not list(own.iterdir())


def make_torchvision(folder: Path) -> None:
    """Write as much of torchvision as is asked for."""
    (folder / "torchvision" / "datasets").mkdir(parents=True)
    for name in ("torchvision", "torchvision/datasets"):
        (folder / name / "__init__.py").write_text("")
    (folder / "torchvision" / "datasets" / "utils.py").write_text(
        "import hashlib, os, urllib.request\n"
        "def check_integrity(fpath, md5=None):\n"
        "    return md5 is None or hashlib.md5(open(fpath, 'rb').read()).hexdigest() == md5\n"
        "def download_url(url, root, md5=None):\n"
        "    os.makedirs(root, exist_ok=True)\n"
        "    file = os.path.join(root, os.path.basename(url))\n"
        "    with urllib.request.urlopen(url) as answer, open(file, 'wb') as out:\n"
        "        assert answer.length\n"
        "        while part := answer.read(4096):\n"
        "            out.write(part)\n"
        "    if not check_integrity(file, md5):\n"
        "        raise RuntimeError('corrupted')\n"
    )


@pytest.mark.parametrize("library", [False, True])
def test_what_is_made_of_a_download_is_not_written_to_a_folder_of_the_users(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, library: bool
) -> None:
    own = tmp_path_factory.mktemp("own")
    (own / "log.txt").write_text("old ")
    make_torchvision(tmp_path / "site-packages")
    get = f"download_url('https://nowhere.invalid/a.txt', {str(own)!r})" if library else "Path(text).write_bytes(words)"
    code = f"""
import urllib.request
from torchvision.datasets.utils import download_url
words, text = urllib.request.urlopen("https://nowhere.invalid/a.txt").read(), {str(own / "a.txt")!r}
{get}
with open({str(own / "log.txt")!r}, "a") as log:
    log.write("new")
print(json.dumps([len(open(text).read()) > 1_000_000, Path(text).is_file()]))
"""
    facts, _, errors = running.run(tmp_path, code, ("files.py", {}), library="site-packages")
    assert facts == [True, True], errors
    assert [each.name for each in own.iterdir()] == ["log.txt"] and (own / "log.txt").read_text() == "old new"


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
    """As much of fsspec as is asked for; a library whose weights stand in elsewhere hears what it would."""
    library = tmp_path / "site-packages"
    (library / "fsspec" / "implementations").mkdir(parents=True)
    for folder in ("fsspec", "fsspec/implementations"):
        (library / folder / "__init__.py").write_text("")
    (library / "fsspec" / "implementations" / "http.py").write_text(
        "class HTTPFileSystem:\n    def _open(self, path):\n        raise FileNotFoundError(path)\n"
        "def read(path):\n    return HTTPFileSystem()._open(path).read()\n"
    )
    (library / "timm.py").write_text("from fsspec.implementations.http import read\nask = lambda path: read(path)\n")
    code = """
from fsspec.implementations.http import read
import timm
try:
    timm.ask("https://nowhere.invalid/input.txt")
except FileNotFoundError as problem:
    print(json.dumps([len(read("https://nowhere.invalid/input.txt")), str(problem)]))
"""
    facts, stand_ins, errors = running.run(tmp_path, code, ("files.py", {"files": []}), library="site-packages")
    assert facts and facts[0] > 1_000_000 and facts[1] == "https://nowhere.invalid/input.txt", errors
    assert [(each.kind, each.line) for each in stand_ins] == [("download", 7)]


SEARCHES = {
    'glob.glob("data/A/*.*")': "data/A",
    'list(glob.iglob("data/A/*.*"))': "data/A",
    'list(Path("data/A").glob("*.png"))': "data/A",
    'list(Path("data").rglob("*.jpg"))': "data",
    '[name for _, _, names in os.walk("/nowhere/data") for name in names]': "/nowhere/data",
    'list(Path("/nowhere/data").glob("*.jpg"))': "/nowhere/data",
}


@pytest.mark.parametrize(("search", "folder"), SEARCHES.items())
def test_a_search_finds_pictures_once_a_run_found_none(tmp_path: Path, search: str, folder: str) -> None:
    code = f"import glob, os\nprint(json.dumps(len({search})))"
    assert run(tmp_path, code)[0] == 0
    asked = [json.loads(line) for line in (tmp_path / "out" / "asked.jsonl").read_text().splitlines()]
    assert [each["name"] for each in asked if each.get("searched")] == [folder]
    facts, stand_ins, errors = run(tmp_path, code, pictures=True)
    assert facts == 64, errors
    assert [each.kind for each in stand_ins] == ["pictures"] and not Path("/nowhere").exists()


def test_a_search_that_a_library_makes_for_itself_is_none_of_the_programs(tmp_path: Path) -> None:
    (tmp_path / "site-packages").mkdir()
    (tmp_path / "site-packages" / "fonts.py").write_text("import os\nfind = lambda: list(os.walk('/nowhere/fonts'))\n")
    running.run(tmp_path, "import fonts\nfonts.find()", ("files.py", {"files": []}), library="site-packages")
    assert not (tmp_path / "out" / "asked.jsonl").exists()


COMMANDS = {
    'os.system("wget -q https://nowhere.invalid/verdict.txt -O v.txt")': "v.txt",
    'os.system("mkdir -p data && cd data && wget -c https://nowhere.invalid/v.txt")': "data/v.txt",
    'subprocess.run(["wget", "-P", "data", "https://nowhere.invalid/v.txt"], check=True)': "data/v.txt",
    'subprocess.check_call("curl -L https://nowhere.invalid/verdict.txt -o v.txt", shell=True)': "v.txt",
    'subprocess.call(["curl", "-LO", "https://nowhere.invalid/v.txt"], cwd="data")': "",
    'subprocess.check_output(["curl", "-L", "-O", "https://nowhere.invalid/v.txt"])': "v.txt",
}


@pytest.mark.parametrize(("command", "name"), COMMANDS.items())
def test_what_wget_and_curl_are_asked_for(tmp_path: Path, command: str, name: str) -> None:
    code = f"import os, subprocess\n{command}\nprint(json.dumps(len(Path({name!r}).read_text())))"
    facts, stand_ins, errors = run(tmp_path, code)
    if not name:  # flags in one word are not taken apart, and what is not understood runs
        assert facts is None and not stand_ins
        return
    assert facts and facts > 1_000_000, errors
    assert [(each.kind, each.line) for each in stand_ins] == [("download", 2)]


@pytest.mark.parametrize(
    "command", ["wget https://nowhere.invalid/data.csv", "curl https://nowhere.invalid/v.txt", "echo https://a.b/v.txt"]
)
def test_what_cannot_be_made_up_is_left_to_the_command(tmp_path: Path, command: str) -> None:
    code = f"import os\nprint(json.dumps([os.system({command!r} + ' > out/said.txt 2>&1'), os.listdir()]))"
    facts, stand_ins, errors = run(tmp_path, code)
    assert facts and "data.csv" not in facts[1] and not stand_ins, errors


def test_what_a_library_downloads_for_its_demonstration(tmp_path: Path) -> None:
    (tmp_path / "site-packages").mkdir()
    (tmp_path / "site-packages" / "demos.py").write_text(
        "import requests\ndef read():\n"
        "    with requests.get('https://nowhere.invalid/words/train.txt', stream=True) as answer:\n"
        "        answer.raise_for_status()\n"
        "        return b''.join(answer.iter_content(4096))\n"
    )
    code = "import demos\nprint(json.dumps(len(demos.read())))"
    facts, stand_ins, errors = running.run(tmp_path, code, ("files.py", {}), library="site-packages")
    assert facts and facts > 1_000_000, errors
    assert [(each.kind, each.name) for each in stand_ins] == [("download", "https://nowhere.invalid/words/train.txt")]


def test_an_archive_by_torchvision_has_no_checksum_to_hold(tmp_path: Path) -> None:
    make_torchvision(tmp_path / "site-packages")
    code = """
from torchvision.datasets.utils import download_url
download_url("https://nowhere.invalid/set.tar.gz", "data", md5="0" * 32)
try:
    download_url("https://nowhere.invalid/set.csv", "data")
except OSError as problem:
    print(json.dumps([sorted(each.name for each in Path("data").iterdir()), type(problem).__name__]))
"""
    facts, stand_ins, errors = running.run(tmp_path, code, ("files.py", {}), library="site-packages")
    assert facts == [["set.tar.gz"], "URLError"], errors
    assert [each.kind for each in stand_ins] == ["archive"]


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


MOVES = {
    "os.replace(tmp, final)": ("final", "tmp"),
    "os.rename(os.fsencode(tmp), os.fsencode(final))": ("final", "tmp"),
    "Path(tmp).replace(final)": ("final", "tmp"),
    "shutil.move(tmp, final)": ("final", "tmp"),
    "shutil.copy2(tmp, final); os.remove(tmp)": ("final", "tmp"),
    "os.link(tmp, final); Path(tmp).unlink()": ("final", "tmp"),
    "os.remove(tmp); shutil.copyfile('own.txt', final)": ("final", "tmp"),
    "os.remove(tmp); os.replace('own.txt', final)": ("final", "tmp"),
    "os.replace(tmp, old); shutil.copy(old, final)": ("final", "tmp"),
    "os.makedirs(folder); shutil.move(tmp, folder); os.replace(folder + '/tmp', final); os.rmdir(folder)": (
        "final",
        "folder",
    ),
    "number, part = tempfile.mkstemp(dir=own); os.close(number); os.replace(tmp, part); os.replace(part, final)": (
        "final",
        "tmp",
    ),
}


@pytest.mark.parametrize(("move", "there"), MOVES.items())
def test_what_was_written_aside_is_moved_and_removed_there(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, move: str, there: tuple[str, str]
) -> None:
    own = tmp_path_factory.mktemp("own")
    (own / "old").write_text("the user's")
    code = f"""
import os, shutil, tempfile, urllib.request
own = {str(own)!r}
tempfile.tempdir = os.getcwd()
tmp, final, old, folder = (f"{{own}}/{{name}}" for name in ("tmp", "final", "old", "folder"))
words = urllib.request.urlopen("https://nowhere.invalid/a.txt").read()
for name in (tmp, "own.txt"):
    with open(name, "wb") as out:
        out.write(words)
{move}
print(json.dumps([len(open({there[0]}).read()) > 1_000_000, os.path.exists({there[1]}), Path(final).is_file()]))
"""
    facts, _, errors = run(tmp_path, code)
    assert facts == [True, False, True], errors
    assert [each.name for each in own.iterdir()] == ["old"] and (own / "old").read_text() == "the user's"


def test_a_users_own_files_are_moved_as_ever(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    own = tmp_path_factory.mktemp("own")
    (own / "log").write_text("one")
    code = f"""
import os, urllib.request
urllib.request.urlopen("https://nowhere.invalid/a.txt").read()
os.rename({str(own / "log")!r}, {str(own / "log.1")!r})
print(json.dumps(0))
"""
    facts, _, errors = run(tmp_path, code)
    assert facts == 0, errors
    assert [each.name for each in own.iterdir()] == ["log.1"] and (own / "log.1").read_text() == "one"


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ('glob.glob("imgs/*.png")', []),
        ('glob.glob("imgs/*")', ["imgs/a.jpg"]),
        ('[str(each) for each in Path("imgs").glob("*.png")]', []),
        ('[str(each) for each in Path("imgs").rglob("*.bmp")]', []),
        ('glob.glob("ckpts/*.pt")', []),
        ('[str(each) for each in Path("ckpts").glob("*.pt")]', []),
        ('glob.glob(b"imgs/*.jpg") == [b"imgs/a.jpg"]', True),
        ('glob.glob("*.jpg", root_dir="imgs")', ["a.jpg"]),
        ("[names for _, _, names in os.walk(b'imgs')] == [[b'a.jpg']]", True),
        ("[names for _, _, names in os.walk(Path('imgs'))]", [["a.jpg"]]),
        ("[*os.walk(b'nowhere')]", []),
    ],
)
def test_a_search_that_needs_no_pictures_finds_what_there_is(tmp_path: Path, search: str, found: object) -> None:
    (tmp_path / "imgs").mkdir()
    (tmp_path / "imgs" / "a.jpg").touch()
    code = f"import glob, os\nprint(json.dumps({search}))"
    facts, stand_ins, errors = run(tmp_path, code, pictures=True)
    assert facts == found, errors
    assert not stand_ins and not (tmp_path / "ckpts").exists()


def test_made_pictures_answer_every_kind_of_picture(tmp_path: Path) -> None:
    code = 'import glob\nkinds = ("*.png", "*.[jp]*g", "car_*", "*.pt")\n'
    code += 'print(json.dumps([len(glob.glob("imgs/" + kind)) for kind in kinds]))'
    facts, stand_ins, errors = run(tmp_path, code, pictures=True)
    assert facts == [64, 64, 64, 0], errors
    assert [(each.kind, each.name) for each in stand_ins] == [("pictures", "imgs/*.png")]


def test_a_made_up_folder_has_classes_and_grows_the_usual_parts(tmp_path: Path) -> None:
    code = """
import os
assert os.path.exists("data/flowers/train")
kinds = sorted(entry.name for entry in os.scandir("data/flowers/train") if entry.is_dir())
print(json.dumps([kinds, len(os.listdir("data/flowers/train/class1")), sorted(os.listdir("data/flowers"))[:2],
                  os.path.isdir("data/flowers/valid_set"), os.path.exists("data/flowers/processed"),
                  os.path.exists("data/flowers/train/cache.pt"), os.path.exists("data/other/train")]))
"""
    facts, stand_ins, errors = run(tmp_path, code, files=["data/flowers"], classes=["data/flowers"])
    assert facts == [["class0", "class1"], 64, ["class0", "class1"], True, False, False, False], errors
    assert stand_ins[0].facts["classes"] == 2 and stand_ins[0].facts["examples"] == 128
    flat, stand_ins, errors = run(
        tmp_path, "import os\nprint(json.dumps(len(os.listdir('flat/train'))))", files=["flat"]
    )
    assert flat == 64 and stand_ins[-1].facts["classes"] == 1, errors


def test_a_made_up_folder_elsewhere_grows_where_it_lies(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    own = tmp_path_factory.mktemp("own")
    code = f"import os\nprint(json.dumps(len(os.listdir({str(own / 'set' / 'train')!r}))))"
    facts, _, errors = run(tmp_path, code, files=[str(own / "set")])
    assert facts == 64 and not list(own.iterdir()), errors


def test_an_address_that_nobody_answers_is_written_down(tmp_path: Path) -> None:
    code = """
import urllib.request
try:
    urllib.request.urlretrieve("http://nowhere.invalid/table.parquet", "table.parquet")
except OSError:
    print(json.dumps(True))
"""
    facts, stand_ins, errors = run(tmp_path, code)
    asked = [json.loads(line) for line in (tmp_path / "out" / "asked.jsonl").read_text().splitlines()]
    assert facts and not stand_ins, errors
    assert [(each["name"], each.get("address")) for each in asked] == [("http://nowhere.invalid/table.parquet", True)]
    assert asked[0]["line"] == 4


def test_what_the_hub_does_not_give_is_written_down(tmp_path: Path) -> None:
    library = tmp_path / "site-packages" / "huggingface_hub"
    library.mkdir(parents=True)
    (library / "__init__.py").write_text("")
    (library / "file_download.py").write_text(
        "def _hf_hub_download_to_cache_dir(*, repo_id, filename):\n    raise ValueError('locate the file on the Hub')\n"
        "def hf_hub_download(repo_id, filename):\n"
        "    return _hf_hub_download_to_cache_dir(repo_id=repo_id, filename=filename)\n"
    )
    code = """
from huggingface_hub.file_download import hf_hub_download
try:
    hf_hub_download("owner/model", "modules.json")
except ValueError:
    print(json.dumps(True))
"""
    facts, _, errors = running.run(tmp_path, code, ("files.py", {}), library="site-packages")
    (asked,) = (tmp_path / "out" / "asked.jsonl").read_text().splitlines()
    assert facts and json.loads(asked)["name"] == "https://huggingface.co/owner/model/modules.json", errors
