"""Recorded machines: each fault is named by its own rule with its cure, nothing else fails; the well ones are well."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ascend_workbook.environment import check
from ascend_workbook.findings import report
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import hint
from tests.environment.recorded.faults import FAULTS
from tests.environment.recorded.machines import HEALTHY
from tests.environment.recorded.made import Made


def checked(made: Made, folder: Path) -> Report:
    return check(made.wanted, work_folder=folder / "project", system=made.system(folder))


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named_with_its_cure(name: str, tmp_path: Path) -> None:
    fault = FAULTS[name]
    found = checked(fault.made(), tmp_path).findings[1:]
    named = [finding for finding in found if (finding.key, finding.status) == (fault.key, fault.status)]
    assert named, [(finding.key, finding.message("en")) for finding in found if finding.status > Status.NOTE]
    assert any(word in named[0].message("en") for word in fault.words), named[0].message("en")
    assert fault.fix in hint(named[0].key, "en", **named[0].args)
    assert hint(named[0].key, "zh", **named[0].args)
    bad = {finding.rule: finding.status for finding in found if finding.status > Status.NOT_LOOKED}
    assert bad == {fault.key.split(".")[0]: fault.status, **fault.besides}


@pytest.mark.parametrize("name", HEALTHY)
def test_a_machine_that_is_well_has_no_warning(name: str, tmp_path: Path) -> None:
    report = checked(HEALTHY[name](), tmp_path)
    assert [finding.message("en") for finding in report.findings if finding.status > Status.NOTE] == []


def test_there_are_enough_of_them() -> None:
    assert len(FAULTS) >= 20 and len(HEALTHY) >= 5
    assert len({fault.key for fault in FAULTS.values()}) == len(FAULTS)


#: name -> value; what a ModelArts pod, a notebook or a shell may hold.
SECRETS = {
    "OBS_ACCESS_KEY_ID": "PLANTEDAK7HUAWEI00001",
    "OBS_SECRET_ACCESS_KEY": "PlantedSk9aBcDeFgHiJkLmNoPqRsTuVwXyZ01234",
    "MA_AUTH_TOKEN": "planted-ma-token-1",
    "ASCEND_PASSWORD": "planted-password-1",
    "HCCL_TOKEN": "planted-hccl-1",
    "JUPYTER_TOKEN": "planted-jupyter-1",
    "API_KEY": "planted-api-key-1",
}
#: In variables that a report shows, in files and in the output of tools.
SMUGGLED = {
    "MASTER_ADDR": "http://me:planted-in-url@10.0.0.1",
    "PYTHONPATH": "/x:/y?token=planted-in-path",
    "CONDA_DEFAULT_ENV": "planted-api-key-1",
    "ASCEND_PROCESS_LOG_PATH": "obs://b/?X-Amz-Signature=plantedsignature",
}


def plant(made: Made) -> Made:
    """Secrets wherever the check looks: variables by their own names and under others', files, tools, errors."""
    made.environ.update(SECRETS)
    made.late.update(SMUGGLED)
    spec = {"argv": ["python"], "env": {"OBS_SK": "$planted-in-kernel", "HOME": "planted-in-kernel"}}
    made.files["/home/ma-user/.local/share/jupyter/kernels/k/kernel.json"] = json.dumps(spec)
    made.files["/etc/hccn.conf"] = made.files.get("/etc/hccn.conf", "") + "password=planted-in-hccn\n"
    if "npu-smi" in made.tools:
        made.tools["npu-smi"] = made.tools["npu-smi"].replace("No running", "token=planted-in-table No running")
    chain = "ImportError: https://u:planted-in-error@pypi/simple: undefined symbol: password=planted-in-error"
    made.process.imported = {"ok": False, "error": chain, "chain": [chain]}
    return made


SOME = ("rank table with a rank twice", "another job on the NPUs", "a chip in alarm")


@pytest.mark.parametrize("name", [*HEALTHY, *SOME])
def test_no_planted_secret_is_in_any_output(name: str, tmp_path: Path) -> None:
    """Table, HTML and JSON, in both languages, and the JSON read again."""
    made = checked(plant(FAULTS[name].made() if name in FAULTS else HEALTHY[name]()), tmp_path)
    again = report.Report.from_json(made.to_json())
    outputs = [made.to_json(), *(each.text(lang) + each.html(lang) for each in (made, again) for lang in ("en", "zh"))]
    assert "***" in outputs[0]  # what was smuggled was there to be taken out
    assert not [found for text in outputs for found in re.findall(r"(?i).{0,30}planted(?!_secret).{0,20}", text)]


@pytest.mark.parametrize("name", FAULTS)
def test_without_the_fault_the_rule_is_silent(name: str, tmp_path: Path) -> None:
    """The same machine, not broken: the finding comes from the fault and from nothing else."""
    found = checked(FAULTS[name].base(), tmp_path).findings
    assert FAULTS[name].key not in {finding.key for finding in found}
