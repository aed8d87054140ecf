"""Where faults are planted, and which tests are to see them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Part:
    """Files and folders of the code, and those of its tests."""

    name: str
    sources: tuple[str, ...]
    tests: tuple[str, ...]
    #: Modules of others that its tests import and that take long: imported once for all faults.
    preload: tuple[str, ...] = ()

    def list_sources(self, root: Path) -> list[str]:
        """List the Python files of the part, as paths below the root."""
        return list_files(root, self.sources)


def list_files(root: Path, places: tuple[str, ...]) -> list[str]:
    """List the Python files at these places, in order. Raises FileNotFoundError where a place is not there."""
    files: set[str] = set()
    for place in places:
        path = root / place
        if not path.exists():
            raise FileNotFoundError(path)
        for file in path.rglob("*.py") if path.is_dir() else [path]:
            files.add(file.relative_to(root).as_posix())
    return sorted(files)


WITH_TORCH = ("numpy", "hypothesis.extra.numpy", "torch.nn.functional")
#: Where curves are aligned and judged; reading them is parsing, which has damaged files for tests.
CURVES = ("aligned", "finals", "findings", "scale", "spikes")
PARTS = (
    Part(
        "migration",
        (
            "ascend_workbook/migration/rules",
            "ascend_workbook/migration/texts",
            "ascend_workbook/migration/verdict.py",
            "ascend_workbook/migration/assess",
        ),
        (
            "tests/migration/rules",
            "tests/migration/texts",
            "tests/migration/test_rules.py",
            "tests/migration/test_near_misses.py",
            "tests/migration/test_stated_numbers.py",
            "tests/migration/test_texts.py",
            "tests/migration/dry_run/test_launches.py",
            "tests/migration/test_patterns.py",
            "tests/migration/test_verdict.py",
            "tests/migration/test_assess.py",
            "tests/migration/test_scan.py",
        ),
    ),
    Part(
        "profiling",
        (
            "ascend_workbook/profiling/rules",
            "ascend_workbook/profiling/savings.py",
            "ascend_workbook/profiling/ranks/rules",
            "ascend_workbook/profiling/compare/rules",
        ),
        (
            "tests/profiling/test_rules.py",
            "tests/rules/test_examples.py",
            "tests/profiling/test_advisor.py",
            "tests/profiling/test_analyse.py",
            "tests/profiling/test_tuning.py",
            "tests/profiling/ranks",
            "tests/profiling/compare",
        ),
        ("numpy", "hypothesis.strategies"),
    ),
    Part(
        "environment",
        ("ascend_workbook/environment/rules",),
        (
            "tests/environment/test_rules.py",
            "tests/rules/test_examples.py",
            "tests/environment/test_check.py",
            "tests/environment/test_recorded.py",
        ),
    ),
    Part(
        "machine",
        (
            "ascend_workbook/machine/versions.py",
            "ascend_workbook/machine/npu_smi.py",
            "ascend_workbook/machine/settings/risks.py",
            "ascend_workbook/machine/settings/differences.py",
        ),
        (
            "tests/machine/test_versions.py",
            "tests/environment/test_npu_smi.py",
            "tests/machine/settings/test_differences.py",
            "tests/machine/settings/test_record.py",
        ),
    ),
    Part(
        "acceptance",
        ("ascend_workbook/batch/acceptance",),
        ("tests/batch/acceptance",),
    ),
    Part(
        "diagnose",
        (
            "ascend_workbook/diagnose/decode.py",
            "ascend_workbook/diagnose/episode.py",
            "ascend_workbook/diagnose/verdict.py",
        ),
        ("tests/diagnose",),
    ),
    Part(
        "metrics",
        ("ascend_workbook/precision/tensors",),
        ("tests/precision/tensors",),
        WITH_TORCH,
    ),
    Part(
        "corpus",
        ("ascend_workbook/precision/corpus/judging.py", "ascend_workbook/precision/corpus/measures.py"),
        ("tests/precision/corpus",),
        ("numpy",),
    ),
    Part(
        "curves",
        tuple(f"ascend_workbook/precision/curves/{name}.py" for name in CURVES),
        ("tests/precision/curves",),
        ("numpy", "hypothesis.strategies"),
    ),
    Part(
        "verify",
        ("ascend_workbook/precision/verify/layers.py", "ascend_workbook/precision/verify/findings.py"),
        ("tests/precision/test_verify.py", "tests/precision/test_verify_numbers.py"),
        WITH_TORCH,
    ),
    Part(
        "pairing",
        ("ascend_workbook/precision/pairing", "ascend_workbook/precision/divergence"),
        ("tests/precision/pairing", "tests/precision/divergence"),
        WITH_TORCH,
    ),
)
