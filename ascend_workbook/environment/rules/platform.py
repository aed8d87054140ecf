"""Where it runs: a container, its mounts, ModelArts."""

from __future__ import annotations

from collections.abc import Iterator

from ascend_workbook.environment.machine import Machine
from ascend_workbook.environment.system import Args
from ascend_workbook.findings.finding import Finding, Status

GROUP = "platform"


def check_container(machine: Machine) -> Iterator[Finding]:
    """ENV090: in a container the driver is the host's: its files and device files must be passed in.

    Source: https://www.hiascend.com/document (Ascend Docker Runtime): /usr/local/Ascend/driver, npu-smi, /dev/davinci*.
    """
    kind, hardware = machine.host.container, machine.hardware
    if not kind:
        return
    if machine.needs_npu and not hardware.driver_installed:
        yield Finding("ENV090", Status.FIX, "ENV090.no_driver", {"kind": kind})
    else:
        yield Finding("ENV090", Status.GOOD, "ENV090.ok", {"kind": kind})


def check_modelarts(machine: Machine) -> Iterator[Finding]:
    """ENV091: ModelArts, told by its MA_* variables; what its preset images do differently.

    With the preset engine ("RTF") the boot file is started once per card: calling torchrun in it starts N x N
    processes. Source: https://support.huaweicloud.com (ModelArts, Ascend PyTorch boot modes; MA_RUN_METHOD).
    """
    environ = machine.environ
    if not any(name.startswith("MA_") for name in environ):
        return
    if "MA_VJ_NAME" not in environ:
        yield Finding("ENV091", Status.NOTE, "ENV091.notebook", {})
        return
    args: Args = {"cards": environ.get("MA_NUM_GPUS") or "?", "method": environ.get("MA_RUN_METHOD") or "rtf"}
    args["hosts"] = environ.get("MA_NUM_HOSTS") or environ.get("VC_WORKER_NUM") or "?"
    rtf = str(args["method"]).lower() == "rtf" and "RANK_TABLE_FILE" in environ
    yield Finding("ENV091", Status.NOTE, "ENV091.rtf" if rtf else "ENV091.job", args)


def check_mounts(machine: Machine) -> Iterator[Finding]:
    """ENV092: what was mounted into a container is what it should be. Docker makes an empty *folder* where the host
    lacks the source of a -v: npu-smi becomes a folder, the driver an empty one.

    Source: https://github.com/vllm-project/vllm-ascend/issues/2698
    """
    hardware = machine.hardware
    args: Args = {"npu_smi": hardware.npu_smi_folder, "driver": hardware.driver_empty}
    if hardware.driver_empty:
        yield Finding("ENV092", Status.FIX if machine.needs_npu else Status.LOOK, "ENV092.driver", args)
    if hardware.npu_smi_folder:
        yield Finding("ENV092", Status.LOOK, "ENV092.npu_smi", args)


RULES = {"ENV090": check_container, "ENV091": check_modelarts, "ENV092": check_mounts}
