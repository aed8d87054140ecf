"""The one exit for what the workbook writes: reports, records, pages, notebooks, and what it prints itself.

Taken out are the values that `known` has, and what has the shape of a credential. A text without either comes back as
it was, byte for byte. The time is linear in the text: the patterns see only the lines about a word that tells of one.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import Any, Callable

from ascend_workbook.redaction import shapes
from ascend_workbook.redaction.known import find_secrets, hide_known_words, known_values
from ascend_workbook.redaction.shapes import Shape

#: What is the user's and is written as it is: code and patches, what is judged, weights; by name or by its end.
USERS = ("course.json", ".py", ".patch", ".diff", ".sh", ".pt", ".pth", ".npy", ".safetensors")
#: Words of which one stands near what the patterns take out; keys have a shape alone.
GROUPS: tuple[tuple[tuple[str, ...], tuple[Shape, ...]], ...] = (
    (("eyj", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "hf_", "sk-", "xox"), shapes.CERTAIN),
    (("bearer", "basic", "authorization", "cookie"), shapes.HEADERS),
    (("://",), shapes.ADDRESSES),
    (("x-amz", "x-obs", "x-auth", "sig="), shapes.SIGNED),
    (("口令", "密码", "密钥", "令牌"), shapes.CHINESE),
)
#: What begins the names of secrets, or ends them; the patterns of names are tried where a value may follow.
NAMES = (
    *("pass", "pwd", "secret", "token", "api_key", "api-key", "apikey", "access_key", "access-key", "accesskey"),
    *("private_key", "private-key", "privatekey", "client-key", "client_key", "credential", "signature", "auth"),
    *("_key", "_cert", "_dsn", "_pat", "_cookie", "_session"),
)
SHORT_NAMES = re.compile(r"(?i)\b[as]k\\?[\"']?[ \t]{0,9}[=:]|--?[as]k[ \t]")
MAY_FOLLOW = re.compile(
    rf"[\w-]{{0,24}}(?:{shapes.QUOTE}[ \t]{{0,20}},\s{{0,80}}{shapes.QUOTE}"
    rf"|{shapes.QUOTE}?[ \t]{{0,20}}\]?[ \t]{{0,20}}[=:])"
)
OPTION = re.compile(r"(?<![\w-])--?[\w-]{0,60}\Z")
NETRC = re.compile(r"(?i)password[ \t]")
#: Of a longer line only so many characters before and behind the word are looked at.
BEFORE, BEHIND = 100, 4000


def redact(text: str) -> str:
    """Take every credential out of a text."""
    for value in known_values():
        if value in text:
            text = text.replace(value, "***")
    text = hide_known_words(text)
    if "PRIVATE KEY-----" in text:
        text = shapes.remove_private_keys(text)
    lower = _make_lower(text)
    for words, patterns in GROUPS:
        hits = sorted(_find_words(lower, words))
        if hits:
            text = _substitute(text, hits, patterns)
            lower = _make_lower(text)
    named = {match.start() for match in SHORT_NAMES.finditer(text)}
    named.update(hit for hit in _find_words(lower, NAMES) if _may_be_named(text, hit))
    text = _substitute(text, sorted(named), shapes.NAMED)
    for pattern, instead in shapes.KEYS:
        text = pattern.sub(instead, text)
    return text


def _make_lower(text: str) -> str:
    lower = text.lower()
    if len(lower) == len(text):
        return lower  # else a small form is longer, and places would not be the same
    return "".join(sign.lower() if len(sign.lower()) == 1 else sign for sign in text)


def _find_words(lower: str, words: tuple[str, ...]) -> Iterator[int]:
    for word in words:
        at = lower.find(word)
        while at >= 0:
            yield at
            at = lower.find(word, at + len(word))


def _may_be_named(text: str, hit: int) -> bool:
    """Return whether a value may follow the name that stands here: behind a sign, in a list, or as an option's."""
    if MAY_FOLLOW.match(text, hit + 3) or NETRC.match(text, hit):
        return True
    return OPTION.search(text, max(0, hit - 64), hit) is not None


def _substitute(text: str, hits: list[int], patterns: tuple[Shape, ...]) -> str:
    """Apply the patterns to the lines of the hits, cut about them where they are long."""
    pieces, done = [], 0
    for begin, end in _find_windows(text, hits):
        piece = text[begin:end]
        for pattern, instead in patterns:
            piece = pattern.sub(instead, piece)
        pieces += [text[done:begin], piece]
        done = end
    return "".join([*pieces, text[done:]]) if pieces else text


def _find_windows(text: str, hits: list[int]) -> list[tuple[int, int]]:
    windows: list[tuple[int, int]] = []
    for hit in hits:
        line_end = text.find("\n", hit)
        if line_end > 0 and text[line_end - 1] == ",":  # a list of words over several lines
            line_end = text.find("\n", line_end + 1)
        begin = max(text.rfind("\n", 0, hit) + 1, hit - BEFORE)
        end = min(len(text) if line_end < 0 else line_end, hit + BEHIND)
        if windows and begin <= windows[-1][1]:
            begin, earlier = windows.pop()
            end = max(end, earlier)
        windows.append((begin, end))
    return windows


def redact_in_place(text: str) -> str:
    """Take every credential out of a text whose lines keep their numbers: where one takes several, they stay, empty."""
    cleaned = redact(text)
    before, after = text.split("\n"), cleaned.split("\n")
    if len(before) == len(after):
        return cleaned
    lines: list[str] = []
    for _, begin, end, first, last in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        block = after[first:last]
        lines += block[: end - begin] if last - first > end - begin else block + [""] * (end - begin - len(block))
    return "\n".join(lines)


def redact_file(name: str, text: str) -> str:
    """Take every credential out of the text of a file, unless it is one of USERS; JSON stays JSON."""
    if PurePath(name).name.endswith(USERS):
        return text
    cleaned = redact(text)
    if cleaned != text and name.endswith((".json", ".ipynb")) and not _is_json(cleaned) and _is_json(text):
        indent = 1 if text[:2] in ("{\n", "[\n") else None
        cleaned = json.dumps(_redact_strings(json.loads(text)), ensure_ascii=False, indent=indent)
    return cleaned


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _redact_strings(value: Any) -> Any:
    if isinstance(value, dict):
        return {redact(key): _redact_strings(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_redact_strings(item) for item in value]
    return redact(value) if isinstance(value, str) else value


def redact_words(words: Iterable[object]) -> list[str]:
    """Return a command line as it may be shown: what follows the name of a secret is hidden too."""
    shown = [str(word) for word in words]
    for number, word in enumerate(shown):
        for value in (*find_secrets(shown[max(0, number - 2) : number + 1]),):
            word = word.replace(value, "***") if value else word
        shown[number] = word
    return [redact(word) for word in shown]


class RedactedStream:
    """A terminal's stream without credentials: whole lines, or what is there when it is flushed."""

    def __init__(self, stream: Any) -> None:
        self._stream, self._rest = stream, ""

    def write(self, text: str) -> int:
        whole, newline, rest = (self._rest + text).rpartition("\n")
        self._rest = rest
        if newline:
            self._stream.write(redact(whole))
            self._stream.write(newline)  # an unbuffered stream says only at the next write that its reader has gone
        return len(text)

    def write_raw(self, text: str) -> None:
        """Write what is the user's own, such as a diff, as it is."""
        self.flush()
        self._stream.write(text)

    def flush(self) -> None:
        rest, self._rest = self._rest, ""
        if rest:
            self._stream.write(redact(rest))
        self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def raw_writer(stream: Any) -> Callable[[str], object]:
    """Return what writes on a stream as it is, whether it is redacted otherwise or not."""
    writer: Callable[[str], object] = getattr(stream, "write_raw", stream.write)
    return writer


def redact_lines(chunks: Iterable[str]) -> Iterator[str]:
    """Yield the chunks of a log without credentials, the same wherever they are cut.

    A line is held until it is whole, one that ends in a comma until the next is, the lines of a key until its end.
    """
    held = ""
    for chunk in chunks:
        held += chunk
        cut = held.rfind("\n") + 1
        key = held.rfind("-----BEGIN", 0, cut)
        if key >= 0 and "-----END" not in held[key:cut]:
            cut = held.rfind("\n", 0, key) + 1
        while held[:cut].endswith(",\n"):
            cut = held.rfind("\n", 0, cut - 1) + 1
        if cut:
            yield redact(held[:cut])
            held = held[cut:]
    yield redact(held)
