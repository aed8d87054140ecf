"""Takes out of a text what must not leave a machine: keys and tokens, the user's name, home folder, hosts, addresses.

Two ways at once. What is known: the values of this process's variables whose names speak of a secret, home, user and
host names of the job. What has the shape of a secret: `password=...`, access keys, bearer tokens, private keys, signed
URLs.
A text that is redacted too much costs a question; a key that leaves costs an account: where in doubt it goes.
"""

from __future__ import annotations

import contextlib
import getpass
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ascend_workbook.findings.finding import STATUS_OF_WORD
from ascend_workbook.findings.report import CHART_KINDS, TIERS
from ascend_workbook.findings.sentence import load_catalogue
from ascend_workbook.redaction import hosts
from ascend_workbook.redaction.known import ASSIGNED, NO_VALUE, NOBODY, SECRET_NAME, collect_secrets, known_spellings
from ascend_workbook.redaction.shapes import CERTAIN, CREDENTIALS, SHAPES, Shape, remove_private_keys

__all__ = ["SECRET_NAME", "Redactor", "make_credential_redactor", "make_process_redactor"]

#: Keys of our reports that are also what a machine or its user may be called.
OWN_KEYS = ("python", "torch", "torch_npu", "cann", "driver", "npu", "host", "check", "status", "device")


@dataclass(frozen=True)
class Redactor:
    """`known`: what is searched and what stands in its place, the longest first. `secrets` must never be seen.

    `words` are values of secrets that are plain words, as `known`: they go as whole words, not from keys and markup.
    """

    known: tuple[Shape, ...] = ()
    secrets: tuple[str, ...] = ()
    shapes: tuple[Shape, ...] = SHAPES
    words: tuple[Shape, ...] = ()

    def redact_text(self, text: str) -> str:
        """Redact a text."""
        for pattern, instead in self.words:
            text = pattern.sub(instead, text)
        return self.redact_markup(text)

    def redact_markup(self, text: str) -> str:
        """Redact a page made of what is redacted already: plain words may be names of its tags."""
        text = remove_private_keys(text)
        for pattern, instead in (*self.known, *self.shapes):
            text = pattern.sub(instead, text)
        return text

    def redact_tree(self, value: Any, name: str = "") -> Any:
        """Redact every string of a JSON value, keys of mappings too; a secret's name hides its whole value."""
        if isinstance(value, dict):
            return {self._redact_key(str(key)): self.redact_tree(item, str(key)) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return self._redact_options([self.redact_tree(item, name) for item in _without_key_lines(value)])
        if not isinstance(value, str) or _is_our_code(name, value):
            return value
        return "***" if value and _names_secret(name) else self.redact_text(value)

    def leaks_secret(self, text: str) -> bool:
        """Return whether a secret's value stands in the text, or what is a credential whatever stands around it."""
        if any(secret in text for secret in self.secrets) or remove_private_keys(text) != text:
            return True
        return any(pattern.search(text) for pattern, _ in CERTAIN)

    def _redact_key(self, key: str) -> str:
        return key if key in OWN_KEYS or key in _own_names() else self.redact_markup(key)

    def _redact_options(self, values: list[object]) -> list[object]:
        """Hide the word that follows an option such as `--password` in a list of words."""
        for before, (at, word) in zip(values, list(enumerate(values))[1:]):
            option = isinstance(before, str) and before.startswith("-") and ASSIGNED.compiled.fullmatch(before)
            if option and isinstance(word, str) and not NO_VALUE.compiled.fullmatch(word):
                values[at] = "***"
        return values


def make_credential_redactor(environ: Mapping[str, str]) -> Redactor:
    """Make a redactor of credentials alone: by their variables' names, and by their shapes."""
    secrets, words = _collect_secrets(environ)
    return Redactor(_make_shapes(secrets), secrets, CREDENTIALS, words)


def make_process_redactor(
    environ: Mapping[str, str] = os.environ, folders: Mapping[str, str] | None = None
) -> Redactor:
    """Make a redactor of what this process knows to be private. `folders`: path -> what stands for it."""
    secrets, words = _collect_secrets(environ)
    known_shapes = [*_make_shapes(secrets)]
    places = {**(folders or {}), str(Path.home()): "~", environ.get("HOME", ""): "~"}
    for place, instead in sorted(places.items(), key=lambda item: -len(item[0])):
        if len(place) > 1:
            known_shapes.append((re.compile(re.escape(place) + r"(?![\w.-])"), instead))
    for names, instead in ((_user_names(environ), "<user>"), (hosts.find_host_names(environ), "<host>")):
        if names:
            either = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
            known_shapes.append((re.compile(rf"(?<![A-Za-z0-9_])(?:{either})(?![A-Za-z0-9_])"), instead))
    return Redactor(tuple(known_shapes), secrets, SHAPES, words)


def _make_shapes(secrets: tuple[str, ...]) -> tuple[Shape, ...]:
    return tuple((re.compile(re.escape(secret)), "***") for secret in secrets)


def _collect_secrets(environ: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[Shape, ...]]:
    """Return the secrets of an environment, and patterns of those that are plain words: they go as whole words."""
    secrets, plain = collect_secrets(environ)
    own_values, own_words = known_spellings() if environ is os.environ else ((), ())
    plain = tuple(dict.fromkeys((*plain, *own_words)))
    words = tuple((re.compile(rf"(?<![A-Za-z0-9_]){re.escape(way)}(?![A-Za-z0-9_])"), "***") for way in plain)
    return tuple(dict.fromkeys((*secrets, *own_values))), words


def _names_secret(name: str) -> bool:
    if name.isupper():
        return bool(SECRET_NAME.search(name))
    return bool(ASSIGNED.compiled.fullmatch(name)) and "signature" not in name.lower() or name == "auth"


@cache
def _own_names() -> frozenset[str]:
    """Return the keys of report.schema.json, at any depth."""
    schema = json.loads((Path(__file__).parents[1] / "findings" / "report.schema.json").read_text(encoding="utf-8"))
    return frozenset(_schema_properties(schema))


def _schema_properties(schema: object) -> set[str]:
    if isinstance(schema, dict):
        below = set().union(*map(_schema_properties, schema.values())) if schema else set()
        return below | set(schema.get("properties", ())) | set(schema.get("required", ()))
    return set().union(*map(_schema_properties, schema)) if isinstance(schema, list) and schema else set()


def _is_our_code(name: str, value: str) -> bool:
    """Return whether it is a code of ours: under the same name facts may hold what a log or a user said."""
    if name in ("say", "hint", "key"):
        return value in load_catalogue()
    if name in ("rule", "verb", "stage", "name", "x", "y"):
        return f"name.{value}" in load_catalogue() or bool(re.fullmatch(r"[A-Z]{2,4}\d{3}", value))
    fixed = {"status": tuple(STATUS_OF_WORD), "tier": TIERS, "kind": CHART_KINDS}
    return value in fixed.get(name, ())


def _without_key_lines(values: Sequence[object]) -> list[object]:
    """Remove the lines of a private key, from its BEGIN (or the first) to its END (or the last)."""
    lines, inside = list(values), False
    marks = [str(line) for line in values if isinstance(line, str) and "PRIVATE KEY-----" in line]
    if not marks:
        return lines
    inside = "-----BEGIN" not in marks[0]
    for at, line in enumerate(values):
        inside = inside or (isinstance(line, str) and "-----BEGIN" in line)
        if inside and isinstance(line, str):
            lines[at] = "***"
        inside = inside and not (isinstance(line, str) and "-----END" in line)
    return lines


def _user_names(environ: Mapping[str, str]) -> set[str]:
    user_names = {environ.get(name, "") for name in ("USER", "LOGNAME", "USERNAME", "SUDO_USER", "JUPYTERHUB_USER")}
    with contextlib.suppress(OSError, KeyError, ImportError):  # a user id without a name, as in containers
        user_names.add(getpass.getuser())
    return {name for name in user_names if len(name) > 2 and name not in NOBODY}
