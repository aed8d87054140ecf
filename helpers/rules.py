"""Rules judge facts. A rule that lacks a fact, or breaks, says so as a finding: not looked is not clean."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable
from importlib import import_module
from types import ModuleType
from typing import Any, Callable, TypeVar

from helpers.finding import Finding, Status
from helpers.words import Scalar

Facts = TypeVar("Facts")
#: A rule module in a stage's rules/ folder has CODE and `check(facts) -> findings`.
Check = Callable[[Any], Iterable[Finding]]


class CannotCheck(Exception):
    """A rule could not look, and why; `key` and `args` as in Finding."""

    def __init__(self, key: str, **args: Scalar) -> None:
        super().__init__(key)
        self.key = key
        self.arguments = args


def rules_of(package: ModuleType) -> dict[str, Check]:
    """The folder is the registry: every module of a rules/ package, by its CODE, in order of code."""
    modules = [import_module(f"{package.__name__}.{found.name}") for found in pkgutil.iter_modules(package.__path__)]
    checks: dict[str, Check] = {}
    for module in modules:
        if module.CODE in checks:
            raise ValueError(f"{module.__name__}: the code {module.CODE} is taken")
        checks[module.CODE] = module.check
    return dict(sorted(checks.items()))


def judge(facts: Facts, rules: dict[str, Check], *, strict: bool = False) -> list[Finding]:
    """All findings of all rules. A broken rule becomes a FAIL finding; with `strict` it raises (tests)."""
    findings: list[Finding] = []
    for code, check in rules.items():
        try:
            findings.extend(check(facts))
        except CannotCheck as why:
            findings.append(Finding(code, Status.SKIPPED, why.key, why.arguments))
        except Exception as broke:
            if strict:
                raise
            args: dict[str, Scalar] = {"rule": code, "error": f"{type(broke).__name__}: {broke}"}
            findings.append(Finding(code, Status.FAIL, "rule.broke", args))
    return findings
