"""The numbers that times are estimated from: what they were fitted on, when, and how far they were off."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from ascend_workbook.estimates.loads import ELEMENTWISE, PARENTS
from ascend_workbook.findings.errors import WorkbookError, explain_os_error

SHIPPED = Path(__file__).with_name("times.json")
#: What every file has; the rest is told beside it
OWN = ("format", "name", "date", "fitted_on", "unseen_spread", "together", "families")
FORMAT = "ascend-workbook times 1"


@dataclass(frozen=True)
class FamilyTimes:
    """The numbers of one family. `memory`: which part of the chip's bandwidth long streams reach; `cache_gain`: how
    much faster it is in the cache; `cycles`: what an element costs a vector core; `cube`: which part of the peak full
    tiles reach, `turned`: which part of that where the left operand is turned. Spreads are standard deviations of the
    logarithm of measured over said, on workloads that were left out: of a kernel, and of what all of a family err
    together. `shapes`: on how many kernels of different shape this rests; `workloads`: on how many trainings."""

    launch_us: float
    memory: float
    cache_gain: float
    cycles: float
    cube: float
    kernel_spread: float
    family_spread: float
    shapes: int = 0
    workloads: int = 0
    turned: float = 1.0


@dataclass(frozen=True)
class Basis:
    """What estimates rest on. `date`: of the fit; `fitted_on`: the workloads; `path`: the file; `unseen_spread`: that
    of families that were in none; `together`: how far the errors of two families go together, from 0, independent, to
    1; `about`: what else the file has, as links between cards and the host's launches."""

    name: str
    date: str
    families: Mapping[str, FamilyTimes]
    unseen_spread: float
    together: float
    fitted_on: tuple[str, ...] = ()
    path: str = ""
    about: Mapping[str, Any] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash((self.name, self.date, self.path))

    def times_of(self, family: str) -> FamilyTimes:
        """Return the numbers of the family; of one that was never measured those of its nearest that was, with the
        spread that such have."""
        times = self.families.get(family)
        if times is None:
            near = self.times_of(PARENTS[family]) if family in PARENTS else self.families[ELEMENTWISE]
            times = replace(
                near,
                kernel_spread=max(near.kernel_spread, self.unseen_spread),
                family_spread=self.unseen_spread,
                shapes=0,
                workloads=0,
            )
        return times


def load_basis(path: str | os.PathLike[str] | None = None) -> Basis:
    """Return the basis in the file, the shipped one without a path. Raises WorkbookError for what is none."""
    return _read_basis(str(SHIPPED if path is None else path))


def save_basis(basis: Basis, path: str | os.PathLike[str]) -> None:
    """Write the basis, so that `load_basis` reads it."""
    record = {
        "format": FORMAT,
        "name": basis.name,
        "date": basis.date,
        "fitted_on": list(basis.fitted_on),
        "unseen_spread": basis.unseen_spread,
        "together": basis.together,
        **basis.about,
        "families": {family: asdict(times) for family, times in sorted(basis.families.items())},
    }
    Path(path).write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


@lru_cache(maxsize=8)
def _read_basis(path: str) -> Basis:
    try:
        record = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise WorkbookError("estimates.unreadable_basis", path=path, error=explain_os_error(error)) from error
    except ValueError as error:
        raise WorkbookError("estimates.no_basis", path=path, error=str(error)) from error
    try:
        if record["format"] != FORMAT:
            raise ValueError(f"format {record['format']!r}")
        families = {family: FamilyTimes(**numbers) for family, numbers in record["families"].items()}
        about = {key: value for key, value in record.items() if key not in OWN}
        spreads = record["unseen_spread"], record["together"]
        basis = Basis(record["name"], record["date"], families, *spreads, tuple(record["fitted_on"]), path, about)
        basis.times_of("")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise WorkbookError("estimates.no_basis", path=path, error=f"{type(error).__name__}: {error}") from error
    return basis
