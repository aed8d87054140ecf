"""What the release of torch_npu that is asked for lacks: names of torch.cuda, operators, types, mapped devices.

Silent where nobody named a release: the other rules speak of 2.13.0. data/releases.json is read from the wheels by
tools/releases. A device that transfer_to_npu of that release does not map is written as npu in the source."""

from __future__ import annotations

import ast

from ascend_workbook.findings.finding import Edit, Finding
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.machine.versions import parse_version
from ascend_workbook.migration import release
from ascend_workbook.migration.reading.calls import is_load
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import BY_ENTRY, DOCUMENTED, MANUAL, REWRITE, Findings, Known, finding_at
from ascend_workbook.migration.rules.device_string import DEVICE, make_device_edits

CODE = "MIG162"
WORDS = ("cuda",)
TOKENS = ("torch_npu", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu")
KNOWN = Known(DOCUMENTED, "https://pypi.org/project/torch-npu/#history", versions=BY_ENTRY)


def check(source: Source) -> Findings:
    for node, name in source.names.whole_names:
        having = release.find_lacking(name) if is_load(node) or isinstance(node, ast.Attribute) else ()
        if having:
            yield _report(source, node, "type" if name in release.TYPES else "name", name, having)
    for string, text in source.strings:
        call = next((up for up in source.names.nodes_above(string) if isinstance(up, ast.Call)), None)
        name = source.names.resolve_call(call) if call is not None and DEVICE.match(text) else ""
        having = release.find_unmapped(name)
        if having:
            yield _report(source, string, "device", name, having, make_device_edits(source, string))


def _report(
    source: Source, node: ast.AST, outcome: str, name: str, having: tuple[str, ...], edits: tuple[Edit, ...] = ()
) -> Finding:
    asked = release.current_release()
    assert asked is not None
    later = [name for name in having if parse_version(name) > parse_version(asked.read)]
    since = Sentence("release.since" if later else "release.until", version=later[0] if later else having[-1])
    args = {"name": name, "release": asked.read, "since": since, "versions": f"torch_npu {asked.read}"}
    return finding_at(source, node, f"MIG162.{outcome}", REWRITE if outcome == "device" else MANUAL, edits, **args)
