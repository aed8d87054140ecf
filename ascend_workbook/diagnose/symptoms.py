"""Checklists for a run that fails without an error: a symptom's known causes, each with the command that checks it.

The most frequent stand first. Each is a sentence (locale/symptoms.toml), its hint the cure.
"""

from __future__ import annotations

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.sentence import NextStep, Scalar, Sentence

_PROFILE = "ascend-workbook profile --out profile train.py && ascend-workbook analyse profile"
_COMPARE = "ascend-workbook compare runs/baseline runs/npu"
_DRY_RUN = "ascend-workbook dry-run --steps 20 train.py"

SYMPTOMS: dict[str, tuple[tuple[str, str], ...]] = {
    "slow": (
        ("symptom.slow.fallback", "grep -c 'fall back to run on the CPU' train.log"),
        (
            "symptom.slow.blocking",
            "env | grep -E 'TASK_QUEUE_ENABLE|ASCEND_LAUNCH_BLOCKING|PYTORCH_NO_NPU_MEMORY_CACHING'",
        ),
        ("symptom.slow.warm_up", _DRY_RUN),
        ("symptom.slow.compiling", 'python -c "import torch, torch_npu; print(torch.npu.is_jit_compile_false())"'),
        ("symptom.slow.synchronising", _PROFILE),
        ("symptom.slow.loading", _PROFILE),
        (
            "symptom.slow.host",
            "nproc; cat /sys/fs/cgroup/cpu.max; cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
        ),
        ("symptom.slow.binding", "npu-smi info -t topo; lscpu | grep NUMA; env | grep CPU_AFFINITY_CONF"),
        ("symptom.slow.precision", "grep -nE 'autocast|bfloat16|allow_hf32' train.py"),
        ("symptom.slow.copies", _PROFILE),
        ("symptom.slow.communication", _PROFILE),
        ("symptom.slow.neighbours", "npu-smi info"),
        ("symptom.slow.logging", "env | grep -E 'ASCEND_GLOBAL_LOG_LEVEL|ASCEND_SLOG_PRINT_TO_STDOUT'"),
    ),
    "oom": (
        ("symptom.oom.neighbours", "npu-smi info"),
        ("symptom.oom.first_card", "grep -nE 'set_device|LOCAL_RANK' train.py"),
        ("symptom.oom.kept_graph", "grep -nE '(\\+=|append\\().*loss' train.py"),
        ("symptom.oom.evaluation", "grep -nE 'no_grad|inference_mode' train.py"),
        ("symptom.oom.batch", _DRY_RUN),
        ("symptom.oom.full_precision", "grep -nE 'autocast|bfloat16|\\.half\\(' train.py"),
        ("symptom.oom.fragments", "env | grep PYTORCH_NPU_ALLOC_CONF"),
        ("symptom.oom.hccl_buffers", "env | grep HCCL_BUFFSIZE; grep -n new_group train.py"),
        ("symptom.oom.optimizer", 'python -c "import torch, torch_npu; print(torch.npu.memory_summary())"'),
        ("symptom.oom.host_memory", "free -g; df -h /dev/shm; dmesg | grep -i oom"),
    ),
    "nan": (
        ("symptom.nan.half_overflow", "grep -nE 'GradScaler|autocast|float16|\\.half\\(' train.py"),
        ("symptom.nan.scale", "grep -inE 'loss scale|overflow|skipp' train.log"),
        ("symptom.nan.script", _DRY_RUN),
        ("symptom.nan.operator", _COMPARE),
        ("symptom.nan.data", "python -c \"import torch; print(torch.isfinite(torch.load('batch.pt')).all())\""),
        ("symptom.nan.domain", "grep -nE 'log\\(|sqrt\\(|/ ?\\(|softmax\\(|1e-' train.py"),
        ("symptom.nan.index", "ASCEND_LAUNCH_BLOCKING=1 python train.py"),
        ("symptom.nan.race", "grep -nE 'non_blocking|npu.Stream|cuda.Stream|record_stream' train.py"),
        ("symptom.nan.empty", "grep -nE 'torch\\.empty|new_empty' train.py"),
        ("symptom.nan.infinities", "env | grep INF_NAN_MODE_ENABLE"),
        ("symptom.nan.reduction", "grep -nE 'all_reduce|reduce_scatter' train.py"),
    ),
    "differs": (
        ("symptom.differs.seeds", "grep -nE 'manual_seed|seed_everything|random.seed' train.py"),
        ("symptom.differs.dropout", "grep -nE '[Dd]ropout' train.py"),
        ("symptom.differs.order", "grep -nE 'shuffle|sampler|worker_init_fn' train.py"),
        ("symptom.differs.weights", _COMPARE),
        ("symptom.differs.settings", "grep -nE 'batch_size|accum|world_size|lr *=' train.py"),
        ("symptom.differs.reduced_matmul", "grep -nE 'allow_tf32|allow_hf32|float32_matmul_precision' train.py"),
        ("symptom.differs.float64", "ascend-workbook scan train.py"),
        ("symptom.differs.amp", "grep -nE 'autocast|GradScaler|amp' train.py"),
        (
            "symptom.differs.nondeterministic",
            "grep -n use_deterministic_algorithms train.py; env | grep HCCL_DETERMINISTIC",
        ),
        ("symptom.differs.operator", _COMPARE),
        ("symptom.differs.noise", "ascend-workbook curves runs/baseline runs/npu"),
        ("symptom.differs.fused", "grep -nE 'fused=True|npu_fused|apex' train.py"),
    ),
}
COLUMNS = (Column("number"), Column("cause", wrap=50), Column("command", wrap=60), Column("fix", wrap=50))


def make_checklist(symptom: str) -> Report:
    """Make a report of the known causes of a symptom. Raises WorkbookError for a symptom that has no list."""
    causes = SYMPTOMS.get(symptom)
    if causes is None:
        raise WorkbookError("explain.symptom_unknown", symptom=symptom, known=list(SYMPTOMS))
    rows: list[tuple[Scalar, ...]] = []
    for number, (key, command) in enumerate(causes, 1):
        rows.append((number, Sentence(key), command, NextStep(key)))
    args: dict[str, Scalar] = {"count": len(causes), "symptom": Sentence(f"symptom.{symptom}")}
    finding = Finding("EXP010", Status.NOTE, "EXP010.checklist", args)
    facts = {"symptom": symptom, "commands": [command for _, command in causes]}
    return Report("environment", "explain_symptom", (finding,), Table(COLUMNS, tuple(rows)), facts=facts)
