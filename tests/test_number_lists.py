"""Lists of numbers are one thing in every verb: what is taken, what is refused, how the help says it."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

import helpers
from helpers.__main__ import build_parser, main
from helpers.errors import WorkbookError
from helpers.number_lists import numbers, spans
from helpers.profiling.collecting.options import Options

#: Verb, option, what stands before and behind it
OPTIONS = (
    ("analyse", "--ranks", ["trace.json"]), ("profile", "--ranks", ["train.py"]),
    ("capture", "--ranks", ["--out", "out", "train.py"]), ("capture", "--dump-steps", ["--out", "out", "train.py"]),
    ("baseline", "--dump-steps", ["--out", "out", "train.py"]),
    ("verify", "--only", ["--inputs", "data.py:inputs", "a.py:net", "b.py:net"]),
)  # fmt: skip


def test_numbers_and_ranges() -> None:
    assert numbers("0, 3-5,4", "ranks") == [0, 3, 4, 5]
    assert numbers([5, 0, 5], "ranks") == [0, 5] and numbers("7-7", "ranks") == [7]
    assert spans([2, 3, 4, 7]) == "2-4, 7"
    assert numbers(spans([2, 3, 4, 7]), "ranks") == [2, 3, 4, 7]


@pytest.mark.parametrize("given", ["", "a", "1,", "5-3", "-1", "1-", "0-9999999", "1.5", "0 1", "²", "٣"])
def test_what_is_none_is_named(given: str) -> None:
    with pytest.raises(WorkbookError) as told:
        numbers(given, "--ranks")
    assert told.value.key == "numbers.no_list" and told.value.arguments == {"name": "--ranks", "given": given}


@pytest.mark.parametrize(("verb", "option", "rest"), OPTIONS)
def test_every_verb_takes_them_alike(
    verb: str, option: str, rest: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    args = build_parser(verb).parse_args([verb, option, "0,3-5", *rest])
    assert getattr(args, option.lstrip("-").replace("-", "_")) == [0, 3, 4, 5]
    assert main([verb, option, "1,x", *rest]) == 2
    assert f"{option} 1,x: no list of numbers" in capsys.readouterr().err
    (found,) = [one for one in _options(verb) if option in one.option_strings]
    assert found.metavar == "LIST" and "numbers from 0 and ranges, such as 0,3-5 (default: " in str(found.help)


def test_the_functions_take_the_same_texts(tmp_path: Path) -> None:
    assert Options.of({"ranks": "0,2-3"}).ranks == Options.of({"ranks": [3, 2, 0]}).ranks == (0, 2, 3)
    script = tmp_path / "train.py"
    script.write_text("")
    for call in (
        lambda: Options.of({"ranks": "0-"}),
        lambda: helpers.capture(script, out=tmp_path / "out", ranks="0-"),
        lambda: helpers.capture(script, out=tmp_path / "out", dump_steps="0-"),
        lambda: helpers.verify("net.py:a", "net.py:b", "data.py:c", only="0-"),
    ):
        with pytest.raises(WorkbookError, match="0-: no list of numbers"):
            call()


def test_no_verb_has_a_list_of_its_own() -> None:
    known = {(verb, option) for verb, option, _ in OPTIONS}
    lists = {(one.dest, word) for verb in _verbs() for one in _options(verb) for word in one.option_strings
             if one.type is int and one.nargs is not None}  # fmt: skip
    assert not lists
    alike = {(verb, word) for verb in _verbs() for one in _options(verb) for word in one.option_strings
             if "0,3-5" in str(one.help)}  # fmt: skip
    assert alike == known


def _verbs() -> list[str]:
    return list(_subparsers(build_parser()))


def _options(verb: str) -> list[argparse.Action]:
    return _subparsers(build_parser(verb))[verb]._actions


def _subparsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    (found,) = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
    return dict(found.choices)
