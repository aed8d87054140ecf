"""Source: offsets, encodings, and what names mean."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from helpers.migration.reading.source import Source, Unreadable, decode, parse, read


def _call(source: Source) -> ast.Call:
    return source.nodes(ast.Call)[0]


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
    source = parse(text)
    segment = source.segment(_call(source))
    assert segment == text[text.index("f(") : text.index(")", text.index("f(")) + 1]
    assert source.place(_call(source)).column == text.index("f(") - source.line_starts[_call(source).lineno - 1] + 1


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
    text, found, mark = decode(data)
    assert (found, mark) == (encoding, bom)
    source = parse(text, encoding=found, bom=mark)
    assert source.encode(source.text) == data


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
        read(file)
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
    source = parse(code)
    calls = [call for call in source.nodes(ast.Call) if call.args]
    assert [source.names.call(call) for call in calls] == [name]


def test_a_deep_tree_is_no_crash() -> None:
    source = parse("x = " + "+".join(["1"] * 900))
    assert source.names.resolve(ast.Name("x", ast.Load())) == ""


def test_an_edit_whose_text_is_not_there_is_not_made() -> None:
    source = parse("x.cuda(0)")
    function = _call(source).func
    assert source.replace(function, "cuda", "to") and source.replace(function, "npu", "to") == ()
