"""What a rehearsal lacks: what may be made up, in which order it is tried, and what is told where it does not help."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.machine.launch import LaunchResult, Plugin
from ascend_workbook.machine.launch.result import ChildError
from ascend_workbook.planning.rehearsal.runs import Rehearsal
from ascend_workbook.planning.rehearsal.settings import make_cluster
from ascend_workbook.planning.rehearsal.stand_ins import (
    FORWARD,
    LAUNCHER,
    PICTURES,
    UNKNOWN,
    StandIn,
    configure,
    configure_hub,
    find_address,
    find_missing,
    load_stand_ins,
)
from tests.planning.rehearsal.made import make_rehearsal, make_run

EMPTY = "num_samples should be a positive integer value, but got num_samples=0"


def ended(kind: str, message: str) -> LaunchResult:
    return make_run(None, error=ChildError(kind, message, "train.py", 8)).result


@pytest.mark.parametrize(
    ("kind", "message", "missing"),
    [
        ("FileNotFoundError", "[Errno 2] No such file or directory: 'input.txt'", "input.txt"),
        ("FileNotFoundError", "[Errno 2] No such file or directory: '/data/train.bin'", "/data/train.bin"),
        ("FileNotFoundError", "data/cora.txt not found.", "data/cora.txt"),
        ("FileNotFoundError", "[Errno 2] No such file or directory: 'data/images'", "data/images"),
        ("FileNotFoundError", "[Errno 2] No such file or directory: 'images/style.JPG'", "images/style.JPG"),
        ("FileNotFoundError", "[Errno 2] No such file or directory: 'weights.pth'", "weights.pth"),
        ("FileNotFoundError", "[Errno 2] No such file or directory: 'best.pth.tar'", "best.pth.tar"),
        ("FileNotFoundError", "[Errno 2] No such file or directory: 'data.tar'", None),
        ("FileNotFoundError", "[Errno 2] No such file or directory: 'data.json'", None),
        ("ValueError", EMPTY, PICTURES),
        ("AttributeError", "'function' object has no attribute 'graph'", FORWARD),
        ("ValueError", "not that", None),
    ],
)
def test_what_may_be_made_up(kind: str, message: str, missing: str | None) -> None:
    assert find_missing(ended(kind, message)) == missing


def test_what_an_assertion_was_about_is_what_was_asked_for_beside_it(tmp_path: Path) -> None:
    (tmp_path / "asked.jsonl").write_text(
        '{"name": "data/early.txt", "file": "/run/train.py", "line": 3}\n'
        '{"name": "data/train.txt", "file": "/run/train.py", "line": 7}\n'
    )
    assert find_missing(ended("AssertionError", ""), tmp_path) == "data/train.txt"
    assert find_missing(ended("ValueError", "no"), tmp_path) is None
    assert find_missing(ended("AssertionError", "")) is None


@pytest.mark.parametrize(
    ("kind", "message", "missing"),
    [
        ("NotADirectoryError", "The checkpoint directory does not exist: data/flowers", "data/flowers"),
        ("SystemExit", "2 (no data found in data/flowers)", "data/flowers"),
        ("ValueError", "data/flowers holds 3 columns", None),
        ("RuntimeError", "the host nowhere.invalid is not found", None),
    ],
)
def test_what_an_error_names_is_what_was_asked_for_in_vain(
    tmp_path: Path, kind: str, message: str, missing: str | None
) -> None:
    (tmp_path / "asked.jsonl").write_text(
        '{"name": "data/flowers", "file": "/run/read.py", "line": 70}\n'
        '{"name": "nowhere.invalid", "file": "/run/read.py", "line": 71, "address": true}\n'
    )
    assert find_missing(ended(kind, message), tmp_path) == missing


@pytest.mark.parametrize(
    ("kind", "message", "missing"),
    [
        ("AssertionError", "number of training images must greater than 0.", "classes data/flowers"),
        ("FileNotFoundError", "Couldn't find any class folder in data/flowers.", "classes data/flowers"),
        ("ValueError", EMPTY, "classes data/flowers"),
        ("ValueError", "too many values to unpack (expected 2)", None),
    ],
)
def test_a_folder_that_stood_in_gets_classes_once(tmp_path: Path, kind: str, message: str, missing: str | None) -> None:
    line = '{{"kind": "folder", "name": "data/flowers", "guessed": true, "file": "", "line": 0, "classes": {}}}\n'
    (tmp_path / "stand_ins.jsonl").write_text(line.format(1))
    assert find_missing(ended(kind, message), tmp_path) == missing
    (tmp_path / "stand_ins.jsonl").write_text(line.format(2))
    assert not str(find_missing(ended(kind, message), tmp_path)).startswith("classes")


def test_an_address_that_an_error_does_not_name_is_the_one_that_was_asked_last(tmp_path: Path) -> None:
    unreached = ended("URLError", "<urlopen error [Errno -3] Temporary failure in name resolution>")
    assert find_address(unreached, (), tmp_path) == find_address(unreached) == UNKNOWN
    (tmp_path / "asked.jsonl").write_text(
        '{"name": "https://nowhere.invalid/a.parquet", "file": "a.py", "line": 3, "address": true}\n'
        '{"name": "data", "file": "a.py", "line": 4}\n'
    )
    assert find_address(unreached, (), tmp_path) == "https://nowhere.invalid/a.parquet"
    assert find_address(ended("ValueError", "no"), (), tmp_path) == ""


def test_a_folder_that_was_searched_in_vain_is_made_once(tmp_path: Path) -> None:
    (tmp_path / "asked.jsonl").write_text(
        '{"name": "data", "file": "/run/train.py", "line": 3, "searched": true}\n'
        '{"name": "data/train.txt", "file": "/run/train.py", "line": 7}\n'
    )
    assert find_missing(ended("IndexError", "list index out of range"), tmp_path) == PICTURES
    (tmp_path / "stand_ins.jsonl").write_text(
        '{"kind": "pictures", "name": "data/*", "guessed": true, "file": "train.py", "line": 3}\n'
    )
    assert find_missing(ended("IndexError", "list index out of range"), tmp_path) is None


def test_who_refuses_what_stood_in_for_a_download_asked_the_network_for_it() -> None:
    url = "https://nowhere.invalid/set.tar.gz"
    stood_in = StandIn("archive", url, True, "train.py", 3, {})
    refused = ended("HashCheckError", f"sha256 hash check of downloaded file failed: url={url!r}")
    assert find_address(refused, [stood_in]) == url
    assert find_address(refused) == find_address(ended("ValueError", "no"), [stood_in]) == ""


def launches_of(*results: LaunchResult, allowed: bool = True) -> tuple[Any, list[dict[str, object]]]:
    """Run a rank whose launches end so, one after another; return its result and what each launch was given."""
    given, waiting = [], list(results)
    made = make_rehearsal()
    rehearsal = Rehearsal(made.plan, make_cluster("910B3", 1, None, None), None, stand_ins=allowed)  # type: ignore[arg-type]

    def launch(self: Rehearsal, rank: int, *others: Plugin) -> LaunchResult:
        if others:  # it never used the device: asked once more, with its models there
            return results[-1]
        given.append(configure(self.files))
        return waiting.pop(0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Rehearsal, "_launch", launch)
        return rehearsal.run_rank(0), given


TEXT = ended("FileNotFoundError", "[Errno 2] No such file or directory: 'input.txt'")
OTHER = ended("ValueError", "the text has no header")
FINE = replace(TEXT, outcome="stopped_after", error=None, trouble=None)


def test_it_is_run_again_with_what_was_missing() -> None:
    run, given = launches_of(TEXT, ended("ValueError", EMPTY), FINE)
    assert run.result is FINE
    assert [(each["files"], each["pictures"], each["offline"]) for each in given] == [
        ([], False, True),
        (["input.txt"], False, True),
        (["input.txt"], True, True),
    ]


def test_where_that_does_not_help_what_stopped_it_then_is_told() -> None:
    """A fault of the script's own behind a file that was missing: it is not the missing file that has to be mended."""
    run, given = launches_of(TEXT, OTHER)
    assert run.result is OTHER and len(given) == 2


def test_a_run_that_took_too_long_with_it_is_told_as_that() -> None:
    late = replace(TEXT, outcome="timeout", error=None)
    assert launches_of(TEXT, late)[0].result is late


def test_the_same_thing_is_made_up_once() -> None:
    run, given = launches_of(TEXT, TEXT)
    assert run.result is TEXT and len(given) == 2


def test_nothing_is_made_up_where_that_is_not_allowed() -> None:
    run, given = launches_of(TEXT, allowed=False)
    assert run.result is TEXT and len(given) == 1


@pytest.mark.parametrize(
    ("kind", "message", "missing"),
    [
        ("RuntimeError", "Found 0 images in: data", PICTURES),
        ("ValueError", "max() arg is an empty sequence", PICTURES),
        ("ZeroDivisionError", "division by zero", PICTURES),
        ("FileNotFoundError", "data: 没有图片", PICTURES),
        ("AssertionError", "", None),
        ("TypeError", "DataLoader.__init__() missing 1 required positional argument: 'x'", None),
        ("RuntimeError", "mat1 and mat2 shapes cannot be multiplied (4x8 and 9x2)", None),
        ("RuntimeError", "torch.empty(): argument 'size' must be tuple of ints", None),
        ("IndexError", "index out of range in self", None),
        ("KeyError", "'lr'", None),
    ],
)
def test_a_search_in_vain_explains_only_what_speaks_of_files(
    tmp_path: Path, kind: str, message: str, missing: str | None
) -> None:
    asked = '{"name": "data", "file": "/run/train.py", "line": 3, "searched": true}\n'
    (tmp_path / "asked.jsonl").write_text(asked)
    assert find_missing(ended(kind, message), tmp_path) == missing


def test_the_list_is_read_and_a_broken_line_passed_over(tmp_path: Path) -> None:
    line = '{"kind": "dataset", "name": "MNIST", "guessed": false, "file": "a.py", "line": 3, "examples": 5}'
    path = tmp_path / "stand_ins.jsonl"
    path.write_text(f'{line}\n{{"kind": "fi\n[]\n')
    assert load_stand_ins(path) == [StandIn("dataset", "MNIST", False, "a.py", 3, {"examples": 5})]
    assert load_stand_ins(tmp_path / "none") == []


@pytest.mark.parametrize(
    ("kind", "message", "missing"),
    [
        ("KeyError", "'messages'", "column messages"),
        ("ValueError", "Column 'sentence1' doesn't exist.", "column sentence1"),
        ("IndexError", "Index 9999 out of range for dataset of size 2000.", "rows 20000"),
        ("IndexError", "Index 9999999 out of range for dataset of size 2000.", None),
        ("IndexError", "list index out of range", None),
    ],
)
def test_what_rows_that_stood_in_lack(tmp_path: Path, kind: str, message: str, missing: str | None) -> None:
    assert find_missing(ended(kind, message), tmp_path) is None, "no set stood in"
    line = '{"kind": "texts", "name": "glue", "guessed": true, "file": "a.py", "line": 3, "rows": 2000}'
    (tmp_path / "stand_ins.jsonl").write_text(line + "\n")
    assert find_missing(ended(kind, message), tmp_path) == missing


def test_what_was_missing_goes_to_whom_it_concerns() -> None:
    missing = [
        "input.txt",
        "column messages",
        "rows 300",
        "rows 20",
        PICTURES,
        LAUNCHER,
        FORWARD,
        "classes data",
        "a.PTH",
    ]
    facts = {"files": ["input.txt", "a.PTH"], "weights": ["a.PTH"], "classes": ["data"]}
    assert configure(missing) == {**facts, "pictures": True, "offline": True}
    told = configure_hub(True, missing)
    assert (told["columns"], told["rows"], told["offline"]) == (["messages"], 300, False)
    assert "rows" not in configure_hub(True, [])


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("ValueError", "env:// rendezvous: environment variable RANK expected, but not set"),
        ("KeyError", "'LOCAL_RANK'"),
    ],
)
def test_what_a_launcher_sets(tmp_path: Path, kind: str, message: str) -> None:
    assert find_missing(ended(kind, message)) == LAUNCHER
    made = make_rehearsal()
    one = Rehearsal(made.plan, make_cluster("910B3", 1, None, None), None)  # type: ignore[arg-type]
    assert "RANK" not in one._make_environment(0, tmp_path)
    one.files.append(LAUNCHER)
    env = one._make_environment(0, tmp_path)
    assert (env["RANK"], env["WORLD_SIZE"], env["LOCAL_RANK"]) == ("0", "1", "0")
    assert env["MASTER_ADDR"] == "127.0.0.1" and "ASCEND_WORKBOOK_SIM_ALONE" not in env
