"""What a script, a launch file or the user states beside the model: batch, learning rate, degrees of parallelism."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ascend_workbook.findings.finding import Place

#: What each setting is called, in arguments of scripts with `_` for `-`; TrainingArguments, Megatron, common scripts
NAMES = {
    "learning_rate": ("learning_rate", "lr", "max_lr"),
    "least_learning_rate": ("min_lr", "min_learning_rate"),
    "warmup_share": ("warmup_ratio", "lr_warmup_fraction"),
    "warmup_steps": ("warmup_steps", "lr_warmup_iters", "num_warmup_steps", "warmup_iters"),
    "steps": ("max_steps", "train_iters", "num_training_steps", "total_steps", "train_steps"),
    "decay": ("lr_scheduler_type", "lr_decay_style", "lr_scheduler"),
    "clipping": ("max_grad_norm", "clip_grad", "grad_clip", "gradient_clipping"),
    "weight_decay": ("weight_decay", "wd"),
    "initialisation": ("initializer_range", "init_method_std", "init_std"),
    "sequence": ("seq_length", "seq_len", "max_seq_len", "max_seq_length", "block_size", "model_max_length"),
    "global_batch": ("global_batch_size",),
    "micro_batch": ("per_device_train_batch_size", "micro_batch_size", "train_micro_batch_size_per_gpu"),
    "accumulation": ("gradient_accumulation_steps",),
    "second_moment": ("adam_beta2", "beta2"),
    "precision": ("precision", "dtype", "torch_dtype"),
    "half": ("fp16",),
    "brain": ("bf16",),
    "loss_scale": ("loss_scale", "initial_loss_scale", "initial_scale_power"),
}
SETTING_OF = {name: setting for setting, names in NAMES.items() for name in names}


@dataclass(frozen=True)
class Value:
    """A setting as it is written, and where."""

    text: str
    place: Place | None = None

    @property
    def number(self) -> float | None:
        """Return the number, or None where it is none."""
        try:
            return float(self.text)
        except ValueError:
            return None


@dataclass(frozen=True)
class Stated:
    """`values` by their setting (NAMES); `arguments` are all of a launch line, for its degrees of parallelism."""

    values: Mapping[str, Value] = field(default_factory=dict)
    arguments: Mapping[str, str] = field(default_factory=dict)

    def number(self, setting: str) -> float | None:
        """Return the number of a setting; None where it is not stated, or is no number."""
        value = self.values.get(setting)
        return value.number if value else None

    def overlaid(self, mine: Mapping[str, str]) -> Stated:
        """Return the settings with those that the user gives in front."""
        values = {SETTING_OF.get(name.replace("-", "_"), name): Value(text) for name, text in mine.items()}
        return Stated({**self.values, **values}, self.arguments)


def settings_of(pairs: Mapping[str, Value]) -> dict[str, Value]:
    """Return what is stated, by setting; of two names of one setting the first of NAMES."""
    return dict(_walk_settings(pairs))


def _walk_settings(pairs: Mapping[str, Value]) -> Iterator[tuple[str, Value]]:
    for setting, names in NAMES.items():
        for name in names:
            if name in pairs:
                yield setting, pairs[name]
                break
