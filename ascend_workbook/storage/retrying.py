"""Asks the service, again where asking again may help, a bounded number of times; else says what it answered."""

from __future__ import annotations

import errno
import hashlib
import http.client
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.storage.credentials import Access

#: Name of the SHA-256 in an object's own metadata, and of the mark that every answer about a content has.
SUM, ETAG = "sha256", "etag"


def check_mark(request: Callable[[], Any], mark: str) -> Any:
    """Return the answer, once it has the mark of a good one: the header ETag, else a field that the SDK read of it.
    Raises Spoilt for one that has not."""
    answer = request()
    if answer.status >= 300 or not mark:
        return answer
    mark_value = dict(answer.header).get(ETAG) if mark == ETAG else getattr(answer.body, mark, None)
    if not mark_value:
        raise Spoilt(f"{answer.status} without {mark}: no answer of object storage, as of a proxy's page")
    return answer


def check_content(request: Callable[[], object], count: int | None, *, tail: bool = False) -> object:
    """Return the answer with an object's content, once all its bytes are there. They are `count` bytes of it, or its
    end (`tail`), or all, which then has its own sum where one is told. Raises CutShort, Spoilt."""
    try:
        answer = check_mark(request, ETAG)
    except Exception as cause:
        if type(cause) is not Exception:
            raise
        raise CutShort(str(cause)) from cause  # the SDK has no class of its own for it
    if answer.status >= 300:
        return answer
    headers, data = dict(answer.header), answer.body.buffer or b""
    expected_bytes = int(headers["content-length"]) if count is None and "content-length" in headers else count
    if expected_bytes is not None and len(data) != expected_bytes:
        raise CutShort(f"{len(data)} of {expected_bytes} bytes came")
    if tail and answer.status != HTTPStatus.PARTIAL_CONTENT:
        raise Spoilt(f"{answer.status}: all of the object came where its end was asked for")
    if count is None and not tail and SUM in headers and hashlib.sha256(data).hexdigest() != headers[SUM]:
        raise Spoilt("the bytes that came have another SHA-256 than those that were sent")
    return answer


#: What a connection raises that broke, was refused or answered nothing in time.
BROKEN = (OSError, http.client.HTTPException)
#: https://support.huaweicloud.com/intl/en-us/api-obs/obs_04_0115.html: error codes of the service.
BUSY = ("RequestTimeout", "SlowDown", "ServiceUnavailable", "InternalError", "BadDigest", "IncompleteBody")
SKEWED = ("RequestTimeTooSkewed", "RequestExpired")
WRONG_KEYS = ("InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "ExpiredToken", "InvalidSecurity")
#: Behind this much difference between two clocks requests are refused.
SKEW_S = 900


class CutShort(OSError):
    """An answer had fewer bytes than it said."""


class Spoilt(OSError):
    """An answer is not what the service sent, or not the service's: another sum, a page of a proxy."""


@dataclass(frozen=True)
class Patience:
    """`attempts` in all; pauses double from `pause_s`; `timeout_s` is how long one answer may keep silent."""

    attempts: int = 5
    pause_s: float = 0.5
    timeout_s: float = 60.0


def ask_service(request: Callable[[], Any], shown: str, access: Access, patience: Patience) -> object:
    """Ask the service, again where that may help, and return its answer with a status below 300. Raises
    FileNotFoundError for 404, WorkbookError for any other refusal, and `storage.no_answer` after the last attempt with
    what the last one met."""
    last = ""
    for attempt in range(patience.attempts):
        if attempt:
            time.sleep(min(patience.pause_s * 2 ** (attempt - 1), 20.0))
        try:
            answer = request()
        except BROKEN as cause:
            if type(cause).__name__ == "SSLCertVerificationError":
                raise WorkbookError("storage.certificate", server=access.server, error=str(cause)) from cause
            last = access.hide_secrets(f"{type(cause).__name__}: {cause}")
            continue
        if answer.status < 300:
            return answer
        if answer.status < 500 and answer.status not in (408, 429) and answer.errorCode not in BUSY:
            raise _make_refusal(answer, shown, access)
        message = f"{answer.status} {answer.errorCode or ''} {answer.errorMessage or answer.reason or ''}"
        last = access.hide_secrets(message)
    raise WorkbookError("storage.no_answer", place=shown, server=access.server, attempts=patience.attempts, error=last)


def _make_refusal(answer: Any, shown: str, access: Access) -> Exception:
    code = answer.errorCode or ""
    skew = _compute_skew_s(answer)
    if code in SKEWED or (answer.status == 403 and not code and abs(skew) > SKEW_S):
        which = Sentence("storage.behind" if skew > 0 else "storage.ahead")
        return WorkbookError("storage.skew", place=shown, seconds=abs(round(skew)), which=which)
    if code == "NoSuchBucket":
        return WorkbookError("storage.no_bucket", place=shown, server=access.server)
    if answer.status == 404:
        return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), shown)
    if code in WRONG_KEYS:
        return WorkbookError("storage.keys_refused", code=code, server=access.server)
    if answer.status == 403:
        return WorkbookError("storage.denied", place=shown, code=code or "403")
    message = access.hide_secrets(f"{code} {answer.errorMessage or answer.reason or ''}".strip())
    return WorkbookError("storage.refused", place=shown, status=answer.status, error=message)


def _compute_skew_s(answer: Any) -> float:
    """Return the seconds that the service's clock is ahead of ours; 0 where it does not tell."""
    service_date = dict(answer.header or ()).get("date")
    try:
        there = parsedate_to_datetime(service_date) if service_date else None
    except (TypeError, ValueError):  # TypeError before Python 3.10
        return 0.0
    return (there - datetime.now(timezone.utc)).total_seconds() if there and there.tzinfo else 0.0
