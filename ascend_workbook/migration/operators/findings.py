"""What the rows of a traced step amount to: a summary, what falls back or lacks a kernel, who disagrees, limits."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine.device import Device
from ascend_workbook.migration.operators.rows import Row, load_versions

WEIGHT = 500.0
GRAVE = {"unsupported": Status.FAIL, "fallback": Status.WARN, "unknown": Status.SKIPPED}
MIB = 2**20


def findings_of(rows: list[Row], trace_content: dict[str, Any], where: Device, fake: bool) -> list[Finding]:
    """List the findings in the order in which a reader wants them; nothing where nothing was traced."""
    if not rows:
        return []
    details = [
        *_find_grave_operators(rows),
        *_find_disagreements(rows),
        *_find_unlisted_dtypes(rows),
        _describe_answer_source(trace_content, where, fake),
        _describe_state_size(trace_content),
        *_not_shown(trace_content, where, fake),
    ]
    worst = max(finding.status for finding in details)
    return [_summarize_rows(rows, worst, on_npu=where.accelerator == "npu"), *details]


def _summarize_rows(rows: list[Row], status: Status, *, on_npu: bool) -> Finding:
    """Counts operators, not rows: one may come with several data types."""
    named = Counter(support for _, support in {(row.operator, row.support) for row in rows})
    args: dict[str, Scalar] = {
        "operators": len({row.operator for row in rows if row.support != "host"}),
        "calls": round(sum(row.calls for row in rows if row.support not in ("host", "composite")), 1),
        "native": named["native"] + named["collective"],
        "composite": named["composite"],
        "fallback": named["fallback"],
        "unsupported": named["unsupported"],
        "unknown": named["unknown"] + named["cpu_choice"],
        "host": named["host"],
    }
    key = "MIG170.on_npu" if on_npu else "MIG170.elsewhere"
    return Finding("MIG170", status, key, args, weight=WEIGHT)


def _find_grave_operators(rows: list[Row]) -> list[Finding]:
    """One for each operator without an NPU kernel."""
    findings_by_operator: dict[str, Finding] = {}
    for row in rows:
        if row.support in GRAVE and row.operator not in findings_by_operator:
            calls = sum(other.calls for other in rows if other.operator == row.operator)
            args: dict[str, Scalar] = {"operator": row.operator, "calls": calls, "dtypes": list(row.dtypes)}
            args["documents"] = row.make_cells()[-1]
            key, status = f"MIG171.{row.support}", GRAVE[row.support]
            findings_by_operator[row.operator] = Finding("MIG171", status, key, args, row.place, calls)
    return list(findings_by_operator.values())


def _find_disagreements(rows: list[Row]) -> list[Finding]:
    """The documents say yes where torch_npu registers nothing, or no where it does."""
    disagreements: list[Finding] = []
    for key, supported, supports in (("promised", True, ("fallback", "unsupported")), ("denied", False, ("native",))):
        names: dict[Scalar, None] = {}
        for row in rows:
            document = row.document if row.support in supports else None
            if document and document.supported is supported and not document.falls_back:  # without the CPU's help
                names[f"{row.operator} ({document.api})"] = None
        if names:
            disagreements.append(Finding("MIG172", Status.NOTE, f"MIG172.{key}", {"operators": list(names)}))
    return disagreements


def _find_unlisted_dtypes(rows: list[Row]) -> list[Finding]:
    """Data types in use that the documents do not list for the first tensor."""
    beyond: list[Scalar] = []
    for row in rows:
        if row.support != "host" and row.beyond_documents and row.document:
            text = f"{row.document.api}: {row.first_dtype}"
            beyond += [text] if text not in beyond else []
    return [Finding("MIG173", Status.NOTE, "MIG173.unlisted", {"count": len(beyond), "apis": beyond})] if beyond else []


def _describe_answer_source(trace_content: dict[str, Any], where: Device, fake: bool) -> Finding:
    """Where the answers come from: this torch_npu, or the table, which may be of other versions."""
    here = trace_content["versions"]
    if trace_content["live"]:
        return Finding("MIG175", Status.OK, "MIG175.dispatcher", {"torch_npu": here["torch_npu"], "tier": where.tier})
    table = load_versions()
    ran: Scalar = Sentence("MIG175.on_fake" if fake else "MIG175.on_cpu")
    args: dict[str, Scalar] = {"ran": ran, "table": table["torch_npu"], "torch": here["torch"]}
    same = here["torch"].partition("+")[0] == table["torch"]
    return Finding("MIG175", Status.NOTE if same else Status.WARN, "MIG175.table" if same else "MIG175.other", args)


def _describe_state_size(trace_content: dict[str, Any]) -> Finding:
    """What training holds from step to step, activations aside."""
    sizes = {name: size / MIB for name, size in trace_content["state_bytes"].items()}
    args: dict[str, Scalar] = {**sizes, "total": sum(sizes.values())}
    return Finding("MIG176", Status.OK, "MIG176.state", args)


def _not_shown(trace_content: dict[str, Any], where: Device, fake: bool) -> list[Finding]:
    kinds = ["dtypes" if where.simulated or not trace_content["live"] else "rest"]
    kinds += ["cpu"] if not trace_content["live"] else []
    kinds += ["values"] if fake else []
    return [Finding("MIG177", Status.OK, f"MIG177.{kind}") for kind in kinds]
