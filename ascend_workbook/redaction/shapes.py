"""What has the shape of something private, whoever's it is: a pattern, and what stands in its place."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from typing import Union

Instead = Union[str, Callable[["re.Match[str]"], str]]
Shape = tuple["re.Pattern[str]", Instead]

#: Names whose value is a secret, as an option, a key or a variable has them.
NAME = (
    r"(?:pass(?:word|wd|phrase)?|pwd|secret(?:[_-]?(?:access[_-]?)?key)?|security[_-]?token|token|api[_-]?key"
    r"|access[_-]?key(?:[_-]?id)?|private[_-]?key|credentials?|signature|\b[as]k|(?<=[\"';_])auth(?=[\"'\\&=])"
    r"|(?-i:\b[A-Z][A-Z0-9_]*_(?:KEY|AUTH|DSN|CERT|PAT|COOKIE|SESSION)))"
)
_QUOTE = r"(?:&quot;|&#x27;|&#39;|\\?[\"'])"
#: A quoted value up to its own closing quote, spaces included.
_QUOTED = r"(?P<q>\"\"\"|'''|&quot;|&#x27;|&#39;|\\?[\"'])(?!\*\*\*)(?:(?!(?P=q))(?:\\.|.))+(?P=q)"
_BARE = r"[^\s\"'&<>,;)}\]]+"
_ASSIGN = rf"{NAME}{_QUOTE}?\s*\]?\s*(?:=>|:=|==?|:)\s*"
_WHOLE_KEY = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:(?!-----BEGIN ).)*?-----END [A-Z ]*PRIVATE KEY-----", re.DOTALL
)
_END = re.compile(r"-----END [A-Z ]*PRIVATE KEY-----")
_KEY_LINE = re.compile(r"[\s>|]*(?:[A-Za-z0-9+/=]*|(?:Proc-Type|DEK-Info|Comment):.*)\s*")
#: The longest private keys in use have 13,000 characters.
_KEY_CHARACTERS = 20_000
_NETWORKS = tuple(map(ipaddress.IPv6Network, ("2000::/3", "fc00::/7", "fe80::/10", "ff00::/8", "::ffff:0:0/96")))


def _same_quotes(match: re.Match[str]) -> str:
    return f"{match.group('before')}{match.group('q')}***{match.group('q')}"


def _redact_ipv6(match: re.Match[str]) -> str:
    """Replace an IPv6 address; times (12:34:56), names (c10::add) and ::1 stay."""
    text = match.group()
    candidate = text.rstrip(".")
    candidate = candidate if candidate.endswith("::") else candidate.rstrip(":")
    try:
        address = ipaddress.IPv6Address(candidate.split("%")[0])
    except ValueError:
        return text
    return "<ip>" + text[len(candidate) :] if any(address in network for network in _NETWORKS) else text


def remove_private_keys(text: str) -> str:
    """Remove whole private keys, and base64 lines before an END whose BEGIN was cut off."""
    text = _WHOLE_KEY.sub("***", text)
    out: list[str] = []
    done_upto = 0
    for end in _END.finditer(text):
        begin, lines = end.start(), text[max(done_upto, end.start() - _KEY_CHARACTERS) : end.start()]
        pieces = re.split(r"(\r?\n|(?:\\r)?\\n)", lines)
        for piece in reversed(pieces):
            if piece not in ("\n", "\r\n", "\\n", "\\r\\n") and not _KEY_LINE.fullmatch(piece):
                last = re.search(r"[A-Za-z0-9+/=]*$", piece)  # such as after the quote that opens a string
                begin -= len(last.group()) if last else 0
                break
            begin -= len(piece)
        out += [text[done_upto:begin], "***"]
        done_upto = end.end()
    return "".join([*out, text[done_upto:]])


#: What is a credential wherever it stands, whatever is written around it.
CERTAIN: tuple[Shape, ...] = (
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL), "***"),
    (re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?"), "***"),
    (re.compile(r"\b(?:gh[pousr]_|github_pat_|glpat-|hf_|sk-|xox[abp]-)[\w-]{12,}"), "***"),
)
CREDENTIALS: tuple[Shape, ...] = (
    *CERTAIN,
    (re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{8,}"), r"\1 ***"),
    (re.compile(r"(?i)(authorization[\"']?\s*[=:]\s*[\"']?)[^\s\"'<,;]+(?: [^\s\"'<,;]{8,})?"), r"\1***"),
    (re.compile(rf"(?i)(?P<before>{_ASSIGN}){_QUOTED}"), _same_quotes),
    (re.compile(rf"(?i)(?P<before>{NAME}{_QUOTE}\s*,\s*){_QUOTED}"), _same_quotes),  # setdefault('TOKEN', 'x y')
    (re.compile(rf"(?i)(?P<before>(?<![\w-])--?[\w-]*{NAME}\s+){_QUOTED}"), _same_quotes),
    (re.compile(rf"(?i)((?<![\w-])--?[\w-]*{NAME}[ \t]+)(?!-|\*\*\*){_BARE}"), r"\1***"),
    (re.compile(rf"(?i)({_ASSIGN}{_QUOTE}?)(?!\*\*\*){_BARE}"), r"\1***"),
    (
        re.compile(r"(?i)(x-(?:amz|obs|auth)-[\w-]*(?:token|signature|credential|key)[\w-]*\s*[=:]\s*)[^\s&\"'<]+"),
        r"\1***",
    ),
    (re.compile(r"(\b[a-z][a-z0-9+.-]*://)[^\s/@:]+:[^\s/@]+@"), r"\1***@"),
    # access key ids have 20 capitals and digits, Huawei's secret keys 40 characters of mixed case
    (re.compile(r"(?<![\w/+-])(?=[A-Z0-9]*\d)(?=[A-Z0-9]*[A-Z])[A-Z0-9]{20}(?![\w/+-])"), "***"),
    (re.compile(r"(?<![\w/+-])(?=\w*\d)(?=\w*[a-z])(?=\w*[A-Z])[A-Za-z0-9]{40}(?![\w/+-])"), "***"),
)
#: Private, but no credentials: a check of one's own machine shows addresses and folders.
PERSONAL: tuple[Shape, ...] = (
    (re.compile(r"\b[\w.+-]+@[\w-]+\.[\w.-]*\w"), "<email>"),
    (re.compile(r"(?<![\w:])(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}(?![\w:])"), "<mac>"),
    (re.compile(r"(?<![\w:.])[0-9A-Fa-f]{0,4}:[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:.]*(?:%\w+)?(?![\w:])"), _redact_ipv6),
    (
        re.compile(
            r"(?<![\w.])(?!127\.0\.0\.1|0\.0\.0\.0)(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\w.])"
        ),
        "<ip>",
    ),
    (re.compile(r"(/home/|/Users/|/data/home/)[^/\s\"'<>:,;)]+"), r"\1<user>"),
)
SHAPES = CREDENTIALS + PERSONAL
