"""A code given in place of a log, bare or inside a short phrase, as the line in which CANN or torch_npu prints it."""

from __future__ import annotations

import re
from collections.abc import Callable

from ascend_workbook.findings.sentence import load_catalogue

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


def _is_number_code(code: str) -> bool:
    return any(f"code.{kind}.{code}" in load_catalogue() for kind in ("acl", "aclnn"))


def _is_component_code(code: str) -> bool:
    return f"code.module.{code[1]}" in load_catalogue()


def _accept_any(_code: str) -> bool:
    return True


#: Inside a phrase a code must be one of a list, or stand behind the name of what counts so.
INSIDE: tuple[tuple[str, str, Callable[[str], bool]], ...] = (
    (r"(?<![\w.])(\d{6})(?![\w.]\w)\b", "error code is {0}", _is_number_code),
    (r"(?<![\w.])([EW][A-Z1-9]\d{4})\b", "{0}:", _is_component_code),
    (r"\b(ERR\d{5})\b", "{0} PTA", _accept_any),
    (r"\b(?:ai ?core|errcode|error|register)\b\D{0,20}?\b(0x[0-9a-f]+)\b", "errcode:({0}, 0, 0)", _accept_any),
    (r"\bhccl\b[^\d\n]{0,30}\b(\d|1\d|2[0-4])\b", "HCCL function error: error code is {0}", _accept_any),
    (r"\b(?:ai ?core|overflow|status)\b[^\d\n]{0,30}\b(\d{2,5})\b", '"AI Core": {{"status": {0}}}', _accept_any),
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
    for pattern, line, listed in INSIDE:
        codes = (_fix_case(match.group(1)) for match in re.finditer(pattern, phrase, re.I))
        lines += [line.format(code) + "\n" for code in codes if listed(code)]
    return "".join(dict.fromkeys(lines))


def _fix_case(code: str) -> str:
    return code.lower() if code[:2] in ("0x", "0X") else code.upper()
