"""Rules judge facts. A rule that lacks a fact, or breaks, says so as a finding: not looked is not clean."""

from __future__ import annotations

import pkgutil
from collections.abc import Collection, Iterable
from importlib import import_module
from types import ModuleType
from typing import Any, Callable, Protocol, TypeVar

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.sentence import Scalar

Facts = TypeVar("Facts")
#: A rule module in a stage's rules/ folder has CODE and `check(facts) -> findings`, or RULES: a check or a Row by code.
Check = Callable[[Any], Iterable[Finding]]


class Row(Protocol):
    """A rule that is a row of its module's table: `about` is what its page says, `gives` the statuses it can give."""

    @property
    def about(self) -> str: ...

    @property
    def gives(self) -> Collection[Status]: ...

    def check(self, facts: Any, /) -> Iterable[Finding]: ...


class CannotCheck(Exception):
    """A rule could not look, and why; `key` and `args` as in Finding."""

    def __init__(self, key: str, **args: Scalar) -> None:
        super().__init__(key)
        self.key = key
        self.arguments = args


def rules_of(package: ModuleType) -> dict[str, Check]:
    """Return the checks of a rules/ package by code, in order of code: the folder is the registry."""
    return {code: checks_of(module)[code] for code, module in modules_of(package).items()}


def modules_of(package: ModuleType) -> dict[str, ModuleType]:
    """Return the module that holds each code of a rules/ package, in order of code."""
    modules: dict[str, ModuleType] = {}
    for entry in pkgutil.iter_modules(package.__path__):
        module = import_module(f"{package.__name__}.{entry.name}")
        for code in checks_of(module):
            if code in modules:
                raise ValueError(f"{module.__name__}: the code {code} is taken")
            modules[code] = module
    return dict(sorted(modules.items()))


def checks_of(module: ModuleType) -> dict[str, Check]:
    """Return the checks of one module: those of its RULES, or of its CODE `check`."""
    rules: dict[str, Any] = getattr(module, "RULES", None) or {module.CODE: module.check}
    return {code: getattr(rule, "check", rule) for code, rule in rules.items()}


def row_of(module: ModuleType, code: str) -> Row | None:
    """Return the row of a module's table that is this rule; None where the module or a function is the rule."""
    rule = getattr(module, "RULES", {}).get(code)
    return rule if hasattr(rule, "gives") else None


def judge_facts(facts: Facts, rules: dict[str, Check], *, strict: bool = False) -> list[Finding]:
    """Return the findings of all rules; a broken rule is a Fix finding, or raises with `strict` (tests)."""
    findings: list[Finding] = []
    for code, check in rules.items():
        try:
            findings.extend(check(facts))
        except CannotCheck as why:
            findings.append(Finding(code, Status.NOT_LOOKED, why.key, why.arguments))
        except Exception as broke:
            if strict:
                raise
            args: dict[str, Scalar] = {"rule": code, "error": f"{type(broke).__name__}: {broke}"}
            findings.append(Finding(code, Status.FIX, "rule.broke", args))
    return findings
