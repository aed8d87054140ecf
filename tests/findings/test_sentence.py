"""Every sentence exists in both languages, takes the same arguments in each, and is used by someone."""

from __future__ import annotations

import ast
import copy
import json
import pickle
import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from pathlib import Path
from string import Formatter

import pytest

from ascend_workbook.findings import sentence as words
from tests.conftest import ROOT

PACKAGES = [ROOT / name for name in ("ascend_workbook", "ascend_simulator", "course", "helpers")]
#: Of the page.
SCRIPTS = ROOT / "tools" / "bundle" / "src"
#: A rule's code.
CODE = re.compile(r"[A-Z]{3}\d{3}")
#: What tests/cli/test_help.py and tests/tools/test_docs.py hold to be said.
ELSEWHERE = ("help.", "rule.")


def fields(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name}


@pytest.mark.parametrize("key", sorted(words.load_catalogue()))
def test_both_languages_say_the_same(key: str) -> None:
    entry = words.load_catalogue()[key]
    assert entry.en and entry.zh
    assert fields(entry.en) == fields(entry.zh)
    assert bool(entry.hint_en) == bool(entry.hint_zh)
    assert fields(entry.hint_en) == fields(entry.hint_zh)


def test_chinese_is_chinese() -> None:
    """A sentence of several words that has no Chinese character in its zh form was forgotten."""
    plain = {
        key
        for key, entry in words.load_catalogue().items()
        if not re.search("[\u4e00-\u9fff]", entry.zh) and len(re.sub(r"\{.*?\}", "", entry.en).split()) > 3
    }
    assert not plain


def string_constants(tree: ast.AST) -> set[str]:
    """Every string of the module but its docstrings; imports have none."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    strings = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in docstrings)
    return {node.value for node in strings if isinstance(node.value, str)}


def key_patterns(tree: ast.Module) -> set[str]:
    """The f-strings that can make a key, as regular expressions; a constant of the module is filled in."""
    constants = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    patterns = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [
                part.value
                if isinstance(part, ast.Constant)
                else constants.get(getattr(getattr(part, "value", None), "id", ""))
                for part in node.values
            ]
            pattern = "".join("[^ ]+" if part is None else re.escape(str(part)) for part in parts)
            if pattern.startswith("[^ ]+\\."):
                pattern = CODE.pattern + pattern[len("[^ ]+") :]
            if re.match(r"\w+\\\.|\[A-Z\]", pattern):  # a key begins with the name of its part or with a code
                patterns.add(pattern)
    return patterns


def unsaid(keys: Iterable[str], modules: Iterable[str], data: AbstractSet[str] = frozenset()) -> list[str]:
    """The keys that no module can say: none has the key, an f-string for it, or its code beside its last word."""
    trees = [ast.parse(text) for text in modules]
    strings = [string_constants(tree) for tree in trees]
    known = set().union(data, *strings)
    begun = {f"{re.escape(text)}[^ ]+" for text in data if text.endswith(".")}  # as a template joins a key
    pattern = re.compile("|".join(sorted(begun.union(*map(key_patterns, trees)))) or "(?!)")

    def is_said(key: str) -> bool:
        code, _, rest = key.partition(".")
        return (
            key in known
            or pattern.fullmatch(key) is not None
            or any({code, rest} <= beside for beside in strings if CODE.fullmatch(code))
        )

    return [key for key in keys if not is_said(key)]


def texts_of(kind: str) -> list[tuple[str, Path]]:
    """Return every file of our packages with this ending, with its path."""
    paths = [path for package in PACKAGES for path in sorted(package.rglob(f"*.{kind}"))]
    return [(path.read_text(encoding="utf-8"), path) for path in paths]


def test_no_sentence_is_left_over() -> None:
    cells = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "notebooks" / "source").rglob("*.py"))]
    modules = [*(text for text, _ in texts_of("py")), *cells]
    texts = [text for kind in ("json", "html") for text, _ in texts_of(kind)]
    scripts = "".join(path.read_text(encoding="utf-8") for path in sorted(SCRIPTS.glob("*.js")))
    data = {match for text in texts for match in re.findall(r'"([\w.-]+)"', text)}
    data |= {f"timeline.{name}" for name in re.findall(r"\bwords\.(\w+)", scripts)}
    data |= {f"page.ui.{name}" for name in re.findall(r'"([\w.]+)"', scripts)}
    keys = [key for key in words.load_catalogue() if not key.startswith(ELSEWHERE)]
    assert unsaid(keys, modules, data) == []


def test_a_sentence_that_nobody_says_is_found() -> None:
    module = (
        '"""Says part.old."""\nfrom part import old\nimport part.other\nsay("part.new")\nsay(f"part.kind.{kind}")\n'
    )
    assert unsaid(["part.old", "part.other", "part.new", "part.kind.a"], [module]) == ["part.old", "part.other"]
    rule = 'CODE = "PRF311"\nyield saving(CODE, "busy")\n'
    assert unsaid(
        ["PRF311.busy", "PRF311.idle", "PRF312.busy"], [f"def f():\n    {rule}".replace("\ny", "\n    y")]
    ) == ["PRF311.idle", "PRF312.busy"]


def test_the_files_are_toml() -> None:
    tomllib = pytest.importorskip("tomllib")
    files = words.locale_files()
    for path in files:
        assert tomllib.loads(path.read_text(encoding="utf-8")) == words.read_locale(path), path.name
    assert sum(len(words.read_locale(path)) for path in files) == len(words.load_catalogue())


def test_a_sentence_that_stands_twice_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "twice.toml"
    file.write_text('["a.b"]\nen = "1"\nzh = "1"\n\n["a.b"]\nen = "2"\nzh = "2"\n', encoding="utf-8")
    with pytest.raises(ValueError, match="twice.toml defines 'a.b' twice"):
        words.read_locale(file)


def test_a_sentence_checks_itself_where_it_is_made() -> None:
    with pytest.raises(KeyError, match="no words for 'nothing.here'"):
        words.Sentence("nothing.here")
    with pytest.raises(KeyError, match="'device.absent' lacks why"):
        words.Sentence("device.absent", wanted="npu")


def test_a_sentence_is_its_json_and_cannot_be_changed() -> None:
    why = words.Sentence("device.why.no_cann")
    made = words.Sentence("device.absent", wanted="npu", why=why)
    assert json.loads(json.dumps(made)) == {
        "say": "device.absent",
        "args": {"wanted": "npu", "why": {"say": "device.why.no_cann"}},
    }
    assert words.restore_sentence(json.loads(json.dumps([made]))) == [made]
    assert isinstance(words.restore_sentence(json.loads(json.dumps(made))).args["why"], words.Sentence)
    for copied in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):
        assert copied == made and isinstance(copied, words.Sentence)
    with pytest.raises(TypeError):
        made["say"] = "other"
    with pytest.raises(TypeError):
        made.update(say="other")


def test_a_next_step_is_the_hint_of_its_sentence() -> None:
    step = words.NextStep("run.name", name="a b")
    assert json.loads(json.dumps(step)) == {"hint": "run.name", "args": {"name": "a b"}}
    assert step.text("en") == words.load_catalogue()["run.name"].hint_en


def test_what_an_older_version_kept_is_completed() -> None:
    restored = words.restore_sentence({"say": "device.absent", "args": {"wanted": "npu"}})
    assert restored.args == {"wanted": "npu", "why": None}


def test_nested_sentences_and_lists() -> None:
    said = words.say("device.absent", "en", wanted="npu", why={"say": "device.why.no_cann"})
    assert said == "device npu is not here: no CANN was found"
    assert words.show({"hint": "run.name"}, "en") == words.load_catalogue()["run.name"].hint_en
    assert words.show(["a", 1.23456789], "en") == "a, 1.235"
    assert words.show(None, "zh") == "-"


def test_an_unknown_key_is_an_error() -> None:
    with pytest.raises(KeyError, match="no words for 'nothing.here'"):
        words.say("nothing.here", "en")


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"ASCEND_WORKBOOK_LANG": "zh"}, "zh"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "C"}, "en"),
        ({"LC_ALL": "en_US.UTF-8", "LANG": "zh_CN.UTF-8"}, "en"),
        ({}, "en"),
    ],
)
def test_the_language_is_found(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], expected: str) -> None:
    for name in ("ASCEND_WORKBOOK_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert words.choose_language() == expected
