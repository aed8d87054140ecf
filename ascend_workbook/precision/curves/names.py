"""What loggers call the same number. A log's own names are kept; these say which of them is the loss."""

from __future__ import annotations

import re
from functools import lru_cache

from ascend_workbook.precision.curves.series import Curve

LOSS, LR, GRAD_NORM, LOSS_SCALE = "loss", "lr", "grad_norm", "loss_scale"
#: The name we use -> what loggers write, the first that a log has is taken: our own and the Trainer's, Megatron-LM's
#: text and TensorBoard tags, Lightning's and mmengine's, and what examples print.
KNOWN = {
    LOSS: (
        "loss",
        "lm_loss",
        "train/loss",
        "train/lm_loss",
        "loss/train",
        "train_loss",
        "training_loss",
        "train_loss_step",
        "train/loss_step",
        "loss_step",
        "total_loss",
        "train/total_loss",
        "loss_train",
        "mean_loss",
        "avg_loss",
        "running_loss",
        "ce_loss",
        "nll_loss",
        "mlm_loss",
        "lm-loss-training/lm_loss",
        "train_loss_epoch",
        "train/loss_epoch",
    ),
    LR: (
        "lr",
        "learning_rate",
        "learn_rate",
        "learning-rate",
        "train/learning_rate",
        "train/lr",
        "base_lr",
        "lr-adam",
        "lr-adamw",
        "lr-sgd",
        "lr/pg0",
        "train/learning-rate",
    ),
    GRAD_NORM: (
        "grad_norm",
        "grad-norm",
        "train/grad_norm",
        "gnorm",
        "gradient_norm",
        "total_norm",
        "global_grad_norm",
        "grad_norm_total",
        "train/global_grad_norm",
    ),
    LOSS_SCALE: ("loss_scale", "loss-scale", "train/loss_scale", "grad_scale", "amp_scale", "scale"),
}
SKIPPED_STEPS = ("number_of_skipped_iterations", "skipped_iterations")
# ruff: noqa: SIM905 - a column of names reads better without quotes
STEPS = """
step global_step iteration iter _step steps trainer/global_step train/global_step iteration_number update num_updates
""".split()
#: Times, rates and sizes are no numbers of the training.
_ASIDE = re.compile(
    r"(?:.*[/_ -])?(?:time|data_time|wall_time|timestamp|runtime|elapsed.*|eta|memory|mem|mfu|throughput.*|speed"
    r"|samples_per_second|steps_per_second|consumed_.*|skipped_samples|batch_size|num_zeros)(?:_?\(?(?:ms|s)\)?)?"
    r"|(?:it|epochs?|batch|rank|total_flos|v_num|version|pid|max_steps|num_train_epochs)"
)


@lru_cache(maxsize=4096)
def normalise_name(raw: str) -> str:
    """A logged name as we key it: lower case, `_` for spaces; "" for a step, a time or a size."""
    name = re.sub(r"\s+", "_", raw[:120].strip().strip("'\"").lower())
    name = name.encode("utf-8", "replace").decode("utf-8")  # JSON may hold half a character, which no file can
    return "" if not name or name in STEPS or _ASIDE.fullmatch(name) else name


def rename_series(curve: Curve, loss: str = "") -> None:
    """Gives loss, learning rate, gradient norm and loss scale our names; `loss` is the log's own name for it."""
    for ours, known in KNOWN.items():
        wanted = (normalise_name(loss),) if ours == LOSS and loss else known
        logged_name = next((name for name in wanted if name in curve.series), None)
        if logged_name and logged_name != ours:
            if ours in curve.series:
                curve.series[f"{ours}*"] = curve.series.pop(ours)
            curve.series[ours] = curve.series.pop(logged_name)
