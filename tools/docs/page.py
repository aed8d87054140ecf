"""A stage's page as Markdown."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.sentence import say
from ascend_workbook.machine import versions
from ascend_workbook.precision.tensors import tolerance
from tools.docs.rules import Rule, codes_beside, describe_basis, places_of, rules_in
from tools.docs.stages import STAGES, Stage, list_commands, signature_of

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "stages"
ENDINGS = {"en": ".md", "zh": ".zh-CN.md"}
#: A source's name on the page is its host and the last of its path.
LONGEST_NAME = 60


def make_pages() -> dict[Path, str]:
    """Return every page's file and text."""
    return {
        FOLDER / f"{stage.name}{ending}": make_page(stage, lang) for stage in STAGES for lang, ending in ENDINGS.items()
    }


def make_page(stage: Stage, lang: str) -> str:
    parts = [
        *_render_head(stage, lang),
        *_render_commands(stage, lang),
        *_render_functions(stage, lang),
        *_render_rules(stage, lang),
        *_render_beside(stage, lang),
        *_render_tables(stage, lang),
    ]
    return "\n\n".join(parts) + "\n"


def _render_head(stage: Stage, lang: str) -> Iterator[str]:
    yield f"# {_in_language(stage.title, lang)}"
    yield label_text("other", lang).format(name=stage.name)
    yield f"{_in_language(stage.about, lang)}{'' if lang == 'zh' else ' '}{label_text('made', lang)}"


def _render_commands(stage: Stage, lang: str) -> Iterator[str]:
    """Yield each command's usage once, and what it does; `--help` tells its options."""
    yield f"## {label_text('commands', lang)}"
    yield label_text("common", lang)
    commands = [command for verb in stage.verbs for command in list_commands(verb, lang)]
    yield "\n".join(f"- `{command.usage}`<br>{_escape_cell(command.first)}" for command in commands)


def _render_functions(stage: Stage, lang: str) -> Iterator[str]:
    yield f"## {label_text('functions', lang)}"
    yield label_text("import", lang)
    words = ((name, _escape_cell(say(f"help.function.{name}", lang))) for name in stage.functions)
    yield "\n".join(f"- `{signature_of(name)}`<br>{text}" for name, text in words)


def _render_rules(stage: Stage, lang: str) -> Iterator[str]:
    yield f"## {label_text('rules', lang)}"
    yield label_text("about_rules", lang)
    heads = [label_text(name, lang) for name in ("code", "looks_at", "status", "rests_on")]
    for package, title in stage.rules:
        yield f"### {_in_language(title, lang)}"
        yield _render_table(heads, [_row_of_rule(rule, lang) for rule in rules_in(package)])


def _row_of_rule(rule: Rule, lang: str) -> tuple[str, ...]:
    statuses = ("、" if lang == "zh" else ", ").join(
        dict.fromkeys(Status(status).word(lang) for status in rule.statuses)
    )
    numbers = ", ".join(f"`{name}` {value:g}" for name, value in rule.numbers.items())
    named = [f"[{_shorten_address(address)}]({address})" for address in rule.sources]
    rests_on = [*named, *([describe_basis(rule.basis, lang)] if rule.basis else [])]
    sources = ("、" if lang == "zh" else ", ").join([*rests_on, *filter(None, [numbers])])
    return f"[{rule.code}](../../{rule.file})", say(rule.title, lang), statuses, sources


def _render_beside(stage: Stage, lang: str) -> Iterator[str]:
    codes = codes_beside(stage)
    if not codes:
        return
    yield f"## {label_text('beside', lang)}"
    yield label_text("about_beside", lang)
    files = {code: ", ".join(f"[{Path(file).name}](../../{file})" for file in places_of(code)) for code in codes}
    yield _render_table((label_text("code", lang), label_text("file", lang)), list(files.items()))


def _render_tables(stage: Stage, lang: str) -> Iterator[str]:
    for title, heads, rows in make_tables(stage.name):
        yield f"## {_in_language(title, lang)}"
        yield _render_table([_in_language(head, lang) for head in heads], rows)


def _render_table(heads: Iterable[str], rows: Iterable[tuple[str, ...]]) -> str:
    heads = list(heads)
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(_escape_cell(cell) for cell in line) + " |" for line in lines)


def _escape_cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|").replace("<", "&lt;") if not text.startswith("<") else text


def _shorten_address(address: str) -> str:
    host, _, path = address.partition("://")[2].partition("/")
    last = path.rstrip("/").rpartition("/")[2]
    return (f"{host} … {last}" if "/" in path.rstrip("/") else f"{host}/{last}".rstrip("/"))[:LONGEST_NAME]


def _in_language(both: tuple[str, str], lang: str) -> str:
    return both[lang == "zh"]


LABELS = {
    "other": ("[中文]({name}.zh-CN.md)", "[English]({name}.md)"),
    "made": (
        "Written by `python -m tools.docs` from rules, commands and the catalogue; do not edit.",
        "由 `python -m tools.docs` 根据规则、命令与语句目录生成；请勿手工修改。",
    ),
    "common": (
        "Options and examples: `--help`. Every command also takes `--json FILE`, `--html FILE`, `--junit FILE` and "
        "`--lang en|zh`.",
        "选项与示例见 `--help`。每条命令还支持 `--json 文件`、`--html 文件`、`--junit 文件` 与 `--lang en|zh`。",
    ),
    "commands": ("Commands", "命令"),
    "functions": ("Functions", "函数"),
    "import": ("Each is imported with `from helpers import NAME`.", "均以 `from helpers import 名称` 导入。"),
    "rules": ("Rules", "规则"),
    "about_rules": (
        "A rule that lacks a fact gives Not looked with the reason, one that breaks gives Fix: not looked is never "
        "shown as clean. Statuses are those that its code can give.",
        "缺少事实的规则给出“未查”并说明原因，自身出错的规则给出“待修”：未查绝不显示为通过。"
        "状态为其代码可能给出的状态。",
    ),
    "code": ("code", "编号"),
    "looks_at": ("what it looks at", "检查内容"),
    "status": ("status", "状态"),
    "rests_on": ("source", "来源"),
    "file": ("file", "文件"),
    "beside": ("Findings beside the rules", "规则之外的结果"),
    "about_beside": ("Given by a command or an overview itself.", "由命令或总览自身给出。"),
}


def label_text(name: str, lang: str) -> str:
    return LABELS[name][lang == "zh"]


DATA = Path(__file__).resolve().parents[2] / "ascend_workbook" / "migration" / "data"
Table = tuple[tuple[str, str], tuple[tuple[str, str], ...], list[tuple[str, ...]]]


def make_tables(stage: str) -> Iterator[Table]:
    """Yield (heading, column heads, rows), the heads in both languages."""
    if stage == "environment":
        yield ("Versions that belong together", "相互配套的版本"), HEADS_OF_VERSIONS, list(_rows_of_versions())
    if stage == "migration":
        yield ("Names of torch.cuda by class", "按类别统计的 torch.cuda 名称"), HEADS_OF_NAMES, list(_rows_of_counts())
        yield ("Libraries", "第三方库"), HEADS_OF_LIBRARIES, list(_rows_of_libraries())
    if stage == "precision":
        yield ("Tolerances", "容差"), HEADS_OF_TOLERANCES, list(_rows_of_tolerances())


HEADS_OF_VERSIONS = (("torch", "torch"), ("torch_npu", "torch_npu"), ("CANN", "CANN"), ("Python", "Python"))
HEADS_OF_NAMES = (("class", "类别"), ("names", "名称数"))
HEADS_OF_LIBRARIES = (("import", "导入名"), ("class", "类别"), ("page", "页面"))
HEADS_OF_TOLERANCES = (
    ("data type", "数据类型"),
    ("fraction bits kept", "保留的尾数位数"),
    ("unit", "单位"),
    ("relative L2 error that rounding explains", "舍入可解释的相对 L2 误差"),
)


def _rows_of_versions() -> Iterator[tuple[str, ...]]:
    for line in versions.newest_of_each_line():
        yield line.torch, line.torch_npu, line.cann, ", ".join(line.python) or "-"


def _rows_of_counts() -> Iterator[tuple[str, ...]]:
    names = _read_names("torch_cuda.json")
    for kind, count in sorted(Counter(entry["class"] for entry in names.values()).items()):
        yield f"`{kind}`", str(count)


def _rows_of_libraries() -> Iterator[tuple[str, ...]]:
    for name, entry in sorted(_read_names("third_party.json").items(), key=lambda item: item[0].lower()):
        yield f"`{name}`", f"`{entry['class']}`", f"<{entry['link']}>" if entry.get("link") else "-"


def _read_names(file: str) -> dict[str, dict[str, str]]:
    names: dict[str, dict[str, str]] = json.loads((DATA / file).read_text(encoding="utf-8"))["names"]
    return names


def _rows_of_tolerances() -> Iterator[tuple[str, ...]]:
    for dtype, bits in tolerance.BITS.items():
        yield (
            f"`{dtype}`",
            str(bits),
            f"{tolerance.unit_roundoff(dtype):.3g}",
            f"{tolerance.rounding_floor([dtype]):.3g}",
        )
