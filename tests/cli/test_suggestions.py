"""What a mistyped command line is answered with: the option or verb that was meant, or what there is."""

from __future__ import annotations

import pytest

from ascend_workbook.cli.main import build_parser, main, verb_names
from ascend_workbook.cli.mistakes import MEANT, SWITCHES, VALUES


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("run plan.yaml --lst", "Did you mean --list? `ascend-workbook run --help`"),
        ("run plan.yaml --dry-run", "Did you mean --list? `ascend-workbook run --help`"),
        ("modelarts job --code a --out b --flavor c --list", "Did you mean --dry-run? `ascend-workbook modelarts job"),
        ("course list --lag zh", "Did you mean --lang? `ascend-workbook course list --help`"),
        ("scan x --fail-in y", "Did you mean --fail-on?"),
        ("course list --dry-run", "--dry-run is an option of `modelarts job`, not of this command"),
        ("check x --bogus", "See `ascend-workbook check --help`"),
        ("explain --nothing-like-it x", "See `ascend-workbook explain --help`"),
        ("course lst", "Did you mean `course list`? `ascend-workbook course --help`"),
        ("course zzz", "There are list, reset, grade, class, solve, pack."),
        ("grade x", "Did you mean `course grade`? `ascend-workbook --help`"),
        ("batch plan.yaml", "Did you mean `run`?"),
        ("chek", "Did you mean `check`?"),
        ("zzz", "There are accept, advise, "),
    ],
)
def test_the_next_step_names_what_was_meant(line: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*line.split(), "--lang=en"]) == 2
    assert said in capsys.readouterr().err


def test_in_chinese_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["course", "list", "--dry-run", "--lang", "zh"]) == 2
    assert "--dry-run 是 `modelarts job` 的选项" in capsys.readouterr().err


def test_a_list_of_parts_is_no_dry_run(capsys: pytest.CaptureFixture[str]) -> None:
    """`capture --list` takes a value: it is another thing than `run --list`."""
    assert main(["capture", "--dry-run", "train.py", "--lang", "en"]) == 2
    assert "Did you mean --list" not in capsys.readouterr().err


def test_what_the_tables_name_is_there() -> None:
    names = set(verb_names())
    assert set(MEANT.values()) <= names and not names & set(MEANT)
    known = {flag for _, parser in build_parser().walk_leaves() for flag in parser.by_flag()}
    assert all(set(group) & known for group in (*SWITCHES, *VALUES))


def test_actions_take_the_outputs_of_every_verb() -> None:
    """All but those that print for themselves: a command's output, an environment, a kernel's place."""
    for name, parser in build_parser().walk_leaves():
        if name not in {"simulator run", "simulator env", "simulator kernel"}:
            assert {"--json", "--html", "--junit", "--lang"} <= set(parser.by_flag()), name
