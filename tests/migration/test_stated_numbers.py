"""The numbers that migration's findings state, against values written here by hand: hours, versions, counts, sums."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.machine.versions import Together
from ascend_workbook.migration.api_map import find_entry, load_map
from ascend_workbook.migration.assess import assess, describe_versions
from ascend_workbook.migration.files import Tree
from ascend_workbook.migration.reading.source import parse_text
from ascend_workbook.migration.registry import load_rules
from ascend_workbook.migration.repair import HOURS, add_knowledge, class_of
from ascend_workbook.migration.rules import gpu_facts, jit_script, tensorflow
from ascend_workbook.migration.scan import scan
from ascend_workbook.migration.texts import embedded, lines
from ascend_workbook.migration.verdict import no_file
from tests.migration.subjects import SUBJECTS, Subject

#: Person-hours for a place of a class, and of the outcomes that cost another time.
OF_A_CLASS = {"auto": 0.0, "rewrite": 0.1, "advice": 0.1, "manual": 1.0, "unsupported": 16.0}
OTHERS = {
    "MIG101": {"absent": 8.0, "untouched": 0.0},
    "MIG108": {"wrapped": 0.25},
    "MIG109": {"no_kernel": 4.0, "wrapper": 4.0},
    "MIG112": {"kernel": 16.0, "definition": 8.0, "call": 1.0, "ascend": 0.0},
    "MIG113": {"use": 0.5},
    "MIG114": {"cuda": 40.0, "call": 1.0},
    "MIG118": {"needs_script": 0.5},
    "MIG119": {"cudnn_operator": 4.0},
    "MIG120": {"peak": 0.25},
    "MIG128": {"library": 0.25, "toolkit": 0.1, "cuda_build": 0.25, "index": 0.1, "too_old": 1.0},
    "MIG129": {"gone": 0.25},
    "MIG135": {"nvml": 0.5, "nvtx": 0.1},
    "MIG136": {"tool": 0.5, "by_hand": 2.0, "script": 4.0},
    "MIG137": {"module": 40.0, "call": 1.0},
    "MIG139": {"message": 0.1},
    "MIG151": {"bitsandbytes": 2.0, "flash": 0.25, "fused": 0.1},
    "MIG152": {
        "cards": 0.1,
        "bitsandbytes": 2.0,
        "flash": 0.25,
        "layout": 0.25,
        "upper_case": 0.25,
        "variable": 0.25,
    },
    "MIG153": {"image": 2.0, "variable": 0.1, "nccl": 0.25},
    "MIG154": {"no_import": 0.1},
    "MIG323": {"capability": 0.1},
}
#: Versions that are not those of every rule.
TRIED = "torch 2.13.0, torch_npu 2.13.0"
VERSIONS = {
    "MIG121": "torch >= 2.0",
    "MIG136": "TensorFlow 1.15, 2.6.5",
    "MIG159": "onnxruntime-cann",
    "MIG151": "transformers 5.23",
}
KNOWN = {**{rule.code: rule.known for rule in load_rules()}, **lines.KNOWN, embedded.CODE: embedded.KNOWN}


def test_the_hours_and_versions_of_every_rule() -> None:
    assert HOURS == OF_A_CLASS
    assert {code: known.hours for code, known in KNOWN.items() if known.hours} == OTHERS
    assert {code: known.versions for code, known in KNOWN.items() if isinstance(known.versions, str)} == {
        **{code: TRIED for code, known in KNOWN.items() if isinstance(known.versions, str)},
        **VERSIONS,
    }


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.code)
def test_every_finding_of_an_example_states_the_hours_of_its_outcome(subject: Subject) -> None:
    findings = [finding for case in subject.cases for finding in subject.check(subject.read(case.code))]
    for finding in filter(class_of, findings):
        code, _, outcome = finding.key.partition(".")
        hours = 0.0 if class_of(finding) == "auto" else OTHERS.get(code, {}).get(outcome, OF_A_CLASS[class_of(finding)])
        assert add_knowledge(finding, KNOWN[code]).args["effort_h"] == hours


def test_the_peaks_of_cards_are_those_of_their_data_sheets() -> None:
    teraflops = {14, 15.7, 19.5, 71, 82.6, 112, 125, 142, 156, 165.2, 312, 624, 989, 989.4, 989.5, 1979}
    assert {peak / 1e12 for peak in gpu_facts.PEAKS} == teraflops


def test_a_scripted_module_is_named_by_the_method_that_it_lacks() -> None:
    saved = list(jit_script.check(parse_text("import torch\ns = torch.jit.script(m)\ns.save('m.pt')\n")))[-1]
    frozen = list(jit_script.check(parse_text("import torch\ntorch.jit.freeze(torch.jit.script(m))\n")))[-1]
    assert (saved.args["name"], frozen.args["name"]) == ("save", "torch.jit.freeze")


def test_tensorflow_names_are_counted() -> None:
    code = "import tensorflow as tf\nx = tf.nn.conv3d(y, w)\nz = tf.nn.conv3d(x, w)\ns = tf.Session()  # 会话\n"
    script, convolution, session = tensorflow.check(parse_text(code))
    assert script.args["names"] == [["tf.Session", "tool", 1], ["tf.nn.conv3d", "listed_unsupported", 2]]
    assert (convolution.key, convolution.args["count"]) == ("MIG136.listed_unsupported", 2)
    assert session.args["name"] == "tf.Session"


def test_the_sums_of_a_small_repository(tmp_path: Path) -> None:
    """A library in two places, a call by hand, two of a kind to rewrite, a switch: 16 + 0.25, 1, 0.1 + 0.03, 0.1."""
    (tmp_path / "训练.py").write_text(
        "import torch\nimport flash_attn\nx = x.cuda()\ny = y.cuda('cuda:0')\nz = z.cuda('cuda:1')\n"
        "torch.cuda.nvtx.mark('x')\ntorch.backends.cudnn.benchmark = True\n",
        encoding="utf-8",
    )
    (tmp_path / "requirements.txt").write_text("flash-attn\nnumpy\n")
    facts = assess(tmp_path).facts
    assert facts["effort_h"] == {"auto": 0.0, "rewrite": 0.13, "manual": 1.0, "unsupported": 16.25, "advice": 0.1}
    assert facts["effort_total_h"] == 17.48
    assert facts["estimate_h"] == {"testing": 20.0, "likely": 37.48, "low": 14.68, "high": 83.08}
    assert [(risk["places"], risk["effort_h"]) for risk in facts["risks"]] == [(2, 16.25), (1, 1.0)]


def test_testing_takes_twenty_hours_at_least(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torch\ntorch.cuda.nvtx.mark('x')\n", encoding="utf-8")
    facts = assess(tmp_path).facts
    assert facts["estimate_h"] == {"testing": 20.0, "likely": 21.0, "low": 10.5, "high": 42.0}


def test_a_further_place_costs_a_quarter_and_an_hour_at_most(tmp_path: Path) -> None:
    """Three unsupported calls of one kind: 40 + 1 + 1 hours; three manual ones 1 + 0.25 + 0.25."""
    code = "from torch.utils.cpp_extension import CUDAExtension as E\na = E('核', [])\nb = E('b', [])\nc = E('c', [])\n"
    (tmp_path / "a.py").write_text(code + "import torch\n" + "torch.cuda.nvtx.mark('x')\n" * 3, encoding="utf-8")
    assert scan(tmp_path).facts["counts"]["unsupported"] == 3
    hours = assess(tmp_path).facts["effort_h"]
    assert (hours["unsupported"], hours["manual"]) == (42.0, 1.5)


#: Of each table of an assessment how wide its columns are in a terminal, with the unit of hours; the others have none.
WIDE = {
    "assess": {"effort": "h", "effort_low": "h", "effort_high": "h", "repair_action": 60},
    "assess_risks": {"risk": 80, "effort": "h", "risk_first": 40},
    "assess_plan": {"plan_work": 60, "plan_target": 60},
    "assess_versions": {"versions_for": 40, "risk_first": 40, "versions_state": 44, "versions_advice": 50},
    "assess_libraries": {"library_use": 80, "risk_first": 40},
    "assess_cost": {"price_spec": 40, "price_note": 40},
    "assess_effort": {"effort_first": "h", "effort_repeat": "h", "effort": "h", "effort_assumed": 70},
}


def test_the_tables_of_an_assessment(tmp_path: Path) -> None:
    code = "import torch\nimport flash_attn\nx = x.cuda('cuda:0')\ny = y.cuda('cuda:1')\ntorch.cuda.nvtx.mark('显卡')\n"
    (tmp_path / "a.py").write_text(code, encoding="utf-8")
    (tmp_path / "requirements.txt").write_text("torch==1.5\n")
    report = assess(tmp_path)
    tables = {part.verb: part.table for part in (report, *report.parts)}
    for verb, table in tables.items():
        assert table is not None
        wide = {column.name: column.wrap or column.unit for column in table.columns if column.wrap or column.unit}
        assert wide == WIDE[verb]
        assert {column.digits for column in table.columns if column.unit} <= {6}
        assert [column.name for column in table.columns if column.detail] == ["link"] * (
            table.columns[-1].name == "link"
        )
    effort, lines = tables["assess"], tables["assess_effort"]
    assert effort is not None and lines is not None
    # unsupported 16 (4 to 40), manual 2 (a mark, a pin), 1 (0.5 to 2); rewrite 0.13; testing half of it, 20 at least
    assert [row[1:6] for row in effort.rows] == [
        (1, 1, 16.0, 4.0, 40.0),
        (1, 1, 1.0, 0.5, 2.0),
        (2, 1, 0.13, 0.07, 0.26),
        (0, 0, 0.0, 0.0, 0.0),
        (0, 0, 0.0, 0.0, 0.0),
        (None, None, 20.0, 10.0, 40.0),
    ]
    assert [row[1:6] for row in lines.rows] == [
        (1, 16.0, 0, 1.0, 16.0),
        (1, 1.0, 0, 0.25, 1.0),
        (1, 0.1, 1, 0.03, 0.13),
        (None, None, None, None, 20.0),
        (None, None, None, None, 37.13),
    ]


@pytest.mark.parametrize(
    ("code", "weight"),
    [
        ("import flash_attn\n", "high"),
        ("try:\n    import flash_attn\nexcept ImportError:\n    pass\n", "medium"),
        ("import torch\n" + "torch.cuda.nvtx.mark('x')\n" * 12, "low"),  # 1 + 11 * 0.25 = 3.75 hours
        ("import torch\n" + "torch.cuda.nvtx.mark('x')\n" * 13, "medium"),  # 4 hours are much
    ],
)
def test_what_a_risk_weighs(tmp_path: Path, code: str, weight: str) -> None:
    (tmp_path / "a.py").write_text(code, encoding="utf-8")
    assert [risk["weight"] for risk in assess(tmp_path).facts["risks"]] == [weight]


def test_fifteen_risks_are_listed(tmp_path: Path) -> None:
    names = sorted(name for name in load_map("third_party")["names"] if "." not in name)
    code = "".join(f"import {name}\n" for name in names if find_entry("third_party", name)["class"] == "unsupported")
    (tmp_path / "a.py").write_text(code, encoding="utf-8")
    report = assess(tmp_path)
    risks = report.parts[0]
    assert risks.table is not None and len(risks.table.rows) == 15 < len(report.facts["risks"])
    assert risks.findings[0].args == {"shown": 15, "all": len(report.facts["risks"])}


def test_a_set_of_versions_is_described() -> None:
    line = Together("2.1.0", "2.1.0.post13", "8.1.RC1", driver="25.0", python=("3.8", "3.11"), state="", until="")
    assert describe_versions(line) == Sentence(
        "migration.versions.set",
        torch="2.1.0",
        torch_npu="2.1.0.post13",
        cann="8.1.RC1",
        driver="25.0",
        python="3.8 – 3.11",
    )
    bare = describe_versions(Together("2.1.0", "2.1.0", "8.0", driver="", python=(), state="", until=""))
    assert isinstance(bare, Sentence) and (bare.args["driver"], bare.args["python"]) == (None, None)


def test_what_stands_first_in_a_report_weighs_most(tmp_path: Path) -> None:
    """The verdict of a stage, a path without a file, a class that was not to occur, the summary of a verb."""
    (tmp_path / "a.py").write_text("import flash_attn\n", encoding="utf-8")
    scanned, assessed = scan(tmp_path, ["unsupported"]), assess(tmp_path, ["unsupported"])
    assert [finding.weight for finding in scanned.findings[:2]] == [1000.0, 1500.0]
    assert [finding.weight for finding in assessed.findings] == [1000.0, 1500.0]
    (empty,) = no_file("x", Tree(tmp_path, []))
    assert empty.weight == 2000.0
