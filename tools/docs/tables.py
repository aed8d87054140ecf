"""Tables of the data that decide: tolerances, versions, names."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ascend_workbook.machine import versions
from ascend_workbook.precision.tensors import tolerance

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


def _read_names(file: str) -> dict[str, dict[str, Any]]:
    names: dict[str, dict[str, Any]] = json.loads((DATA / file).read_text(encoding="utf-8"))["names"]
    return names


def _rows_of_tolerances() -> Iterator[tuple[str, ...]]:
    for dtype, bits in tolerance.BITS.items():
        yield (
            f"`{dtype}`",
            str(bits),
            f"{tolerance.unit_roundoff(dtype):.3g}",
            f"{tolerance.rounding_floor([dtype]):.3g}",
        )
