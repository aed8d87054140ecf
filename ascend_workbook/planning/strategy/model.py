"""The dimensions of a transformer, from the fields of a configuration; what its layers hold is counted from them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError

#: What each dimension is called in configurations of Hugging Face, the usual name first
NAMES = {
    "hidden": ("hidden_size", "n_embd", "d_model"),
    "layers": ("num_hidden_layers", "n_layer", "num_layers"),
    "heads": ("num_attention_heads", "n_head", "num_heads"),
    "kv_heads": ("num_key_value_heads", "multi_query_group_num"),
    "head_dim": ("head_dim", "kv_channels"),
    "feed_forward": ("intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim"),
    "vocabulary": ("vocab_size", "padded_vocab_size"),
    "positions": ("max_position_embeddings", "n_positions", "seq_length"),
    "experts": ("num_experts", "num_local_experts", "n_routed_experts"),
    "chosen_experts": ("num_experts_per_tok", "moe_topk", "top_k_experts"),
    "expert_width": ("moe_intermediate_size",),
}
REQUIRED = ("hidden", "layers", "heads", "vocabulary")
TYPES = Path(__file__).with_name("types.json")


@cache
def known_types() -> dict[str, dict[str, Any]]:
    """Return what is known of each type of configuration."""
    types: dict[str, dict[str, Any]] = json.loads(TYPES.read_text(encoding="utf-8"))["types"]
    return types


@dataclass(frozen=True)
class Latent:
    """Attention whose queries and keys pass through a narrow vector (DeepSeek's multi-head latent attention)."""

    query_rank: int
    key_rank: int
    plain_dim: int
    rotated_dim: int
    value_dim: int


@dataclass(frozen=True)
class Model:
    """A decoder or encoder of equal layers. `expert_width` is the feed-forward width of one expert, `shared_width` of
    what every token passes beside them; `dense_layers` come first and have no experts. `source` tells where it is from.
    """

    name: str
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    feed_forward: int
    vocabulary: int
    tied: bool = False
    gated: bool = True
    rotary: bool = True
    normed_queries: bool = False
    biased_queries: bool = False
    experts: int = 0
    chosen_experts: int = 0
    expert_width: int = 0
    shared_width: int = 0
    dense_layers: int = 0
    latent: Latent | None = None
    positions: int = 0
    source: str = ""

    @property
    def query_width(self) -> int:
        return self.heads * self.query_dim

    @property
    def query_dim(self) -> int:
        return self.latent.plain_dim + self.latent.rotated_dim if self.latent else self.head_dim

    @property
    def key_width(self) -> int:
        return self.query_width if self.latent else self.kv_heads * self.head_dim

    @property
    def value_width(self) -> int:
        """Return the width of all values; of what attention gives it is `heads` times one value."""
        return self.heads * self.latent.value_dim if self.latent else self.kv_heads * self.head_dim

    @property
    def output_width(self) -> int:
        return self.heads * (self.latent.value_dim if self.latent else self.head_dim)

    @cached_property
    def attention_parameters(self) -> int:
        """Return the matrices of one layer's attention; of biases and norms of queries too."""
        if self.latent is not None:
            return self._count_latent(self.latent)
        matrices = self.hidden * (self.query_width + 2 * self.key_width) + self.output_width * self.hidden
        biases = self.query_width + 2 * self.key_width if self.biased_queries else 0
        return matrices + biases + (2 * self.head_dim if self.normed_queries else 0)

    def _count_latent(self, latent: Latent) -> int:
        query_in = latent.query_rank or self.hidden
        query = self.hidden * latent.query_rank + query_in * self.query_width
        key = self.hidden * (latent.key_rank + latent.rotated_dim)
        key += latent.key_rank * self.heads * (latent.plain_dim + latent.value_dim)
        return query + key + self.output_width * self.hidden + latent.query_rank + latent.key_rank

    @property
    def matrices(self) -> int:
        """Return how many matrices a feed-forward network has."""
        return 3 if self.gated else 2

    @property
    def dense_parameters(self) -> int:
        """Return the parameters of a feed-forward network without experts."""
        return self.matrices * self.hidden * self.feed_forward

    @property
    def shared_parameters(self) -> int:
        """Return what every token passes in a layer of experts: the router and the shared network."""
        return self.hidden * self.experts + self.matrices * self.hidden * self.shared_width

    @property
    def expert_parameters(self) -> int:
        """Return the parameters of all experts of one layer."""
        return self.experts * self.matrices * self.hidden * self.expert_width

    @property
    def norm_parameters(self) -> int:
        return 2 * self.hidden

    @property
    def embedding_parameters(self) -> int:
        return self.vocabulary * self.hidden

    @property
    def expert_layers(self) -> int:
        return self.layers - self.dense_layers if self.experts else 0

    @cached_property
    def parameters(self) -> int:
        """Return how many parameters the model has."""
        every = self.layers * (self.attention_parameters + self.norm_parameters) + self.hidden
        dense = (self.layers - self.expert_layers) * self.dense_parameters
        experts = self.expert_layers * (self.expert_parameters + self.shared_parameters)
        return every + dense + experts + self.embedding_parameters * (1 if self.tied else 2)

    @cached_property
    def active_parameters(self) -> int:
        """Return the parameters that one token meets, all but the embedding."""
        idle = self.expert_layers * self.expert_parameters
        used = idle * self.chosen_experts // self.experts if self.experts else 0
        return self.parameters - idle + used - self.embedding_parameters * (0 if self.tied else 1)


def model_of_config(config: Mapping[str, Any], name: str, source: str) -> Model:
    """Return the model that a configuration of Hugging Face's form describes. Raises WorkbookError where a dimension is
    missing or no positive whole number, or the type of layers has no formula here."""
    config = _inner_config(config)
    kind = str(config.get("model_type", "")).lower()
    known = known_types().get(kind, {})
    if known.get("other_layers"):
        raise WorkbookError("strategy.other_layers", path=source, kind=kind)
    dimensions = {part: _read_dimension(config, part, source) for part in NAMES}
    missing = [NAMES[part][0] for part in REQUIRED if not dimensions[part]]
    if missing:
        raise WorkbookError("strategy.no_dimension", path=source, names=missing)
    hidden, heads = dimensions["hidden"], dimensions["heads"]
    kv_heads = dimensions["kv_heads"] or heads
    if config.get("multi_query_attention") is False:
        kv_heads = heads
    width = dimensions["feed_forward"] or 4 * hidden
    experts = dimensions["experts"] if dimensions["experts"] > 1 else 0
    expert_width = dimensions["expert_width"] or (width if experts else 0)
    shared = _whole(config.get("shared_expert_intermediate_size"))
    shared = shared or _whole(config.get("n_shared_experts")) * expert_width
    return Model(
        name=name,
        hidden=hidden,
        layers=dimensions["layers"],
        heads=heads,
        kv_heads=kv_heads,
        head_dim=dimensions["head_dim"] or hidden // heads,
        feed_forward=width,
        vocabulary=dimensions["vocabulary"],
        tied=bool(config.get("tie_word_embeddings", known.get("tied", False))),
        gated=not known.get("plain"),
        rotary=not known.get("no_rotary"),
        normed_queries=bool(known.get("normed_queries")),
        biased_queries=bool(known.get("biased_queries") or config.get("attention_bias")),
        experts=experts,
        chosen_experts=(dimensions["chosen_experts"] or 1) if experts else 0,
        expert_width=expert_width if experts else 0,
        shared_width=shared if experts else 0,
        dense_layers=min(_whole(config.get("first_k_dense_replace")), dimensions["layers"]) if experts else 0,
        latent=_read_latent(config),
        positions=dimensions["positions"],
        source=source,
    )


def _inner_config(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the language model's part where a configuration holds several."""
    inner = config.get("text_config") or config.get("llm_config")
    return inner if isinstance(inner, Mapping) else config


def _read_dimension(config: Mapping[str, Any], part: str, source: str) -> int:
    for name in NAMES[part]:
        value = config.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or value < (1 if part in REQUIRED else 0):
            raise WorkbookError("strategy.bad_dimension", path=source, name=name, value=str(value)[:40])
        return value
    return 0


def _read_latent(config: Mapping[str, Any]) -> Latent | None:
    names = ("q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")
    values = [_whole(config.get(name)) for name in names]
    return Latent(*values) if all(values[1:]) else None


def _whole(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
