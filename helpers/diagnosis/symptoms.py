"""Checklists for a run that fails without an error: a symptom's known causes, each with the command that checks it.

The most frequent stand first. Sentences: `symptom.<symptom>.<cause>`, its hint the cure.
"""

from __future__ import annotations

from helpers.errors import WorkbookError
from helpers.finding import Finding, Status
from helpers.report import Column, Report, Table
from helpers.words import Scalar

_PROFILE = "ascend-workbook profile --out profile train.py && ascend-workbook analyse profile"
_COMPARE = "ascend-workbook compare runs/baseline runs/npu"
_DRY_RUN = "ascend-workbook dry-run --steps 20 train.py"

SYMPTOMS: dict[str, tuple[tuple[str, str], ...]] = {
    "slow": (
        ("fallback", "grep -c 'fall back to run on the CPU' train.log"),
        ("blocking", "env | grep -E 'TASK_QUEUE_ENABLE|ASCEND_LAUNCH_BLOCKING|PYTORCH_NO_NPU_MEMORY_CACHING'"),
        ("warm_up", _DRY_RUN),
        ("compiling", 'python -c "import torch, torch_npu; print(torch.npu.is_jit_compile_false())"'),
        ("synchronising", _PROFILE),
        ("loading", _PROFILE),
        ("host", "nproc; cat /sys/fs/cgroup/cpu.max; cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        ("binding", "npu-smi info -t topo; lscpu | grep NUMA; env | grep CPU_AFFINITY_CONF"),
        ("precision", "grep -nE 'autocast|bfloat16|allow_hf32' train.py"),
        ("copies", _PROFILE),
        ("communication", _PROFILE),
        ("neighbours", "npu-smi info"),
        ("logging", "env | grep -E 'ASCEND_GLOBAL_LOG_LEVEL|ASCEND_SLOG_PRINT_TO_STDOUT'"),
    ),
    "oom": (
        ("neighbours", "npu-smi info"),
        ("first_card", "grep -nE 'set_device|LOCAL_RANK' train.py"),
        ("kept_graph", "grep -nE '(\\+=|append\\().*loss' train.py"),
        ("evaluation", "grep -nE 'no_grad|inference_mode' train.py"),
        ("batch", _DRY_RUN),
        ("full_precision", "grep -nE 'autocast|bfloat16|\\.half\\(' train.py"),
        ("fragments", "env | grep PYTORCH_NPU_ALLOC_CONF"),
        ("hccl_buffers", "env | grep HCCL_BUFFSIZE; grep -n new_group train.py"),
        ("optimizer", 'python -c "import torch, torch_npu; print(torch.npu.memory_summary())"'),
        ("host_memory", "free -g; df -h /dev/shm; dmesg | grep -i oom"),
    ),
    "nan": (
        ("half_overflow", "grep -nE 'GradScaler|autocast|float16|\\.half\\(' train.py"),
        ("scale", "grep -inE 'loss scale|overflow|skipp' train.log"),
        ("script", _DRY_RUN),
        ("operator", _COMPARE),
        ("data", "python -c \"import torch; print(torch.isfinite(torch.load('batch.pt')).all())\""),
        ("domain", "grep -nE 'log\\(|sqrt\\(|/ ?\\(|softmax\\(|1e-' train.py"),
        ("index", "ASCEND_LAUNCH_BLOCKING=1 python train.py"),
        ("race", "grep -nE 'non_blocking|npu.Stream|cuda.Stream|record_stream' train.py"),
        ("empty", "grep -nE 'torch\\.empty|new_empty' train.py"),
        ("infinities", "env | grep INF_NAN_MODE_ENABLE"),
        ("reduction", "grep -nE 'all_reduce|reduce_scatter' train.py"),
    ),
    "differs": (
        ("seeds", "grep -nE 'manual_seed|seed_everything|random.seed' train.py"),
        ("dropout", "grep -nE '[Dd]ropout' train.py"),
        ("order", "grep -nE 'shuffle|sampler|worker_init_fn' train.py"),
        ("weights", _COMPARE),
        ("settings", "grep -nE 'batch_size|accum|world_size|lr *=' train.py"),
        ("reduced_matmul", "grep -nE 'allow_tf32|allow_hf32|float32_matmul_precision' train.py"),
        ("float64", "ascend-workbook scan train.py"),
        ("amp", "grep -nE 'autocast|GradScaler|amp' train.py"),
        ("nondeterministic", "grep -n use_deterministic_algorithms train.py; env | grep HCCL_DETERMINISTIC"),
        ("operator", _COMPARE),
        ("noise", "ascend-workbook curves runs/baseline runs/npu"),
        ("fused", "grep -nE 'fused=True|npu_fused|apex' train.py"),
    ),
}
COLUMNS = (Column("number"), Column("cause", wrap=50), Column("command", wrap=60), Column("fix", wrap=50))


def checklist(symptom: str) -> Report:
    """The known causes of a symptom as a report. Raises WorkbookError for a symptom that has no list."""
    causes = SYMPTOMS.get(symptom)
    if causes is None:
        raise WorkbookError("explain.symptom_unknown", symptom=symptom, known=list(SYMPTOMS))
    rows: list[tuple[Scalar, ...]] = []
    for number, (name, command) in enumerate(causes, 1):
        key = f"symptom.{symptom}.{name}"
        rows.append((number, {"say": key}, command, {"say": f"{key}.fix"}))
    args: dict[str, Scalar] = {"count": len(causes), "symptom": {"say": f"symptom.{symptom}"}}
    found = Finding("EXP010", Status.NOTE, "EXP010.checklist", args)
    facts = {"symptom": symptom, "commands": [command for _, command in causes]}
    return Report("environment", "explain_symptom", (found,), Table(COLUMNS, tuple(rows)), facts=facts)
