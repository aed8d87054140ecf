"""The chain of codes in an error's text: ACL or aclnn number, HCCL result, CANN code, AI core bits, torch_npu suffix.

Every code found is a Code with a sentence; what is in no list of ours says so. An AI core has two registers that are
both printed as a number: the error register (`errcode:(w0, w1, w2)`, bit = index + 64 * word) and the overflow status
of Opdebug files (`"status": 272` = 0x110 = bits 4 and 8). They are decoded by different tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ascend_workbook.diagnose.known import read_data
from ascend_workbook.findings.sentence import Scalar, Sentence, load_catalogue

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


def decode_text(text: str) -> list[Code]:
    """Return every code of the text once, from the runtime's number down to the register's bits."""
    codes: dict[tuple[str, str], Code] = {}
    for code in (*_find_numbers(text), *_find_cann(text), *_find_registers(text)):
        codes.setdefault((code.kind, code.code), code)
    for match in SUFFIX.finditer(text):
        module, kind = f"code.err.module.{match.group(1)}", f"code.err.kind.{match.group(2)}"
        meaning: Scalar = Sentence("code.err.unknown")
        if module in load_catalogue() and kind in load_catalogue():
            meaning = Sentence("code.err.is", module=Sentence(module), kind=Sentence(kind))
        codes.setdefault(("err", match.group()), Code("err", match.group(), meaning, SOURCES["err"]))
    return list(codes.values())


def set_bits(words: list[int]) -> list[int]:
    """Return the numbers of the set bits over the words of 64 bits each."""
    return [index + WORD_BITS * at for at, word in enumerate(words) for index in range(WORD_BITS) if word >> index & 1]


def _find_numbers(text: str) -> Iterator[Code]:
    """Yield the runtime's numbers, then HCCL's; one in no list has a sentence that says so."""
    numbers = [match.group(1) or match.group(2) for match in ACL.finditer(text)]
    kinds = [("aclnn" if f"code.aclnn.{number}" in load_catalogue() else "acl", number) for number in numbers]
    for kind, number in (*kinds, *(("hccl", match.group(1)) for match in HCCL.finditer(text))):
        key = f"code.{kind}.{number}"
        yield Code(kind, number, Sentence(key if key in load_catalogue() else "code.unknown"), SOURCES[kind])


def _find_cann(text: str) -> Iterator[Code]:
    for match in CANN.finditer(text):
        code = match.group(1)
        module = f"code.module.{code[1]}"
        if module not in load_catalogue():
            continue
        args: dict[str, Scalar] = {"module": Sentence(module)}
        if f"code.cann.{code}" in load_catalogue():
            key, args = "code.cann.listed", {**args, "meaning": Sentence(f"code.cann.{code}")}
        else:
            key = "code.cann.internal" if code[2] == "9" else "code.cann.unlisted"
        yield Code("cann", code, Sentence(key, **args), SOURCES["cann"])


def _find_registers(text: str) -> Iterator[Code]:
    for match in ERRCODE.finditer(text):
        words = re.findall(r"\b(?:0x([0-9a-fA-F]{1,16})|([0-9]{1,20}))\b", match.group(1))
        yield from _error_bits([int(bits, 16) if bits else int(number) for bits, number in words])
    for match in AICORE.finditer(text):
        yield from _error_bits([int(match.group(1), 16)])
    source = read_data("aicore_bits")["sources"]["overflow"]
    for match in STATUS.finditer(text):
        for bit in set_bits([int(match.group(1))]):
            key = f"code.overflow.{bit}"
            meaning = Sentence(key if key in load_catalogue() else "code.bit.unknown")
            yield Code("overflow", f"0x{1 << bit:x}", meaning, source)


def _error_bits(words: list[int]) -> Iterator[Code]:
    table, source = read_data("aicore_bits")["error"], read_data("aicore_bits")["sources"]["error"]
    for bit in set_bits(words):
        entry = table.get(str(bit))
        meaning: Scalar = Sentence("code.bit.unknown")
        if entry:
            parts: dict[str, Scalar] = {"unit": Sentence(f"code.unit.{entry['unit']}")}
            parts["kind"] = Sentence(f"code.kind.{entry['kind']}")
            meaning = Sentence("code.bit", name=entry["name"], **parts)
        yield Code("bit", f"bit {bit}", meaning, source)


#: A bare code in either case. A small number is an HCCL result, a larger one the overflow status of an Opdebug file.
BARE = (
    (r"\d{6}", "error code is {0}"),
    (r"[EW][A-Z1-9]\d{4}", "{0}:"),
    (r"ERR\d{5}", "{0} PTA"),
    (r"0[xX][0-9a-fA-F]+", "errcode:({0}, 0, 0)"),
    (r"\d|1\d|2[0-4]", "HCCL function error: error code is {0}"),
    (r"\d{2,5}", '"AI Core": {{"status": {0}}}'),
)
#: Longer texts are no phrases: their numbers may be anything.
PHRASE_CHARACTERS = 120


#: Inside a phrase a code must be one of a list, or stand behind the name of what counts so. Keys of which the
#: catalogue must have one, of the code {0} and its second letter {1}; without any the words before it say enough.
INSIDE: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (r"(?<![\w.])(\d{6})(?![\w.]\w)\b", "error code is {0}", ("code.acl.{0}", "code.aclnn.{0}")),
    (r"(?<![\w.])([EW][A-Z1-9]\d{4})\b", "{0}:", ("code.module.{1}",)),
    (r"\b(ERR\d{5})\b", "{0} PTA", ()),
    (r"\b(?:ai ?core|errcode|error|register)\b\D{0,20}?\b(0x[0-9a-f]+)\b", "errcode:({0}, 0, 0)", ()),
    (r"\bhccl\b[^\d\n]{0,30}\b(\d|1\d|2[0-4])\b", "HCCL function error: error code is {0}", ()),
    (r"\b(?:ai ?core|overflow|status)\b[^\d\n]{0,30}\b(\d{2,5})\b", '"AI Core": {{"status": {0}}}', ()),
)


def spell_out(text: str) -> str:
    """Return the line of a bare code; empty for any other text."""
    code = text.strip()
    return next((line.format(_fix_case(code)) for pattern, line in BARE if re.fullmatch(pattern, code, re.I)), "")


def find_other_reading(text: str) -> str:
    """Return the same number as the other status that is written so: an overflow record has it in decimals (272), the
    AI core's error register in hex (0x110), and each gives the bits another meaning. Empty for any other text."""
    code = text.strip()
    if re.fullmatch(r"0[xX][0-9a-fA-F]{1,4}", code) and int(code, 16) > 24:
        return str(int(code, 16))
    return hex(int(code)) if re.fullmatch(r"\d{2,5}", code, re.ASCII) and int(code) > 24 else ""


def lines_of_codes(text: str) -> str:
    """Return the lines of the codes that a short phrase names (`aicore 507015`); empty where it names none."""
    phrase = text.strip()
    if "\n" in phrase or len(phrase) > PHRASE_CHARACTERS:
        return ""
    lines: list[str] = []
    for pattern, line, keys in INSIDE:
        for code in (_fix_case(match.group(1)) for match in re.finditer(pattern, phrase, re.I)):
            if not keys or any(key.format(code, code[1]) in load_catalogue() for key in keys):
                lines.append(line.format(code) + "\n")
    return "".join(dict.fromkeys(lines))


def _fix_case(code: str) -> str:
    return code.lower() if code[:2] in ("0x", "0X") else code.upper()
