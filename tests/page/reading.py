"""What a page holds, read back: its data with every packed piece opened, and all its texts in one language."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Iterator
from typing import Any

DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)
BLOCK = re.compile(r'<script type="text/plain" id="(b\d+)">(.*?)</script>', re.DOTALL)


def read_page(text: str) -> dict[str, Any]:
    """Return the data of a page, its packed pieces in their places."""
    blocks = {name: json.loads(zlib.decompress(base64.b64decode(packed))) for name, packed in BLOCK.findall(text)}
    found = DATA.search(text)
    assert found, "the page has no data"
    data: dict[str, Any] = _open_blocks(json.loads(found[1]), blocks)
    return data


def _open_blocks(value: Any, blocks: dict[str, Any]) -> Any:
    if isinstance(value, dict) and "block" in value:
        return blocks[value["block"]]
    if isinstance(value, dict):
        return {key: _open_blocks(item, blocks) for key, item in value.items()}
    return [_open_blocks(item, blocks) for item in value] if isinstance(value, list) else value


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
