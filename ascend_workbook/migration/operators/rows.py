"""What the trace counted, as rows: one for each operator and set of data types, the gravest first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ascend_workbook.findings.finding import Place
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.migration.operators.support import Document, find_document

#: As the trace says it -> as it is shown, in the order of the table. An operator made of others is shown once as such;
#: the others have rows of their own.
SHOWN = {
    "unsupported": "unsupported",
    "fallback": "fallback",
    "unknown": "unknown",
    "cpu_choice": "cpu_choice",
    "native": "native",
    "collective": "collective",
    "composite": "composite",
    "explicit": "composite",
    "out": "composite",
    "out_fallback": "composite",
    "host": "host",
}
ORDER = list(dict.fromkeys(SHOWN.values()))
Find = Callable[[str, int], "Place | None"]


@dataclass
class Row:
    """One operator. `of_forward`: its place is the line of the forward operator whose gradient it works out."""

    operator: str
    support: str
    dtypes: tuple[str, ...]
    first_dtype: str
    calls: float = 0.0
    parts: list[str] = field(default_factory=list)
    place: Place | None = None
    of_forward: bool = False
    within: list[str] = field(default_factory=list)
    made_of: list[str] = field(default_factory=list)

    @property
    def document(self) -> Document | None:
        return find_document(self.operator)

    @property
    def beyond_documents(self) -> bool:
        """The documents list data types for the first tensor, and this one is not among them."""
        document = self.document
        return (
            document is not None
            and bool(document.dtypes and self.first_dtype)
            and self.first_dtype not in document.dtypes
        )

    def make_cells(self) -> tuple[Scalar, ...]:
        place: Scalar = str(self.place) if self.place else Sentence("operators.no_line")
        if self.place and self.of_forward:
            place = Sentence("operators.of_forward", place=str(self.place))
        parts: list[Scalar] = [Sentence(f"operators.part.{part}") for part in self.parts]
        support: Scalar = Sentence(f"operators.support.{self.support}")
        if self.made_of:
            support = Sentence("operators.support.made_of", operators=list(self.made_of))
        dtypes: list[Scalar] = [*filter(None, [self.first_dtype]), *(d for d in self.dtypes if d != self.first_dtype)]
        return self.operator, dtypes, support, self.calls, parts, place, self._describe_documents()

    def _describe_documents(self) -> Scalar:
        document = self.document
        if document is None:
            return Sentence("operators.documents.none")
        answer = "no" if not document.supported else "falls_back" if document.falls_back else "yes"
        beyond = "_beyond" if document.supported and self.beyond_documents else ""
        return Sentence(f"operators.documents.{answer}{beyond}", api=document.api, dtype=self.first_dtype)

    def collect_facts(self) -> dict[str, Any]:
        document = self.document
        return {
            "operator": self.operator,
            "dtypes": list(self.dtypes),
            "first_dtype": self.first_dtype,
            "support": self.support,
            "calls_per_step": self.calls,
            "parts": self.parts,
            "place": str(self.place) if self.place else None,
            "of_forward": self.of_forward,
            "within": self.within,
            "made_of": self.made_of,
            "documents": None
            if document is None
            else {
                "api": document.api,
                "supported": document.supported,
                "falls_back": document.falls_back,
                "dtypes": list(document.dtypes),
            },
        }


def rows_of(calls: list[dict[str, Any]], steps: int, find: Find, *, on_npu: bool) -> list[Row]:
    """Calls of one operator with the same data types are one row, wherever in the step they stand.

    Only where there is an NPU can a call on CPU tensors be told from one that belongs to it.
    """
    rows: dict[tuple[Any, ...], Row] = {}
    parts: dict[str, list[str]] = {}
    for call in calls:
        support = "host" if call["host"] and on_npu else SHOWN[call["state"]]
        key = (call["operator"], support, tuple(call["dtypes"]), call["first_dtype"])
        row = rows.setdefault(key, Row(*key))
        row.calls += call["count"] / steps
        if call["step_part"] not in row.parts:
            row.parts.append(call["step_part"])
        if row.place is None and call["place"]:
            row.place, row.of_forward = find(*call["place"]), call["of_forward"]
        if call["within"]:
            row.within += [call["within"]] if call["within"] not in row.within else []
            made_of = parts.setdefault(call["within"], [])
            made_of += [call["operator"]] if call["operator"] not in made_of else []
    for row in rows.values():
        row.calls = round(row.calls, 2)
        row.made_of = parts.get(row.operator, []) if row.support == "composite" else []
    return sorted(rows.values(), key=lambda row: (ORDER.index(row.support), -row.calls, row.operator, row.dtypes))
