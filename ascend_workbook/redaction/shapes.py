"""What has the shape of something private, whoever's it is: a pattern, and what stands in its place."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from functools import cached_property
from typing import Union

Instead = Union[str, Callable[["re.Match[str]"], str]]


class Pattern:
    """A regular expression that is compiled at its first use: all of them take longer than to scan a script."""

    def __init__(self, text: str, flags: int = 0) -> None:
        self._text, self._flags = text, flags

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The regular expression."""
        return re.compile(self._text, self._flags)

    def sub(self, instead: Instead, text: str) -> str:
        """Return the text with `instead` for each match."""
        return self.compiled.sub(instead, text)

    def search(self, text: str) -> re.Match[str] | None:
        """Return the first match."""
        return self.compiled.search(text)


Shape = tuple[Union["re.Pattern[str]", Pattern], Instead]

#: Words that mark a text for a language model: their names end in `token`, and none is a secret.
_MARKS = "".join(f"(?<!{word}[_-])" for word in "pad eos bos unk sep cls mask next stop image special".split())  # noqa: SIM905
#: Names whose value is a secret, as an option, a key or a variable has them.
NAME = (
    r"(?:pass(?:word|wd|phrase)|(?<=[_-])pass|pwd|secret(?:[_-]?(?:access[_-]?)?key)?|security[_-]?token"
    rf"|{_MARKS}token|api[_-]?key|access[_-]?key(?:[_-]?id)?|private[_-]?key|client[_-]key(?:[_-]data)?|credentials?"
    r"|(?<=[?&;])signature|\b[as]k|(?<=[\"';_])auth(?=[\"'\\&=])"
    r"|(?-i:\b[A-Z][A-Z0-9_]*_(?:KEY|AUTH|DSN|CERT|PAT|COOKIE|SESSION)))"
)
QUOTE = r"(?:&(?:amp;)?(?:quot|#34|#x27|#39);|\\?[\"'])"
#: A model's own mark, such as `<pad>` or `[MASK]`.
MARK = r"(?-i:<[|/]?[a-z_]{1,20}\|?>|\[[A-Z]{1,9}\])"
#: A quoted value up to its own closing quote, spaces included. Every run is bounded: no text takes long.
_QUOTED = (
    r"(?P<q>\"\"\"|'''|&(?:amp;)?(?:quot|#34|#x27|#39);|\\?[\"'])"
    rf"(?!\*\*\*|{MARK}(?P=q))(?:(?!(?P=q))(?:\\.|[^\\\n])){{1,4000}}(?P=q)"
)
#: What is no value of a secret: a bracket, a call, a field of code, a variable, a count, a word of JSON.
_NONE = (
    r"(?!\*\*\*|[{\[(]|[\w.]{1,60}[\[(]|[a-z_]{1,40}(?:\.[a-z_]{1,40}){1,9}(?![\w@:/-])|(?i:rb|br|[rfb])[\"']"
    r"|\$\{?[A-Za-z_]\w*[:?\w]*\}?(?![\w}])|-?\d{1,5}(?:\.\d+)?(?![\w.])|(?:true|false|null|none)(?!\w))"
)
#: Behind a colon and a blank also prose and types: `token: str`.
_PROSE = r"(?!(?-i:[a-z]{1,10}|[A-Z][a-z]{0,9})(?:[^\w@./+=-]|$))"
_BARE = rf"{_NONE}[^\s\"'&<>,;)}}\]\\]+"
_SPACE = r"[ \t]{0,20}"
_ASSIGN = rf"{NAME}{QUOTE}?{_SPACE}\]?{_SPACE}(?:=>|:=|==?|:){_SPACE}"
_WHOLE_KEY = Pattern(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:(?!-----BEGIN ).)*?-----END [A-Z ]*PRIVATE KEY-----", re.DOTALL
)
#: One that was cut off before its end, as a long cell of a table is.
_CUT_KEY = Pattern(r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:(?:\s|\\+[rn]){0,9}[A-Za-z0-9+/=]{12,})*")
_END = Pattern(r"-----END [A-Z ]*PRIVATE KEY-----")
_KEY_LINE = Pattern(r"[\s>|]*(?:[A-Za-z0-9+/=]*|(?:Proc-Type|DEK-Info|Comment):.*)\s*")
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


def _is_mixed(word: str) -> bool:
    return any(map(str.isdigit, word)) and any(map(str.isupper, word)) and (len(word) == 20 or not word.isupper())


def remove_private_keys(text: str) -> str:
    """Remove whole private keys, and base64 lines before an END whose BEGIN was cut off."""
    text = _WHOLE_KEY.sub("***", text)
    out: list[str] = []
    done_upto = 0
    for end in _END.compiled.finditer(text):
        begin, lines = end.start(), text[max(done_upto, end.start() - _KEY_CHARACTERS) : end.start()]
        pieces = re.split(r"(\r?\n|(?:\\r)?\\n)", lines)
        for piece in reversed(pieces):
            if piece not in ("\n", "\r\n", "\\n", "\\r\\n") and not _KEY_LINE.compiled.fullmatch(piece):
                last = re.search(r"[A-Za-z0-9+/=]*$", piece)  # such as after the quote that opens a string
                begin -= len(last.group()) if last else 0
                break
            begin -= len(piece)
        out += [text[done_upto:begin], "***"]
        done_upto = end.end()
    return _CUT_KEY.sub("***", "".join([*out, text[done_upto:]]))


#: What is a credential wherever it stands, whatever is written around it.
CERTAIN: tuple[Shape, ...] = (
    (Pattern(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL), "***"),
    (Pattern(r"\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?"), "***"),
    (Pattern(r"\b(?:gh[pousr]_|github_pat_|glpat-|xox[abp]-)[\w-]{12,}"), "***"),
    (Pattern(r"\bhf_(?=[A-Za-z]*[\dA-Z])[A-Za-z0-9]{12,}"), "***"),
    (Pattern(r"\bsk-(?:(?=[A-Za-z_-]*\d)[\w-]{12,}|[A-Za-z]{16,})"), "***"),
)
ADDRESS_PASSWORD = Pattern(
    r"(?P<scheme>\b[a-z][a-z0-9+.-]{0,20}://)(?P<user>[^\s/@:\"'<>]{0,200}):(?P<password>[^\s/\"'<>]{1,500})@"
)
#: Access key ids have 20 capitals and digits, Huawei's secret keys 40 characters of mixed case.
KEYS: tuple[Shape, ...] = (
    (
        Pattern(r"(?<![\w/+-])(?:[A-Z0-9]{20}|[A-Za-z0-9]{40})(?![\w/+-])"),
        lambda match: "***" if _is_mixed(match[0]) else match[0],
    ),
)
_EQUALS = rf"{_SPACE}(?:=>|:=|==?|:){_SPACE}"
_OPTION = rf"(?<![\w-])--?[\w-]*{NAME}[ \t]{{1,20}}"
#: A whole word in quotes that is an option or a variable.
_WORD = rf"(?<=[\"';])(?:--?[\w-]*{NAME}|(?-i:[A-Z0-9_]*(?:TOKEN|PASS|PASSWORD|SECRET|KEY)))"
HEADERS: tuple[Shape, ...] = (
    (Pattern(r"(?i)\b(bearer|basic)[ \t]{1,9}(?-i:(?![a-z]+\b))[\w.~+/=-]{8,}"), r"\1 ***"),
    (
        Pattern(rf"(?i)(authorization[\"']?{_SPACE}[=:]{_SPACE}[\"']?){_NONE}[^\s\"'<,;\\]+(?: [^\s\"'<,;\\]{{8,}})?"),
        r"\1***",
    ),
    (
        Pattern(rf"(?i)(\b(?:set-)?cookie[\"']?{_SPACE}:{_SPACE}[\"']?){_NONE}[^\s\"'<{{\[\\][^\r\n\"'<\\]{{0,4000}}"),
        r"\1***",
    ),
)
NAMED: tuple[Shape, ...] = (
    (Pattern(rf"(?i)(?P<before>{_ASSIGN}){_QUOTED}"), _same_quotes),
    # setdefault('TOKEN', 'x y'), and a list of words over several lines
    (
        Pattern(
            rf"(?i)(?P<before>{_WORD}{QUOTE}{_SPACE},\s{{0,80}})"
            rf"(?!{QUOTE}(?-i:[a-z_]{{1,10}}|[A-Z_]+){QUOTE}){_QUOTED}"
        ),
        _same_quotes,
    ),
    (Pattern(rf"(?i)(?P<before>{_OPTION}){_QUOTED}"), _same_quotes),
    (Pattern(rf"(?i)({_OPTION})(?!-){_BARE}"), r"\1***"),
    (Pattern(rf"(?i)({NAME}{_EQUALS}{QUOTE}?)(?:(?<!: )|{_PROSE}){_BARE}"), r"\1***"),
    # behind a name in quotes a number is JSON's
    (Pattern(rf"(?i)({NAME}{QUOTE}{_SPACE}\]?{_EQUALS}{QUOTE}?)(?![-\d.eE+]+[\s,}}\]]){_BARE}"), r"\1***"),
    # as .netrc has it: on a line of its own, also of a comment, or behind the login
    (
        Pattern(
            r"(?m)((?:(?:^|[\"';])[ \t]{0,40}(?:#[ \t]{0,40}){0,3}|\blogin[ \t]{1,9}\S{1,99}\s{1,9})password[ \t]{1,9})"
            r"(?!\*\*\*)(?=\S*[A-Z\d])[^\s\"'<,;=:\\&]{4,}(?=[ \t]*(?:$|[\"'\\&]))"
        ),
        r"\1***",
    ),
)
SIGNED: tuple[Shape, ...] = (
    (
        Pattern(
            r"(?i)((?:x-(?:amz|obs|auth)-[\w-]{0,40}(?:token|signature|credential|key)[\w-]{0,20}|(?<=[?&;])sig)"
            r"[ \t]{0,9}[=:][ \t]{0,9})(?!\*\*\*)[^\s&\"'<]+"
        ),
        r"\1***",
    ),
)
ADDRESSES: tuple[Shape, ...] = ((ADDRESS_PASSWORD, r"\g<scheme>***@"),)
CHINESE: tuple[Shape, ...] = (
    (
        Pattern(
            r"((?:口令|密码|密钥|令牌)[\"'”」]?[ \t]{0,9}(?:[：:=＝]|是|为)[ \t]{0,9}[\"'“「]?)(?!\*\*\*)"
            r"[!#-%(-+\--:=-\[\]-~]{3,}"
        ),
        r"\1***",
    ),
)
CREDENTIALS = CERTAIN + HEADERS + NAMED + SIGNED + ADDRESSES + CHINESE + KEYS
#: Private, but no credentials: a check of one's own machine shows addresses and folders.
PERSONAL: tuple[Shape, ...] = (
    (Pattern(r"\b[\w.+-]+@[\w-]+\.[\w.-]*\w"), "<email>"),
    (Pattern(r"(?<![\w:])(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}(?![\w:])"), "<mac>"),
    (Pattern(r"(?<![\w:.])[0-9A-Fa-f]{0,4}:[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:.]*(?:%\w+)?(?![\w:])"), _redact_ipv6),
    (
        Pattern(
            r"(?<![\w.])(?!127\.0\.0\.1|0\.0\.0\.0)(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\w.])"
        ),
        "<ip>",
    ),
    (Pattern(r"(/home/|/Users/|/data/home/)[^/\s\"'<>:,;)]+"), r"\1<user>"),
)
SHAPES = CREDENTIALS + PERSONAL
