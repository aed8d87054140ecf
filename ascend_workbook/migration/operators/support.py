"""What is known of an operator on an NPU: torch_npu's registrations, and what its documents say of the API.

data/npu_operators.json is the dispatcher of torch_npu 2.13.0, for machines without it; data/npu_api_docs.json the
answers of the official list of supported APIs. The two do not always agree; neither tells all.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

DATA = Path(__file__).parents[1] / "data"
#: Where the documents list an API: `torch.` and one of these before its name.
HOMES = ("", "Tensor.", "nn.functional.", "linalg.", "fft.", "special.")
#: Operators whose name is not their API's.
APIS = {
    "_softmax": "nn.functional.softmax",
    "_log_softmax": "nn.functional.log_softmax",
    "_fft_c2c": "fft.fft",
    "_fft_r2c": "fft.rfft",
    "_adaptive_avg_pool2d": "nn.functional.adaptive_avg_pool2d",
    "convolution": "nn.functional.conv2d",
    "max_pool2d_with_indices": "nn.functional.max_pool2d",
    "native_batch_norm": "nn.functional.batch_norm",
    "native_dropout": "nn.functional.dropout",
    "native_group_norm": "nn.functional.group_norm",
    "native_layer_norm": "nn.functional.layer_norm",
    "nll_loss_forward": "nn.functional.nll_loss",
    "nll_loss2d_forward": "nn.functional.nll_loss",
    "_scaled_dot_product_fused_attention_overrideable": "nn.functional.scaled_dot_product_attention",
    "_scaled_dot_product_flash_attention_for_cpu": "nn.functional.scaled_dot_product_attention",
    "upsample_bilinear2d": "nn.functional.interpolate",
    "upsample_nearest2d": "nn.functional.interpolate",
}
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
    documents_by_name = {}
    for answer, lines in _load_content("npu_api_docs.json")["apis"].items():
        support_text, _, dtypes = answer.partition("|")
        for name in (name for line in lines for name in line.split()):
            documents_by_name[name] = Document(
                f"torch.{name}", support_text.startswith("yes"), "falls_back" in support_text, tuple(dtypes.split())
            )
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
