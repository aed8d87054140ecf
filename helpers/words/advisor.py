"""Words around what msprof-analyze's advisor says; its own sentences are shown as it wrote them."""

from helpers.words import Words

WORDS: dict[str, Words] = {
    "name.advisor": Words("What msprof-analyze advises", "msprof-analyze 的建议"),
    "name.advisor_category": Words("About", "类别"),
    "name.advisor_says": Words("It says", "说明"),
    "name.advisor_suggests": Words("It suggests", "建议"),
    "PRF329.absent": Words(
        "msprof-analyze was not asked: it is not installed",
        "未询问 msprof-analyze：未安装",
        "pip install msprof-analyze, into an environment of its own if it would change packages; then put its folder "
        "on "
        "PATH.",
        "pip install msprof-analyze（若会改动已有的包，请装入单独的环境），再将其目录加入 PATH。",
    ),
    "PRF329.late": Words(
        "msprof-analyze was stopped: it had not ended after {seconds} s",
        "msprof-analyze 已被中止：{seconds} 秒后仍未结束",
    ),
    "PRF329.failed": Words("msprof-analyze gave no result: {error}", "msprof-analyze 没有给出结果：{error}"),
    "PRF329.nothing": Words("msprof-analyze found nothing", "msprof-analyze 没有发现问题"),
    "PRF329.found": Words(
        "msprof-analyze, {category}: {says} (what it saves is not known)",
        "msprof-analyze，{category}：{says}（可省多少未知）",
    ),
    "PRF329.bound": Words(
        "msprof-analyze, {category}: {says} (by its own account {gain_ms} ms)",
        "msprof-analyze，{category}：{says}（按其自述可省 {gain_ms} ms）",
    ),
}
