"""How sure a rule is, what its repair costs, for which versions it holds, and where to read on.

Each rule file has a KNOWN beside its code; `add_knowledge` puts it into the arguments of the rule's findings. What a
finding brings itself (a library's own entry in a table) is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ascend_workbook.findings.finding import Finding
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.migration.repair import ADVICE, AUTO, MANUAL, REWRITE, UNSUPPORTED, class_of

#: Run with torch_npu; read in its documentation or source; concluded from what this file shows.
MEASURED, DOCUMENTED, INFERRED = CONFIDENCE = ("measured", "documented", "inferred")
VERSIONS = "torch 2.13.0, torch_npu 2.13.0"
#: Ascend/pytorch at a fixed commit.
ASCEND = "https://github.com/Ascend/pytorch/blob/9e73e708ab9350d203475609f36f8a43f6a0c2ab/"
TRANSFER = ASCEND + "torch_npu/contrib/transfer_to_npu.py"
VARIABLES = ASCEND + "docs/zh/api/environment_variable/"
PROFILER = ASCEND + "docs/zh/developer_notes/ascend_pytorch_profiler_user_guide.md"
INSTALLING = ASCEND + "docs/zh/installation_guide/references/installation_via_pip.md"
IMAGES = ASCEND + "docs/zh/installation_guide/references/installation_via_docker.md"
NPU_SMI = "https://www.hiascend.com/document/detail/zh/HDK/latest/A2/A2npu/npusmi_0020.html"
#: In place of versions: what holds for any, and what each entry of a table says for itself.
ANY: Scalar = Sentence("migration.versions_of.any")
BY_ENTRY: Scalar = Sentence("migration.versions_of.entry")
TODAY: Scalar = Sentence("migration.versions_of.today")
NATIVE = ASCEND + "docs/zh/api/native_api/"
#: Person-hours for one place of a class, review and a run included; an estimate to be corrected by experience.
HOURS = {AUTO: 0.0, REWRITE: 0.1, ADVICE: 0.1, MANUAL: 1.0, UNSUPPORTED: 16.0}


@dataclass(frozen=True)
class Known:
    """A rule's own facts. `hours`, `links` and `inferred` name outcomes (`kernel` of `MIG105.kernel`) that differ.

    `link` is the page that says what the rule says; where there is none, the sentence that says so.
    """

    confidence: str
    link: Scalar
    versions: Scalar = VERSIONS
    hours: dict[str, float] = field(default_factory=dict)
    links: dict[str, Scalar] = field(default_factory=dict)
    inferred: tuple[str, ...] = ()


def add_knowledge(finding: Finding, known: Known) -> Finding:
    """Return the finding with `confidence`, `effort_h`, `versions` and `link` among its arguments."""
    repair = class_of(finding)
    if not repair:
        return finding
    outcome = finding.key.rpartition(".")[2]
    facts: dict[str, Scalar] = {
        "confidence": INFERRED if outcome in known.inferred else known.confidence,
        "effort_h": known.hours.get(outcome, HOURS[repair]) if repair != AUTO else 0.0,
        "versions": known.versions,
        "link": known.links.get(outcome, known.link),
    }
    return replace(finding, args={**facts, **finding.args})
