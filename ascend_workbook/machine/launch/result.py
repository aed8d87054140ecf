"""What a launch came to, and gpulog.json read back and checked."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.machine.sandbox import Account

SCHEMA = "ascend-workbook/gpulog/1"
STATUSES = ("running", "finished", "stopped_after", "failed")


@dataclass(frozen=True)
class Step:
    """One training step. `step` counts from 1; a value that was not measured is None.

    loss: see ascend_workbook.machine.launch; lr: of the first parameter group before the update; grad_norm: L2, before
    the update; time_s: since the end of the step before (the first: since the first forward); updates: one entry per
    optimiser where a step has several.
    """

    step: int
    loss: float | None
    lr: float | None
    grad_norm: float | None
    time_s: float
    micro_batches: int = 1
    updates: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True)
class RunLog:
    """What one process did. A log whose process was killed has the status `running` and is not complete."""

    path: Path
    status: str
    meta: Mapping[str, Any]
    steps: tuple[Step, ...]
    skipped_steps: int = 0
    notes: tuple[Mapping[str, Any], ...] = ()
    error: Mapping[str, Any] | None = None
    #: How many steps there were, where they were counted and not listed too.
    steps_done: int = 0

    @property
    def complete(self) -> bool:
        return self.status in ("finished", "stopped_after")

    @property
    def losses(self) -> list[float | None]:
        return [step.loss for step in self.steps]

    @classmethod
    def load_log(cls, path: Path) -> RunLog:
        """Read a log. Raises `launch.log_unreadable` where the file is absent, broken or of another schema."""
        try:
            if path.is_symlink() or (path.exists() and not path.is_file()):
                raise ValueError("it is no regular file")  # the script may have put a link or a pipe there
            content = json.loads(path.read_text(encoding="utf-8"))
            if content["schema"] != SCHEMA:
                raise ValueError(f"schema {content['schema']!r}, expected {SCHEMA!r}")
            if content["status"] not in STATUSES:
                raise ValueError(f"status {content['status']!r}, expected one of {STATUSES}")
            steps = tuple(_make_step(entry) for entry in content["steps"])
            if [step.step for step in steps] != list(range(1, len(steps) + 1)):
                raise ValueError("steps are not numbered 1, 2, 3, ...")
            status, meta, notes = content["status"], content["meta"], tuple(content["notes"])
            done = len(steps) or int(content.get("steps_done", 0))
            return cls(path, status, meta, steps, content["skipped_steps"], notes, content["error"], done)
        except (OSError, ValueError, KeyError, TypeError) as error:
            why = f"{type(error).__name__}: {error}"
            raise WorkbookError("launch.log_unreadable", path=str(path), why=why) from error


def _make_step(entry: Mapping[str, Any]) -> Step:
    updates = tuple({**update, **_read_numbers(update)} for update in entry.get("updates", ()))
    step, time_s, micro_batches = int(entry["step"]), float(entry["time_s"]), int(entry["micro_batches"])
    return Step(step, **_read_numbers(entry), time_s=time_s, micro_batches=micro_batches, updates=updates)


def _read_numbers(entry: Mapping[str, Any]) -> dict[str, float | None]:
    """Return an entry's numbers; "nan", "inf" and "-inf" are written as strings, as JSON has no such numbers."""
    return {name: None if entry[name] is None else float(entry[name]) for name in ("loss", "lr", "grad_norm")}


def join_simulator_parts(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Join what logs, manifests and records say of the simulator in their part `simulator`."""
    simulators: list[dict[str, Any]] = [part["simulator"] for part in parts if part.get("simulator")]
    if not simulators:
        return {}
    fallbacks: Counter[str] = Counter()
    for simulator in simulators:
        fallbacks.update(simulator["fallbacks"])
    return {
        "numerics": "ascend" if any(simulator["numerics"] == "ascend" for simulator in simulators) else "cpu",
        "faults": list(dict.fromkeys(fault for simulator in simulators for fault in simulator["faults"])),
        "fallbacks": dict(sorted(fallbacks.items())),
        "dtypes_unknown": sorted({name for each in simulators for name in each.get("dtypes_unknown", [])}),
    }


#: Notes of a run's log that name a difference from the script as it is, run on the CPU.
DIFFERENT = (
    *("own_stream", "side_assumed", "autocast_as_cuda", "compile_left_out", "matmul_precision_left_out"),
    *("host_draws", "dropout_removed", "attention_in_parts", "drew_on_device"),
)


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
    #: What an enclosed script tried outside its results; None where it ran as it is.
    account: Account | None = None

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
        return self._list_remarks()

    def _list_remarks(self, codes: Collection[str] = ()) -> list[Sentence]:
        """Return the notes of these codes, or all."""
        remarks: list[Sentence] = []
        for note in (note for log in self.logs for note in log.notes if not codes or note["code"] in codes):
            sentence = Sentence(f"launch.note.{note['code']}", **dict(note["args"]))
            if sentence not in remarks:
                remarks.append(sentence)
        return remarks

    @property
    def differences(self) -> list[Sentence]:
        """Return those remarks that say why numbers differ from those of the script as it is, run on the CPU."""
        return self._list_remarks(DIFFERENT)

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
