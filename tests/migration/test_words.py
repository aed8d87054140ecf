"""Every sentence of a migration rule is said by its rule, and every key that a rule says has words."""

from __future__ import annotations

import re
from pathlib import Path

from ascend_workbook.findings.sentence import load_catalogue
from ascend_workbook.machine.launch import enclosed
from ascend_workbook.migration import api_map

WORDS = load_catalogue()
FOLDER = Path(api_map.__file__).parent


def test_rules_and_words_agree() -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in FOLDER.rglob("*.py"))
    said = set(re.findall(r"\"(MIG\d+\.\w+)\"", code))
    said |= {f"MIG101.{entry['note']}" for entry in api_map.load_map("torch_cuda")["names"].values()}
    said |= {key for calls in api_map.list_names("calls").values() for key, _ in calls.values()}
    shared = Path(enclosed.__file__).read_text(encoding="utf-8")  # dry runs and captures say the same of an enclosure
    said |= {"MIG155.guard", *(f"MIG156.{key}" for key in re.findall(r'\badd\("(\w+)"', shared))}
    written = {key for key in WORDS if key.startswith("MIG")}
    chosen_at_run_time = {key for key in written - said if f'"{key.rpartition(".")[0]}.{{' in code.replace('f"', '"')}
    assert said <= written
    assert written - said <= chosen_at_run_time
