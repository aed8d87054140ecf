"""Reads Python, its packages, this process's variables and the device tier; torch only in child processes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ascend_workbook.environment.machine import Chosen, Import, Python
from ascend_workbook.environment.system import System, Told, Untold
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.machine import device

IMPORT_TIMEOUT_S = 120.0
#: What a report may quote. Only names in this list are ever read, so that no key or token gets into a report.
VARIABLES = (
    "ASCEND_HOME_PATH",
    "ASCEND_TOOLKIT_HOME",
    "ASCEND_OPP_PATH",
    "ASCEND_AICPU_PATH",
    "ASCEND_RT_VISIBLE_DEVICES",
    "ASCEND_VISIBLE_DEVICES",
    "ASCEND_LAUNCH_BLOCKING",
    "ASCEND_GLOBAL_LOG_LEVEL",
    "ASCEND_SLOG_PRINT_TO_STDOUT",
    "ASCEND_PROCESS_LOG_PATH",
    "ASCEND_DEVICE_ID",
    "ASCEND_WORKBOOK_SIMULATED",
    "ATB_HOME_PATH",
    "TASK_QUEUE_ENABLE",
    "CPU_AFFINITY_CONF",
    "COMBINED_ENABLE",
    "PYTORCH_NPU_ALLOC_CONF",
    "INF_NAN_MODE_ENABLE",
    "TORCH_DEVICE_BACKEND_AUTOLOAD",
    "TORCH_NPU_DISABLED_WARNING",
    "OMP_NUM_THREADS",
    "CUDA_VISIBLE_DEVICES",
    "HCCL_CONNECT_TIMEOUT",
    "HCCL_EXEC_TIMEOUT",
    "HCCL_IF_BASE_PORT",
    "HCCL_IF_IP",
    "HCCL_SOCKET_IFNAME",
    "HCCL_WHITELIST_DISABLE",
    "HCCL_DETERMINISTIC",
    "GLOO_SOCKET_IFNAME",
    "MASTER_ADDR",
    "MASTER_PORT",
    "RANK",
    "LOCAL_RANK",
    "WORLD_SIZE",
    "RANK_ID",
    "RANK_SIZE",
    "RANK_TABLE_FILE",
    "MA_NUM_HOSTS",
    "MA_NUM_GPUS",
    "MA_RUN_METHOD",
    "MA_VJ_NAME",
    "MA_TASK_NAME",
    "MA_HOME",
    "MA_JOB_DIR",
    "MA_MOUNT_PATH",
    "MA_LOG_DIR",
    "VC_TASK_INDEX",
    "VC_WORKER_NUM",
    "VC_WORKER_HOSTS",
    "LD_LIBRARY_PATH",
    "PYTHONPATH",
    "CONDA_DEFAULT_ENV",
    "VIRTUAL_ENV",
    "LANG",
    "LC_ALL",
)
#: Folders of these names in the working folder are imported instead of the packages.
SHADOWING = ("torch", "torch_npu", "te", "tbe", "apex", "acl", "hccl")


def allowed_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables a report may show."""
    return {name: environ[name] for name in VARIABLES if name in environ}


def read_start_variables(system: System) -> Told[dict[str, str]]:
    """Return the variables this process began with; later changes of os.environ do not reach the loader."""
    text = system.read_file("/proc/self/environ")
    if isinstance(text, Untold):
        return text
    return allowed_variables(dict(item.split("=", 1) for item in text.split("\0") if "=" in item))


def read_python(system: System, torch_import: Told[Import]) -> Python:
    """Read the interpreter that runs this, which is also the one children are started with."""
    version, executable = system.process.python_version()
    cwd = system.process.working_folder()
    return Python(
        version=version,
        executable=executable,
        packages=system.process.installed_packages(),
        torch_npu_folder=system.process.module_folder("torch_npu"),
        torch_import=torch_import,
        shadows=tuple(name for name in SHADOWING if (cwd / name).is_dir() or (cwd / f"{name}.py").is_file()),
        interactive=system.process.is_interactive(),
    )


def ask_torch_and_device(system: System, wanted: str) -> tuple[Told[Import], Chosen]:
    """Find out side by side whether `import torch` works as things stand, and which device tier is here.

    Where no torch_npu is in this environment and no NPU in question, one child answers both: importing torch is what
    the time goes into. Raises WorkbookError `device.unknown` for a word that names no tier.
    """
    if _one_child_is_enough(system, wanted):
        answer = system.process.ask_tier("cuda")
        if "cuda" in answer:
            chosen = choose_tier(wanted, lambda tier, python: _answer_for_tier(answer, tier, system))
            return Import(torch=answer["cpu"]["versions"]["torch"], cuda=answer["cuda"]), chosen
    with ThreadPoolExecutor(1) as pool:
        here = pool.submit(import_torch, system)
        chosen = choose_tier(wanted, lambda tier, python: system.process.ask_tier(tier))
        return here.result(), chosen


def _one_child_is_enough(system: System, wanted: str) -> bool:
    """Return whether this environment is also that of the tier's child, and the tier is CUDA or the CPU."""
    process, environ = system.process, system.environ
    if process.module_folder("torch_npu") or environ.get("ASCEND_WORKBOOK_SIMULATED"):
        return False
    return wanted in ("cuda", "cpu") or (
        wanted == "auto" and process.cannot_be("npu") and process.cannot_be("npu-simulated")
    )


def _answer_for_tier(answer: dict[str, Any], tier: str, system: System) -> dict[str, Any]:
    """Return the tier's part of the answer for cuda, which holds the CPU's too; the tiers above are ruled out without a
    child.
    """
    if tier == "cpu":
        cpu: dict[str, Any] = answer["cpu"]
        return cpu
    return answer if tier == "cuda" else system.process.ask_tier(tier)


def import_torch(system: System, *, timeout_s: float = IMPORT_TIMEOUT_S) -> Told[Import]:
    """Import torch in a child, in the environment as it stands: a broken torch_npu breaks it."""
    done = system.process.import_torch(system.environ, timeout_s)
    if done.timed_out:
        return Untold("untold.timeout", {"tool": "import torch", "seconds": f"{timeout_s:g}"})
    try:
        answer = json.loads(done.stdout.strip().splitlines()[-1])
        return Import(**{**answer, "chain": tuple(answer.get("chain", ()))})
    except (ValueError, IndexError, TypeError):
        why = f"signal {-done.code}" if done.code < 0 else done.last_error
        return Import(ok=False, error=why, chain=(why,))


def choose_tier(wanted: str, ask: device.Ask | None = None) -> Chosen:
    """Choose the device tier. Raises WorkbookError `device.unknown` for a word that names none."""
    try:
        tier_found = device.find(wanted, ask=ask)
    except WorkbookError as error:
        if error.key != "device.absent":
            raise
        why = error.arguments["why"]
        return Chosen(wanted, "", count=0, why=why if isinstance(why, Sentence) else None)
    return Chosen(wanted, tier_found.tier, tier_found.name, tier_found.count, tier_found.versions, tier_found.why_not)
