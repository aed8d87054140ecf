"""Takes out of a text what must not leave a machine: keys and tokens, the user's name, home folder, hosts, addresses.

Two ways at once. What is known: the values of this process's variables whose names speak of a secret, home, user and
host names of the job. What has the shape of a secret: `password=...`, access keys, bearer tokens, private keys, signed
URLs.
A text that is redacted too much costs a question; a key that leaves costs an account: where in doubt it goes.
"""

from __future__ import annotations

import base64
import contextlib
import getpass
import html
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from helpers.finding import Status
from helpers.redaction import hosts
from helpers.redaction.shapes import CERTAIN, CREDENTIALS, NAME, SHAPES, Shape, without_private_keys
from helpers.report import CHART_KINDS, TIERS
from helpers.words import catalogue

SECRET_NAME = re.compile(
    r"(?i)(?:^|_)(?:AK|SK|PAT|PW|PWD|KEY|KEYS|CERT|DSN)(?:$|_)|PASS|SECRET|TOKEN|CREDENTIAL|AUTH|APIKEY|API_KEY"
    r"|ACCESS_?KEY|PRIVATE|COOKIE|SESSION"
)
#: Shorter values are words such as `1` or `none`.
SHORTEST = 5
#: Names of variables whose value is a place, whether it is there or not.
PLACE_NAME = re.compile(r"(?i)_(?:SOCK|FILE|PATH|HOME|DIR)$")
#: A value that a text may hold without telling anything: it goes as a whole word, and our own keys keep theirs.
PLAIN_WORD = re.compile(r"[a-z_]{1,10}|[A-Z][a-z_]{0,9}|[A-Z_]{1,10}|.{1,5}", re.DOTALL)
ASSIGNED = re.compile(rf"(?i)(?:--?)?[\w-]*{NAME}")
#: Keys of our reports that are also what a machine or its user may be called.
OWN_KEYS = ("python", "torch", "torch_npu", "cann", "driver", "npu", "host", "check", "status", "device")
#: Names that tell nothing of who somebody is.
NOBODY = ("root", "user", "admin", "localhost", "ma-user", "ubuntu", "runner")


@dataclass(frozen=True)
class Redactor:
    """`known`: what is searched and what stands in its place, the longest first. `secrets` must never be seen.

    `words` are values of secrets that are plain words, as `known`: they go as whole words, not from keys and markup.
    """

    known: tuple[Shape, ...] = ()
    secrets: tuple[str, ...] = ()
    shapes: tuple[Shape, ...] = SHAPES
    words: tuple[Shape, ...] = ()

    def text(self, text: str) -> str:
        """The text without them."""
        for pattern, instead in self.words:
            text = pattern.sub(instead, text)
        return self.markup(text)

    def markup(self, text: str) -> str:
        """The same for a page made of what is redacted already: plain words may be names of its tags."""
        text = without_private_keys(text)
        for pattern, instead in (*self.known, *self.shapes):
            text = pattern.sub(instead, text)
        return text

    def tree(self, value: Any, name: str = "") -> Any:
        """The same for every string of a JSON value, keys of mappings too; a secret's name hides its whole value."""
        if isinstance(value, dict):
            return {self._key(str(key)): self.tree(each, str(key)) for key, each in value.items()}
        if isinstance(value, (list, tuple)):
            return self._list([self.tree(each, name) for each in _without_key_lines(value)])
        if not isinstance(value, str) or _ours(name, value):
            return value
        return "***" if value and _named(name) else self.text(value)

    def leaks(self, text: str) -> bool:
        """Whether a secret's value stands in the text, or what is a credential whatever stands around it."""
        if any(secret in text for secret in self.secrets) or without_private_keys(text) != text:
            return True
        return any(pattern.search(text) for pattern, _ in CERTAIN)

    def _key(self, key: str) -> str:
        return key if key in OWN_KEYS or key in _own_names() else self.markup(key)

    def _list(self, values: list[Any]) -> list[Any]:
        """What follows `--password` as a word of a command is one."""
        for before, (at, each) in zip(values, list(enumerate(values))[1:]):
            option = isinstance(before, str) and before.startswith("-") and ASSIGNED.fullmatch(before)
            if option and isinstance(each, str) and not each.startswith("-"):
                values[at] = "***"
        return values


def credentials_of(environ: Mapping[str, str]) -> Redactor:
    """Takes out credentials alone: the values of variables whose names speak of one, and what has the shape of one."""
    secrets, words = _secrets(environ)
    return Redactor(_known(secrets), secrets, CREDENTIALS, words)


def of_this_process(environ: Mapping[str, str] = os.environ, folders: Mapping[str, str] | None = None) -> Redactor:
    """What this process knows to be private. `folders`: path -> what stands for it, such as the work folder."""
    secrets, words = _secrets(environ)
    known = [*_known(secrets)]
    places = {**(folders or {}), str(Path.home()): "~", environ.get("HOME", ""): "~"}
    for place, instead in sorted(places.items(), key=lambda item: -len(item[0])):
        if len(place) > 1:
            known.append((re.compile(re.escape(place) + r"(?![\w.-])"), instead))
    for names, instead in ((_users(environ), "<user>"), (hosts.names(environ), "<host>")):
        if names:
            either = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
            known.append((re.compile(rf"(?<![A-Za-z0-9_])(?:{either})(?![A-Za-z0-9_])"), instead))
    return Redactor(tuple(known), secrets, SHAPES, words)


def _known(secrets: tuple[str, ...]) -> tuple[Shape, ...]:
    return tuple((re.compile(re.escape(secret)), "***") for secret in secrets)


def _secrets(environ: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[Shape, ...]]:
    """Values of variables whose names speak of one, in all ways to write them; apart those that are plain words."""
    found = {text for name, text in environ.items() if SECRET_NAME.search(name) and _secret(name, text)}
    written = sorted({way for text in found for way in _ways(text)}, key=len, reverse=True)
    plain = [way for way in written if PLAIN_WORD.fullmatch(way)]
    words = tuple((re.compile(rf"(?<![A-Za-z0-9_]){re.escape(way)}(?![A-Za-z0-9_])"), "***") for way in plain)
    return tuple(way for way in written if way not in plain), words


def _secret(name: str, text: str) -> bool:
    """Places are none: SSH_AUTH_SOCK names a socket, and `/tmp` must stay legible. A key may begin with `/` too."""
    if len(text) < SHORTEST or text.lower() in ("false", "default", *NOBODY):
        return False
    return not (text.startswith("/") and (PLACE_NAME.search(name) or os.path.lexists(text)))


def _named(name: str) -> bool:
    if name.isupper():
        return bool(SECRET_NAME.search(name))
    return bool(ASSIGNED.fullmatch(name)) and "signature" not in name.lower() or name == "auth"


@cache
def _own_names() -> frozenset[str]:
    """Keys of report.schema.json, at any depth."""
    schema = json.loads((Path(__file__).parents[1] / "report.schema.json").read_text(encoding="utf-8"))
    return frozenset(_properties(schema))


def _properties(schema: Any) -> set[str]:
    if isinstance(schema, dict):
        below = set().union(*map(_properties, schema.values())) if schema else set()
        return below | set(schema.get("properties", ())) | set(schema.get("required", ()))
    return set().union(*map(_properties, schema)) if isinstance(schema, list) and schema else set()


def _ours(name: str, value: str) -> bool:
    """A code of ours, by its value: under the same name a report's facts may hold what a log or a user said."""
    if name in ("say", "hint", "key"):
        return value in catalogue()
    if name in ("rule", "verb", "stage", "name", "x", "y"):
        return f"name.{value}" in catalogue() or bool(re.fullmatch(r"[A-Z]{2,4}\d{3}", value))
    fixed = {"status": tuple(Status.__members__), "tier": TIERS, "kind": CHART_KINDS}
    return value in fixed.get(name, ())


def _without_key_lines(values: Sequence[Any]) -> list[Any]:
    """Lines of a private key, one a string: all from its BEGIN (or the first) to its END (or the last)."""
    kept, inside = list(values), False
    marks = [str(each) for each in values if isinstance(each, str) and "PRIVATE KEY-----" in each]
    if not marks:
        return kept
    inside = "-----BEGIN" not in marks[0]
    for at, each in enumerate(values):
        inside = inside or (isinstance(each, str) and "-----BEGIN" in each)
        if inside and isinstance(each, str):
            kept[at] = "***"
        inside = inside and not (isinstance(each, str) and "-----END" in each)
    return kept


def _ways(text: str) -> set[str]:
    """How else a log may write it: as JSON, Python, HTML, in an address, or as the base64 of an HTTP header."""
    coded = base64.b64encode(text.encode("utf-8", "surrogateescape")).decode()
    dumped = {json.dumps(text, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False)}
    quoted = {quote(text, safe, errors="surrogateescape") for safe in ("", "/")}
    return {text, *dumped, repr(text)[1:-1], html.escape(text), *quoted, coded}


def _users(environ: Mapping[str, str]) -> set[str]:
    found = {environ.get(name, "") for name in ("USER", "LOGNAME", "USERNAME", "SUDO_USER", "JUPYTERHUB_USER")}
    with contextlib.suppress(OSError, KeyError, ImportError):  # a user id without a name, as in containers
        found.add(getpass.getuser())
    return {name for name in found if len(name) > 2 and name not in NOBODY}
