"""The rules with what each needs to fire: the words that stand in every file it has something to say of.

A byte search over a file picks the rules to run on it, and a file without any of their words is not even
parsed. A name or string can be written without its bytes (escapes, literals side by side, other encodings): such a
file is searched once more as spell_out_words writes it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from types import ModuleType

from ascend_workbook.findings.finding import Finding
from ascend_workbook.findings.rules import Check, judge_facts, modules_of, row_of
from ascend_workbook.migration import rules as package
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.release import drop_overruled
from ascend_workbook.migration.repair import Known, add_knowledge
from ascend_workbook.migration.rules.calls import Calls

# A file's bytes with every name spelled out, for the byte search only: `"cu" "da"` and `"\x63uda"` as `cuda`.

#: Letters by number or name, and a line joined inside a word; each search begins with a rare byte.
ESCAPE = re.compile(
    rb"\\(?:x([4-7][0-9a-fA-F])|u(00[4-7][0-9a-fA-F])|U(000000[4-7][0-9a-fA-F])|N\{([^}]*)\}"
    rb"|(1[0-7][0-7])|\r?\n(?=\w))"
)
#: Two string literals with nothing between them but space: a search for each quote, which is faster than for both.
SIDES = tuple(
    re.compile(rb"%b(?<=\w%b)[ \t\\\r\n]*[rRuUbBfF]{0,2}['\"](?=\w)" % (quote, quote)) for quote in (b"'", b'"')
)
STAR = re.compile(rb"import(?:[ \t\f\\\r\n]{2,}|[\t\f\\]?)\*")
#: Letters that Python reads as those of ASCII: full-width and mathematical ones.
FULL_WIDTH = re.compile(rb"\xef\xbc[\xa1-\xba]|\xef\xbd[\x81-\x9a]|\xf0\x9d[\x90-\x9f]")
COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
#: Encodings in which ASCII letters are their own bytes and nothing else is.
PLAIN = {b"utf-8", b"utf8", b"utf-8-sig", b"latin-1", b"latin1", b"iso-8859-1", b"ascii", b"us-ascii", b"cp1252"}


def spell_out_words(data: bytes) -> bytes | None:
    """The bytes with all words spelled out (`data` itself where they are); None where that cannot be told."""
    cookie = next(filter(None, map(COOKIE.match, data[:400].splitlines()[:2])), None)
    if cookie and cookie.group(1).lower().replace(b"_", b"-") not in PLAIN:  # it has bytes of its own for letters
        return None
    plain = data
    if not data.isascii() and FULL_WIDTH.search(data):
        plain = unicodedata.normalize("NFKC", data.decode("utf-8", "replace")).encode("utf-8", "replace")
    if ESCAPE.search(plain):
        plain = ESCAPE.sub(_decode_letter, plain)
    for side in SIDES:
        if side.search(plain):
            plain = side.sub(b"", plain)
    return STAR.sub(b"import *", plain) if STAR.search(plain) else plain


def _decode_letter(match: re.Match[bytes]) -> bytes:
    code = match.group(1) or match.group(2) or match.group(3)
    if code:
        return bytes([int(code, 16)])
    if match.group(5):
        return bytes([int(match.group(5), 8)])
    if match.group(4):
        try:
            return unicodedata.lookup(match.group(4).decode("ascii", "replace")).encode()
        except KeyError:
            return match.group()
    return b""


#: Everything but letters, digits and `_` of ASCII is a space.
BETWEEN = bytes(code if chr(code).isalnum() or code == 95 or code > 127 else 32 for code in range(256))
SIGN = re.compile(rb"\W\w?")
#: What a space in a rule's PATTERN stands for; a comment may stand in brackets.
BETWEEN_PARTS = r"(?:[\s\\]|#[^\n]*\n)*"

#: A word with a sign in it, behind its longest part.
Across = tuple[bytes, bytes]


@dataclass(frozen=True)
class Rule:
    """A rule: `words` are looked for anywhere in a file, `tokens` and `needs` (one of them) as whole words.

    A file that only rules with a `pattern` speak of is parsed where one of these matches; spaces, line ends,
    backslashes and comments may stand between the parts of an expression."""

    code: str
    check: Check
    words: tuple[bytes, ...]
    tokens: frozenset[bytes]
    known: Known
    needs: frozenset[bytes] = frozenset()
    pattern: re.Pattern[bytes] | None = None

    def has_words(self, tokens: set[bytes], words: set[bytes]) -> bool:
        """The file has one of the rule's words and tokens and, where it needs more, one of those too."""
        if tokens.isdisjoint(self.tokens) and words.isdisjoint(self.words):
            return False
        return not self.needs or not tokens.isdisjoint(self.needs)


@cache
def load_rules() -> tuple[Rule, ...]:
    """Every rule of the folder, in order of code."""
    return tuple(
        Rule(code, row.check, (), frozenset(map(str.encode, row.tokens)), row.known)
        if isinstance(row := row_of(module, code), Calls)
        else _make_rule(module)
        for code, module in modules_of(package).items()
    )


def choose_rules(data: bytes) -> list[Rule]:
    """The rules that may have something to say of a file with these bytes."""
    rules = load_rules()
    plain = spell_out_words(data)
    if plain is None:
        return list(rules)
    tokens, words = _find_tokens(data)
    if plain is not data:
        more_tokens, more_words = _find_tokens(plain)
        tokens, words, data = tokens | more_tokens, words | more_words, data + b"\n" + plain
    speaking = [rule for rule in rules if rule.has_words(tokens, words)]
    # once a file has to be parsed, asking a rule costs less than searching for its pattern
    patterns = [rule.pattern for rule in speaking]
    return speaking if None in patterns or any(pattern and pattern.search(data) for pattern in patterns) else []


def judge_source(source: Source, rules: Iterable[Rule], *, strict: bool = False) -> list[Finding]:
    """List what these rules find in a source, with what each of them knows."""
    judged = ((rule, judge_facts(source, {rule.code: rule.check}, strict=strict)) for rule in rules)
    return drop_overruled([add_knowledge(finding, rule.known) for rule, findings in judged for finding in findings])


def _find_tokens(data: bytes) -> tuple[set[bytes], set[bytes]]:
    """The tokens and words of all rules that stand in a text."""
    tokens, inner, across = _searched_words()
    present_names = set(data.translate(BETWEEN).split())
    names = b" ".join(present_names)  # each once: a word within a name is sought here sooner than in the text
    words = {word for word in inner if word in names}
    for sign, having in across:
        if sign in data:
            words.update(word for part, word in having if part in names and word in data)
    return present_names & tokens, words


def _make_rule(module: ModuleType) -> Rule:
    words, tokens, needs = (tuple(map(str.encode, getattr(module, name, ()))) for name in ("WORDS", "TOKENS", "NEEDS"))
    pattern: str = getattr(module, "PATTERN", "")
    compiled = re.compile(pattern.replace(" ", BETWEEN_PARTS).encode()) if pattern else None
    return Rule(module.CODE, module.check, words, frozenset(tokens), module.KNOWN, frozenset(needs), compiled)


@cache
def _searched_words() -> tuple[frozenset[bytes], tuple[bytes, ...], tuple[tuple[bytes, tuple[Across, ...]], ...]]:
    """All rules' tokens, words that stand within one name, and words with a sign between, by it and its neighbour.

    The last come with their longest part, which must stand within a name."""
    tokens = frozenset(token for rule in load_rules() for token in rule.tokens | rule.needs)
    words = sorted({word for rule in load_rules() for word in rule.words})
    inner = tuple(word for word in words if word.translate(BETWEEN) == word and b" " not in word)
    across = [(SIGN.search(word), word) for word in words if word not in inner]
    signs = sorted({sign.group() if sign else word for sign, word in across})
    parts = {word: max(word.translate(BETWEEN).split(), key=len) for _, word in across}
    return (
        tokens,
        inner,
        tuple((sign, tuple((parts[word], word) for _, word in across if sign in word)) for sign in signs),
    )
