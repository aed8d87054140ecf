"""Words of 16-bit training: where gradients lie in a format's range, and what a loss scale did."""

from helpers.words import Words

_HEADINGS = {
    "gradient_exponents": ("Gradients by power of two", "梯度按 2 的幂分布"),
    "scale_history": ("Loss scale by step", "各步的损失缩放"),
    "scale_moves": ("Moves of the loss scale", "损失缩放的变化"),
    "exponent": ("Power of two", "2 的幂"),
    "gradients": ("Gradients", "梯度个数"),
    "fate": ("In the format", "在该格式中"),
    "loss_scale": ("Loss scale", "损失缩放"),
    "scale_move": ("Move", "变化"),
    "scale_before": ("Before", "之前"),
    "scale_after": ("After", "之后"),
    "steps_since": ("Steps since the last", "距上次变化的步数"),
    "scale_means": ("What it says", "说明"),
}
_PARTS = {
    "lost": ("becomes 0", "变为 0"),
    "subnormal": ("subnormal: fewer digits", "非规格化：有效位减少"),
    "normal": ("kept", "保留"),
    "overflow": ("infinite", "变为无穷"),
    "backoff": ("falls", "下降"),
    "growth": ("grows", "增长"),
    "means_backoff": (
        "a gradient was above {bound}: this update was left out",
        "有梯度超过 {bound}：本次更新被跳过",
    ),
    "means_growth": (
        "for {steps} steps no gradient was above {bound}",
        "连续 {steps} 步没有梯度超过 {bound}",
    ),
    "serve": ("scales from {low} to {high} serve this step", "对这一步，{low} 到 {high} 之间的缩放合适"),
    "none_serves": (
        "no scale serves this step: {low} would be needed, {high} is the largest without an overflow",
        "没有合适的缩放：需要 {low}，而不溢出的最大缩放是 {high}",
    ),
}

WORDS: dict[str, Words] = {
    **{f"name.{name}": Words(en, zh) for name, (en, zh) in _HEADINGS.items()},
    **{f"halves.{name}": Words(en, zh) for name, (en, zh) in _PARTS.items()},
    "ACC295.fits": Words(
        "at a loss scale of {scale} {lost} % of {gradients} gradients become 0 in {format}, and none is infinite",
        "损失缩放为 {scale} 时，{gradients} 个梯度中有 {lost} % 在 {format} 中变为 0，没有变为无穷的",
    ),
    "ACC295.lost": Words(
        "at a loss scale of {scale} {lost} % of {gradients} gradients become 0 in {format}",
        "损失缩放为 {scale} 时，{gradients} 个梯度中有 {lost} % 在 {format} 中变为 0",
        "For {format}: {serving}.",
        "对 {format}：{serving}。",
    ),
    "ACC295.overflow": Words(
        "at a loss scale of {scale} the largest gradient, {largest}, becomes infinite in {format}",
        "损失缩放为 {scale} 时，最大的梯度 {largest} 在 {format} 中变为无穷",
        "For {format}: {serving}.",
        "对 {format}：{serving}。",
    ),
    "ACC295.none": Words(
        "every gradient of this step is 0 or not finite",
        "这一步的所有梯度都是 0 或不是有限值",
        "Capture a float32 run, at a step in which it learns.",
        "请采集 float32 的运行，并选取仍在学习的一步。",
    ),
    "ACC296.moved": Words(
        "over {steps} steps the loss scale went from {first} to {last}: it fell {backoffs} times and grew {growths} "
        "times",
        "{steps} 步中损失缩放从 {first} 变为 {last}：下降 {backoffs} 次，增长 {growths} 次",
    ),
    "ACC296.still": Words(
        "over {steps} steps the loss scale stayed {last}",
        "{steps} 步中损失缩放一直是 {last}",
    ),
    "halves.scale": Words(
        "a loss scale of {given} cannot be: it is a finite number above 0",
        "损失缩放不能是 {given}：它应为大于 0 的有限数",
        "Give a power of two, such as 65536.",
        "请给出 2 的幂，例如 65536。",
    ),
    "halves.no_backward": Words(
        "{path}: no values of a backward were recorded",
        "{path}：没有记录反向的数值",
        "Capture again with task=\"tensor\" and data_mode=[\"all\"].",
        "请以 task=\"tensor\"、data_mode=[\"all\"] 重新采集。",
    ),
    "halves.no_scale": Words(
        "{path}: no loss scale is told (known: {known})",
        "{path}：日志中没有损失缩放（已有：{known}）",
        "Print `loss_scale` with each step: scaler.get_scale() after scaler.update().",
        "请在每步打印 `loss_scale`：在 scaler.update() 之后取 scaler.get_scale()。",
    ),
}
