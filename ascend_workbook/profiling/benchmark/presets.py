"""Settings worth a trial, by a name each: what they set, and where they can act at all.

Sources: PYTORCH_NPU_ALLOC_CONF, MULTI_STREAM_MEMORY_REUSE, TASK_QUEUE_ENABLE and CPU_AFFINITY_CONF in
https://www.hiascend.com/document/detail/zh/Pytorch/710/comref/Envvariables/Envir_011.html and its neighbours; HCCL's in
https://www.hiascend.com/document/detail/en/canncommercial/850/commlib/hcclug/hcclug_000076.html; the collector of
Python: https://docs.python.org/3/library/gc.html."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine.device import Device
from ascend_workbook.profiling.benchmark.configurations import Configuration

PRELOAD = "LD_PRELOAD"
#: Where distributions and conda put libraries
PLACES = ("/usr/lib", "/usr/lib64", "/usr/local/lib", "/opt/homebrew/lib", f"{sys.prefix}/lib")


@dataclass(frozen=True)
class Preset:
    """`values`: what each of its trials sets, environment variables or (`child`) what the run's plugin does. `needs`:
    npu (a real one), accelerator, ranks (several processes on an NPU), library (its file, `library`), or nothing."""

    values: tuple[Mapping[str, str], ...] = ()
    child: tuple[Mapping[str, Scalar], ...] = ()
    needs: str = ""
    library: str = ""


def _of(variable: str, *values: str) -> tuple[Mapping[str, str], ...]:
    return tuple({variable: value} for value in values)


PRESETS: dict[str, Preset] = {
    "task-queue": Preset(_of("TASK_QUEUE_ENABLE", "1", "2"), needs="npu"),
    "expandable-segments": Preset(_of("PYTORCH_NPU_ALLOC_CONF", "expandable_segments:True"), needs="npu"),
    "allocator-gc": Preset(_of("PYTORCH_NPU_ALLOC_CONF", "garbage_collection_threshold:0.8"), needs="npu"),
    "max-split": Preset(_of("PYTORCH_NPU_ALLOC_CONF", "max_split_size_mb:128"), needs="npu"),
    "stream-memory": Preset(_of("MULTI_STREAM_MEMORY_REUSE", "0", "1"), needs="npu"),
    "memory-fraction": Preset(child=({"memory_fraction": 0.9},), needs="accelerator"),
    "hccl-buffer": Preset(_of("HCCL_BUFFSIZE", "120", "400"), needs="ranks"),
    "cpu-affinity": Preset(_of("CPU_AFFINITY_CONF", "1", "2"), needs="npu"),
    "python-gc": Preset(child=({"gc_threshold": 100_000}, {"gc_threshold": 0})),
    "jemalloc": Preset(needs="library", library="libjemalloc.so*"),
    "tcmalloc": Preset(needs="library", library="libtcmalloc*.so*"),
}
#: Variables that act in the same places as a preset's
NEEDS = {variable: preset.needs for preset in PRESETS.values() for value in preset.values for variable in value}


@dataclass(frozen=True)
class Trial:
    """One setting beside the script as it is; `refused`: why it is not run here, None where it is."""

    configuration: Configuration
    refused: Sentence | None = None
    lines: tuple[str, ...] = field(default=())


def trials_of_presets(names: list[str], device: Device, nproc: int) -> list[Trial]:
    """Return the trials of these presets, of all for `all`. Raises WorkbookError for a name that is none."""
    known = [*PRESETS, "all"]
    unknown = next((name for name in names if name not in known), None)
    if unknown is not None:
        raise WorkbookError("benchmark.no_preset", given=unknown, known=known)
    wanted = list(PRESETS) if "all" in names else list(dict.fromkeys(names))
    return [trial for name in wanted for trial in _trials_of(name, PRESETS[name], device, nproc)]


def _trials_of(name: str, preset: Preset, device: Device, nproc: int) -> list[Trial]:
    """Return a trial for each value of a preset."""
    if preset.library:
        library = find_library(preset.library)
        if library is None:
            refused = Sentence("benchmark.trial.no_library", library=name)
            return [Trial(Configuration(name, {"preset": name}), refused)]
        return [_trial_of_environment(name, {PRELOAD: str(library)}, None)]
    refused_here = find_refusal(preset.needs, device, nproc)
    trials = [_trial_of_environment(name, values, refused_here) for values in preset.values]
    return trials + [_trial_of_child(name, settings, refused_here) for settings in preset.child]


def _trial_of_environment(name: str, values: Mapping[str, str], refused: Sentence | None) -> Trial:
    title = ", ".join(f"{variable}={value}" for variable, value in values.items())
    settings: dict[str, Scalar] = {"preset": name, **values}
    return Trial(Configuration(title, settings, environment=dict(values)), refused)


def _trial_of_child(name: str, settings: Mapping[str, Scalar], refused: Sentence | None) -> Trial:
    title = ", ".join(f"{setting}={value}" for setting, value in settings.items())
    return Trial(Configuration(title, {"preset": name, **settings}, child=dict(settings)), refused)


def find_refusal(needs: str, device: Device, nproc: int) -> Sentence | None:
    """Return why a setting that needs this cannot act here, None where it can."""
    if needs in ("npu", "ranks") and device.tier != "npu":
        return Sentence("benchmark.trial.simulated" if device.simulated else "benchmark.trial.no_npu", tier=device.tier)
    if needs == "ranks" and nproc < 2:
        return Sentence("benchmark.trial.one_process")
    if needs == "accelerator" and device.accelerator == "cpu":
        return Sentence("benchmark.trial.no_accelerator")
    return None


def find_library(pattern: str) -> Path | None:
    """Return the library of this name in the usual places, or None."""
    for place in map(Path, PLACES):
        libraries = sorted([*place.glob(pattern), *place.glob(f"*-linux-gnu/{pattern}")])
        if libraries:
            return libraries[0]
    return None


def lines_to_copy(configuration: Configuration) -> list[str]:
    """Return the lines that make a setting one's own: for a shell, and for the script what no variable sets."""
    lines = [f"export {name}={value}" for name, value in configuration.environment.items() if value]
    lines += [f"unset {name}" for name, value in configuration.environment.items() if not value]
    fraction, threshold = (configuration.child.get(name) for name in ("memory_fraction", "gc_threshold"))
    if fraction is not None:
        lines.append(f"torch.npu.set_per_process_memory_fraction({fraction})  # torch.cuda on a GPU")
    if threshold is not None:
        lines.append(f"import gc; gc.set_threshold({threshold}, 50, 50)" if threshold else "import gc; gc.disable()")
    if configuration.args:
        lines.append(" ".join(configuration.args))
    return lines
