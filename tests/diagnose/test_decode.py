"""Codes are decoded by the right table: ACL, aclnn, HCCL, CANN, AI core registers, torch_npu's suffix."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ascend_workbook.diagnose.decode import decode_text, set_bits
from ascend_workbook.diagnose.known import read_data
from ascend_workbook.findings.sentence import load_catalogue, show


def said(text: str) -> list[tuple[str, str, str]]:
    return [(code.kind, code.code, show(code.meaning, "en")) for code in decode_text(text)]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([0x800000], [23]),
        ([0x10], [4]),
        ([0x4000000000000000], [62]),
        ([0x800000, 0x4000, 0], [23, 78]),
        ([0x4000000200000000], [33, 62]),
        ([0, 0, 1], [128]),
        ([0], []),
    ],
)
def test_bits_count_over_the_words(words: list[int], expected: list[int]) -> None:
    """The first five are codes seen on hardware, with the text that the driver printed beside them."""
    assert set_bits(words) == expected


def test_the_error_register() -> None:
    found = said("errcode:(0x800000, 0x4000, 0) errorStr: x")
    assert [code for _, code, _ in found] == ["bit 23", "bit 78"]
    assert found[0][2].startswith("mte_biu_rdwr_resp: data mover (MTE): device memory that is not allocated")


@pytest.mark.parametrize("words, hexadecimal", [("01", "0x1"), ("0126", "0x7e"), ("08", "0x8"), ("0", "0x0")])
def test_decimal_words_of_a_register_are_decimal(words: str, hexadecimal: str) -> None:
    assert said(f"errcode:({words}, 0, 0)") == said(f"errcode:({hexadecimal}, 0, 0)")


@pytest.mark.parametrize("words", ["9" * 5000, "0x" + "f" * 5000, "\u00b2", ""])
def test_what_is_no_word_of_a_register_has_no_bits(words: str) -> None:
    assert said(f"errcode:({words})") == []


def test_the_overflow_status_is_another_register() -> None:
    """272 = 0x110: an integer overflow and a float32 that did not fit into float16, not bits 4 and 8 of the other."""
    found = said('{\n "AI Core": {\n  "model_id": 514,\n  "status": 272\n }\n}')
    assert [(kind, code) for kind, code, _ in found] == [("overflow", "0x10"), ("overflow", "0x100")]
    assert "integer" in found[0][2] and "float16" in found[1][2]


def test_no_overflow_is_none() -> None:
    assert said('"AI Core": {"status": 0}, "other": {"status": 272}') == []


@pytest.mark.parametrize(
    ("text", "kind", "code", "meaning"),
    [
        ("SetDevice, error code is 507033", "acl", "507033", "the device did not start"),
        ("error code:507035", "acl", "507035", "a vector core stopped abnormally"),
        ("ACL_ERROR_RT_AICPU_EXCEPTION (507018)", "acl", "507018", "an AI CPU operator failed"),
        ("aclnnAdd failed, error code is 161002", "aclnn", "161002", "aclnn: dtype, shape"),
        ("error code is 999999", "acl", "999999", "in no list of ours"),
        ("HCCL function error: f(), error code is 7", "hccl", "7", "a resource is not available"),
        ("EI0006: Getting socket times out", "cann", "EI0006", "HCCL, communication between ranks: a rank did not"),
        ("EZ9999: Inner Error!", "cann", "EZ9999", "operators and aclnn: internal error"),
        ("AclNN_Parameter_Error(EZ1001): x", "cann", "EZ1001", "an operator refused an argument's dtype"),
        ("EL0123: what", "cann", "EL0123", "driver: the text behind the code says what"),
        ("ERR00100 PTA call acl api failed", "err", "ERR00100", "torch_npu itself (PTA): a call of ACL failed"),
        ("ERR77777 PTA", "err", "ERR77777", "no kind of this number"),
    ],
)
def test_one_code(text: str, kind: str, code: str, meaning: str) -> None:
    found = said(text)
    assert [(each[0], each[1]) for each in found] == [(kind, code)]
    assert meaning in found[0][2]


def test_codes_come_from_the_top_down_and_once() -> None:
    text = "ERR00100 PTA\nerrcode:(0x10, 0, 0)\nEZ9999: a\nEZ9999: b\nerror code is 507015\nerror code is 507015"
    assert [kind for kind, _, _ in said(text)] == ["acl", "cann", "bit", "err"]


def test_hashes_and_numbers_are_no_codes() -> None:
    assert said("sha256 E30006ab, step 507015, loss 161002, E5A1F0B7, v.E10001x") == []


def test_every_bit_has_its_words() -> None:
    table = read_data("aicore_bits")["error"]
    assert sorted(map(int, table)) == list(range(176))
    for entry in table.values():
        assert f"code.unit.{entry['unit']}" in load_catalogue() and f"code.kind.{entry['kind']}" in load_catalogue()


def test_the_shared_codes_are_covered(shared: Path) -> None:
    """All codes of the reference lists have a meaning here, and none has the vendor's sentence."""

    def facts(name: str) -> dict[str, dict[str, dict[str, str]]]:
        content: dict[str, dict[str, dict[str, str]]] = json.loads((shared / "facts" / name).read_text("utf-8"))
        return content

    cann, acl = facts("cann_error_codes.json"), facts("acl_error_codes.json")["codes"]
    keys = [f"code.acl.{code}" for code in acl] + [f"code.aclnn.{code}" for code in cann["aclnn"]]
    keys += [f"code.hccl.{code}" for code in cann["hccl_results"]]
    keys += [f"code.cann.{code}" for code in (*cann["codes"], *cann["hccl"]) if code[2] != "9"]
    assert [key for key in keys if key not in load_catalogue()] == []
    theirs = {text for entry in cann["codes"].values() for text in (entry["cause"], entry["solution"]) if text}
    ours = {words.en for words in load_catalogue().values()} | {words.hint_en for words in load_catalogue().values()}
    assert not theirs & ours
    # bit 0 is named otherwise in the only source that anyone may use: aicore_bits.json names it
    names = {**facts("aicore_error_bits.json")["bits"], "0": "biu_l2_read_oob"}
    assert {bit: entry["name"] for bit, entry in read_data("aicore_bits")["error"].items()} == names
