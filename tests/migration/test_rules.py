"""Every rule against its own examples and near misses: the folder of rules is the list of tests."""

from __future__ import annotations

import ast
import pkgutil
from importlib import import_module
from types import ModuleType

import pytest

from helpers.migration import rules as package
from helpers.migration.reading.source import parse
from helpers.migration.repair import class_of
from helpers.migration.rewrite import apply
from helpers.words import say

MODULES = [import_module(f"{package.__name__}.{found.name}") for found in pkgutil.iter_modules(package.__path__)]
EXAMPLES = [
    pytest.param(module, *example, id=f"{module.CODE}-{number}")
    for module in MODULES
    for number, example in enumerate(module.EXAMPLES)
]
NEAR_MISSES = [
    pytest.param(module, code, id=f"{module.CODE}-{number}")
    for module in MODULES
    for number, code in enumerate(module.NEAR_MISSES)
]


@pytest.mark.parametrize(("rule", "code", "kind", "after"), EXAMPLES)
def test_the_example_fires(rule: ModuleType, code: str, kind: str, after: str | None) -> None:
    source = parse(code)
    found = list(rule.check(source))
    assert kind in {class_of(finding) for finding in found}
    for finding in found:
        assert finding.rule == rule.CODE and finding.place and finding.place.line >= 1
        assert say(finding.key, "en", **finding.args) and say(finding.key, "zh", **finding.args)
    if after is None:
        assert not [finding for finding in found if finding.edits]
        return
    edits = [edit for finding in found for edit in finding.edits]
    assert apply(source, edits) == after
    ast.parse(after)
    again = list(rule.check(parse(after)))
    assert "rewrite" not in {class_of(finding) for finding in again}, "rewriting twice would change it again"


@pytest.mark.parametrize(("rule", "code"), NEAR_MISSES)
def test_the_near_miss_is_left_alone(rule: ModuleType, code: str) -> None:
    assert list(rule.check(parse(code))) == []


@pytest.mark.parametrize("rule", MODULES, ids=lambda module: module.CODE)
def test_every_rule_has_chinese_on_a_line_that_fires_and_on_one_that_does_not(rule: ModuleType) -> None:
    for codes in ([code for code, *_ in rule.EXAMPLES], rule.NEAR_MISSES):
        assert any(not code.isascii() for code in codes)
    assert rule.__doc__


def test_at_least_two_fifths_of_the_cases_must_not_change() -> None:
    silent = len(NEAR_MISSES) + sum(1 for case in EXAMPLES if case.values[3] is None)
    assert silent >= 0.4 * (len(NEAR_MISSES) + len(EXAMPLES))
