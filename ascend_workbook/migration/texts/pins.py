"""Which torch a repository asks for: in its lists of requirements, and where its scripts install it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ascend_workbook.findings.finding import Place
from ascend_workbook.machine.versions import NotAVersion, parse_version
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.texts import shell
from ascend_workbook.migration.texts.requirements import (
    dependency_lines,
    is_requirements,
    read_install_command,
    read_requirement,
)

TORCH = {"torch", "pytorch"}
#: `==1.13.1`, `>= 2.0`, conda's `=1.8`, Poetry's `^2.1`.
CLAUSE = re.compile(r"(===|==|~=|!=|>=|<=|>|<|=|\^|~)\s*(\d[\d.]*\d|\d)(\.\*)?")
#: Poetry's `torch = "2.1.0"`, which means this version.
PLAIN = re.compile(r"^\s*=\s*(?:\{\s*version\s*=\s*)?['\"](?=\d)")
#: Conda's `pytorch 2.1.*`, where a blank stands for its `=`.
SPACED = re.compile(r"^\s+(?=\d)")
#: Where the version ends and something else begins: a marker, a comment, the string's end.
REST = re.compile(r"[;#]|['\"]\s*(?:$|[,\])])")


@dataclass(frozen=True)
class Pin:
    """A version asked for: how it is written, its clauses (operator, version) and where it stands."""

    text: str
    clauses: tuple[tuple[str, str], ...]
    place: Place

    def admits_version(self, torch: str) -> bool:
        return all(_admits_version(sign, version, torch) for sign, version in self.clauses)

    @property
    def wanted_version(self) -> str:
        """The exact version, else the greatest named that is no bound to stay below and none left out; else "0"."""
        exact = [version for sign, version in self.clauses if sign in ("==", "===", "=")]
        named = (version for sign, version in self.clauses if sign not in ("<", "!="))
        return exact[0] if exact else max(named, key=parse_version, default="0")


def find_pins(source: Source) -> Iterator[Pin]:
    """The pins of one text, in its order; torch without a version is none."""
    is_list = is_requirements(source.path.rpartition("/")[2])
    for start, line in dependency_lines(source) if is_list else shell.split_commands(source):
        for requirement in read_requirement(start, line) if is_list else read_install_command(start, line):
            yield from _read_pin(source, *requirement)


def _read_pin(source: Source, at: int, name: str, rest: str) -> Iterator[Pin]:
    if name.lower() not in TORCH:
        return
    plain = PLAIN.match(rest)
    clause_text = f"=={rest[plain.end() :]}" if plain else SPACED.sub("=", rest)
    end = REST.search(clause_text)
    clauses = []
    for match in CLAUSE.finditer(clause_text[: end.start()] if end else clause_text):
        sign, version, any_end = match.groups()
        with_end = "=" if any_end and sign == "==" else sign
        try:
            parse_version(version)
        except NotAVersion:
            continue
        clauses.append((with_end, version))
    if "=" in (sign for sign, _ in clauses):  # conda's `=1.8.0=py3.8_cuda10.2`: the build is no version
        clauses = clauses[:1]
    if clauses:
        place = source.place_at(at)
        yield Pin(f"{name}{','.join(sign + version for sign, version in clauses)}", tuple(clauses), place)


def _admits_version(sign: str, asked_version: str, torch: str) -> bool:
    has, wants, parts = parse_version(torch)[0][:3], parse_version(asked_version)[0][:3], asked_version.count(".") + 1
    if sign in ("==", "==="):
        return has == wants
    if sign == "=":
        return has[:parts] == wants[:parts]
    if sign in ("~=", "~", "^"):
        kept_parts = {"~=": max(1, parts - 1), "~": min(parts, 2), "^": 1 if wants[0] else 2}[sign]
        return has >= wants and has[:kept_parts] == wants[:kept_parts]
    return {"!=": has != wants, ">=": has >= wants, "<=": has <= wants, ">": has > wants, "<": has < wants}[sign]
