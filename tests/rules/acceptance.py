"""The reports of a run that meets every item of the checklist, with one of them changed at a time."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ascend_workbook.batch.acceptance.evidence import Evidence, Found
from ascend_workbook.batch.plan.model import MetricTarget, Targets
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from tests.batch.acceptance.test_accept import Change, found, parts, with_facts, with_finding, without
from tests.rules.lines import Example

TARGETS = Targets((MetricTarget("loss", 0.01, relative=True),), 0.8)
ABSOLUTE = Targets((MetricTarget("loss", 0.01),), 0.8)


def run(*changes: Change, tier: str = "npu", targets: Targets = TARGETS) -> Callable[[], Evidence]:
    """The evidence of a run after these changes of its reports."""

    def make() -> Evidence:
        folder = Path(tempfile.mkdtemp(prefix="rules-"))
        made = parts(folder, tier)
        for verb in ("divergence", "curves"):
            made[verb] = replace(made[verb], facts={**made[verb].facts, "baseline": "baseline"})
        for change in changes:
            change(made)
        dated = [replace(report, created="2026-01-02T03:04") for report in made.values()]
        return Evidence(folder, tuple(Found(report, f"{report.verb}.json") for report in dated), targets)

    return make


def on(verb: str, tier: str) -> Change:
    """The report of a verb on another device."""

    def change(made: dict[str, Report]) -> None:
        made[verb] = replace(made[verb], tier=tier)

    return change


def drop(*verbs: str) -> Change:
    return lambda made: [made.pop(verb) for verb in verbs]


EXAMPLES: list[Example] = [
    (
        "ACP501",
        run(),
        ["GOOD accept.evidence date=2026-01-02 said=RUN400.not_run() simulated=False @machine_check.json"],
    ),
    (
        "ACP501",
        run(with_finding("machine_check", found("ENV053", Status.NOTE))),
        ["CANNOT accept.could_not_look said=RUN400.not_run()"],
    ),
    (
        "ACP501",
        run(with_finding("machine_check", found("ENV053", Status.NOT_LOOKED))),
        ["CANNOT accept.could_not_look said=RUN400.not_run()"],
    ),
    (
        "ACP501",
        run(with_finding("machine_check", found("ENV053", Status.LOOK))),
        ["FIX accept.evidence date=2026-01-02 said=RUN400.not_run() simulated=False @machine_check.json"],
    ),
    (
        "ACP501",
        run(without("machine_check", "ENV053")),
        ["CANNOT accept.not_in_report page=machine_check.json rules=[ENV053]"],
    ),
    ("ACP501", run(on("machine_check", "cpu")), ["CANNOT accept.no_npu tier=cpu"]),
    (
        "ACP501",
        run(on("machine_check", "npu-simulated")),
        ["GOOD accept.evidence date=2026-01-02 said=RUN400.not_run() simulated=True @machine_check.json"],
    ),
    (
        "ACP504",
        run(),
        ["GOOD accept.evidence date=2026-01-02 said=RUN400.not_run() simulated=False @compute_check.json"],
    ),
    (
        "ACP504",
        run(with_finding("compute_check", found("ENV104", Status.NOTE))),
        ["GOOD accept.evidence date=2026-01-02 said=RUN400.not_run() simulated=False @compute_check.json"],
    ),
    (
        "ACP504",
        run(with_finding("compute_check", found("ENV104", Status.NOT_LOOKED))),
        ["CANNOT accept.could_not_look said=RUN400.not_run()"],
    ),
    (
        "ACP504",
        run(with_finding("compute_check", found("ENV104", Status.LOOK))),
        ["FIX accept.evidence date=2026-01-02 said=RUN400.not_run() simulated=False @compute_check.json"],
    ),
    (
        "ACP504",
        run(without("compute_check", "ENV104")),
        ["CANNOT accept.not_in_report page=compute_check.json rules=[ENV104]"],
    ),
    ("ACP504", run(on("compute_check", "cpu")), ["CANNOT accept.no_npu tier=cpu"]),
    (
        "ACP504",
        run(on("compute_check", "npu-simulated")),
        ["GOOD accept.evidence date=2026-01-02 said=RUN400.not_run() simulated=True @compute_check.json"],
    ),
    (
        "ACP512",
        run(),
        ["GOOD accept.evidence date=2026-01-02 said=RUN400.not_run() simulated=False @dry_run.json"],
    ),
    (
        "ACP512",
        run(with_finding("dry_run", found("MIG140", Status.NOTE))),
        ["GOOD accept.evidence date=2026-01-02 said=RUN400.not_run() simulated=False @dry_run.json"],
    ),
    (
        "ACP512",
        run(with_finding("dry_run", found("MIG140", Status.NOT_LOOKED))),
        ["CANNOT accept.could_not_look said=RUN400.not_run()"],
    ),
    (
        "ACP512",
        run(with_finding("dry_run", found("MIG140", Status.LOOK))),
        ["FIX accept.evidence date=2026-01-02 said=RUN400.not_run() simulated=False @dry_run.json"],
    ),
    ("ACP512", run(without("dry_run", "MIG140")), ["CANNOT accept.not_in_report page=dry_run.json rules=[MIG140]"]),
    ("ACP512", run(on("dry_run", "cpu")), ["CANNOT accept.no_npu tier=cpu"]),
    (
        "ACP512",
        run(on("dry_run", "npu-simulated")),
        ["GOOD accept.evidence date=2026-01-02 said=RUN400.not_run() simulated=True @dry_run.json"],
    ),
    (
        "ACP521",
        run(),
        ["GOOD accept.evidence date=2026-01-02 said=RUN400.not_run() simulated=False @experiment.json"],
    ),
    (
        "ACP521",
        run(with_finding("experiment", found("ACC205", Status.NOTE))),
        ["GOOD accept.evidence date=2026-01-02 said=RUN400.not_run() simulated=False @experiment.json"],
    ),
    (
        "ACP521",
        run(with_finding("experiment", found("ACC205", Status.NOT_LOOKED))),
        ["CANNOT accept.could_not_look said=RUN400.not_run()"],
    ),
    (
        "ACP521",
        run(with_finding("experiment", found("ACC205", Status.LOOK))),
        ["FIX accept.evidence date=2026-01-02 said=RUN400.not_run() simulated=False @experiment.json"],
    ),
    (
        "ACP521",
        run(without("experiment", "ACC205")),
        ["CANNOT accept.not_in_report page=experiment.json rules=[ACC205]"],
    ),
    ("ACP521", run(on("experiment", "cpu")), ["CANNOT accept.no_npu tier=cpu"]),
    (
        "ACP521",
        run(on("experiment", "npu-simulated")),
        ["GOOD accept.evidence date=2026-01-02 said=RUN400.not_run() simulated=True @experiment.json"],
    ),
    (
        "ACP522",
        run(),
        ["GOOD accept.evidence date=2026-01-02 said=RUN400.not_run() simulated=False @curves.json"],
    ),
    (
        "ACP522",
        run(with_finding("curves", found("ACC250", Status.NOTE))),
        ["GOOD accept.evidence date=2026-01-02 said=RUN400.not_run() simulated=False @curves.json"],
    ),
    (
        "ACP522",
        run(with_finding("curves", found("ACC250", Status.NOT_LOOKED))),
        ["CANNOT accept.could_not_look said=RUN400.not_run()"],
    ),
    (
        "ACP522",
        run(with_finding("curves", found("ACC250", Status.LOOK))),
        ["FIX accept.evidence date=2026-01-02 said=RUN400.not_run() simulated=False @curves.json"],
    ),
    ("ACP522", run(without("curves", "ACC250")), ["CANNOT accept.not_in_report page=curves.json rules=[ACC250]"]),
    ("ACP522", run(on("curves", "cpu")), ["CANNOT accept.no_npu tier=cpu"]),
    (
        "ACP522",
        run(on("curves", "npu-simulated")),
        ["GOOD accept.evidence date=2026-01-02 said=RUN400.not_run() simulated=True @curves.json"],
    ),
    (
        "ACP523",
        run(),
        ["GOOD accept.evidence date=2026-01-02 said=RUN400.not_run() simulated=False @divergence.json"],
    ),
    (
        "ACP523",
        run(with_finding("divergence", found("ACC230", Status.NOTE))),
        ["GOOD accept.evidence date=2026-01-02 said=RUN400.not_run() simulated=False @divergence.json"],
    ),
    (
        "ACP523",
        run(with_finding("divergence", found("ACC230", Status.NOT_LOOKED))),
        ["CANNOT accept.could_not_look said=RUN400.not_run()"],
    ),
    (
        "ACP523",
        run(with_finding("divergence", found("ACC230", Status.LOOK))),
        ["FIX accept.evidence date=2026-01-02 said=RUN400.not_run() simulated=False @divergence.json"],
    ),
    (
        "ACP523",
        run(without("divergence", "ACC230")),
        ["CANNOT accept.not_in_report page=divergence.json rules=[ACC230]"],
    ),
    ("ACP523", run(on("divergence", "cpu")), ["CANNOT accept.no_npu tier=cpu"]),
    (
        "ACP523",
        run(on("divergence", "npu-simulated")),
        ["GOOD accept.evidence date=2026-01-02 said=RUN400.not_run() simulated=True @divergence.json"],
    ),
    (
        "ACP524",
        run(),
        ["GOOD accept.evidence date=2026-01-02 said=RUN400.not_run() simulated=False @verify.json"],
    ),
    (
        "ACP524",
        run(with_finding("verify", found("ACC270", Status.NOTE))),
        ["GOOD accept.evidence date=2026-01-02 said=RUN400.not_run() simulated=False @verify.json"],
    ),
    (
        "ACP524",
        run(with_finding("verify", found("ACC270", Status.NOT_LOOKED))),
        ["CANNOT accept.could_not_look said=RUN400.not_run()"],
    ),
    (
        "ACP524",
        run(with_finding("verify", found("ACC270", Status.LOOK))),
        ["FIX accept.evidence date=2026-01-02 said=RUN400.not_run() simulated=False @verify.json"],
    ),
    ("ACP524", run(without("verify", "ACC270")), ["CANNOT accept.not_in_report page=verify.json rules=[ACC270]"]),
    ("ACP524", run(on("verify", "cpu")), ["CANNOT accept.no_npu tier=cpu"]),
    (
        "ACP524",
        run(on("verify", "npu-simulated")),
        ["GOOD accept.evidence date=2026-01-02 said=RUN400.not_run() simulated=True @verify.json"],
    ),
    (
        "ACP533",
        run(),
        ["GOOD accept.evidence date=2026-01-02 said=RUN400.not_run() simulated=False @tuning.json"],
    ),
    (
        "ACP533",
        run(with_finding("tuning", found("PRF369", Status.NOTE))),
        ["GOOD accept.evidence date=2026-01-02 said=RUN400.not_run() simulated=False @tuning.json"],
    ),
    (
        "ACP533",
        run(with_finding("tuning", found("PRF369", Status.NOT_LOOKED))),
        ["CANNOT accept.could_not_look said=RUN400.not_run()"],
    ),
    (
        "ACP533",
        run(with_finding("tuning", found("PRF369", Status.LOOK))),
        ["FIX accept.evidence date=2026-01-02 said=RUN400.not_run() simulated=False @tuning.json"],
    ),
    ("ACP533", run(without("tuning", "PRF369")), ["CANNOT accept.not_in_report page=tuning.json rules=[PRF369]"]),
    ("ACP533", run(on("tuning", "cpu")), ["CANNOT accept.no_npu tier=cpu"]),
    ("ACP533", run(on("tuning", "npu-simulated")), ["CANNOT accept.no_device_time"]),
    (
        "ACP502",
        run(),
        ["GOOD accept.evidence date=2026-01-02 said=RUN400.not_run() simulated=False @machine_check.json"],
    ),
    (
        "ACP502",
        run(with_finding("machine_check", found("ENV030", Status.LOOK))),
        ["FIX accept.evidence date=2026-01-02 said=RUN400.not_run() simulated=False @machine_check.json"],
    ),
    (
        "ACP502",
        run(with_finding("machine_check", found("ENV054", Status.NOTE))),
        ["CANNOT accept.could_not_look said=RUN400.not_run()"],
    ),
    (
        "ACP502",
        run(without("machine_check", "ENV054")),
        ["CANNOT accept.not_in_report page=machine_check.json rules=[ENV054]"],
    ),
    ("ACP502", run(tier="npu-simulated"), ["CANNOT accept.simulator_has_none"]),
    (
        "ACP503",
        run(),
        ["GOOD accept.evidence date=2026-01-02 said=RUN400.not_run() simulated=False @machine_check.json"],
    ),
    (
        "ACP503",
        run(with_finding("machine_check", found("ENV022", Status.LOOK))),
        ["FIX accept.evidence date=2026-01-02 said=RUN400.not_run() simulated=False @machine_check.json"],
    ),
    (
        "ACP503",
        run(without("machine_check", "ENV022")),
        ["CANNOT accept.not_in_report page=machine_check.json rules=[ENV022]"],
    ),
    (
        "ACP503",
        run(without("machine_check", "ENV022"), tier="npu-simulated"),
        ["GOOD accept.evidence date=2026-01-02 said=RUN400.not_run() simulated=True @machine_check.json"],
    ),
    (
        "ACP504",
        run(with_finding("compute_check", found("ENV101", Status.FIX))),
        ["FIX accept.evidence date=2026-01-02 said=RUN400.not_run() simulated=False @compute_check.json"],
    ),
    (
        "ACP504",
        run(without("compute_check", "ENV100")),
        ["CANNOT accept.not_in_report page=compute_check.json rules=[ENV100]"],
    ),
    (
        "ACP511",
        run(),
        [
            (
                "GOOD accept.evidence date=2026-01-02 said=accept.code_clean(cuda=0 manual=0 unsupported=0) "
                "simulated=False @rewrite.json"
            )
        ],
    ),
    (
        "ACP511",
        run(with_facts("rewrite", still_cuda=["a.py"])),
        [
            (
                "FIX accept.evidence date=2026-01-02 said=accept.code_left(cuda=1 manual=0 unsupported=0) "
                "simulated=False @rewrite.json"
            )
        ],
    ),
    (
        "ACP511",
        run(with_facts("rewrite", scan_of_the_result={"manual": 1, "unsupported": 0})),
        [
            (
                "FIX accept.evidence date=2026-01-02 said=accept.code_left(cuda=0 manual=1 unsupported=0) "
                "simulated=False @rewrite.json"
            )
        ],
    ),
    (
        "ACP511",
        run(with_facts("rewrite", scan_of_the_result={"manual": 0, "unsupported": 2})),
        [
            (
                "FIX accept.evidence date=2026-01-02 said=accept.code_left(cuda=0 manual=0 unsupported=2) "
                "simulated=False @rewrite.json"
            )
        ],
    ),
    (
        "ACP511",
        run(with_facts("rewrite", scan_of_the_result={"manual": 0})),
        ["CANNOT accept.not_in_report page=rewrite.json rules=[scan_of_the_result]"],
    ),
    (
        "ACP513",
        run(),
        [
            (
                "GOOD accept.evidence date=2026-01-02 said=RUN400.not_run(fallback=0 unknown=0 unsupported=0) "
                "simulated=False @operator_support.json"
            )
        ],
    ),
    (
        "ACP513",
        run(with_finding("operator_support", found("MIG170", fallback=1, unsupported=0, unknown=0))),
        [
            (
                "FIX accept.evidence date=2026-01-02 said=RUN400.not_run(fallback=1 unknown=0 unsupported=0) "
                "simulated=False @operator_support.json"
            )
        ],
    ),
    (
        "ACP513",
        run(with_finding("operator_support", found("MIG170", fallback=0, unsupported=1, unknown=0))),
        [
            (
                "FIX accept.evidence date=2026-01-02 said=RUN400.not_run(fallback=0 unknown=0 unsupported=1) "
                "simulated=False @operator_support.json"
            )
        ],
    ),
    (
        "ACP513",
        run(with_finding("operator_support", found("MIG170", fallback=0, unsupported=0, unknown=1))),
        [
            (
                "FIX accept.evidence date=2026-01-02 said=RUN400.not_run(fallback=0 unknown=1 unsupported=0) "
                "simulated=False @operator_support.json"
            )
        ],
    ),
    (
        "ACP513",
        run(with_finding("operator_support", found("MIG170", fallback=0))),
        ["CANNOT accept.not_in_report page=operator_support.json rules=[MIG170]"],
    ),
    (
        "ACP525",
        run(),
        [
            (
                "GOOD accept.evidence date=2026-01-02 said=[accept.metric.met(baseline=2 name=loss steps=9 "
                "target=2.01 within=1 %)] simulated=False @curves.json"
            )
        ],
    ),
    (
        "ACP525",
        run(with_facts("curves", final={"loss": [2.0, 2.02]})),
        [
            (
                "FIX accept.evidence date=2026-01-02 said=[accept.metric.missed(baseline=2 name=loss steps=9 "
                "target=2.02 within=1 %)] simulated=False @curves.json"
            )
        ],
    ),
    (
        "ACP525",
        run(with_facts("curves", final={"loss": [2.0, 1.979]})),
        [
            (
                "FIX accept.evidence date=2026-01-02 said=[accept.metric.missed(baseline=2 name=loss steps=9 "
                "target=1.979 within=1 %)] simulated=False @curves.json"
            )
        ],
    ),
    (
        "ACP525",
        run(with_facts("curves", final={"loss": [2.0, 2.021]})),
        [
            (
                "FIX accept.evidence date=2026-01-02 said=[accept.metric.missed(baseline=2 name=loss steps=9 "
                "target=2.021 within=1 %)] simulated=False @curves.json"
            )
        ],
    ),
    (
        "ACP525",
        run(with_facts("curves", final={"loss": [2.0, 2.011]}), targets=ABSOLUTE),
        [
            (
                "FIX accept.evidence date=2026-01-02 said=[accept.metric.missed(baseline=2 name=loss steps=9 "
                "target=2.011 within=0.01)] simulated=False @curves.json"
            )
        ],
    ),
    (
        "ACP525",
        run(with_facts("curves", final={"loss": [2.0, 2.009]}), targets=ABSOLUTE),
        [
            (
                "GOOD accept.evidence date=2026-01-02 said=[accept.metric.met(baseline=2 name=loss steps=9 "
                "target=2.009 within=0.01)] simulated=False @curves.json"
            )
        ],
    ),
    (
        "ACP525",
        run(with_facts("curves", final={"loss": [2.0, float("nan")]})),
        [
            (
                "FIX accept.evidence date=2026-01-02 said=[accept.metric.missed(baseline=2 name=loss steps=9 "
                "target=nan within=1 %)] simulated=False @curves.json"
            )
        ],
    ),
    (
        "ACP525",
        run(with_facts("curves", final={"loss": [2.0, True]})),
        ["CANNOT accept.no_metric known=[loss] name=loss"],
    ),
    (
        "ACP525",
        run(with_facts("curves", final={"accuracy": [1.0, 1.0]})),
        ["CANNOT accept.no_metric known=[accuracy] name=loss"],
    ),
    ("ACP525", run(targets=Targets()), ["CANNOT accept.no_metric_target"]),
    (
        "ACP531",
        run(),
        [
            (
                "GOOD accept.evidence date=2026-01-02 said=accept.throughput(ratio=81 % wanted=80 %) "
                "simulated=False @benchmark.json"
            )
        ],
    ),
    (
        "ACP531",
        run(with_finding("benchmark", found("PRF376", name="-", ratio=0.8))),
        [
            (
                "GOOD accept.evidence date=2026-01-02 said=accept.throughput(ratio=80 % wanted=80 %) "
                "simulated=False @benchmark.json"
            )
        ],
    ),
    (
        "ACP531",
        run(with_finding("benchmark", found("PRF376", name="-", ratio=0.799))),
        [
            (
                "FIX accept.evidence date=2026-01-02 said=accept.throughput(ratio=79.9 % wanted=80 %) "
                "simulated=False @benchmark.json"
            )
        ],
    ),
    (
        "ACP531",
        run(with_finding("benchmark", found("PRF376", name="other", ratio=0.9))),
        ["CANNOT accept.no_throughput_baseline"],
    ),
    (
        "ACP531",
        run(with_finding("benchmark", found("PRF376", Status.LOOK, name="-", ratio=2.0))),
        ["CANNOT accept.other_benchmark"],
    ),
    ("ACP531", run(targets=Targets()), ["CANNOT accept.no_throughput_target"]),
    ("ACP531", run(tier="npu-simulated"), ["CANNOT accept.no_device_time"]),
    (
        "ACP532",
        run(),
        [
            (
                "GOOD accept.evidence date=2026-01-02 said=accept.unexplained(limit=5 % share=4 %) simulated=False "
                "@idle_time.json"
            )
        ],
    ),
    (
        "ACP532",
        run(with_facts("idle_time", idle_ns={"unexplained": 5.0})),
        [
            (
                "GOOD accept.evidence date=2026-01-02 said=accept.unexplained(limit=5 % share=5 %) simulated=False "
                "@idle_time.json"
            )
        ],
    ),
    (
        "ACP532",
        run(with_facts("idle_time", idle_ns={"unexplained": 5.1})),
        [
            (
                "FIX accept.evidence date=2026-01-02 said=accept.unexplained(limit=5 % share=5.1 %) "
                "simulated=False @idle_time.json"
            )
        ],
    ),
    (
        "ACP532",
        run(with_facts("idle_time", idle_ns={})),
        ["CANNOT accept.not_in_report page=idle_time.json rules=[idle_ns]"],
    ),
    ("ACP541", run(), ["CANNOT accept.no_report_tells"]),
    (
        "ACP542",
        run(),
        [
            (
                "GOOD accept.evidence date=2026-01-02 said=accept.recorded(container=- count=1 python=3.11) "
                "simulated=False @machine_check.json"
            )
        ],
    ),
    (
        "ACP542",
        run(with_facts("machine_check", machine={"python": {"packages": {}}})),
        ["CANNOT accept.not_in_report page=machine_check.json rules=[machine.python.packages]"],
    ),
    (
        "ACP543",
        run(),
        [
            (
                "GOOD accept.evidence date=2026-01-02 said=accept.many_cards(count=8 what=name.dry_run()) "
                "simulated=False @dry_run.json"
            )
        ],
    ),
    (
        "ACP543",
        run(with_facts("benchmark", benchmark={"nproc": 16})),
        [
            (
                "GOOD accept.evidence date=2026-01-02 said=accept.many_cards(count=16 what=name.benchmark()) "
                "simulated=False @benchmark.json"
            )
        ],
    ),
    ("ACP543", run(with_facts("dry_run", nproc=1)), ["CANNOT accept.no_many_cards"]),
    (
        "ACP543",
        run(with_facts("dry_run", nproc=1), with_facts("machine_check", machine={"chosen": {"count": 1}})),
        ["NOTE accept.evidence date=2026-01-02 said=accept.one_card() simulated=False @machine_check.json"],
    ),
    (
        "ACP543",
        run(with_finding("dry_run", found("MIG140", Status.NOT_LOOKED))),
        ["CANNOT accept.could_not_look said=RUN400.not_run()"],
    ),
    (
        "ACP543",
        run(with_finding("dry_run", found("MIG140", Status.FIX))),
        [
            (
                "FIX accept.evidence date=2026-01-02 said=accept.many_cards(count=8 what=name.dry_run()) "
                "simulated=False @dry_run.json"
            )
        ],
    ),
    (
        "ACP551",
        run(),
        [
            (
                "GOOD accept.evidence date=2026-01-02 said=accept.original_kept(changed=[] count=1) "
                "simulated=False @rewrite.json"
            )
        ],
    ),
    (
        "ACP551",
        run(with_facts("rewrite", sha256={"train.py": "0"})),
        [
            (
                "FIX accept.evidence date=2026-01-02 said=accept.original_changed(changed=[train.py] count=1) "
                "simulated=False @rewrite.json"
            )
        ],
    ),
    ("ACP551", run(with_facts("rewrite", sha256={})), ["CANNOT accept.not_in_report page=rewrite.json rules=[sha256]"]),
    (
        "ACP551",
        run(with_facts("rewrite", in_place=True, backups=["train.py"])),
        ["GOOD accept.evidence date=2026-01-02 said=accept.backups(backups=1 of=1) simulated=False @rewrite.json"],
    ),
    (
        "ACP551",
        run(with_facts("rewrite", in_place=True, backups=["train.py", "gone.py"])),
        ["FIX accept.evidence date=2026-01-02 said=accept.backups(backups=1 of=2) simulated=False @rewrite.json"],
    ),
    (
        "ACP551",
        run(with_facts("rewrite", in_place=True, backups=[])),
        ["FIX accept.evidence date=2026-01-02 said=accept.backups(backups=0 of=0) simulated=False @rewrite.json"],
    ),
    (
        "ACP552",
        run(),
        [
            (
                "GOOD accept.evidence date=2026-01-02 said=accept.baseline_kept(path=baseline) simulated=False "
                "@divergence.json"
            )
        ],
    ),
    (
        "ACP552",
        run(with_facts("divergence", baseline="gone")),
        ["FIX accept.evidence date=2026-01-02 said=accept.baseline_gone(path=gone) simulated=False @divergence.json"],
    ),
    (
        "ACP552",
        run(with_facts("divergence", baseline=3)),
        ["CANNOT accept.not_in_report page=divergence.json rules=[baseline]"],
    ),
    (
        "ACP552",
        run(drop("divergence")),
        ["GOOD accept.evidence date=2026-01-02 said=accept.baseline_kept(path=baseline) simulated=False @curves.json"],
    ),
    (
        "ACP525",
        run(with_facts("curves", final={"loss": [float("inf"), 2.0]})),
        [
            (
                "FIX accept.evidence date=2026-01-02 said=[accept.metric.missed(baseline=inf name=loss steps=9 "
                "target=2 within=1 %)] simulated=False @curves.json"
            )
        ],
    ),
]
