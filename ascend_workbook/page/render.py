"""The page itself: Jinja2 frame, data as JSON, one script. It asks nothing of any network."""

from __future__ import annotations

import base64
import json
import math
import re
import zlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import LANGUAGES, choose_language, load_catalogue, say
from ascend_workbook.page import run as runs
from ascend_workbook.page.code import CLASSES
from ascend_workbook.page.texts import in_both, say_both
from ascend_workbook.redaction.exits import redact_file
from ascend_workbook.show.template import make_environment
from ascend_workbook.storage import open_storage

HERE = Path(__file__).parent
#: Letters of a piece of the data from which it is packed, and those of a line of a packed piece: so short that nothing
#: in it has the shape of a key.
PACKED, LINE = 24_000, 16
#: The words of statuses by their number.
STATUSES = {"good": Status.GOOD, "not_looked": Status.NOT_LOOKED, "look": Status.LOOK, "fix": Status.FIX}
#: Sentences of the catalogue that the page's script says.
GROUPS = ("page.ui.", "page.tab.", "page.part.", "timeline.")


def draw_run(folder: Path, lang: str | None = None, *, out: Path | None = None) -> Path:
    """Draw the page of a run's folder as its index.html, or as `out`, whole or not at all; return its path.

    Raises WorkbookError `page.nothing` where the folder holds no report.
    """
    data = runs.describe_run(runs.load_run(folder))
    path = out or folder / "index.html"
    if path.resolve().parent != folder.resolve():  # its links would lead nowhere
        data["run"]["files"] = []
    open_storage(str(path.parent)).write_text(path.name, render_data(data, lang, folder))
    return path


def render_report(report: Report, lang: str | None = None) -> str:
    """Render the page of one report."""
    return render_data(runs.describe_single(report), lang)


def render_data(data: dict[str, Any], lang: str | None = None, folder: Path | None = None) -> str:
    """Render a page of described data. Paths below `folder` are told relative to it."""
    from markupsafe import Markup

    lang = choose_language(lang)
    blocks: dict[str, str] = {}
    small = pack_blocks({**data, "lang": lang, "words": collect_words()}, blocks, folder)
    return (
        make_environment(HERE)
        .get_template("frame.html")
        .render(
            name=data["name"] if isinstance(data["name"], str) else data["name"][LANGUAGES.index(lang)],
            lang={"zh": "zh-CN"}.get(lang, lang),
            data=Markup(escape_json(small)),
            blocks={name: Markup(text) for name, text in blocks.items()},
            style=Markup(read_bundle("bundle.css")),
            script=Markup(read_bundle("bundle.js")),
            answers=list(tell_answers(data, lang)),
            no_script=say("page.no_script", lang),
        )
    )


@cache
def read_bundle(name: str) -> str:
    """Return a file of the built bundle."""
    return (HERE / name).read_text(encoding="utf-8")


@cache
def collect_words() -> Mapping[str, Any]:
    """Collect the words of the page's own controls, by their keys without the leading `page.`, in both languages."""
    words: dict[str, Any] = {f"status.{name}": in_both(status.word) for name, status in STATUSES.items()}
    for key, entry in load_catalogue().items():
        for group in GROUPS:
            if key.startswith(group):
                words[key[5:].replace("ui.", "", 1) if group != "timeline." else key] = [entry.en, entry.zh]
    return {**words, **{f"class.{kind}": say_both(f"migration.class.{kind}") for kind in CLASSES}}


DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)
BLOCK = re.compile(r'<script type="text/plain" id="(b\d+)">(.*?)</script>', re.DOTALL)


def load_data(text: str) -> dict[str, Any] | None:
    """Load the data that a page was drawn of, packed pieces in their places; None for a page of an older version, which
    had none."""
    match = DATA.search(text)
    if match is None:
        return None
    pieces = {name: json.loads(zlib.decompress(base64.b64decode(packed))) for name, packed in BLOCK.findall(text)}
    data: dict[str, Any] = _put_back(json.loads(match[1]), pieces)
    return data


def _put_back(value: Any, pieces: Mapping[str, Any]) -> Any:
    if isinstance(value, dict) and "block" in value:
        return pieces[value["block"]]
    if isinstance(value, dict):
        return {key: _put_back(item, pieces) for key, item in value.items()}
    return [_put_back(item, pieces) for item in value] if isinstance(value, list) else value


def pack_blocks(value: Any, blocks: dict[str, str], folder: Path | None) -> str:
    """Return the data as JSON without credentials; a large piece becomes one of `blocks`, compressed, and its name.

    What is compressed was redacted before: what writes the page could not look into it.
    """
    return dump_plain(_take_large(value, blocks, folder), folder)


def _take_large(value: Any, blocks: dict[str, str], folder: Path | None) -> Any:
    """Return the value with large tables, files and timelines as {"block": name}."""
    if isinstance(value, dict):
        if "columns" in value or "before" in value or "boxes" in value:
            text = dump_plain(value, folder)
            if len(text) >= PACKED:
                name = f"b{len(blocks)}"
                packed = base64.b64encode(zlib.compress(text.encode("utf-8", "backslashreplace"), 9)).decode()
                blocks[name] = "\n".join(packed[at : at + LINE] for at in range(0, len(packed), LINE))
                head = {key: value[key] for key in ("path", "added", "removed", "count") if key in value}
                return {**head, "block": name, "findings": value.get("findings", [])}
            return value
        return {key: _take_large(item, blocks, folder) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_take_large(item, blocks, folder) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def dump_plain(value: Any, folder: Path | None) -> str:
    """Return JSON without credentials, paths below the folder relative to it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    if folder is not None:
        for place in dict.fromkeys((folder.resolve(), Path.cwd())):
            if len(place.parts) > 2:
                text = text.replace(json.dumps(f"{place}/", ensure_ascii=False)[1:-1], "")
    return redact_file("data.json", text)


def escape_json(text: str) -> str:
    """Escape what could end the script element, or a line, within JSON."""
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def tell_answers(data: Mapping[str, Any], lang: str) -> Any:
    """Yield what a reader without scripts sees: question, status and answer, then what to do first."""
    at = LANGUAGES.index(lang)
    for row in (*data.get("answers", ()), *data.get("cards", ())[:1]):
        question, title = row.get("question", ""), row.get("title", row.get("cause", ""))
        texts = [text if isinstance(text, str) else text[at] for text in (question, title)]
        yield {"question": texts[0], "status": [*STATUSES.values()][row["status"]].word(lang), "title": texts[1]}
