"""What the simulator's C libraries export, read from their symbol tables and from their sources."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from ascend_simulator.libraries import stubs

#: Types that exported functions return.
_DEFINITION = re.compile(
    r"^(?:SIM_EXPORT )?(?:const )?(?:aclError|HcclResult|void|char|size_t|u?int\d+_t|acl\w+)\*? (\w+)\(([^;{}]*)\) \{",
    re.M,
)


def symbols(library: Path) -> set[str]:
    """C functions of the dynamic symbol table; C++ names, which no torch_npu looks up, are left out."""
    done = subprocess.run(["nm", "-D", "--defined-only", str(library)], capture_output=True, text=True, check=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    return {row[-1] for row in rows if row[-2] in "TW" and not row[-1].startswith("_")}


def functions(text: str) -> dict[str, str]:
    """Exported functions of a source by name: the comment above and the body, as one text."""
    found = {}
    for match in _DEFINITION.finditer(text):
        if not stubs.CANN_FUNCTION.fullmatch(match.group(1)):
            continue
        found[match.group(1)] = _comment_above(text, match.start()) + _body(text, match.end())
    return found


def _comment_above(text: str, at: int) -> str:
    lines: list[str] = []
    for line in reversed(text[:at].splitlines()):
        if not line.startswith("//"):
            break
        lines.insert(0, line)
    return "\n".join([*lines, ""]) if lines else ""


def _body(text: str, at: int) -> str:
    depth = 1
    for end in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        if depth == 0:
            return text[at:end]
    raise ValueError("a function has no end")


_CHECKS = (
    r"SIM_REQUIRE\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\);",
    r"SIM_CHECK_STREAM\(\w+\);",
    r"SIM_FIND_EVENT\(\w+, \w+\);",
    r"if \(aclError code = [^;]*\) return code;",
    r"return (?:ACL|HCCL)_SUCCESS;",
    r"return 0;",
)


def silent(name: str, text: str) -> str:
    """Why a function answers success without work and without a reason; empty where it does not."""
    comment = "".join(line for line in text.splitlines(True) if line.startswith("//"))
    body = "".join(line for line in text.splitlines(True) if not line.startswith("//"))
    reason = re.search(r'nothing_to_do\(\s*(?:"([^"]{15,})"|kNoDevice)\s*\)', body)
    if reason or "SIM_DESCRIBE(" in body:
        return ""
    for check in _CHECKS:
        body = re.sub(check, "", body, flags=re.S)
    if body.strip() or len(comment) > 40:
        return ""
    return f"{name} answers success, does no work and gives no reason"
