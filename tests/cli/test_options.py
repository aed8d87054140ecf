"""A verb's options are its function's parameters: by construction, and as a look from outside sees them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest

import helpers
from ascend_workbook.cli.main import build_parser, load_verb, verb_names
from ascend_workbook.cli.options import WITHHELD, Row, Verb
from ascend_workbook.cli.parser import Parser
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import show


def list_leaves() -> Iterator[tuple[str, Verb]]:
    for name in verb_names():
        verb = load_verb(name)
        yield from [(f"{name} {action}", below) for action, below in verb.actions.items()] or [(name, verb)]


LEAVES = dict(list_leaves())
#: Verbs whose function has another name in notebooks.
NOTEBOOKS = {"check": "environment_check"}


@pytest.mark.parametrize("name", LEAVES)
def test_an_option_and_its_parameter_agree(name: str) -> None:
    """Each has a parameter; a default that the command line shows is the function's own."""
    verb = LEAVES[name]
    functions = [each for each in (verb.function, verb.options_of, verb.run, verb.show, verb.last) if each]
    parameters = [inspect.signature(function).parameters for function in functions]
    for option in verb.options:
        if option.keyword:
            first = next(each[option.keyword] for each in parameters if option.keyword in each)
            default = option.settings.get("default")
            same = [list(first.default) if isinstance(first.default, tuple) else first.default, None, []]
            assert default in same or option.row.default == default, option.flag
    known = {option.keyword for option in verb.options}
    for each in parameters:
        unknown = {name for name, parameter in each.items() if parameter.kind is not inspect.Parameter.VAR_KEYWORD}
        assert {key for key in unknown - known - WITHHELD if verb.rows.get(key, Row()) is not None} == set()


@pytest.mark.parametrize("name", sorted(set(LEAVES) & {name.replace("_", "-") for name in helpers.__all__}))
def test_the_verbs_function_is_the_notebooks(name: str) -> None:
    """All but three: a script's benchmark, a job's line, a run once or as a plan says."""
    word = NOTEBOOKS.get(name, name.replace("-", "_"))
    function = getattr(import_module(helpers._VERBS[word]), word)
    assert (LEAVES[name].function is function) is (name not in ("benchmark", "launch-facts", "run"))


def measure(
    path: str | Path,
    *words: str,
    out: str,
    steps: int = 3,
    rate: float | None = None,
    checks: bool = True,
    only: Sequence[str] = (),
    ranks: str | Sequence[int] = (),
    pairs: Mapping[str, str] | None = None,
    timeout_s: float = 9,
    cwd: str | None = None,
    kind: str = "a",
) -> dict[str, object]:
    return dict(locals())


def finish(
    call: partial[object], lang: str | None, *, steps: int, loud: bool = False
) -> tuple[object, str | None, int, bool]:
    return call(), lang, steps, loud


@pytest.fixture
def parser() -> Parser:
    rows = {
        "timeout_s": Row("--timeout", metavar="S"),
        "pairs": Row(nargs=2, metavar=("A", "B")),
        "kind": Row(choices=("a", "b")),
    }
    parser = Parser(prog="ascend-workbook measure", key="help", build_whole=build_parser)
    parser.declare_verb(Verb(measure, rows, finish))
    return parser


def test_a_line_becomes_a_call(parser: Parser) -> None:
    line = "p q r --out o --steps 5 --no-checks --ranks 0,2-3 --pairs x 1 --pairs y 2 --timeout 4 --loud --lang zh"
    args = parser.parse_args(line.split())
    (taken, lang, steps, loud) = args.chosen.run_verb(args)
    assert (taken["path"], taken["words"], taken["out"]) == ("p", ("q", "r"), "o")
    assert (taken["steps"], taken["checks"], taken["ranks"]) == (5, False, [0, 2, 3])
    assert (taken["pairs"], taken["timeout_s"], taken["cwd"]) == ({"x": "1", "y": "2"}, 4.0, None)
    assert (lang, steps, loud) == ("zh", 5, True)


def test_what_is_not_given_is_the_functions_own_default(parser: Parser) -> None:
    args = parser.parse_args(["p", "--out", "o"])
    taken = args.chosen.run_verb(args)[0]
    assert (taken["only"], taken["pairs"], taken["rate"], taken["checks"]) == ((), None, None, True)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("p", "what is required is missing: --out"),
        ("--out o", "what is required is missing: path"),
        ("p --out o --steps x", "--steps: 'x' is no whole number"),
        ("p --out o --rate x", "--rate: 'x' is no number"),
        ("p --out o --kind c", "--kind c: expected a, b"),
        ("p --out", "--out needs a value"),
        ("p --out o --zzz", "unknown here: --zzz"),
    ],
)
def test_a_wrong_line_is_told_from_the_declaration(parser: Parser, line: str, said: str) -> None:
    with pytest.raises(WorkbookError) as refused:
        parser.parse_args(line.split())
    assert show(refused.value.arguments["error"], "en") == said
