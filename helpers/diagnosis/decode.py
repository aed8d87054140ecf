"""The chain of codes in an error's text: ACL or aclnn number, HCCL result, CANN code, AI core bits, torch_npu suffix.

Every code found is a Code with a sentence; what is in no list of ours says so. An AI core has two registers that are
both printed as a number: the error register (`errcode:(w0, w1, w2)`, bit = index + 64 * word) and the overflow status
of Opdebug files (`"status": 272` = 0x110 = bits 4 and 8). They are decoded by different tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from helpers.diagnosis.known import read
from helpers.words import Scalar, catalogue

_TORCH_NPU = "https://github.com/Ascend/pytorch/blob/9e73e708ab93/"
_CANN = "https://www.hiascend.com/document/detail/en/CANNCommunityEdition/"
SOURCES = {
    "acl": f"{_TORCH_NPU}torch_npu/csrc/core/npu/NPUErrorCodes.h",
    "aclnn": f"{_CANN}910/API/aolapi/atlasascendc_api_07_1205.html",
    "hccl": f"{_TORCH_NPU}third_party/hccl/inc/hccl/hccl_types.h",
    "cann": f"{_CANN}900/maintenref/troubleshooting/troubleshooting_0225.html",
    "err": f"{_TORCH_NPU}docs/zh/user_guide/troubleshooting/error_code_description",
}
_SAYS = r"(?:error code|errorcode|errno|ret(?:code)?)(?: is)?\W{0,3}"
HCCL = re.compile(r"HCCL function error[^\n]*?error code is (\d{1,2})\b", re.IGNORECASE)
ACL = re.compile(_SAYS + r"(\d{6})\b|\bACL_ERROR_\w+ ?\((\d{6})\)", re.IGNORECASE)
CANN = re.compile(r"(?<![\w.])([EW][A-Z1-9]\d{4})(?=[:\[\]\s,.)]|$)")
ERRCODE = re.compile(r"errcode:\s*\(([^)]*)\)")
AICORE = re.compile(r"error code ?= ?(0x[0-9a-fA-F]+)")
STATUS = re.compile(r'"AI Core": ?\{[^}]*?"status": ?(\d+)')
SUFFIX = re.compile(r"\bERR(\d{2})(\d{3})\b")
WORD_BITS = 64


@dataclass(frozen=True)
class Code:
    """One code: what kind, the code as shown, its meaning as a sentence, and who says so."""

    kind: str
    code: str
    meaning: Scalar
    source: str


def decode(text: str) -> list[Code]:
    """Every code of the text once, from the runtime's number down to the register's bits."""
    found: dict[tuple[str, str], Code] = {}
    for code in (*_runtime(text), *_hccl(text), *_cann(text), *_registers(text), *_suffixes(text)):
        found.setdefault((code.kind, code.code), code)
    return list(found.values())


def bits(words: list[int]) -> list[int]:
    """The numbers of the set bits over the words of 64 bits each."""
    return [index + WORD_BITS * at for at, word in enumerate(words) for index in range(WORD_BITS) if word >> index & 1]


def _runtime(text: str) -> Iterator[Code]:
    for match in ACL.finditer(text):
        number = match.group(1) or match.group(2)
        if f"code.aclnn.{number}" in catalogue():
            yield Code("aclnn", number, {"say": f"code.aclnn.{number}"}, SOURCES["aclnn"])
        else:
            yield Code("acl", number, _listed(f"code.acl.{number}"), SOURCES["acl"])


def _hccl(text: str) -> Iterator[Code]:
    for match in HCCL.finditer(text):
        yield Code("hccl", match.group(1), _listed(f"code.hccl.{match.group(1)}"), SOURCES["hccl"])


def _cann(text: str) -> Iterator[Code]:
    for match in CANN.finditer(text):
        code = match.group(1)
        module = f"code.module.{code[1]}"
        if module not in catalogue():
            continue
        args: dict[str, Scalar] = {"module": {"say": module}}
        if f"code.cann.{code}" in catalogue():
            key, args = "code.cann.listed", {**args, "meaning": {"say": f"code.cann.{code}"}}
        else:
            key = "code.cann.internal" if code[2] == "9" else "code.cann.unlisted"
        yield Code("cann", code, {"say": key, "args": args}, SOURCES["cann"])


def _registers(text: str) -> Iterator[Code]:
    for match in ERRCODE.finditer(text):
        words = [int(word, 0) for word in re.findall(r"0x[0-9a-fA-F]+|\d+", match.group(1))]
        yield from _error_bits(words)
    for match in AICORE.finditer(text):
        yield from _error_bits([int(match.group(1), 16)])
    for match in STATUS.finditer(text):
        yield from _overflow_bits(int(match.group(1)))


def _error_bits(words: list[int]) -> Iterator[Code]:
    table, source = read("aicore_bits")["error"], read("aicore_bits")["sources"]["error"]
    for bit in bits(words):
        entry = table.get(str(bit))
        meaning: Scalar = {"say": "code.bit.unknown"}
        if entry:
            parts: dict[str, Scalar] = {"unit": {"say": f"code.unit.{entry['unit']}"}}
            parts["kind"] = {"say": f"code.kind.{entry['kind']}"}
            meaning = {"say": "code.bit", "args": {"name": entry["name"], **parts}}
        yield Code("bit", f"bit {bit}", meaning, source)


def _overflow_bits(status: int) -> Iterator[Code]:
    source = read("aicore_bits")["sources"]["overflow"]
    for bit in bits([status]):
        known = f"code.overflow.{bit}" in catalogue()
        yield Code(
            "overflow", f"0x{1 << bit:x}", {"say": f"code.overflow.{bit}" if known else "code.bit.unknown"}, source
        )


def _suffixes(text: str) -> Iterator[Code]:
    for match in SUFFIX.finditer(text):
        module, kind = f"code.err.module.{match.group(1)}", f"code.err.kind.{match.group(2)}"
        meaning: Scalar = {"say": "code.err.unknown"}
        if module in catalogue() and kind in catalogue():
            meaning = {"say": "code.err.is", "args": {"module": {"say": module}, "kind": {"say": kind}}}
        yield Code("err", match.group(), meaning, SOURCES["err"])


def _listed(key: str) -> Scalar:
    return {"say": key if key in catalogue() else "code.unknown"}
