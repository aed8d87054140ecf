"""Lists of numbers are one thing in every verb: what is taken, what is refused, how the help says it."""

from __future__ import annotations

from pathlib import Path

import pytest

import helpers
from ascend_workbook.cli.help_page import describe_option
from ascend_workbook.cli.main import build_parser, main
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.machine.number_lists import format_spans, parse_numbers
from ascend_workbook.profiling.collecting.options import Options

#: Verb, option, what stands before and behind it
OPTIONS = (
    ("analyse", "--ranks", ["trace.json"]),
    ("timeline", "--ranks", ["trace.json"]),
    ("profile", "--ranks", ["train.py"]),
    ("capture", "--ranks", ["--out", "out", "train.py"]),
    ("capture", "--dump-steps", ["--out", "out", "train.py"]),
    ("baseline", "--dump-steps", ["--out", "out", "train.py"]),
    ("verify", "--only", ["--inputs", "data.py:inputs", "a.py:net", "b.py:net"]),
)


def test_numbers_and_ranges() -> None:
    assert parse_numbers("0, 3-5,4", "ranks") == [0, 3, 4, 5]
    assert parse_numbers([5, 0, 5], "ranks") == [0, 5] and parse_numbers("7-7", "ranks") == [7]
    assert format_spans([2, 3, 4, 7]) == "2-4, 7"
    assert parse_numbers(format_spans([2, 3, 4, 7]), "ranks") == [2, 3, 4, 7]


@pytest.mark.parametrize("given", ["", "a", "1,", "5-3", "-1", "1-", "0-9999999", "1.5", "0 1", "²", "٣"])
def test_what_is_none_is_named(given: str) -> None:
    with pytest.raises(WorkbookError) as told:
        parse_numbers(given, "--ranks")
    assert told.value.key == "numbers.no_list" and told.value.arguments == {"name": "--ranks", "given": given}


@pytest.mark.parametrize(("verb", "option", "rest"), OPTIONS)
def test_every_verb_takes_them_alike(
    verb: str, option: str, rest: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    args = build_parser(verb).parse_args([verb, option, "0,3-5", *rest])
    assert getattr(args, option.lstrip("-").replace("-", "_")) == [0, 3, 4, 5]
    assert main([verb, option, "1,x", *rest]) == 2
    assert f"{option} 1,x: no list of numbers" in capsys.readouterr().err
    parser = build_parser().below[verb]
    own = parser.by_flag()[option]
    assert own.value_name == "LIST"
    assert "numbers from 0 and ranges, such as 0,3-5 (default: " in describe_option(parser, own, "en")


def test_the_functions_take_the_same_texts(tmp_path: Path) -> None:
    assert (
        Options.from_mapping({"ranks": "0,2-3"}).ranks == Options.from_mapping({"ranks": [3, 2, 0]}).ranks == (0, 2, 3)
    )
    script = tmp_path / "train.py"
    script.write_text("")
    for call in (
        lambda: Options.from_mapping({"ranks": "0-"}),
        lambda: helpers.capture(script, out=tmp_path / "out", ranks="0-"),
        lambda: helpers.capture(script, out=tmp_path / "out", dump_steps="0-"),
        lambda: helpers.verify("net.py:a", "net.py:b", "data.py:c", only="0-"),
    ):
        with pytest.raises(WorkbookError, match="0-: no list of numbers"):
            call()


def test_no_verb_has_a_list_of_its_own() -> None:
    known = {(verb, option) for verb, option, _ in OPTIONS}
    options = [(verb, parser, each) for verb, parser in build_parser().walk_leaves() for each in parser.options]
    assert not [each.flag for _, _, each in options if each.kind is int and "nargs" in each.settings]
    alike = {(verb, each.flag) for verb, parser, each in options if "0,3-5" in describe_option(parser, each, "en")}
    assert alike == known
