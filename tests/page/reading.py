"""What a page holds, read back: its data with every packed piece opened, and all its texts in one language."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator
from typing import Any

from ascend_workbook.page.render import BLOCK, load_data


def read_page(text: str) -> dict[str, Any]:
    """Return the data of a page, its packed pieces in their places."""
    data = load_data(text)
    assert data is not None, "the page has no data"
    return data


def texts_of(data: Any, lang: str) -> Iterator[str]:
    """Yield every text of the data that a reader of the language can see, but for the page's own words."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict):
        for key, item in data.items():
            if key != "words" or "values" in data:
                yield from texts_of(item, lang)
    elif isinstance(data, list):
        pair = len(data) == 2 and all(isinstance(item, str) for item in data)
        yield from [data[lang == "zh"]] if pair else (text for item in data for text in texts_of(item, lang))


def said_on(text: str, lang: str = "en") -> str:
    """Return all that a page says in the language, a text a line."""
    return "\n".join(texts_of(read_page(text), lang))


def open_page(text: str) -> str:
    """Return all that a page holds in any language, its packed pieces opened."""
    blocks = "".join(zlib.decompress(base64.b64decode(packed)).decode() for _, packed in BLOCK.findall(text))
    return BLOCK.sub("", text) + blocks
