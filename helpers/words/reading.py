"""Words of a file that could not be read: which byte or line is at fault, and what its author can do."""

from __future__ import annotations

from helpers.words import Words

_BYTE = "byte {byte} (line {at_line}, byte {at_byte} of the line)", "字节 {byte}（第 {at_line} 行第 {at_byte} 个字节）"

WORDS = {
    "unreadable.line": Words(" as Python (line {line})", "（按 Python，第 {line} 行）"),
    "unreadable.guess": Words("; it looks like Chinese text in {guess}", "；看起来是 {guess} 编码的中文"),
    "unreadable.other": Words(
        "{error}",
        "{error}",
        "Mend the file or leave it out.",
        "请修正或排除该文件。",
    ),
    "unreadable.python_2": Words(
        "{error}: it is written in Python 2",
        "{error}：这是 Python 2 代码",
        "A Python 2 file must first become Python 3 (2to3, or by hand); else leave it out.",
        "Python 2 文件须先转为 Python 3（2to3 或手工），否则请排除该文件。",
    ),
    "unreadable.encoding": Words(
        f"{_BYTE[0]} is not UTF-8, and no encoding is declared{{guess}}",
        f"{_BYTE[1]}不是 UTF-8，且文件未声明编码{{guess}}",
        "Python refuses it too. Save the file as UTF-8, or write its encoding in the first line: `# coding: {name}`.",
        "Python 同样会拒绝该文件。请另存为 UTF-8，或在首行写明编码：`# coding: {name}`。",
    ),
    "unreadable.declared": Words(
        f"its coding line says {{encoding}}, but {_BYTE[0]} is not {{encoding}}{{guess}}",
        f"编码声明为 {{encoding}}，但{_BYTE[1]}不是 {{encoding}}{{guess}}",
        "Write the encoding that it has in that line (`# coding: {name}`), or save the file in the one it names.",
        "请在该行写明实际编码（`# coding: {name}`），或将文件另存为所声明的编码。",
    ),
    "unreadable.coding": Words(
        "its coding line cannot be followed: {error}",
        "无法按其编码声明读取：{error}",
        "Write an encoding that Python knows in place of {name}, or save the file as UTF-8 and take the line out.",
        "请把 {name} 改为 Python 支持的编码，或将文件另存为 UTF-8 并去掉该行。",
    ),
    "unreadable.utf_16": Words(
        "it is text in UTF-16 (it holds NUL bytes), which Python does not read",
        "这是 UTF-16 文本（含 NUL 字节），Python 无法读取",
        "Save it as UTF-8, for example `iconv -f UTF-16 -t UTF-8`.",
        "请另存为 UTF-8，例如 `iconv -f UTF-16 -t UTF-8`。",
    ),
    "unreadable.large": Words(
        "it is larger than {limit} MiB, which no script is",
        "文件超过 {limit} MiB，不像脚本",
        "Take the data out of it, or look at it by hand.",
        "请将其中的数据移出，或人工查看。",
    ),
    "unreadable.binary": Words(
        "it is no text but binary data (the NUL byte at offset {at})",
        "这不是文本，而是二进制数据（偏移 {at} 处为 NUL 字节）",
        "Leave it out, or put the source in its place: compiled or encrypted Python cannot be looked at.",
        "请排除该文件或换成源码：编译或加密后的 Python 无法检查。",
    ),
}
