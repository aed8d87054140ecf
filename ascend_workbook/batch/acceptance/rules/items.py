"""How an item of the checklist is ticked: by findings of the run's own reports (ROWS), or by a check of its own.

ACP501: torch and torch_npu are a pair (ENV053).

ACP504: operators and collectives on the devices give right numbers (ENV100, ENV101, ENV104).

ACP512: the migrated script runs and its losses are the original's (MIG140).

ACP521: baseline and target are the same experiment (ACC205).

ACP522: the loss curves stay together (ACC250).

ACP523: no operator parts the runs, or what does is explained (ACC230).

ACP524: the two models agree on many inputs (ACC270).

ACP533: how much of the matrix work runs in float32 is known (PRF369), so that mixed precision is a decision.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from ascend_workbook.batch.acceptance.evidence import Evidence, Found, judge_by_findings, make_judgement
from ascend_workbook.batch.plan.model import MetricTarget
from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.rules import CannotCheck, Check
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.migration.texts import read_text

#: Code -> the verbs whose report answers, the rules that must have spoken, those (or keys) that count where they have:
#: what takes a good word back, such as losses that prove nothing, or a failure that stands for the verdict.
ROWS = {
    "ACP501": (("machine_check",), ("ENV053",), ()),
    "ACP504": (("compute_check",), ("ENV100", "ENV104"), ("ENV101",)),
    "ACP512": (("dry_run",), ("MIG140",), ("MIG157", "MIG158")),
    "ACP521": (("experiment",), ("ACC205",), ("ACC201", "ACC202", "ACC204", "ACC206")),
    "ACP522": (("curves",), ("ACC250",), ("ACC251.nan", "ACC251.unfinished")),
    "ACP523": (("divergence", "compare"), ("ACC230",), ("ACC215", "ACC235")),
    "ACP524": (("verify",), ("ACC270",), ("ACC271", "ACC272", "ACC273", "ACC276")),
    "ACP533": (("tuning",), ("PRF369",), ()),
}
#: A NOTE does not answer these: a pair that is not listed is none that is known to fit.
STRICT = ("ACP501",)
#: What is told of a real NPU alone.
TIMED = ("ACP533",)
#: Of a step; less is worth nobody's time.
SHARE = 0.05
#: The rules of a dry run, a benchmark and an operators' check that say whether it ran, and showed anything.
OWN = ("MIG140", "MIG157", "PRF370", "MIG170")


def check_blocking(facts: Evidence) -> Iterator[Finding]:
    """ACP511: nothing is left to do by hand and nothing unsupported, and no file still asks for CUDA."""
    evidence = facts.find_report("rewrite")
    remaining = evidence.report.facts.get("scan_of_the_result")
    if not isinstance(remaining, dict) or not {"manual", "unsupported"} <= remaining.keys():
        raise CannotCheck("accept.not_in_report", rules=["scan_of_the_result"], page=evidence.page)
    if evidence.report.status is Status.NOT_LOOKED and (
        headline := evidence.report.headline
    ):  # a file nobody could read
        raise CannotCheck("accept.could_not_look", said=Sentence(headline.key, **headline.args))
    cuda: list[Scalar] = [str(file_name) for file_name in evidence.report.facts.get("still_cuda", [])]
    args: dict[str, Scalar] = {name: remaining[name] for name in ("manual", "unsupported")}
    args["cuda"] = len(cuda)
    blocked = bool(remaining["manual"] or remaining["unsupported"] or cuda)
    key = "accept.code_left" if blocked else "accept.code_clean"
    yield make_judgement("ACP511", evidence, not blocked, Sentence(key, **args))


def check_operators(facts: Evidence) -> Iterator[Finding]:
    """ACP513: every operator of a step runs on the NPU: none unsupported, none on the CPU, none unknown."""
    evidence = facts.find_npu_report("operator_support")
    finding = next((finding for finding in evidence.report.findings if finding.rule == "MIG170"), None)
    if finding is None or not {"fallback", "unsupported", "unknown"} <= finding.args.keys():
        raise CannotCheck("accept.not_in_report", rules=["MIG170"], page=evidence.page)
    if finding.status is Status.NOT_LOOKED or not finding.args.get(
        "operators", 1
    ):  # no step, or an empty one, was seen
        raise CannotCheck("accept.could_not_look", said=Sentence(finding.key, **finding.args))
    clean = not any(finding.args[kind] for kind in ("fallback", "unsupported", "unknown"))
    yield make_judgement("ACP513", evidence, clean, Sentence(finding.key, **finding.args))


def check_throughput(facts: Evidence) -> Iterator[Finding]:
    """ACP531: throughput on the NPU is at least the share of the baseline's that is aimed at (PRF376)."""
    evidence = facts.find_hardware_report("benchmark")
    least = facts.targets.throughput_at_least
    if least is None:
        raise CannotCheck("accept.no_throughput_target")
    ratio = _throughput_ratio(evidence)
    args: dict[str, Scalar] = {"ratio": f"{100 * ratio:.4g} %", "wanted": f"{100 * least:.4g} %"}
    yield make_judgement("ACP531", evidence, ratio >= least, Sentence("accept.throughput", **args))


def _throughput_ratio(evidence: Found) -> float:
    """Return the throughput of the fastest configuration over that of the baseline's configuration of the same name."""
    findings = [finding for finding in evidence.report.findings if finding.rule == "PRF376"]
    if any(finding.status is Status.LOOK for finding in findings):
        raise CannotCheck("accept.other_benchmark")
    best = next((finding.args.get("name") for finding in evidence.report.findings if finding.rule == "PRF370"), None)
    for finding in findings:
        ratio = finding.args.get("ratio")
        if finding.args.get("name") == best and isinstance(ratio, (int, float)):
            return float(ratio)
    raise CannotCheck("accept.no_throughput_baseline")


def check_waiting(facts: Evidence) -> Iterator[Finding]:
    """ACP532: of the NPU's idle time next to none is without a cause (PRF320, PRF321)."""
    idle, whole = facts.find_hardware_report("idle_time"), facts.find_hardware_report("time_by_kind")
    step_ns = whole.report.facts.get("step_ns")
    causes = idle.report.facts.get("idle_ns")
    if not step_ns or not isinstance(causes, dict) or "unexplained" not in causes:
        raise CannotCheck("accept.not_in_report", rules=["idle_ns"], page=idle.page)
    cause = next((finding for finding in idle.report.findings if finding.rule == "PRF321"), None)
    if cause is None or cause.status is Status.NOT_LOOKED:  # of no device, of several, or without launches
        raise CannotCheck("accept.not_in_report", rules=["PRF321"], page=idle.page)
    share = float(causes["unexplained"]) / float(step_ns)
    sentence = Sentence("accept.unexplained", share=f"{100 * share:.3g} %", limit=f"{100 * SHARE:.3g} %")
    yield make_judgement("ACP532", idle, share <= SHARE, sentence)


def check_checkpoint(facts: Evidence) -> Iterator[Finding]:
    """ACP541: a checkpoint saved on the NPU loads on a machine without one. No report of ours tells."""
    raise CannotCheck("accept.no_report_tells")


def check_environment_record(facts: Evidence) -> Iterator[Finding]:
    """ACP542: what the target runs with is recorded: Python, packages and the container."""
    evidence = facts.find_npu_report("machine_check")
    machine = evidence.report.facts.get("machine") or {}
    python, host = machine.get("python") or {}, machine.get("host") or {}
    packages = python.get("packages")
    if not isinstance(packages, dict) or not packages:
        raise CannotCheck("accept.not_in_report", rules=["machine.python.packages"], page=evidence.page)
    args: dict[str, Scalar] = {"count": len(packages), "python": python.get("version")}
    args["container"] = host.get("container") or "-"
    yield make_judgement("ACP542", evidence, True, Sentence("accept.recorded", **args))


def check_many_cards(facts: Evidence) -> Iterator[Finding]:
    """ACP543: a run on several cards was seen, where the machine has several."""
    on_npus = [evidence for evidence in facts.found if evidence.report.tier in ("npu", "npu-simulated")]
    reports_on_cards = [evidence for evidence in on_npus if _count_processes(evidence) > 1]
    if reports_on_cards:
        evidence = max(reports_on_cards, key=_count_processes)
        name, headline = Sentence(f"name.{evidence.report.verb}"), evidence.report.headline
        sentence = Sentence("accept.many_cards", count=_count_processes(evidence), what=name)
        own = [finding.status for finding in evidence.report.findings if finding.rule in OWN]
        if Status.NOT_LOOKED in (evidence.report.status, *own):
            verdict: Scalar = Sentence(headline.key, **headline.args) if headline else name
            raise CannotCheck("accept.could_not_look", said=verdict)
        yield make_judgement("ACP543", evidence, evidence.report.status is not Status.FIX, sentence)
        return
    machine = facts.find_npu_report("machine_check")
    chosen = (machine.report.facts.get("machine") or {}).get("chosen") or {}
    if chosen.get("count") == 1:
        args: dict[str, Scalar] = {"said": Sentence("accept.one_card"), "date": machine.date}
        args["simulated"] = machine.report.simulated
        yield Finding("ACP543", Status.NOTE, "accept.evidence", args, Place(machine.page))
        return
    raise CannotCheck("accept.no_many_cards")


def _count_processes(evidence: Found) -> int:
    facts = evidence.report.facts
    count = facts.get("nproc") or (facts.get("benchmark") or {}).get("nproc") or 1
    return int(count) if evidence.report.verb in ("dry_run", "benchmark", "operator_support") else 1


def check_original(facts: Evidence) -> Iterator[Finding]:
    """ACP551: the way back: the original script is as it was, or can be restored."""
    evidence = facts.find_report("rewrite")
    facts_of_rewrite = evidence.report.facts
    hashes, root = facts_of_rewrite.get("sha256"), facts_of_rewrite.get("root")
    if facts_of_rewrite.get("in_place"):
        backups = facts_of_rewrite.get("backups") or []
        there = [backup for backup in backups if Path(str(root), str(backup)).is_file()]
        args: dict[str, Scalar] = {"backups": len(there), "of": len(backups)}
        whole = bool(backups) and len(there) == len(backups)
        yield make_judgement("ACP551", evidence, whole, Sentence("accept.backups", **args))
        return
    if not isinstance(hashes, dict) or not hashes or not root:
        raise CannotCheck("accept.not_in_report", rules=["sha256"], page=evidence.page)
    files = {name: Path(str(root), name) for name in hashes}
    missing = [str(path) for path in files.values() if not path.is_file()]
    if missing:
        raise CannotCheck("accept.original_gone", path=missing[0])
    changed: list[Scalar] = [name for name, path in files.items() if read_text(path, name).sha256 != hashes[name]]
    key = "accept.original_changed" if changed else "accept.original_kept"
    yield make_judgement("ACP551", evidence, not changed, Sentence(key, count=len(files), changed=changed))


def check_baseline(facts: Evidence) -> Iterator[Finding]:
    """ACP552: the baseline that precision was judged by is kept."""
    evidence = facts.find_report("divergence", "compare", "curves")
    baseline = evidence.report.facts.get("baseline")
    if not isinstance(baseline, str) or not baseline:
        raise CannotCheck("accept.not_in_report", rules=["baseline"], page=evidence.page)
    path = facts.folder / baseline  # a whole path stays itself
    exists = path.is_file() or (path.is_dir() and any(path.iterdir()))
    sentence = Sentence("accept.baseline_kept" if exists else "accept.baseline_gone", path=baseline)
    yield make_judgement("ACP552", evidence, exists, sentence)


def check_final_metric(facts: Evidence) -> Iterator[Finding]:
    """ACP525: each metric that is aimed at ends within its target of the baseline's last value."""
    if not facts.targets.metrics:
        raise CannotCheck("accept.no_metric_target")
    evidence = facts.find_npu_report("curves")
    unproven = next((finding for finding in evidence.report.findings if finding.key == "ACC250.nothing"), None)
    if unproven:  # values that stood still on both sides are equal whatever the NPU does
        raise CannotCheck("accept.could_not_look", said=Sentence(unproven.key, **unproven.args))
    finals = evidence.report.facts.get("final") or {}
    sentences: list[Scalar] = []
    met = True
    for target in facts.targets.metrics:
        pair = finals.get(target.name)
        if not isinstance(pair, list) or len(pair) != 2 or not all(map(_is_number, pair)):
            raise CannotCheck("accept.no_metric", name=target.name, known=sorted(finals))
        reached = _is_within(target, *map(float, pair))
        met = met and reached
        args: dict[str, Scalar] = {
            "name": target.name,
            "baseline": pair[0],
            "target": pair[1],
            "steps": evidence.report.facts.get("steps_compared"),
            "within": f"{100 * target.within:.4g} %" if target.relative else f"{target.within:.4g}",
        }
        sentences.append(Sentence(f"accept.metric.{'met' if reached else 'missed'}", **args))
    yield make_judgement("ACP525", evidence, met, sentences)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_within(metric: MetricTarget, baseline: float, target: float) -> bool:
    """Return whether a value is within the target; NaN and infinity never are."""
    if not (math.isfinite(baseline) and math.isfinite(target)):
        return False
    return abs(target - baseline) <= metric.within * (abs(baseline) if metric.relative else 1.0)


def check_cann(facts: Evidence) -> Iterator[Finding]:
    """ACP502: CANN fits torch_npu, and the driver fits CANN (ENV054, ENV030). The stand-in of the simulator has
    neither."""
    evidence = facts.find_npu_report("machine_check")
    if evidence.report.simulated:
        raise CannotCheck("accept.simulator_has_none")
    yield judge_by_findings("ACP502", evidence, ("ENV054", "ENV030"), good=Status.GOOD)


def check_devices(facts: Evidence) -> Iterator[Finding]:
    """ACP503: NPUs are seen, and npu-smi calls them healthy (ENV001, ENV022)."""
    evidence = facts.find_npu_report("machine_check")
    rules = ("ENV001",) if evidence.report.simulated else ("ENV001", "ENV022")
    yield judge_by_findings("ACP503", evidence, rules, beside=("ENV022",))


def check_row(code: str, facts: Evidence) -> Iterator[Finding]:
    """Judge an item of ROWS by the findings that it names."""
    verbs, rules, beside = ROWS[code]
    report = facts.find_hardware_report(*verbs) if code in TIMED else facts.find_npu_report(*verbs)
    yield judge_by_findings(code, report, rules, beside=beside, good=Status.GOOD if code in STRICT else Status.NOTE)


RULES: dict[str, Check] = {code: partial(check_row, code) for code in ROWS} | {
    "ACP502": check_cann,
    "ACP503": check_devices,
    "ACP511": check_blocking,
    "ACP513": check_operators,
    "ACP525": check_final_metric,
    "ACP531": check_throughput,
    "ACP532": check_waiting,
    "ACP541": check_checkpoint,
    "ACP542": check_environment_record,
    "ACP543": check_many_cards,
    "ACP551": check_original,
    "ACP552": check_baseline,
}
#: What the items rest on: rules of the stages, or what this project defines.
BY_RULES = (*ROWS, "ACP502", "ACP503", "ACP531", "ACP532")
BASIS = {code: "rules" if code in BY_RULES else "defined" for code in RULES}
