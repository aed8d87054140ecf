"""The pages' own words, (English, Chinese)."""

from __future__ import annotations

LABELS = {
    "other": ("[中文]({name}.zh-CN.md)", "[English]({name}.md)"),
    "made": (
        "Written by `python -m tools.docs` from rules, commands and the catalogue; do not edit.",
        "由 `python -m tools.docs` 根据规则、命令与语句目录生成；请勿手工修改。",
    ),
    "common": (
        "Every command also takes `--json FILE`, `--html FILE`, `--junit FILE` and `--lang en|zh`.",
        "每条命令还支持 `--json 文件`、`--html 文件`、`--junit 文件` 与 `--lang en|zh`。",
    ),
    "commands": ("Commands", "命令"),
    "option": ("option", "选项"),
    "does": ("what for", "作用"),
    "functions": ("Functions", "函数"),
    "import": ("Each is imported with `from helpers import NAME`.", "均以 `from helpers import 名称` 导入。"),
    "rules": ("Rules", "规则"),
    "about_rules": (
        "A rule that lacks a fact gives SKIPPED with the reason, one that breaks gives FAIL: not looked is never shown "
        "as clean. Statuses are those that its code can give. `{names}` are filled in from the facts.",
        "缺少事实的规则给出 SKIPPED 并说明原因，自身出错的规则给出 FAIL：未检查绝不显示为正常。"
        "状态为其代码可能给出的状态。`{names}` 处填入事实。",
    ),
    "status": ("Status: ", "状态："),
    "numbers": ("Numbers: ", "数值："),
    "file": ("rule", "规则"),
    "source": ("source: ", "来源："),
    "outcome": ("outcome", "结果"),
    "message": ("message", "信息"),
    "step": ("next step", "下一步"),
    "fires": ("It fires on:", "会报告："),
    "silent": ("and is silent on:", "不会报告："),
    "shared_words": ("Its sentences are shared with other rules.", "其信息与其他规则共用。"),
    "beside": ("Findings beside the rules", "规则之外的结果"),
    "about_beside": ("Given by a command or an overview itself.", "由命令或总览自身给出。"),
}


def label_text(name: str, lang: str) -> str:
    return LABELS[name][lang == "zh"]
