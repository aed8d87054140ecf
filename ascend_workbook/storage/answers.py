"""Whether an answer is the service's own, and whole: a proxy's page has a good status too, and bytes change on the way.
What is not is asked for again (retrying.py)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from ascend_workbook.storage.retrying import CutShort, Spoilt

#: Name of the SHA-256 in an object's own metadata, and of the mark that every answer about a content has.
SUM, ETAG = "sha256", "etag"


def check_mark(request: Callable[[], Any], mark: str) -> Any:
    """Return the answer, once it has the mark of a good one: the header ETag, else a field that the SDK read of it.

    Raises Spoilt for one that has not.
    """
    answer = request()
    if answer.status >= 300 or not mark:
        return answer
    mark_value = dict(answer.header).get(ETAG) if mark == ETAG else getattr(answer.body, mark, None)
    if not mark_value:
        raise Spoilt(f"{answer.status} without {mark}: no answer of object storage, as of a proxy's page")
    return answer


def check_content(request: Callable[[], Any], count: int | None, *, tail: bool = False) -> Any:
    """Return the answer with an object's content, once all its bytes are there. They are `count` bytes of it, or its
    end (`tail`), or all, which then has its own sum where one is told. Raises CutShort, Spoilt.
    """
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


def next_page(before: Any, after: Any) -> Any:
    """Return where the next page of a listing begins. Raises Spoilt where that is no further on: it would never end."""
    if not any(after if isinstance(after, tuple) else (after,)) or after == before:
        raise Spoilt(f"a listing says that there is more and not where, after {before!r}")
    return after
