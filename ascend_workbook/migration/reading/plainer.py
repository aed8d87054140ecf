"""A file's bytes with every name spelled out, for the byte search only: `"cu" "da"` and `"\\x63uda"` as `cuda`.

What is written this way cannot be parsed as the file; it only has to hold each word that the file's tree may hold.
"""

from __future__ import annotations

import re
import unicodedata

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
    if _is_encoded(data):
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


def _is_encoded(data: bytes) -> bool:
    """A coding cookie (PEP 263) that names an encoding with bytes of its own for letters."""
    for line in data[:400].splitlines()[:2]:
        cookie = COOKIE.match(line)
        if cookie:
            return cookie.group(1).lower().replace(b"_", b"-") not in PLAIN
    return False
