"""What can be asked of the profilers, by one set of names for NPU, CUDA and CPU.

torch_npu's checks are loose: a wrong name or a string for a boolean is a warning and a default, AI Core metrics at
level 0 and op_attr without a database are dropped (torch_npu/profiler/experimental_config.py, 2.13.0). What would be
dropped is refused here, or told before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.machine.device import Device
from ascend_workbook.machine.number_lists import parse_numbers

#: Our name -> torch_npu.profiler.AiCMetrics'
METRICS = {
    "none": "AiCoreNone",
    "pipe": "PipeUtilization",
    "arithmetic": "ArithmeticUtilization",
    "memory": "Memory",
    "memory-l0": "MemoryL0",
    "memory-ub": "MemoryUB",
    "conflict": "ResourceConflictRatio",
    "l2": "L2Cache",
    "memory-access": "MemoryAccess",
}
#: -> torch_npu.profiler.ExportType's
EXPORTS = {"text": ["Text"], "db": ["Db"], "both": ["Text", "Db"]}
LEVELS = (0, 1, 2)
SWITCHES = ("shapes", "memory", "lines", "stack", "flops", "modules", "l2_cache", "op_attr", "mstx", "simplify")
#: Options that torch.profiler has no like of, and the value that asks for nothing
NPU_ONLY: dict[str, object] = {
    "level": None,
    "metrics": None,
    "export": "text",
    "l2_cache": False,
    "op_attr": False,
    "mstx": False,
    "gc_ms": None,
    "simplify": True,
}
#: What the simulated NPU has no data for
NOT_SIMULATED = ("metrics", "l2_cache", "op_attr", "mstx")


@dataclass(frozen=True)
class Options:
    """`wait` steps without the profiler (their time is what its overhead is told by), `warmup` that are thrown away,
    then `steps` recorded. The schedule is never repeated: torch_npu keeps only one round. shapes, memory, stack,
    flops, modules: of the operators. lines: at which lines of the script the host is, looked at about every
    millisecond. On an NPU: level 0, 1 (default) or 2; metrics, one of METRICS (default: pipe, none at level 0);
    export: text, db or both; l2_cache; op_attr (needs a database); mstx marks; gc_ms: collections of Python's
    garbage that took at least so many milliseconds; simplify: False keeps the raw data. ranks: which to record ([0,
    3] or "0,3-5"; default: all). limit_mib: the most room on the disk the recording may need by its estimate
    (default: what is free, less a reserve)."""

    steps: int = 10
    warmup: int = 2
    wait: int = 3
    shapes: bool = True
    memory: bool = True
    lines: bool = True
    stack: bool = False
    flops: bool = False
    modules: bool = False
    level: int | None = None
    metrics: str | None = None
    export: str = "text"
    l2_cache: bool = False
    op_attr: bool = False
    mstx: bool = False
    gc_ms: float | None = None
    simplify: bool = True
    ranks: tuple[int, ...] | None = None
    limit_mib: int | None = None

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> Options:
        """Make checked options of names and values. Raises WorkbookError for a name or value that is none, and for what
        would be dropped unsaid."""
        known = [field.name for field in fields(cls)]
        for name in values:
            if name not in known:
                near = get_close_matches(name, known, 1, 0.4) or ["level"]
                raise WorkbookError("profiling.option_unknown", name=name, nearest=near[0])
        asked = values.get("ranks")
        ranks = None if asked is None else tuple(parse_numbers(asked, "ranks"))
        options = cls(**{**values, "ranks": ranks})
        options._check_values()
        if options.level == 0 and options.metrics not in (None, "none"):
            raise WorkbookError("profiling.metrics_level0", metrics=options.metrics)
        if options.op_attr and options.export == "text":
            raise WorkbookError("profiling.op_attr_text")
        return options

    @property
    def total(self) -> int:
        """Return how many steps must run."""
        return self.wait + self.warmup + self.steps

    def _check_values(self) -> None:
        for name, least in (("steps", 1), ("warmup", 1), ("wait", 0)):
            if type(getattr(self, name)) is not int or getattr(self, name) < least:
                raise WorkbookError("profiling.too_few", name=name, value=getattr(self, name), least=least)
        for name in SWITCHES:
            if type(getattr(self, name)) is not bool:
                raise WorkbookError("profiling.option_not_bool", name=name, value=repr(getattr(self, name)))
        for name, known in (("level", (None, *LEVELS)), ("metrics", (None, *METRICS)), ("export", tuple(EXPORTS))):
            value = getattr(self, name)
            if value not in known or isinstance(value, bool):
                expected: list[Scalar] = [str(choice) for choice in known if choice is not None]
                raise WorkbookError("profiling.option_value", name=name, value=repr(value), expected=expected)
        if self.gc_ms is not None and (isinstance(self.gc_ms, (bool, str)) or self.gc_ms < 0):
            raise WorkbookError("profiling.option_value", name="gc_ms", value=repr(self.gc_ms), expected=[">= 0"])

    def check_ranks(self, nproc: int) -> None:
        """Raise WorkbookError where a rank is asked for that does not run."""
        wrong = [rank for rank in self.ranks or () if not 0 <= rank < nproc]
        if wrong or self.ranks == ():
            raise WorkbookError("profiling.no_such_rank", rank=wrong, last=nproc - 1)

    def recorded_ranks(self, nproc: int) -> list[int]:
        """Return the ranks to record, all where none is named."""
        return sorted(set(self.ranks)) if self.ranks is not None else list(range(nproc))


def list_remarks(options: Options, device: Device) -> list[tuple[str, dict[str, Scalar]]]:
    """Return what the device's profiler makes of the options that is not what they say: (key, arguments) of sentences.
    Raises WorkbookError where nothing would come at all."""
    notes: list[tuple[str, dict[str, Scalar]]] = []
    asked = [name for name, nothing in NPU_ONLY.items() if getattr(options, name) != nothing]
    if device.simulated and options.export != "text":  # CANN's own exporter writes it; torch_npu then parses nothing
        raise WorkbookError("profiling.simulated_db", export=options.export)
    names: list[Scalar] = list(asked)
    if asked and device.accelerator != "npu":
        notes.append(("PRF300.ignored", {"names": names, "tier": device.tier}))
    absent: list[Scalar] = [name for name in asked if name in NOT_SIMULATED]
    if absent and device.simulated:
        notes.append(("PRF300.not_simulated", {"names": absent}))
    if options.flops and device.accelerator == "npu":
        notes.append(("PRF300.no_flops", {}))
    if options.modules and not options.stack and device.accelerator != "npu":
        notes.append(("PRF300.modules", {}))
    return notes


def for_child(options: Options, accelerator: str, folder: str) -> dict[str, Any]:
    """Return the JSON that child/profiler_plugin.py reads."""
    level = 1 if options.level is None else options.level
    metrics = options.metrics or ("pipe" if level else "none")
    npu = {
        "profiler_level": f"Level{level}",
        "aic_metrics": METRICS[metrics],
        "export_type": EXPORTS[options.export],
        "l2_cache": options.l2_cache,
        "op_attr": options.op_attr,
        "mstx": options.mstx,
        "data_simplification": options.simplify,
        "gc_detect_threshold": options.gc_ms,
    }
    # torch.profiler takes with_modules and records none of an eager model's; its call stacks hold the modules
    stack = options.stack or (options.modules and accelerator != "npu")
    what = {
        "record_shapes": options.shapes,
        "profile_memory": options.memory,
        "with_stack": stack,
        "with_flops": options.flops,
        "with_modules": options.modules,
    }
    ranks = None if options.ranks is None else list(options.ranks)
    schedule = {"wait": options.wait, "warmup": options.warmup, "steps": options.steps}
    more = {"ranks": ranks, "lines": options.lines, "limit_mib": options.limit_mib}
    return {"accelerator": accelerator, "folder": folder, **schedule, "what": what, "npu": npu, **more}
