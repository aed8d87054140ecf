"""A machine with another version supposed: the rules judge the facts, and the machine itself is left as it is."""

from __future__ import annotations

import pytest

from ascend_workbook.environment.machine import Chosen, Hardware, Host, Machine, Python
from ascend_workbook.environment.readiness import report_on
from ascend_workbook.findings.finding import Status
from course.lessons.supposed import supposed

HERE = Machine(
    Host(
        system="Linux",
        distribution="Ubuntu 22.04",
        kernel="5.15.0",
        arch="aarch64",
        glibc="2.35",
        cpus=64,
        cpus_usable=64.0,
        memory_mib=1e6,
        memory_free_mib=1e6,
        work_folder="runs",
        disk_free_mib=1e6,
        disk_writable=True,
        shm_mib=1e5,
        open_files=65535,
    ),
    Python("3.11.9", "/usr/bin/python3", packages={"torch": "2.8.0", "torch_npu": "2.8.0"}),
    Chosen("auto", "npu", "Ascend910B2", 1, {"torch": "2.8.0", "torch_npu": "2.8.0"}),
    Hardware(),
    (),
)


@pytest.mark.parametrize(("packages", "status"), [({}, Status.GOOD), ({"torch": "2.7.1"}, Status.FIX)])
def test_the_pair_is_judged_as_supposed(packages: dict[str, str], status: Status) -> None:
    judged = {found.rule: found.status for found in report_on(supposed(HERE, **packages)).findings}
    assert judged["ENV053"] is status
    assert HERE.torch == "2.8.0" and supposed(HERE, **packages).torch == packages.get("torch", "2.8.0")
