"""Planted faults: which there are, that the seed decides, and that a strong suite sees what a weak one does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import ROOT
from tools.mutation.__main__ import compute_rate, main
from tools.mutation.equivalent import EQUIVALENT
from tools.mutation.operators import Mutant, list_mutants
from tools.mutation.parts import PARTS, Part
from tools.mutation.run import EXCUSED, KILLED, SURVIVED, TIMEOUT, Outcome, sample_mutants

SOURCE = '''"""A share."""

def share(part: int, whole: int = 100) -> float:
    if whole <= 0:
        return 0.0
    return part / whole
'''
WEAK = """from shop.shares import share

def test_it_runs():
    assert share(1, 2) is not None
"""
STRONG = """from shop.shares import share

def test_shares():
    assert (share(1, 2), share(1, 1), share(1, 0), share(50)) == (0.5, 1.0, 0.0, 0.5)
"""
BROKEN = "def test_it_fails():\n    assert not 1\n"


def changes(source: str) -> set[str]:
    """The changed line of every fault of a source of one line."""
    text = source.encode()
    return {mutant.lines_changed(text)[1] for mutant in list_mutants("x.py", text)}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = a < b", {"x = a <= b"}),
        ("x = a not in b", {"x = a in b"}),
        ("x = (a) == (b != c)", {"x = (a) != (b != c)", "x = (a) == (b == c)"}),
        ("x = a and b and c", {"x = a or b and c", "x = a and b or c"}),
        ("x = not a", {"x =  a"}),
        ("x = -a", {"x = a"}),
        ("x = a ** b / c", {"x = a * b / c", "x = a ** b * c"}),
        ("x += a", {"x -= a"}),
        (
            "x = (3, 0.5, True, 0.0)",
            {
                "x = (4, 0.5, True, 0.0)",
                "x = (3, 1.0, True, 0.0)",
                "x = (3, 0.5, False, 0.0)",
                "x = (3, 0.5, True, 1.0)",
            },
        ),
        ("x = a[1:]", {"x = a[2:]"}),
        ("x = b if a else c", {"x = b if not (a) else c"}),
        ("x = [a for a in b if a]", {"x = [a for a in b if True]"}),
        ("x = min(a) or any(b)", {"x = max(a) or any(b)", "x = min(a) or all(b)", "x = min(a) and any(b)"}),
        ("x = '数' + a", {"x = '数' - a"}),
        ("def f(a=1): return a", {"def f(a=2): return a", "def f(a=1): return None"}),
    ],
)
def test_the_faults_of_a_line(source: str, expected: set[str]) -> None:
    assert changes(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        "x: Literal[1] = y",
        "TIMEOUT_S = 3",
        "x = f'{a < b}'",
        "raise E(a + b)",
        "print(a + b)",
        "x = open(a, buffering=1)",
        "x: int | None",
        "'%s' % a",
        "if TYPE_CHECKING: x = 1",
    ],
)
def test_what_no_test_should_hold_is_left_alone(source: str) -> None:
    assert changes(source) == set()


def test_branches_and_loops() -> None:
    source = b"def f(a):\n    for b in a:\n        if b:\n            continue\n        return b\n"
    found = {(mutant.line_of_fault(source), *mutant.lines_changed(source)) for mutant in list_mutants("x.py", source)}
    assert found == {(3, "if b:", "if False:"), (4, "continue", "break"), (5, "return b", "return None")}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    for folder in ("shop", "tests"):
        (root / folder).mkdir(parents=True)
    (root / "shop" / "__init__.py").touch()
    (root / "shop" / "shares.py").write_text(SOURCE)
    return root


def plant(project: Path, tests: str, *options: str) -> int:
    (project / "tests" / "test_shares.py").write_text(tests)
    place = str(project.parent / "place")
    return main(["--place", place, *options], [Part("shares", ("shop",), ("tests",))], project)


def test_a_weak_suite_has_survivors_and_a_strong_one_none(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert plant(project, WEAK, "--count", "99") == 1
    shown = capsys.readouterr().out
    assert "shop/shares.py:6" in shown and "- return part / whole\n  + return part * whole" in shown
    assert plant(project, STRONG, "--count", "99") == 0
    last = capsys.readouterr().out.splitlines()[-1].split()
    assert last[:6] == ["all", "7", "7", "0", "0", "0"] and last[6] == "100.0%"
    assert (project / "shop" / "shares.py").read_text() == SOURCE


def test_tests_that_fail_without_a_fault_end_it(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert plant(project, BROKEN) == 1
    assert "the tests of shares fail without a fault" in capsys.readouterr().out


def test_a_part_that_is_gone_does_not_hold_up_the_others(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "tests" / "test_shares.py").write_text(STRONG)
    parts = [Part("gone", ("mill",), ("tests",)), Part("shares", ("shop",), ("tests",))]
    assert main(["--place", str(project.parent / "place"), "--count", "14"], parts, project) == 1
    shown = capsys.readouterr().out
    assert "mill is not there" in shown and shown.endswith("not tried to the end: gone\n")
    assert "\nshares           7       7         0" in shown


def test_the_seed_decides(project: Path) -> None:
    for part in PARTS:
        assert sample_mutants(part, ROOT, 20, 3) == sample_mutants(part, ROOT, 20, 3)
    assert sample_mutants(PARTS[-1], ROOT, 20, 3) != sample_mutants(PARTS[-1], ROOT, 20, 4)


def test_the_rate_is_of_what_was_decided() -> None:
    mutant = Mutant("x.py", 0, 1, "", "not", (1, 1))
    kinds = [KILLED, KILLED, KILLED, SURVIVED, TIMEOUT, EXCUSED]
    assert compute_rate([Outcome("a", mutant, 1, ("", ""), kind) for kind in kinds]) == 0.75
    assert compute_rate([]) == 0.0


def test_what_is_excused_can_be_planted() -> None:
    """An entry whose line has changed is of no use any more."""
    possible = set()
    for path in {path for path, _, _ in EQUIVALENT}:
        source = (ROOT / path).read_bytes()
        possible |= {(path, *mutant.lines_changed(source)) for mutant in list_mutants(path, source)}
    assert set(EQUIVALENT) <= possible and all(EQUIVALENT.values())
