"""A strategy in the words of a framework: arguments to copy, each with the page that documents it."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from ascend_workbook.planning.strategy.choice import DEEPSPEED, FULL, MEGATRON, MINDSPEED, NONE, Setting, Strategy

ARGUMENTS = Path(__file__).with_name("arguments.json")


@cache
def argument_sources(framework: str) -> dict[str, str]:
    """Return each argument that is written for the framework, with the page where it is documented."""
    pages = json.loads(ARGUMENTS.read_text(encoding="utf-8"))[framework]
    return {name: page for page, names in pages.items() for name in names}


def write_arguments(setting: Setting, strategy: Strategy) -> tuple[str, str]:
    """Return what to copy, and the language that it is in."""
    if strategy.framework == DEEPSPEED:
        return json.dumps(write_deepspeed(setting, strategy), indent=2), "json"
    if strategy.megatron:
        return join_words(write_megatron(setting, strategy)), "bash"
    return write_fsdp(setting, strategy), "python"


def write_megatron(setting: Setting, strategy: Strategy) -> list[str]:
    """Return the arguments of Megatron-LM and MindSpeed-LLM, an option and its value side by side."""
    model = setting.model
    words: list[str] = [
        *("--tensor-model-parallel-size", str(strategy.tensor)),
        *("--pipeline-model-parallel-size", str(strategy.pipeline)),
    ]
    if strategy.chunks > 1:
        each = model.layers // (strategy.pipeline * strategy.chunks)
        words += ["--num-layers-per-virtual-pipeline-stage", str(each)]
    if strategy.context > 1:
        words += ["--context-parallel-size", str(strategy.context)]
        words += ["--context-parallel-algo", "megatron_cp_algo"] if strategy.framework == MINDSPEED else []
    if strategy.expert > 1:
        words += ["--expert-model-parallel-size", str(strategy.expert)]
    if model.experts and strategy.tensor > 1:
        words += ["--expert-tensor-parallel-size", str(strategy.expert_tensor)]
    words += ["--sequence-parallel"] if strategy.tensor > 1 else []
    words += ["--use-distributed-optimizer"] if strategy.zero else []
    words += _write_recompute(strategy)
    words += ["--micro-batch-size", str(strategy.micro), "--global-batch-size", str(setting.batch)]
    return [*words, "--seq-length", str(setting.sequence), "--bf16"]


def _write_recompute(strategy: Strategy) -> list[str]:
    if strategy.recompute == FULL:
        return ["--recompute-granularity", "full", "--recompute-method", "uniform", "--recompute-num-layers", "1"]
    if strategy.recompute == NONE:
        return []
    if strategy.framework == MEGATRON:
        return ["--recompute-granularity", "selective", "--recompute-modules", "layernorm", "mlp"]
    return ["--recompute-activation-function", "--recompute-norm"]


def join_words(words: list[str]) -> str:
    """Return words of a command line, an option with its values in a line."""
    lines: list[str] = []
    for word in words:
        if word.startswith("--") or not lines:
            lines.append(word)
        else:
            lines[-1] += f" {word}"
    return " \\\n".join(lines)


def write_deepspeed(setting: Setting, strategy: Strategy) -> dict[str, object]:
    """Return the configuration of DeepSpeed; recomputing is the model's own `gradient_checkpointing_enable()`."""
    return {
        "train_batch_size": setting.batch,
        "train_micro_batch_size_per_gpu": strategy.micro,
        "gradient_accumulation_steps": strategy.micro_batches(setting),
        "bf16": {"enabled": True},
        "gradient_clipping": 1.0,
        "zero_optimization": {
            "stage": strategy.zero,
            "overlap_comm": True,
            "contiguous_gradients": True,
        },
    }


def write_fsdp(setting: Setting, strategy: Strategy) -> str:
    """Return the lines of PyTorch's fully_shard, a layer at a time; of DistributedDataParallel where nothing is
    sharded."""
    micro = strategy.micro_batches(setting)
    lines = [f"# {strategy.data} ranks, each {micro} x {strategy.micro} sequences of {setting.sequence} a step"]
    if strategy.recompute != NONE:
        lines.append("model.gradient_checkpointing_enable()")
    if not strategy.zero:
        return "\n".join([*lines, "model = torch.nn.parallel.DistributedDataParallel(model)"])
    lines.insert(1, "from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard")
    lines.append("policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)")
    keywords = f"mp_policy=policy, reshard_after_forward={strategy.zero >= 3}"
    lines += ["for layer in model.model.layers:", f"    fully_shard(layer, {keywords})"]
    return "\n".join([*lines, f"fully_shard(model, {keywords})"])
