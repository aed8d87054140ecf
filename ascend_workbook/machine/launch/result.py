"""What a launch came to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.machine.launch.runlog import RunLog, Step


def join_simulator_parts(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Join what logs, manifests and records say of the simulator in their part "simulator."""
    simulators: list[dict[str, Any]] = [part["simulator"] for part in parts if part.get("simulator")]
    if not simulators:
        return {}
    fallbacks: Counter[str] = Counter()
    for simulator in simulators:
        fallbacks.update(simulator["fallbacks"])
    numerics = "ascend" if any(simulator["numerics"] == "ascend" for simulator in simulators) else "cpu"
    faults = dict.fromkeys(fault for simulator in simulators for fault in simulator["faults"])
    unknown = sorted({name for simulator in simulators for name in simulator.get("dtypes_unknown", [])})
    return {
        "numerics": numerics,
        "faults": list(faults),
        "fallbacks": dict(sorted(fallbacks.items())),
        "dtypes_unknown": unknown,
    }


@dataclass(frozen=True)
class Progress:
    """Told while the child runs: steps done, steps wanted (None: until it ends), the last loss, new output lines."""

    step: int
    steps: int | None
    loss: float | None
    lines: tuple[str, ...]


@dataclass(frozen=True)
class ChildError:
    """The child's last error. Where it died without a Python error `traceback` holds the end of its output."""

    type: str
    message: str
    path: str | None = None
    line: int | None = None
    traceback: tuple[str, ...] = ()


@dataclass(frozen=True)
class LaunchResult:
    """How it ended, and the logs.

    outcome: finished | stopped_after (the steps asked for) | failed | timeout | killed (by a signal)
    logs: one per process that trained, rank 0 first. trouble: what went wrong as a sentence for `say`, or None:
    it is also set where the script ran well but took no step.
    """

    outcome: str
    exit_code: int
    out: Path
    logs: tuple[RunLog, ...]
    elapsed_s: float
    error: ChildError | None = None
    trouble: Sentence | None = None
    standing_in: str | None = None
    log_losses: tuple[float, ...] = field(default=())

    @property
    def ok(self) -> bool:
        """Return whether it ended by itself or at the step asked for, and steps were seen."""
        return self.trouble is None

    @property
    def parameter_devices(self) -> list[str]:
        """Return where the trained parameters lay at the first update, over all ranks."""
        return sorted({str(name) for log in self.logs for name in log.meta.get("parameter_devices", ())})

    @property
    def steps(self) -> tuple[Step, ...]:
        """Return the steps of rank 0."""
        return self.logs[0].steps if self.logs else ()

    @property
    def losses(self) -> list[float | None]:
        """Return one loss per step of rank 0; with `loss_regex` what the output said."""
        return list(self.log_losses) if self.log_losses else [step.loss for step in self.steps]

    @property
    def remarks(self) -> list[Sentence]:
        """Return what the logs noted beside the steps, as sentences for `say`, each once."""
        remarks: list[Sentence] = []
        for note in (note for log in self.logs for note in log.notes):
            sentence = Sentence(f"launch.note.{note['code']}", **dict(note["args"]))
            if sentence not in remarks:
                remarks.append(sentence)
        return remarks

    @property
    def simulator(self) -> dict[str, Any]:
        """Return the facts of a run on the simulated NPU: numerics, faults on purpose, CPU fallbacks (calls by
        operator, all ranks), operators of unknown dtype support.

        {"numerics": "cpu", "faults": ["softmax@3:nan"], "fallbacks": {"aten::_linalg_det.result": 4},
        "dtypes_unknown": ["aten::as_strided_copy"]}; else empty.
        """
        return join_simulator_parts(log.meta for log in self.logs)

    @property
    def output_path(self) -> Path:
        """Return the file with everything the child printed, stdout and stderr in order."""
        return self.out / "output.log"
