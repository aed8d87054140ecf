"""Takes out of a text what must not leave a machine: keys and tokens, the user's name, home folder, hosts, addresses.

Two ways at once. What is known: the values of this process's variables whose names speak of a secret, home, user and
host name. What has the shape of a secret: `password=...`, access keys, bearer tokens, private keys, signed URLs.
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
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

SECRET_NAME = re.compile(
    r"(?i)(?:^|_)(?:AK|SK|PAT|PW|PWD|KEY|KEYS|CERT|DSN)(?:$|_)|PASS|SECRET|TOKEN|CREDENTIAL|AUTH|APIKEY|API_KEY"
    r"|ACCESS_?KEY|PRIVATE|COOKIE|SESSION"
)
#: Shorter values are words such as `1` or `none`.
SHORTEST = 5
SHAPES = (
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL), "***"),
    (re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{8,}"), r"\1 ***"),
    (re.compile(r"(?i)(authorization[\"']?\s*[=:]\s*[\"']?)[^\s\"'<,;]+(?: [^\s\"'<,;]{8,})?"), r"\1***"),
    (re.compile(
        r"(?i)((?:pass(?:word|wd|phrase)?|pwd|secret(?:_?(?:access_?)?key)?|security_?token|token|api_?key"
        r"|access_?key(?:_?id)?|private_?key|credentials?|signature|\b[as]k)(?:&quot;|[\"'])?\s*(?:=>|[=:])\s*"
        r"(?:&quot;|[\"'])?)(?!\*\*\*)[^\s\"'&<>,;)}\]]+"
    ), r"\1***"),
    (re.compile(
        r"(?i)(x-(?:amz|obs|auth)-[\w-]*(?:token|signature|credential|key)[\w-]*\s*[=:]\s*)[^\s&\"'<]+"
    ), r"\1***"),
    (re.compile(r"(\b[a-z][a-z0-9+.-]*://)[^\s/@:]+:[^\s/@]+@"), r"\1***@"),
    (re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?"), "***"),
    (re.compile(r"\b(?:gh[pousr]_|github_pat_|glpat-|hf_|sk-|xox[abp]-)[\w-]{12,}"), "***"),
    # access key ids have 20 capitals and digits, Huawei's secret keys 40 characters of mixed case
    (re.compile(r"(?<![\w/+-])(?=[A-Z0-9]*\d)(?=[A-Z0-9]*[A-Z])[A-Z0-9]{20}(?![\w/+-])"), "***"),
    (re.compile(r"(?<![\w/+-])(?=\w*\d)(?=\w*[a-z])(?=\w*[A-Z])[A-Za-z0-9]{40}(?![\w/+-])"), "***"),
    (re.compile(r"\b[\w.+-]+@[\w-]+\.[\w.-]*\w"), "<email>"),
    (re.compile(r"(?<![\w:])(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}(?![\w:])"), "<mac>"),
    (re.compile(
        r"(?<![\w.])(?!127\.0\.0\.1|0\.0\.0\.0)(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\w.])"
    ), "<ip>"),
    (re.compile(r"(/home/|/Users/|/data/home/)[^/\s\"'<>:,;)]+"), r"\1<user>"),
)  # fmt: skip
#: The last four are private, but no credentials: a check of one's own machine shows addresses and folders.
CREDENTIALS = SHAPES[:-4]
#: What stands under these keys of a report is ours and has a meaning.
STRUCTURE = ("say", "hint", "key", "rule", "verb", "stage", "status", "tier", "created")
#: Names that tell nothing of who somebody is.
NOBODY = ("root", "user", "admin", "localhost", "ma-user", "ubuntu", "runner")


@dataclass(frozen=True)
class Redactor:
    """`known`: what is searched and what stands in its place, the longest first. `secrets` must never be seen."""

    known: tuple[tuple[re.Pattern[str], str], ...] = ()
    secrets: tuple[str, ...] = ()
    shapes: tuple[tuple[re.Pattern[str], str], ...] = SHAPES

    def text(self, text: str) -> str:
        """The text without them."""
        for pattern, instead in self.known:
            text = pattern.sub(instead, text)
        for pattern, instead in self.shapes:
            text = pattern.sub(instead, text)
        return text

    def tree(self, value: Any, name: str = "") -> Any:
        """The same for every string of a JSON value, keys of mappings too; a secret's name hides its whole value."""
        if isinstance(value, dict):
            return {self.text(str(key)): self.tree(each, str(key)) for key, each in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.tree(each, name) for each in value]
        if not isinstance(value, str) or name in STRUCTURE:
            return value
        return "***" if value and SECRET_NAME.search(name) and name.isupper() else self.text(value)

    def leaks(self, text: str) -> bool:
        """Whether a secret's value stands in the text."""
        return any(secret in text for secret in self.secrets)


def credentials_of(environ: Mapping[str, str]) -> Redactor:
    """Takes out credentials alone: the values of variables whose names speak of one, and what has the shape of one."""
    secrets = _secrets(environ)
    return Redactor(tuple((re.compile(re.escape(secret)), "***") for secret in secrets), tuple(secrets), CREDENTIALS)


def _secrets(environ: Mapping[str, str]) -> list[str]:
    found = {text for name, text in environ.items() if SECRET_NAME.search(name) and _secret(text)}
    return sorted({written for text in found for written in _ways(text)}, key=len, reverse=True)


def of_this_process(environ: Mapping[str, str] = os.environ, folders: Mapping[str, str] | None = None) -> Redactor:
    """What this process knows to be private. `folders`: path -> what stands for it, such as the work folder."""
    secrets = _secrets(environ)
    known = [(re.compile(re.escape(secret)), "***") for secret in secrets]
    places = {**(folders or {}), str(Path.home()): "~", environ.get("HOME", ""): "~"}
    for place, instead in sorted(places.items(), key=lambda item: -len(item[0])):
        if len(place) > 1:
            known.append((re.compile(re.escape(place) + r"(?![\w.-])"), instead))
    for names, instead in ((_users(environ), "<user>"), (_hosts(environ), "<host>")):
        for name in sorted(names, key=len, reverse=True):
            known.append((re.compile(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])"), instead))
    return Redactor(tuple(known), tuple(secrets))


def _secret(text: str) -> bool:
    """Paths and plain words are none: SSH_AUTH_SOCK names a socket, and `/tmp` must stay legible."""
    return len(text) >= SHORTEST and not text.startswith("/") and text.lower() not in ("false", "default", "localhost")


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


def _hosts(environ: Mapping[str, str]) -> set[str]:
    whole = {environ.get("HOSTNAME", ""), socket.gethostname()}
    found = whole | {name.split(".")[0] for name in whole}
    return {name for name in found if len(name) > 2 and name not in NOBODY}
