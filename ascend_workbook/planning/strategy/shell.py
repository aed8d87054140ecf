"""A launch script of Megatron's or MindSpeed-LLM's: its arguments, with the shell's own variables filled in.

Nothing is run. Assignments of plain values are followed; what hangs on a command stays as it is written.
"""

from __future__ import annotations

import re
from pathlib import Path

from ascend_workbook.findings.finding import Place
from ascend_workbook.planning.strategy.model import Model, model_of_config
from ascend_workbook.planning.strategy.stated import Stated, Value, settings_of

ASSIGNED = re.compile(r"^\s*(?:export\s+)?([A-Za-z_]\w*)=(\"(?:[^\"\\]|\\.)*\"|'[^']*'|[^\s#;]*)", re.MULTILINE)
VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)\}?")
PRODUCT = re.compile(r"\$\(\(([\w\s*+/${}()-]*)\)\)")
ARGUMENT = re.compile(r"(?<![\w-])--([A-Za-z][\w-]*)(?:[ =]+(?!--)([^\s\\]+))?")
#: The one argument here that takes several words
MODULES = re.compile(r"--recompute-modules[ =]+((?:(?!--)[\w$}{]+[ \t]*)+)")
COMMENT = re.compile(r"(?m)(^|\s)#.*$")
#: How often an assignment may name another.
DEEPEST = 8
#: Megatron's arguments and the fields of a configuration that say the same
FIELDS = {
    "num-layers": "num_hidden_layers",
    "hidden-size": "hidden_size",
    "num-attention-heads": "num_attention_heads",
    "num-query-groups": "num_key_value_heads",
    "ffn-hidden-size": "intermediate_size",
    "kv-channels": "head_dim",
    "max-position-embeddings": "max_position_embeddings",
    "num-experts": "num_experts",
    "moe-router-topk": "num_experts_per_tok",
    "moe-intermediate-size": "moe_intermediate_size",
    "moe-ffn-hidden-size": "moe_intermediate_size",
    "first-k-dense-replace": "first_k_dense_replace",
    "q-lora-rank": "q_lora_rank",
    "kv-lora-rank": "kv_lora_rank",
    "qk-head-dim": "qk_nope_head_dim",
    "qk-pos-emb-head-dim": "qk_rope_head_dim",
    "v-head-dim": "v_head_dim",
}
#: Arguments by which a feed-forward network has a gate
GATES = ("swiglu", "geglu", "gated-linear-unit", "gelu-tanh")
#: Vocabularies of tokenizers that a script names and does not count
VOCABULARY = 32000


def read_arguments(text: str) -> dict[str, str]:
    """Return the arguments of a launch script by name; one without a value is an empty text."""
    bare = COMMENT.sub(r"\1", text).replace("\\\n", " ")
    variables = {name: value.strip("\"'") for name, value in ASSIGNED.findall(bare)}
    arguments: dict[str, str] = {}
    for name, value in ARGUMENT.findall(bare):
        arguments[name] = _fill(value.strip("\"'"), variables)
    modules = MODULES.search(bare)
    if modules:
        arguments["recompute-modules"] = _fill(modules.group(1).strip(), variables)
    for name in ("NNODES", "NPUS_PER_NODE", "GPUS_PER_NODE", "WORLD_SIZE"):
        if name in variables:
            arguments.setdefault(name, _fill(variables[name], variables))
    return arguments


def _fill(text: str, variables: dict[str, str]) -> str:
    for _ in range(DEEPEST):
        filled = VARIABLE.sub(lambda match: variables.get(match.group(1), match.group()), text)
        if filled == text:
            break
        text = filled
    product = PRODUCT.fullmatch(text)
    factors = product.group(1).split("*") if product else []
    if factors and all(factor.strip().isdigit() for factor in factors):
        whole = 1
        for factor in factors:
            whole *= int(factor)
        return str(whole)
    return text


def read_launch(path: Path, text: str) -> tuple[Model, Stated]:
    """Return the model and what else a launch script states. Raises WorkbookError where dimensions are missing."""
    arguments = read_arguments(text)
    config: dict[str, object] = {field: _whole(arguments.get(name)) for name, field in FIELDS.items()}
    config = {field: value for field, value in config.items() if value is not None}
    vocabulary = _whole(arguments.get("padded-vocab-size")) or _whole(arguments.get("vocab-size"))
    config["vocab_size"] = vocabulary or VOCABULARY
    config["tie_word_embeddings"] = "untie-embeddings-and-output-weights" not in arguments
    config["attention_bias"] = "add-qkv-bias" in arguments or "disable-bias-linear" not in arguments
    config["model_type"] = _guess_type(arguments)
    if "n-shared-experts" in arguments:
        config["n_shared_experts"] = _whole(arguments["n-shared-experts"])
    shared = _whole(arguments.get("moe-shared-expert-intermediate-size"))
    if shared:
        config["shared_expert_intermediate_size"] = shared
    model = model_of_config(config, path.stem, str(path))
    return model, Stated(settings_of(_place_arguments(path, text, arguments)), arguments)


def _guess_type(arguments: dict[str, str]) -> str:
    """Return a type whose layers are as the arguments say."""
    if not any(name in arguments for name in GATES):
        return "gpt_neox"
    return "qwen3" if "qk-layernorm" in arguments and "multi-latent-attention" not in arguments else "llama"


def _place_arguments(path: Path, text: str, arguments: dict[str, str]) -> dict[str, Value]:
    lines = text.splitlines()
    pairs = {}
    for name, value in arguments.items():
        at = next((number for number, line in enumerate(lines, 1) if f"--{name}" in line), 0)
        pairs[name.replace("-", "_")] = Value(value or "true", Place(str(path), at))
    return pairs


def _whole(text: str | None) -> int | None:
    try:
        value = int(text or "")
    except ValueError:
        return None
    return value if value > 0 else None
