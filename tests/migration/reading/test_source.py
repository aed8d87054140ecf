"""Source: offsets, encodings, and what names mean."""

from __future__ import annotations

import ast
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.migration.reading.source import Source, decode_bytes, parse_text, read_source
from ascend_workbook.migration.reading.undecoded import Unreadable
from ascend_workbook.migration.rewrite import rewrite
from ascend_workbook.migration.scan import scan


def _call(source: Source) -> ast.Call:
    return source.nodes_of_type(ast.Call)[0]


@pytest.mark.parametrize(
    "text",
    [
        "f(x)",
        "中文 = 1; f(x)",
        "a = '中文𝄞'; b = f(x)  # 后面",
        "if 1:\r\n    中 = f(x)\r\n",
        "a = 1\rf(x)\r",
        "s = 'form\x0cfeed'\nf(x)\n",
        "s = 'line\u2028separator'; f(x)\n",
        "字 = {'键': f(\n    x)}\n",
    ],
)
def test_a_segment_is_what_the_author_wrote(text: str) -> None:
    source = parse_text(text)
    segment = source.text_of(_call(source))
    assert segment == text[text.index("f(") : text.index(")", text.index("f(")) + 1]
    assert source.place_of(_call(source)).column == text.index("f(") - source.line_starts[_call(source).lineno - 1] + 1


@pytest.mark.parametrize(
    ("data", "encoding", "bom"),
    [
        (b"x = 1\n", "utf-8", b""),
        ("\ufeffx = '中'\n".encode(), "utf-8", b"\xef\xbb\xbf"),
        ("# -*- coding: gbk -*-\nx = '中'\r\n".encode("gbk"), "gbk", b""),
        ("# coding: latin-1\nx = 'é'\n".encode("latin-1"), "iso-8859-1", b""),
    ],
)
def test_bytes_survive_decode_and_encode(data: bytes, encoding: str, bom: bytes) -> None:
    text, found, mark = decode_bytes(data)
    assert (found, mark) == (encoding, bom)
    source = parse_text(text, encoding=found, bom=mark)
    assert source.encode_text(source.text) == data


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"x = (\n", 1),
        (b"a = 1\nprint 'python 2'\n", 2),
        (b"\xff\xfe\x00", 0),
        (b"# coding: nonsense\n", 0),
        (b"x = '\x00'\n", 0),
    ],
)
def test_what_cannot_be_read_says_where(data: bytes, line: int, tmp_path: Path) -> None:
    file = tmp_path / "bad.py"
    file.write_bytes(data)
    with pytest.raises(Unreadable) as raised:
        read_source(file)
    assert raised.value.error
    assert line == 0 or raised.value.line == line


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("import torch\ntorch.cuda.f(1)", "torch.cuda.f"),
        ("import torch as t\nt.cuda.f(1)", "torch.cuda.f"),
        ("import torch.cuda as c\nc.f(1)", "torch.cuda.f"),
        ("import torch\nimport torch.nn\ntorch.f(1)", "torch.f"),
        ("from torch.cuda import amp as a\na.f(1)", "torch.cuda.amp.f"),
        ("from torch.cuda import f\nf(1)", "torch.cuda.f"),
        ("def g():\n    from torch import cuda\n    cuda.f(1)", "torch.cuda.f"),
        ("import torch\ng = torch.cuda.f\ng(1)", "torch.cuda.f"),
        ("try:\n    from torch import f\nexcept ImportError:\n    f = None\nf(1)", "torch.f"),
        ("from .torch import f\nf(1)", ".torch.f"),
        ("import torch\nclass A:\n    torch = 1\n    def g(self):\n        torch.f(1)", "torch.f"),
        ("def g(torch):\n    torch.f(1)", ""),
        ("import torch\ndef g():\n    torch = other()\n    torch.f(1)", ""),
        ("import torch\nfor torch in []:\n    torch.f(1)", ""),
        ("import torch\nx = lambda torch: torch.f(1)", ""),
        ("torch.f(1)", ""),
        ("x.torch.f(1)", ""),
        ("import torch\ndef g(a=torch.f(1), torch=2):\n    pass", "torch.f"),
    ],
)
def test_names_are_resolved_as_python_does(code: str, name: str) -> None:
    source = parse_text(code)
    calls = [call for call in source.nodes_of_type(ast.Call) if call.args]
    assert [source.names.resolve_call(call) for call in calls] == [name]


def test_a_deep_tree_is_no_crash() -> None:
    source = parse_text("x = " + "+".join(["1"] * 900))
    assert source.names.resolve_name(ast.Name("x", ast.Load())) == ""


def test_an_edit_whose_text_is_not_there_is_not_made() -> None:
    source = parse_text("x.cuda(0)")
    function = _call(source).func
    assert source.replace_text(function, "cuda", "to") and source.replace_text(function, "npu", "to") == ()


CHINESE = "# 训练脚本：把模型放到显卡上\nimport torch\nx = torch.zeros(1).cuda('cuda:0')  # 第一块显卡\n"


@pytest.mark.parametrize(
    ("data", "key", "words", "step"),
    [
        (CHINESE.encode("gbk"), "unreadable.encoding", "0xC1 (line 1, byte 5 of the line)", "`# coding: gb18030`"),
        (b"import torch\ncuda = 1\nx = 'caf\xe9'\n", "unreadable.encoding", "0xE9 (line 3, byte 9", "`# coding: NAME`"),
        (b"# coding: utf-8\n" + CHINESE.encode("gbk"), "unreadable.declared", "byte 0xC1 (line 2", "gb18030"),
        (b"#!py\n# coding: gb2312\nx = '\x81\x40'\n", "unreadable.declared", "byte 0x81 (line 3", "coding"),
        (b"# coding: no-such\nimport torch\n", "unreadable.coding", "no-such", "in place of no-such"),
        (CHINESE.encode("utf-16"), "unreadable.utf_16", "UTF-16", "iconv"),
        (CHINESE.encode("utf-16-le"), "unreadable.utf_16", "UTF-16", "iconv"),
        (b"\x7fELF\x02\x01\x01" + bytes(40) + b"cuda", "unreadable.binary", "offset 7", "Leave it out"),
        (b"import torch\nprint 'cuda'\n", "unreadable.python_2", "Python 2", "2to3"),
        (b"try:\n    import torch.cuda\nexcept E, e:\n    pass\n", "unreadable.python_2", "Python 2", "2to3"),
        (b"import torch\nx = = 'cuda'\n", "unreadable.other", "invalid syntax", "Mend the file"),
    ],
)
def test_each_kind_of_unreadable_file_has_its_own_message(
    tmp_path: Path, data: bytes, key: str, words: str, step: str
) -> None:
    (tmp_path / "bad.py").write_bytes(data)
    with pytest.raises(Unreadable) as raised:
        read_source(tmp_path / "bad.py")
    assert raised.value.key == key
    told = [finding for finding in scan(tmp_path).findings if finding.key == "MIG100.unreadable"]
    assert len(told) == 1 and words in told[0].message("en") and step in told[0].hint("en")
    assert told[0].place is not None and told[0].message("zh") and told[0].hint("zh")
    assert ("Python 2" in told[0].message("en") + told[0].hint("en")) == (key == "unreadable.python_2")
    with pytest.raises(WorkbookError) as refused:
        rewrite(tmp_path / "bad.py")
    assert refused.value.message("en") == told[0].message("en") and refused.value.hint("zh") == told[0].hint("zh")


@pytest.mark.parametrize("encoding", ["gbk", "gb18030", "gb2312", "big5", "shift_jis"])
def test_a_declared_encoding_is_scanned_and_kept(tmp_path: Path, encoding: str) -> None:
    text = f"# -*- coding: {encoding} -*-\r\n# 中文文件\r\nimport torch\r\nx = y.cuda('cuda:0')  # 中文\r\n"
    (tmp_path / "a.py").write_bytes(text.encode(encoding))
    assert [str(f.place) for f in scan(tmp_path).findings if f.args.get("class") == "rewrite"] == ["a.py:4:5"]
    rewrite(tmp_path, tmp_path / "out")
    two = "import torch_npu\r\nfrom torch_npu.contrib import transfer_to_npu\r\nimport torch\r\n"
    expected = text.replace("import torch\r\n", two).replace(".cuda(", ".to(").encode(encoding)
    assert (tmp_path / "out" / "a.py").read_bytes() == expected
    compile((tmp_path / "out" / "a.py").read_bytes(), "a.py", "exec")


@pytest.mark.parametrize("comment", ["# 训练".encode("gbk"), b"# caf\xe9", b"# \x81"])
def test_a_launch_script_in_any_encoding_is_scanned_and_kept(tmp_path: Path, comment: bytes) -> None:
    data = comment + b"\nexport CUDA_VISIBLE_DEVICES=0\n"
    (tmp_path / "run.sh").write_bytes(data)
    rewrite(tmp_path, tmp_path / "out")
    new = data.replace(b"CUDA_VISIBLE_DEVICES", b"ASCEND_RT_VISIBLE_DEVICES")
    assert (tmp_path / "out" / "run.sh").read_bytes() == new


def test_one_thread_parses_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several at once end with a SystemError now and then in some versions of Python."""
    now, most, ordinary = [0], [0], ast.parse

    def parse(text: str) -> ast.Module:
        now[0] += 1
        most[0] = max(most[0], now[0])
        time.sleep(0.01)
        now[0] -= 1
        return ordinary(text)

    monkeypatch.setattr(ast, "parse", parse)
    with ThreadPoolExecutor(4) as pool:
        assert len(list(pool.map(parse_text, ["x = 1"] * 8))) == 8
    assert most == [1]
