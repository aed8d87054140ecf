"""Whether an answer is the service's own, and whole: a proxy's page has a good status too, and bytes change on the way.
What is not is asked for again (retrying.py)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from helpers.storage.retrying import CutShort, Spoilt

#: Name of the SHA-256 in an object's own metadata, and of the mark that every answer about a content has.
SUM, ETAG = "sha256", "etag"


def marked(request: Callable[[], Any], mark: str) -> Any:
    """The answer, which has the mark where it is a good one: the header ETag, else a field that the SDK read of it.

    Raises Spoilt for one that has not.
    """
    answer = request()
    if answer.status >= 300 or not mark:
        return answer
    held = dict(answer.header).get(ETAG) if mark == ETAG else getattr(answer.body, mark, None)
    if not held:
        raise Spoilt(f"{answer.status} without {mark}: no answer of object storage, as of a proxy's page")
    return answer


def whole(request: Callable[[], Any], count: int | None, *, tail: bool = False) -> Any:
    """The answer with an object's content: `count` bytes of it, or its end (`tail`), or all, which then has its own sum
    where one is told. Raises CutShort, Spoilt.
    """
    try:
        answer = marked(request, ETAG)
    except Exception as cause:
        if type(cause) is not Exception:
            raise
        raise CutShort(str(cause)) from cause  # the SDK has no class of its own for it
    if answer.status >= 300:
        return answer
    told, data = dict(answer.header), answer.body.buffer or b""
    wanted = int(told["content-length"]) if count is None and "content-length" in told else count
    if wanted is not None and len(data) != wanted:
        raise CutShort(f"{len(data)} of {wanted} bytes came")
    if tail and answer.status != HTTPStatus.PARTIAL_CONTENT:
        raise Spoilt(f"{answer.status}: all of the object came where its end was asked for")
    if count is None and not tail and SUM in told and hashlib.sha256(data).hexdigest() != told[SUM]:
        raise Spoilt("the bytes that came have another SHA-256 than those that were sent")
    return answer


def onward(before: Any, after: Any) -> Any:
    """Where the next page of a listing begins. Raises Spoilt where that is no further on: it would never end."""
    if not any(after if isinstance(after, tuple) else (after,)) or after == before:
        raise Spoilt(f"a listing says that there is more and not where, after {before!r}")
    return after
