"""Words of `explain`: the report on a log, and the checklists of symptoms."""

from __future__ import annotations

from helpers.words import Words

_HEADINGS = {
    "explain": ("What the log says", "日志解读"),
    "explain_symptom": ("Checklist", "排查清单"),
    "explain_role": ("Found", "类别"),
    "explain_codes": ("Code", "错误码"),
    "cause": ("Cause", "原因"),
    "confidence": ("Confidence", "可信度"),
    "source": ("Source", "来源"),
    "command": ("Command that checks it", "检查命令"),
    "number": ("No.", "序号"),
    "log_excerpt": ("Lines of the log", "日志原文"),
}

_ROLES = {
    "first": ("first error", "首个错误"),
    "same": ("named with it", "同时指出"),
    "other": ("other rank", "其他 rank"),
    "warning": ("warning", "警告"),
    "acl": ("ACL code", "ACL 错误码"),
    "aclnn": ("aclnn code", "aclnn 错误码"),
    "hccl": ("HCCL result", "HCCL 返回值"),
    "cann": ("CANN code", "CANN 错误码"),
    "bit": ("AI core bit", "AI Core 状态位"),
    "overflow": ("overflow bit", "溢出状态位"),
    "err": ("torch_npu suffix", "torch_npu 后缀"),
}

_CONFIDENCES = {
    "reproduced": ("reproduced", "已复现"),
    "documented": ("documented", "有文档"),
    "reported": ("reported by users", "用户反馈"),
}

WORDS: dict[str, Words] = {
    **{f"name.{name}": Words(en, zh) for name, (en, zh) in _HEADINGS.items()},
    **{f"explain.role.{name}": Words(en, zh) for name, (en, zh) in _ROLES.items()},
    **{f"explain.confidence.{name}": Words(en, zh) for name, (en, zh) in _CONFIDENCES.items()},
    "EXP001.first": Words("{cause}", "{cause}", "{fix}", "{fix}"),
    "EXP001.first_rank": Words(
        "rank {rank} failed first of {ranks}: {cause}",
        "共 {ranks} 个 rank 报错，rank {rank} 最先：{cause}",
        "{fix}",
        "{fix}",
    ),
    "EXP002.unknown": Words(
        "an error that is not in our list: {error}",
        "列表中没有的错误：{error}",
        "Run `ascend-workbook selftest --log LOG` with this log: one redacted zip holds the check, the log and plog "
        "(~/ascend/log). By hand: `ascend-workbook check --json check.json`, the log from its first error on, "
        "`npu-smi info` and plog. Ask in the forum (https://www.hiascend.com/forum) or the issue tracker "
        "(https://github.com/Ascend/pytorch/issues); on ModelArts or with a support contract open a ticket "
        "(https://www.hiascend.com/support).",
        "请用此日志执行 `ascend-workbook selftest --log LOG`：生成一个已脱敏的 zip，包含检查结果、日志与 plog"
        "（~/ascend/log）。手动收集则为：`ascend-workbook check --json check.json`、从首个错误开始的日志、"
        "`npu-smi info` 与 plog。可在论坛（https://www.hiascend.com/forum）或问题跟踪（https://github.com/Ascend/pytorch/issues）提问；"
        "使用 ModelArts 或有支持合同时请提工单（https://www.hiascend.com/support）。",
    ),
    "EXP003.follow_up": Words(
        "only follow-ups of another failure: {cause}", "只有其他错误的后续现象：{cause}", "{fix}", "{fix}"
    ),
    "EXP004.level": Words(
        "no failure that is known and no exception, but {count} line(s) at the level ERROR; the first: {error}",
        "没有已知错误或异常，但有 {count} 行 ERROR 级别日志；第一行：{error}",
        "A run that went on can have them. Where it stopped, collect `ascend-workbook check --json check.json` and "
        "~/ascend/log, and ask in the forum (https://www.hiascend.com/forum).",
        "能继续运行的任务也可能出现。若任务已停止，请收集 `ascend-workbook check --json check.json` 与 ~/ascend/log，"
        "在论坛（https://www.hiascend.com/forum）提问。",
    ),
    "EXP005.warning": Words("{cause} ({count} times)", "{cause}（{count} 次）", "{fix}", "{fix}"),
    "EXP006.clean": Words(
        "clean: no error in {lines} line(s) (logs read: {logs})", "没有发现错误：共 {lines} 行（日志 {logs} 份）"
    ),
    "EXP006.empty": Words(
        "nothing to read: the logs ({logs}) are empty",
        "没有可读内容：{logs} 份日志均为空",
        "Give the log that holds the error.",
        "请给出包含错误的日志。",
    ),
    "EXP007.repeated": Words(
        "{count} more line(s) only repeat errors already seen", "另有 {count} 行只是重复已出现的错误"
    ),
    "EXP008.also": Words("{cause}", "{cause}", "{fix}", "{fix}"),
    "EXP011.unread": Words(
        "not read: {path} ({error})",
        "未读取：{path}（{error}）",
        "It went away, may not be read, or is no text; where it matters, give the file itself.",
        "该文件已消失、无权读取或不是文本；若需要请直接给出该文件。",
    ),
    "EXP011.gone": Words(
        "{path} went away or changed while it was read ({error}): only the lines that tell of the error are shown",
        "{path} 在读取过程中消失或被改动（{error}）：仅显示与错误有关的行",
        "Run it again on a copy of the log for the lines around the error.",
        "如需错误前后的内容，请对日志副本重新执行。",
    ),
    "EXP012.register": Words(
        "{code} was read as the status of an overflow record; the AI core's error register has other bits",
        "{code} 按溢出记录的 status 解读；AI Core 错误寄存器的各位含义不同",
        "If it is the register's, written in decimals: `ascend-workbook explain {other}`.",
        "若它是以十进制写出的寄存器值：`ascend-workbook explain {other}`。",
    ),
    "EXP012.overflow": Words(
        "{code} was read as the AI core's error register; the status of an overflow record has other bits",
        "{code} 按 AI Core 错误寄存器解读；溢出记录的 status 各位含义不同",
        "If it is such a status, written in hex: `ascend-workbook explain {other}`.",
        "若它是以十六进制写出的 status：`ascend-workbook explain {other}`。",
    ),
    "explain.not_text": Words(
        "{path} is not a text log.",
        "{path} 不是文本日志。",
        "Unpack it (zip, tar, xz, zst; .gz is read as it is) and give the text file.",
        "请先解压（zip、tar、xz、zst；.gz 可直接读取），再给出文本文件。",
    ),
    "EXP009.unlisted": Words(
        "not in our list: no error or code that we know stands in the text: {text}",
        "不在我们的列表中：这段文字里没有已知的错误或错误码：{text}",
        "It is no file or folder here either. Give the log or the whole error message; search or ask in the forum "
        "(https://www.hiascend.com/forum) or the issue tracker (https://github.com/Ascend/pytorch/issues).",
        "当前位置也没有这个名称的文件或目录。请给出日志或完整的报错文字；也可在论坛（https://www.hiascend.com/forum）"
        "或问题跟踪（https://github.com/Ascend/pytorch/issues）搜索、提问。",
    ),
    "explain.box.empty": Words(
        "nothing to explain: error_log is empty (a text, a code such as 507015, or the path of a log)",
        "没有要解读的内容：error_log 为空（可填错误文字、错误码如 507015，或日志路径）",
    ),
    "explain.box.nothing": Words(
        "The box is empty. Paste the error from its first line on, a code such as 507015, or the path of a log; for a "
        "run without an error there is `ascend-workbook explain --symptom`.",
        "框中没有内容。请粘贴完整的报错（从第一行开始）、错误码（如 507015）或日志路径；没有报错时请用 "
        "`ascend-workbook explain --symptom`。",
    ),
    "explain.box.placeholder": Words(
        "Paste an error, a code such as 507015, or the path of a log", "粘贴错误文字、错误码（如 507015）或日志路径"
    ),
    "explain.box.button": Words("Explain", "解读"),
    "explain.nothing": Words(
        "Nothing to explain was given.",
        "没有给出要解读的内容。",
        "Give a log, a folder of logs, `-` for standard input, a code such as 507015, or --symptom.",
        "请给出日志、日志目录、`-`（标准输入）、错误码（如 507015），或 --symptom。",
    ),
    "explain.no_file": Words(
        "There is no file or folder {path}.",
        "找不到文件或目录 {path}。",
        "Check the path; it is relative to the folder you are in.",
        "请检查路径；相对路径以当前目录为准。",
    ),
    "explain.unreadable": Words("The log {path} cannot be read: {error}", "无法读取日志 {path}：{error}"),
    "explain.no_logs": Words(
        "The folder {path} holds no log ({suffixes}).",
        "目录 {path} 中没有日志（{suffixes}）。",
        "Give the file itself.",
        "请直接给出文件。",
    ),
    "explain.symptom_alone": Words(
        "--symptom prints a checklist and reads no log, but {what} was given as well.",
        "--symptom 只打印排查清单，不读取日志；但同时给出了 {what}。",
        "Give one of the two: `ascend-workbook explain LOG`, or `ascend-workbook explain --symptom {symptom}`.",
        "请只给其中之一：`ascend-workbook explain LOG`，或 `ascend-workbook explain --symptom {symptom}`。",
    ),
    "explain.symptom_unknown": Words(
        "No checklist for the symptom {symptom}; there are {known}.", "没有症状 {symptom} 的清单；可用的有 {known}。"
    ),
    "EXP010.checklist": Words(
        '{count} known causes of "{symptom}", the most frequent first',
        "“{symptom}”有 {count} 个已知原因，按常见程度排列",
    ),
}
