"""The corpus that the judgement of several ranks is held to: `python -m tests.precision.ranks.corpus FOLDER HALF
[DEVICE]`, where HALF is working, held, further-working, further-held, or a number: a seed that draws faults and healthy
pairs of all of them, with weights and data of its own.

Trainings of scripts/ divided in the ways that torch and people divide them, against one process, healthy and with
faults; labels stand in LABELS, written from how each fault was planted. Half of the cases was looked at while the judge
was written, the other half is drawn by SEED from the rest, with other weights and data. The further cases are other
models with other faults, halved by FURTHER: their held half has kinds of faults that the other does not have. On
DEVICE npu-simulated the divided side runs there, with HCCL and the rounding of the hardware."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.precision.compare import compare

SCRIPTS = Path(__file__).parent / "scripts"
SEED, HELD, FURTHER = 20261128, 32, 20261301
#: What was drawn anew on the simulated NPU, written down before it ran.
DRAWN = (1956791786,)
HEALTHY = ""
#: What a fault's first finding must be, by the beginning of its key; what has a rank to name must name rank 1.
LABELS: dict[str, tuple[str, ...]] = {
    "missing_reduce": ("ACC221.copies_gradient",),
    "order": ("ACC224.order_names",),
    "bf16_reduce": ("ACC222.reduced_coarse", "ACC226.coarse", "ACC237.changed", "ACC230"),
    "max": ("ACC237.changed_one",),
    "sum_for_mean": ("ACC222.reduced_factor", "ACC237.changed_factor"),
    "no_broadcast": ("ACC221.copies_weight",),
    "stale_weights": ("ACC221.copies_weight",),
    "data_repeated": ("ACC227.repeated",),
    "faulty_operator": ("ACC225.copy", "ACC230"),
    "loss_scaled": ("ACC230", "ACC237.gradient_factor"),
    "missing_row_reduce": ("ACC225.partial",),
    "missing_backward_reduce": ("ACC221.copies_gradient",),
    "gather_order": ("ACC230",),
    "shards_swapped": ("ACC205.weights",),
    "misrouted": ("ACC230", "ACC237.gradient"),
    "vocabulary_offset": ("ACC225", "ACC230"),
    "missing_gather": ("ACC225", "ACC230"),
    "dropout_seed": ("ACC225.copy",),
    "own_norm": ("ACC221.copies_gradient", "ACC237.clip", "ACC237.changed"),
    "wrong_group": ("ACC225", "ACC230"),
    "norm_not_reduced": ("ACC221.copies_gradient",),
    "summed_twice": ("ACC230", "ACC237.gradient"),
    "never_synchronised": ("ACC221.copies_gradient",),
    "undivided": ("ACC230", "ACC237.gradient_factor"),
    "halved_weights": ("ACC221.copies_weight",),
    "divided_twice": ("ACC237.changed_factor", "ACC237.changed_read_factor"),
    "scaled_rate": ("ACC205", "ACC237.rate"),
    "stale_buffer": ("ACC237.buffer",),
    "unequal_batches": ("ACC222", "ACC230", "ACC237.gradient"),
    "resumed_elsewhere": ("ACC204", "ACC205", "ACC227.other"),
    "wrong_owner": ("ACC237.parameters", "ACC237.restored", "ACC237.skipped", "ACC237.update"),
    "state_offset": ("ACC237.restored", "ACC237.rule", "ACC237.update"),
    "old_activation": ("ACC223", "ACC230", "ACC237.gradient"),
    "gradient_doubled": ("ACC230", "ACC237.gradient"),
}
NAMES_RANK = ("faulty_operator", "data_repeated", "stale_weights", "no_broadcast", "halved_weights")
#: The further cases: ways, ranks, faults.
WAYS = {
    "tp": (2, "vocabulary_offset missing_gather dropout_seed own_norm"),
    "tp_dp": (4, "wrong_group own_norm"),
    "sequence": (2, "norm_not_reduced summed_twice scaled_rate"),
    "gru": (2, "never_synchronised undivided halved_weights divided_twice"),
    "centred": (2, "stale_buffer unequal_batches divided_twice resumed_elsewhere halved_weights"),
    "owners": (2, "wrong_owner state_offset scaled_rate"),
    "stages": (2, "old_activation gradient_doubled"),
}
ON_NPU = ("--device", "npu-simulated", "--numerics", "ascend")


@dataclass(frozen=True)
class Case:
    """One training: script, way, fault (none: healthy), model, ranks, seed of its weights and data."""

    script: str
    way: str
    fault: str
    model: str
    ranks: int
    seed: int
    device: str = "baseline"

    @property
    def name(self) -> str:
        where = "" if self.device == "baseline" else f"{self.device}-"
        script = Path(self.script).stem  # two of them have a way of the same name
        return f"{where}{script}-{self.way}-{self.fault or 'healthy'}-{self.model or 'own'}-{self.ranks}-{self.seed}"

    @property
    def draws(self) -> str:
        """Where random numbers are drawn: two devices draw other masks."""
        return "host" if self.script == "further.py" and self.way == "tp" else "device"

    @property
    def arguments(self) -> list[str]:
        last = [self.model, str(self.seed)] if self.script == "train.py" else [str(self.seed)]
        return [self.way, self.fault, *last]

    @property
    def whole(self) -> Case:
        """The same training on one process."""
        way = "one" if self.script == "train.py" else self.way
        return Case(self.script, way, "", self.model, 1, self.seed)


def list_cases(seed: int) -> list[Case]:
    """All cases, in order."""
    ddp = "sum_for_mean no_broadcast data_repeated stale_weights faulty_operator loss_scaled bf16_reduce"
    faults = {
        "ddp": ddp,
        "hand": "missing_reduce order bf16_reduce max sum_for_mean",
        "fsdp2": "data_repeated loss_scaled",
    }
    cases = []
    for model in ("mlp", "gpt", "conv"):
        for way in ("ddp", "ddp_strided", "hand", "fsdp2", "zero"):
            for fault in ("", *faults.get(way, "").split()):
                cases.append(Case("train.py", way, fault, model, 2, seed))
    own = "missing_row_reduce missing_backward_reduce gather_order faulty_operator stale_weights shards_swapped"
    for way, planted in (("tp", f"{own} bf16_reduce"), ("ep", "misrouted missing_row_reduce"), ("dtensor", "")):
        for fault in ("", *planted.split()):
            cases.append(Case("parallel.py", way, fault, "", 2, seed))
    cases += [Case("parallel.py", way, "", "", 4, seed) for way in ("tp", "ep")]
    return cases


def list_further() -> list[Case]:
    """The further cases of both halves, each with its half's weights and data."""
    cases = [
        Case("further.py", way, fault, "", ranks, 0)
        for way, (ranks, faults) in WAYS.items()
        for fault in ("", *faults.split())
    ]
    return random.Random(FURTHER).sample(cases, len(cases))


def draw_anew(seed: int, faults: int = 12, healthy: int = 8) -> list[Case]:
    """So many cases with a fault and without, by a seed that their weights and data come from too."""
    draw = random.Random(seed)
    cases = [replace(case, seed=seed % 10_000) for case in (*list_cases(0), *list_further())]
    pools = ([case for case in cases if case.fault], [case for case in cases if not case.fault])
    return [case for pool, count in zip(pools, (faults, healthy)) for case in draw.sample(pool, count)]


def draw_cases(half: str) -> list[Case]:
    """The cases of a half, or of a seed."""
    if half.isdigit():
        return draw_anew(int(half))
    if half.startswith("further-"):
        cases = list_further()
        middle = len(cases) // 2
        return cases[:middle] if half == "further-working" else [replace(case, seed=7) for case in cases[middle:]]
    if half == "held":
        return random.Random(SEED).sample(list_cases(7), HELD)
    return random.Random(SEED + 1).sample(list_cases(0), HELD)


def capture_case(folder: Path, case: Case) -> Path:
    """Capture a case, once."""
    out = folder / case.name
    if not (out / "capture.json").is_file():
        command = [sys.executable, "-m", "ascend_workbook", "capture", "--no-estimate", "--nproc", str(case.ranks)]
        command += ON_NPU if case.device == "npu-simulated" else ("--device", "baseline")
        command += ["--draws", case.draws, "--steps", "2", "--dump-steps", "0,1", "--force", "--out", str(out)]
        command += [str(SCRIPTS / case.script), "--", *case.arguments]
        # torch 2.13's broadcast asks for it under transfer_to_npu
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "TORCH_NPU_DEVICE_CAPABILITY": "8.0"}
        subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    return out


def judge_case(case: Case, report: Report) -> str:
    """Return right, near (the right finding, not first), wrong or missed; flagged of a healthy one."""
    ordered = sorted(report.findings, key=lambda finding: (-finding.status, -finding.weight))
    told = [finding for finding in ordered if finding.status >= Status.LOOK and finding.rule != "ACC206"]
    if not case.fault:
        return "flagged" if told else "right"
    if not told:
        return "missed"
    fits = [finding for finding in told if finding.key.startswith(LABELS[case.fault])]
    ranks = [finding.args.get("ranks") for finding in told]
    if case.fault in NAMES_RANK and [1] not in ranks:
        return "near" if fits else "wrong"
    return "right" if fits and fits[0] is told[0] else "near" if fits else "wrong"


def main() -> None:
    """Run a half and print what became of each case."""
    folder, half, device = Path(sys.argv[1]), sys.argv[2], (*sys.argv[3:], "baseline")[0]
    folder.mkdir(parents=True, exist_ok=True)
    counts: dict[tuple[bool, str], int] = {}
    for case in (replace(case, device=device) for case in draw_cases(half)):
        try:
            report = compare(capture_case(folder, case.whole), capture_case(folder, case), replaying=False)
        except (OSError, subprocess.SubprocessError, WorkbookError) as error:
            print("not run", case.name, str(error)[-200:], flush=True)
            continue
        outcome = judge_case(case, report)
        counts[bool(case.fault), outcome] = counts.get((bool(case.fault), outcome), 0) + 1
        ordered = sorted(report.findings, key=lambda finding: (-finding.status, -finding.weight))
        keys = [finding.key for finding in ordered if finding.rule != "ACC206"][:4]
        print(outcome, case.name, *keys, flush=True)
    for (faulty, outcome), count in sorted(counts.items()):
        print("fault" if faulty else "healthy", outcome, count)


if __name__ == "__main__":
    main()
