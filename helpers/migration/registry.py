"""The rules with what each needs to fire: the words that stand in every file it has something to say of.

A byte search over a file picks the rules to run on it, and a file without any of their words is not even
parsed. A name or string can be written without its bytes (escapes, full-width letters, literals side by side,
other encodings): such a file gets every rule.
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import ModuleType

from helpers.migration import rules as package
from helpers.migration.knowledge import Known
from helpers.rules import Check

#: Everything but letters, digits and `_` of ASCII is a space.
BETWEEN = bytes(code if chr(code).isalnum() or code == 95 or code > 127 else 32 for code in range(256))
#: Ways to write a word without its bytes, and a line joined inside one; each search begins with a rare byte.
ESCAPE = re.compile(rb"\\(?:x[4-7]|u00[4-7]|U000000[4-7]|N\{|1[0-7][0-7]|\r?\n\w)")
SIDE_BY_SIDE = re.compile(rb"['\"](?<=\w['\"])[ \t\\\r\n]*[rRuUbBfF]{0,2}['\"]\w")
STAR = re.compile(rb"import(?:[ \t\f\\\r\n]{2,}|[\t\f\\]?)\*")
FULL_WIDTH = re.compile(rb"\xef\xbc[\xa1-\xba]|\xef\xbd[\x81-\x9a]|\xf0\x9d[\x90-\x9f]")
COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
#: Encodings in which ASCII letters are their own bytes and nothing else is.
PLAIN = {b"utf-8", b"utf8", b"utf-8-sig", b"latin-1", b"latin1", b"iso-8859-1", b"ascii", b"us-ascii", b"cp1252"}


@dataclass(frozen=True)
class Rule:
    """A rule file: `words` are looked for anywhere in a file, `tokens` and `needs` as whole words."""

    code: str
    check: Check
    words: tuple[bytes, ...]
    tokens: frozenset[bytes]
    known: Known
    needs: bytes = b""

    def speaks(self, present: set[bytes], tokens: set[bytes]) -> bool:
        """The file has one of the rule's words and, where it needs one more, that too."""
        if self.needs and self.needs not in tokens:
            return False
        return not present.isdisjoint(self.words) or not tokens.isdisjoint(self.tokens)


@cache
def registry() -> tuple[Rule, ...]:
    """Every rule of the folder, in order of code."""
    modules = [import_module(f"{package.__name__}.{found.name}") for found in pkgutil.iter_modules(package.__path__)]
    rules = sorted(map(_rule, modules), key=lambda rule: rule.code)
    if len({rule.code for rule in rules}) < len(rules):
        raise ValueError("two rules of the migration have one code")
    return tuple(rules)


def wanted(data: bytes) -> list[Rule]:
    """The rules that may have something to say of a file with these bytes."""
    rules = registry()
    if _is_odd(data) or _is_encoded(data):
        return list(rules)
    present = {word for word in _words() if word in data}
    tokens = {*_tokens().intersection(data.translate(BETWEEN).split())}
    return [rule for rule in rules if rule.speaks(present, tokens)]


def known(code: str) -> Known | None:
    return next((rule.known for rule in registry() if rule.code == code), None)


def _rule(module: ModuleType) -> Rule:
    words: Iterable[str] = getattr(module, "WORDS", ())
    tokens: Iterable[str] = getattr(module, "TOKENS", ())
    plain = [tuple(word.encode() for word in group) for group in (words, tokens)]
    needs: str = getattr(module, "NEEDS", "")
    return Rule(module.CODE, module.check, plain[0], frozenset(plain[1]), module.KNOWN, needs.encode())


@cache
def _words() -> tuple[bytes, ...]:
    return tuple(sorted({word for rule in registry() for word in rule.words}))


@cache
def _tokens() -> frozenset[bytes]:
    return frozenset(token for rule in registry() for token in (*rule.tokens, rule.needs))


def _is_odd(data: bytes) -> bool:
    """Words may stand here in other bytes than their own."""
    if ESCAPE.search(data) or SIDE_BY_SIDE.search(data) or STAR.search(data):
        return True
    return not data.isascii() and FULL_WIDTH.search(data) is not None


def _is_encoded(data: bytes) -> bool:
    """A coding cookie (PEP 263) that names an encoding with bytes of its own for letters."""
    for line in data[:400].splitlines()[:2]:
        cookie = COOKIE.match(line)
        if cookie:
            return cookie.group(1).lower().replace(b"_", b"-") not in PLAIN
    return False
