"""What a rule rests on where no public page says what it says: its module's BASIS, or the sentence of its KNOWN."""

from __future__ import annotations

from types import ModuleType

from ascend_workbook.findings.rules import row_of
from ascend_workbook.findings.sentence import Scalar, Sentence, show
from ascend_workbook.migration.knowledge import Known

#: BASIS -> (English, Chinese).
BASES = {
    "defined": (
        "no page as its source: what it asks for is the project's own, such as a device tier, a record, the checklist",
        "没有页面作为来源：所检查的是本项目自己的约定，例如设备层级、记录、验收清单",
    ),
    "facts": (
        "no page as its source: it tells what the files and commands that it reads say, and compares that",
        "没有页面作为来源：如实给出所读文件与命令的内容并加以比较",
    ),
    "measured": (
        "no page as its source: its numbers were measured by this project",
        "没有页面作为来源：其中的数值由本项目测得",
    ),
    "observed": (
        "no page as its source: it is how installed software was seen to behave",
        "没有页面作为来源：依据对已安装软件行为的观察",
    ),
    "reasoned": (
        "no page as its source: the project's own reasoning, its limits included",
        "没有页面作为来源：本项目自己的推理，包括其中的界限",
    ),
    "entries": (
        "its sources: each entry of its table names its own page, or says that none was found",
        "来源：其数据表中的每一项各自给出页面，或说明没有找到",
    ),
    "rules": (
        "its source: the rules that it names, each with its own",
        "来源：它所引用的规则，各有其来源",
    ),
}


class NoBasis(ValueError):
    """A rule that names no page, and does not say what else it rests on."""


def known_of(module: ModuleType, code: str) -> Known | None:
    """Return what a rule of the migration stage knows: its row's `known`, else its module's KNOWN."""
    known = getattr(row_of(module, code), "known", getattr(module, "KNOWN", None))
    return known if isinstance(known, Known) else None


def find_basis(module: ModuleType, code: str, sources: list[str]) -> Scalar:
    """Return the BASIS, or the sentence in the place of KNOWN's link; empty where pages alone are named. Raises
    NoBasis. Raises NoBasis.
    """
    declared = getattr(module, "BASIS", "")
    declared = declared.get(code, "") if isinstance(declared, dict) else declared
    if declared and declared not in BASES:
        raise NoBasis(f"{code}: BASIS = {declared!r} is none of {', '.join(BASES)}")
    link = getattr(known_of(module, code), "link", "")
    basis: Scalar = declared or (link if isinstance(link, Sentence) else "")
    if not basis and not sources:
        raise NoBasis(
            f"{code}: name the page that it rests on in its docstring (https://...), or what else in "
            f"BASIS: {', '.join(BASES)} ({module.__name__})"
        )
    return basis


def describe_basis(basis: Scalar, lang: str) -> str:
    """Return the text of a basis for a page."""
    return BASES[basis][lang == "zh"] if isinstance(basis, str) else show(basis, lang)
