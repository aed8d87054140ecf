"""Guards against what nbval lets through; each has a test that sees it fail.

nbval 0.11 compares nothing for a cell without an execution count, never compares pictures, and with xdist's
default scheduling sends the cells of one notebook to different kernels.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

FACTS = "application/vnd.ascend-workbook+json"
PICTURES = ("image/png", "image/jpeg", "image/svg+xml")
#: What holds a reader's trust: no rule of sanitize.cfg may change such a text.
PROTECTED = (
    "loss 2.302585 2.302585 rel 0.000e+00",
    "loss 0.1234567",
    "Fix first divergence at step 2: Functional.conv2d.3.forward",
    "Good  no divergence in 512 tensors",
    "Look  12 places by hand, 3 impossible",
    "npu-simulated",
)


def unrun(notebook: Any) -> list[int]:
    """Numbers of code cells that nbval would pass without comparing anything."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [number for number, cell in enumerate(code, 1) if cell.source.strip() and cell.execution_count is None]


def bare_pictures(notebook: Any) -> list[int]:
    """Numbers of code cells that show a picture but no facts of its points that nbval could compare."""
    found = []
    for number, cell in enumerate((cell for cell in notebook.cells if cell.cell_type == "code"), 1):
        data = [output.get("data", {}) for output in cell.outputs]
        drawn = any(set(one) & set(PICTURES) or "<svg" in one.get("text/html", "") for one in data)
        facts = [str(one.get(FACTS, {}).get("chart", "")) for one in data]
        texts = [*facts, *(output.get("text", "") for output in cell.outputs)]
        told = any(re.search(r"^(bars|stacks?|lines|strip|errors|lanes) by ", text, re.M) for text in texts)
        if drawn and not told:
            found.append(number)
    return found


def errors(notebook: Any) -> list[str]:
    """Errors that were committed as outputs."""
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    return [f"{output.ename}: {output.evalue}" for output in outputs if output.output_type == "error"]


def not_compared(notebook: Any) -> list[int]:
    """Numbers of code cells whose output nbval was told to ignore."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [number for number, cell in enumerate(code, 1) if "nbval-ignore-output" in cell.metadata.get("tags", [])]


def sanitisers(path: Path) -> list[tuple[re.Pattern[str], str]]:
    """The rules of a sanitise file: adjacent `regex:` and `replace:` lines."""
    text = path.read_text(encoding="ascii")
    pairs = re.findall(r"^regex: (.*)$\n^replace: (.*)$", text, re.M)
    return [(re.compile(regex), replacement) for regex, replacement in pairs]


def sanitise(text: str, rules: list[tuple[re.Pattern[str], str]]) -> str:
    """The text as nbval compares it."""
    for pattern, replacement in rules:
        text = pattern.sub(replacement, text)
    return text


def splits_notebooks(options: str) -> bool:
    """Whether pytest options spread the cells of one notebook over several workers."""
    parallel = re.search(r"(^|\s)(-n|--numprocesses)[ =]?(?!0\b)\S", options)
    return bool(parallel) and not re.search(r"--dist[ =](loadfile|loadscope|no)\b", options)
