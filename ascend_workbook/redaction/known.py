"""Secrets that this process knows by value: of its environment, and of command lines that it was told.

Values are kept in memory alone. A child that is handed a command line or an environment finds them there again.
"""

from __future__ import annotations

import binascii
import json
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from urllib.parse import quote, unquote

from ascend_workbook.findings.sentence import load_catalogue
from ascend_workbook.redaction.shapes import ADDRESS_PASSWORD, MARK, NAME, Pattern

SECRET_NAME = re.compile(
    r"(?i)(?:^|_)(?:AK|SK|PAT|PW|PWD|KEY|KEYS|CERT|DSN)(?:$|_)|PASS|SECRET|TOKEN|CREDENTIAL|AUTH|APIKEY|API_KEY"
    r"|ACCESS_?KEY|PRIVATE|COOKIE|SESSION"
)
#: Shorter values are words such as `1` or `none`.
SHORTEST = 5
#: Names of variables whose value is a place, whether it is there or not.
PLACE_NAME = re.compile(r"(?i)_(?:SOCK|FILE|PATH|HOME|DIR)$|^PWD$")
#: A value that a text may hold without telling anything: it goes as a whole word, and our own keys keep theirs.
PLAIN_WORD = re.compile(r"[a-z_]{1,10}|[A-Z][a-z_]{0,9}|[A-Z_]{1,10}|.{1,5}", re.DOTALL)
ASSIGNED = Pattern(rf"(?i)(?:--?)?[\w-]*{NAME}")
#: Behind the option of a secret: another option, or a model's mark.
NO_VALUE = Pattern(rf"-.*|{MARK}", re.DOTALL)
CHINESE = re.compile(r"(?:口令|密码|密钥|令牌)(?:[：:=＝]|是|为)")
NUMBER = re.compile(r"[-+\d.eE_]*")
#: Names that tell nothing of who somebody is.
NOBODY = ("root", "user", "admin", "localhost", "ma-user", "ubuntu", "runner")
_TOLD: set[str] = set()


def remember_arguments(words: Iterable[object]) -> None:
    """Take the secrets of a command line: values of options, variables and parameters whose names speak of one."""
    _TOLD.update(value for value in find_secrets([str(word) for word in words]) if _tells_something(value))


def find_secrets(words: list[str]) -> Iterator[str]:
    """Yield the values in a command line that belong to the name of a secret, or to an address."""
    for number, word in enumerate(words):
        before, first = (words[max(0, number - at)] if number >= at else "" for at in (1, 2))
        named = before.startswith("-") or first in ("-p", "--parameter", "--env")
        if named and ASSIGNED.compiled.fullmatch(before) and not NO_VALUE.compiled.fullmatch(word):
            yield word
            continue
        name, equals, value = word.partition("=")
        speaks = equals and re.fullmatch(r"[\w.-]+", name)
        if speaks and (ASSIGNED.compiled.fullmatch(name) or SECRET_NAME.search(name)):
            yield value
        yield from (word[match.end() :] for match in CHINESE.finditer(word))
        for match in ADDRESS_PASSWORD.compiled.finditer(word) if "://" in word else ():
            yield from (match["password"], unquote(match["password"]))
        if re.search(r"\s", word):  # a whole command line in one word
            try:
                yield from find_secrets(shlex.split(word))
            except ValueError:
                yield from find_secrets(word.split())


def _tells_something(value: str) -> bool:
    """Return whether a value may go wherever it stands: no common word, number, variable or place."""
    if NUMBER.fullmatch(value) or value.startswith(("$", "***", "<")):
        return False
    if PLAIN_WORD.fullmatch(value):
        return len(value) >= (SHORTEST if value.isascii() else 2) and not _is_common(value)
    return not (value.startswith("/") and os.path.lexists(value))


def _is_common(word: str) -> bool:
    """Return whether our own texts and keys have this word: hidden everywhere, it would take them along."""
    words, texts = _own_words()
    return word.lower() in words if word.isascii() else word in texts


@lru_cache(maxsize=1)
def _own_words() -> tuple[frozenset[str], str]:
    """Return the words of the English sentences and of the keys, and the Chinese sentences."""
    catalogue = load_catalogue()
    english = " ".join(f"{key} {words.en} {words.hint_en}" for key, words in catalogue.items()).lower()
    chinese = " ".join(f"{words.zh} {words.hint_zh}" for words in catalogue.values())
    return frozenset(re.findall(r"\w+", f"{english} {english.replace('_', ' ')}")), chinese


def collect_secrets(environ: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the values of variables whose names speak of a secret, in all ways to write them; plain words apart."""
    texts = {text for name, text in environ.items() if SECRET_NAME.search(name) and _is_secret(name, text)}
    return _spell_all(frozenset(texts))


def known_values() -> tuple[str, ...]:
    """Return the secrets of this process, in all ways to write them, the longest first."""
    return known_spellings()[0]


def known_spellings() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the secrets of this process, in all ways to write them, the longest first; plain words apart."""
    return _spell_all(frozenset(_TOLD | _environment_secrets(tuple(os.environ.items()))))


def hide_known_words(text: str) -> str:
    """Hide secrets of this process that are plain words, where they stand as whole words."""
    for word in known_spellings()[1]:
        if word in text:
            text = re.sub(rf"(?<![A-Za-z0-9_]){re.escape(word)}(?![A-Za-z0-9_])", "***", text)
    return text


@lru_cache(maxsize=8)
def _environment_secrets(items: tuple[tuple[str, str], ...]) -> frozenset[str]:
    secret = {text for name, text in items if SECRET_NAME.search(name) and _is_secret(name, text)}
    return frozenset(text for text in secret if _tells_something(text))


@lru_cache(maxsize=32)
def _spell_all(texts: frozenset[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    spellings = sorted({way for text in texts for way in _spellings_of(text)}, key=lambda way: (-len(way), way))
    plain = [way for way in spellings if PLAIN_WORD.fullmatch(way)]
    return tuple(way for way in spellings if way not in plain), tuple(plain)


def _is_secret(name: str, text: str) -> bool:
    """Return whether a variable's value is a secret and not a place. SSH_AUTH_SOCK names a socket, and `/tmp` must stay
    legible. A key may begin with `/` too.
    """
    if len(text) < SHORTEST or text.lower() in ("false", "default", *NOBODY):
        return False
    return not (text.startswith("/") and (PLACE_NAME.search(name) or os.path.lexists(text)))


def _spellings_of(text: str) -> set[str]:
    """Return how else a log may write a text: as JSON, Python, HTML, in an address, or as base64."""
    from html import escape  # takes longer to import than all of this

    coded = binascii.b2a_base64(text.encode("utf-8", "surrogateescape"), newline=False).decode()
    dumped = {json.dumps(text, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False)}
    quoted = {quote(text, safe, errors="surrogateescape") for safe in ("", "/")}
    return {text, *dumped, repr(text)[1:-1], escape(text), *quoted, coded}
