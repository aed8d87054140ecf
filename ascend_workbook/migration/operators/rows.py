"""What the trace counted, as rows: one for each operator and set of data types, the gravest first."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from ascend_workbook.findings.finding import Place
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.migration import api_map

# What is known of an operator on an NPU: torch_npu's registrations, and what its documents say of the API.

DATA = Path(__file__).parents[1] / "data"
#: Where the documents list an API: `torch.` and one of these before its name.
HOMES = ("", "Tensor.", "nn.functional.", "linalg.", "fft.", "special.")
#: Operators whose name is not their API's.
APIS: dict[str, str] = api_map.list_names("operator_apis")
#: torch_npu's own operators that stand in the place of an API's.
OF_NPU = {"npu::npu_fusion_attention_v3": "nn.functional.scaled_dot_product_attention"}


@dataclass(frozen=True)
class Document:
    """What the official list says of an API: supported, perhaps on the CPU; the data types of its first tensor."""

    api: str
    supported: bool
    falls_back: bool
    dtypes: tuple[str, ...]  # empty: not listed


@cache
def load_states() -> dict[str, str]:
    """Operator -> native, composite, explicit, out, out_fallback, fallback or unsupported, with torch_npu 2.13.0."""
    content = _load_content("npu_operators.json")["states"]
    return {f"aten::{name}": state for state, lines in content.items() for line in lines for name in line.split()}


def load_versions() -> dict[str, str]:
    """Return which torch and torch_npu the table was read from."""
    content = _load_content("npu_operators.json")
    return {name: str(content[name]) for name in ("torch", "torch_npu")}


@cache
def load_documents() -> dict[str, Document]:
    documents_by_name: dict[str, Document] = {}
    for answer, lines in _load_content("npu_api_docs.json")["apis"].items():
        text, _, dtypes = answer.partition("|")
        facts = text.startswith("yes"), "falls_back" in text, tuple(dtypes.split())
        documents_by_name |= {name: Document(f"torch.{name}", *facts) for line in lines for name in line.split()}
    return documents_by_name


def find_document(operator: str) -> Document | None:
    """Return what the documents say of `aten::add_.Tensor`; None for what they do not list and backward operators."""
    if operator in OF_NPU:
        return load_documents().get(OF_NPU[operator])
    if not operator.startswith("aten::"):
        return None
    base = operator.partition("::")[2].partition(".")[0]
    plain = base[:-1] if base.endswith("_") and not base.endswith("__") else base
    for prefix in ("linalg_", "fft_", "special_"):
        if plain.startswith(prefix):
            plain = plain.replace("_", ".", 1)
    names = [APIS.get(plain, ""), *([f"Tensor.{base}"] if base != plain else []), *(f"{home}{plain}" for home in HOMES)]
    return next((load_documents()[name] for name in names if name in load_documents()), None)


def _load_content(name: str) -> dict[str, dict[str, list[str]]]:
    content: dict[str, dict[str, list[str]]] = json.loads((DATA / name).read_text(encoding="utf-8"))
    return content


#: As the trace says it -> as it is shown, in the order of the table. An operator made of others is shown once as such;
#: the others have rows of their own.
SHOWN = {name: name for name in "unsupported fallback unknown cpu_choice native collective".split()}
SHOWN |= {**dict.fromkeys(("composite", "explicit", "out", "out_fallback"), "composite"), "host": "host"}
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
        listed = self.document.dtypes if self.document else ()
        return bool(listed and self.first_dtype) and self.first_dtype not in listed

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

    def collect_facts(self) -> dict[str, object]:
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
            "documents": {**asdict(document), "dtypes": list(document.dtypes)} if document else None,
        }


def rows_of(calls: list[dict[str, Any]], steps: int, find: Find, *, on_npu: bool) -> list[Row]:
    """Make a row of an operator's calls with the same data types. Only on an NPU are the host's calls told."""
    rows: dict[tuple[str, str, tuple[str, ...], str], Row] = {}
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
