"""Every verb is listed, has help with examples, and cannot be shadowed by a user's own helpers."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Callable

import pytest

import helpers
from ascend_workbook.cli.commands import batch, dry_run, simulator
from ascend_workbook.cli.main import build_parser, load_verb, main, verb_names
from ascend_workbook.cli.mistakes import find_swallowed
from ascend_workbook.cli.options import progress_line, progress_lines
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.machine.launch import Progress
from tests.conftest import ROOT

VERBS = {name: load_verb(name) for name in verb_names()}


def test_the_command_lists_the_verbs(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = capsys.readouterr().out
    assert all(name in shown for name in VERBS)


@pytest.mark.parametrize("name", VERBS)
def test_a_verb_is_found_alone_and_among_all(name: str) -> None:
    """A command imports the module of its own verb only."""
    assert list(build_parser(name).below) == [name]
    assert list(build_parser("no such verb").below) == list(VERBS) == list(build_parser().below)


@pytest.mark.parametrize("name", VERBS)
def test_help_has_examples(name: str) -> None:
    parser = build_parser(name).below[name]
    examples = parser.examples
    assert examples and all(f"  {line}\n" in parser.format_help() for line in examples)
    lines = [example for example in examples if example.startswith("ascend-workbook ")]
    assert lines, examples
    for line in lines:
        build_parser().parse_args(shlex.split(line.partition(" # ")[0])[1:])


def test_the_notebook_verbs_exist() -> None:
    for name in helpers.__all__:
        assert getattr(helpers, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = helpers.nothing


def replace_run(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str, function: Callable[..., object]
) -> None:
    """Let the verb call another function with the same options."""
    verb = replace(module.VERBS[name], run=function)
    verb.__dict__["options"] = module.VERBS[name].options
    monkeypatch.setitem(module.VERBS, name, verb)


def test_an_error_of_ours_is_told_and_exits_with_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails() -> None:
        raise WorkbookError("run.no_script", path="x.py")

    replace_run(monkeypatch, batch, "run", fails)
    assert main(["run", "--lang", "zh"]) == 2
    assert "错误：找不到脚本 x.py" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("chek", "没有命令 `chek`"),
        ("scan", "path"),
        ("scan --nope x.py", "--nope"),
        ("dry-run --steps many x.py", "'many'"),
        ("setup --prefix /x", "--prefix 须与 --kernelspec"),
        ("check --compare a b --save c", "--compare 不能与 --save"),
        ("check --compare a b --xlsx .", ".：这是文件夹"),
        ("selftest --part hccl --log x", "--part 不能与 --log"),
        ("explain 507015 --json .", ".：这是文件夹"),
        ("explain 507015 --html README.md/x.html", "README.md/x.html：路径中有一段不是文件夹"),
    ],
)
def test_a_wrong_line_is_told_before_any_work(line: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    """In the language asked for, with the next step, whatever is wrong."""
    verb, *rest = line.split()
    assert main([verb, "--lang", "zh", *rest]) == 2
    shown = capsys.readouterr()
    assert told in shown.err and "下一步：" in shown.err and not shown.out


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert (end.value.code, capsys.readouterr().out.strip()) == (0, f"ascend-workbook {helpers.__version__}")
    assert f'version = "{helpers.__version__}"' in (ROOT / "pyproject.toml").read_text()


@pytest.mark.parametrize("word", ["train.py", "scan.py", "src/train.py", ".", "a.b.c"])
def test_a_script_in_the_place_of_the_verb_is_told(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([word, "--lang", "en"]) == 2
    printed = capsys.readouterr().err
    assert f"there is no command `{word}`" in printed and "Traceback" not in printed


@pytest.fixture
def users_repository(tmp_path: Path) -> Path:
    """A repository whose own package is called helpers too."""
    (tmp_path / "helpers").mkdir()
    (tmp_path / "helpers" / "__init__.py").write_text("raise RuntimeError('the user\\'s helpers')")
    (tmp_path / "helpers.py").write_text("raise RuntimeError('the user\\'s helpers')")
    return tmp_path


@pytest.mark.parametrize("pythonpath", ["", "."])
def test_a_users_helpers_do_not_shadow_ours(users_repository: Path, pythonpath: str) -> None:
    command = [sys.executable, str(ROOT / "ascend_workbook"), "run", "--help"]
    environment = {**os.environ, "PYTHONPATH": pythonpath}
    done = subprocess.run(command, cwd=users_repository, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Run the notebooks headless" in done.stdout


def test_a_path_that_cannot_be_written_is_no_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "a.py"
    script.write_text("import torch\n")
    for options in (["scan", "--html", str(tmp_path)], ["rewrite", "--out", str(script)]):
        assert main([*options, str(script), "--lang", "en"]) == 2
        assert "next step: " in capsys.readouterr().err


def test_a_defect_of_ours_is_no_verdict(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fails() -> None:
        raise ValueError("a defect")

    replace_run(monkeypatch, batch, "run", fails)
    assert main(["run"]) == 2
    assert "ValueError: a defect" in capsys.readouterr().err


@pytest.mark.parametrize("reader", ["true", "head -1", "{ sleep 1; head -1; }"])
def test_a_reader_that_has_seen_enough_ends_it_quietly(tmp_path: Path, reader: str) -> None:
    """The diff is longer than any pipe holds (1 MiB at most): it cannot be written whole before the reader has gone."""
    (tmp_path / "a.py").write_text(f"import torch\nx = torch.zeros(1).cuda()  # {'x' * (4 << 20)}\n")
    command = f"{shlex.quote(sys.executable)} -m ascend_workbook rewrite {shlex.quote(str(tmp_path))}; echo $? >&2"
    done = subprocess.run(
        ["bash", "-c", f"({command}) | {reader}"], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.stderr == "0\n"  # nothing but the exit code


def test_files_and_the_verdict_outlive_the_reader(tmp_path: Path) -> None:
    page, data = tmp_path / "x.html", tmp_path / "x.json"
    command = [sys.executable, "-m", "ascend_workbook", "explain", "507015", "--json", str(data), "--html", str(page)]
    whole = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=120, check=False)
    for path in (page, data):
        path.unlink()
    reads, writes = os.pipe()
    os.close(reads)
    done = subprocess.run(command, cwd=ROOT, stdout=writes, stderr=subprocess.PIPE, timeout=120, check=False)
    os.close(writes)
    assert (done.returncode, done.stderr) == (whole.returncode, b"") and whole.returncode in (0, 1)
    assert page.is_file() and data.is_file()


@pytest.mark.parametrize(
    "encoding",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "latin-1"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
)
@pytest.mark.parametrize("what", [["explain", "507015"], ["scan", "没有.py"]], ids=["report", "error"])
def test_an_encoding_without_chinese_is_no_defect(encoding: dict[str, str], what: list[str]) -> None:
    plain = {name: value for name, value in os.environ.items() if name not in ("PYTHONIOENCODING", "PYTHONUTF8")}
    command = [sys.executable, "-m", "ascend_workbook", *what, "--lang", "zh"]
    codes = []
    for environ in ({**plain, "PYTHONUTF8": "1"}, {**plain, **encoding}):
        done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, timeout=120, check=False)
        assert b"Traceback" not in done.stderr, done.stderr
        codes.append(done.returncode)
    assert codes[0] == codes[1] and b"\\u" in done.stdout + done.stderr


def test_the_simulator_runs_the_python_it_was_built_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the virtual environment is not activated."""
    started: list[str] = []
    verb = replace(simulator.ACTIONS["run"], function=lambda devices=None, **options: {"PATH": "/usr/bin"})
    monkeypatch.setitem(simulator.ACTIONS, "run", verb)
    monkeypatch.setattr(simulator.os, "execve", lambda program, command, environ: started.append(program))
    assert main(["simulator", "run", "--", Path(sys.executable).name]) == 0
    assert started == [sys.executable]


ARGPARSE = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--epochs')\n"


@pytest.mark.parametrize(
    ("line", "text", "told"),
    [
        ("dry-run {script} --steps 5", ARGPARSE, ["--steps"]),
        ("dry-run {script} --json=a.json --epochs 1 --lang zh", ARGPARSE, ["--json", "--lang"]),
        ("operators torchrun --nproc 2 {script} --warmup 1", ARGPARSE, ["--warmup"]),
        ("capture --out x {script} --steps 3", ARGPARSE, ["--steps"]),
        ("profile {script} --device npu", ARGPARSE, ["--device"]),
        ("launch-facts {script} --json x.json", ARGPARSE, ["--json"]),
        ("dry-run --steps 5 {script} --epochs 1", ARGPARSE, []),
        ("dry-run {script} -- --steps 5", ARGPARSE, []),
        ("dry-run {script} --steps 5", ARGPARSE + "p.add_argument('--steps')\n", []),
        ("dry-run {script} --loss-regex x", "import click\n@click.option('--loss_regex')\n", []),
        ("dry-run {script} --steps 5", "class Options:\n    steps: int = 5  # 步数\n", []),
        ("dry-run {script} --steps 5", "import fire\ndef main(lr=1, steps=5):\n    pass\n", []),
        ("dry-run {script} --steps 5", "import options\n", []),
        ("scan {script} --json x.json", ARGPARSE, []),
    ],
)
def test_an_option_of_ours_behind_a_script_is_told(tmp_path: Path, line: str, text: str, told: list[str]) -> None:
    (tmp_path / "train.py").write_text(text, encoding="utf-8")
    (tmp_path / "options.py").write_text(ARGPARSE + "p.add_argument('--steps')\n", encoding="utf-8")
    words = line.format(script=tmp_path / "train.py").split()
    args = build_parser(words[0]).parse_args(words)
    script, swallowed = find_swallowed(args, words)
    assert swallowed == told and (not told or script == str(tmp_path / "train.py"))


@pytest.mark.parametrize(
    ("line", "ours", "words"),
    [
        ("migrate t.py --out X -- --epochs 1", {"out": "X"}, ["t.py", "--epochs", "1"]),
        ("migrate --out X t.py --seed=3 -- --out Y", {"out": "X", "seed": 3}, ["t.py", "--out", "Y"]),
        ("migrate t.py data --lr 1 --skip a --skip b -- -x", {"skip": ["a", "b"]}, ["t.py", "data", "--lr", "1", "-x"]),
        ("dry-run torchrun --nproc 2 t.py --steps 7 -- -x", {"steps": 7}, ["torchrun", "--nproc", "2", "t.py", "-x"]),
        ("dry-run python -m pkg.train --steps 7 -- -x", {"steps": 7}, ["python", "-m", "pkg.train", "-x"]),
        ("dry-run bash run.sh --steps 7 --", {"steps": 7}, ["bash", "run.sh"]),
        ("capture t.py --out X -- --steps 9", {"out": "X"}, ["t.py", "--steps", "9"]),
        ("launch-facts t.py --json x -- a", {"json": "x"}, ["t.py", "a"]),
        ("migrate t.py --out X -- -- y", {"out": "X"}, ["t.py", "--", "y"]),
        ("migrate t.py -- --out X", {"out": None}, ["t.py", "--out", "X"]),
        ("migrate t.py a -- --out X", {"out": None}, ["t.py", "a", "--", "--out", "X"]),
        ("migrate -- t.py --out X -- y", {"out": None}, ["t.py", "--out", "X", "--", "y"]),
        ("dry-run torchrun t.py -- --steps 7", {"steps": 5}, ["torchrun", "t.py", "--steps", "7"]),
        ("dry-run torchrun t.py a -- --steps 7", {"steps": 5}, ["torchrun", "t.py", "a", "--", "--steps", "7"]),
        ("rehearse t.py --network resnet50 -- x", {"network": False}, ["t.py", "--network", "resnet50", "--", "x"]),
        ("rehearse t.py --network --lr 1 -- x", {"network": True}, ["t.py", "--lr", "1", "x"]),
        ("dry-run t.py --network=a --seed --steps -1 -- x", {"steps": -1}, ["t.py", "--network=a", "--seed", "x"]),
        ("dry-run t.py --seed --lr -- x", {"seed": 1234}, ["t.py", "--seed", "--lr", "--", "x"]),
        ("simulator run -- python t.py --lang zh -- x", {"lang": None}, ["python", "t.py", "--lang", "zh", "--", "x"]),
    ],
)
def test_what_stands_before_a_dashes_word_behind_the_script_is_ours(
    line: str, ours: dict[str, object], words: list[str]
) -> None:
    args = build_parser(line.split()[0]).parse_args(line.split())
    given: list[str] = []
    for option in args.chosen.options:
        if option.keyword in ("script", "args", "command"):
            value = option.read_value(args)
            given += [value] if isinstance(value, str) else value
    assert given == words and {name: getattr(args, name) for name in ours} == ours


def test_a_wrong_value_before_the_dashes_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["migrate", "t.py", "--rounds", "many", "--lang", "en", "--", "--epochs", "1"]) == 2
    assert "--rounds: 'many' is no whole number" in capsys.readouterr().err


def test_a_swallowed_option_is_said_on_stderr_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.py").write_text(ARGPARSE, encoding="utf-8")
    replace_run(monkeypatch, dry_run, "dry-run", lambda call: 0)
    assert main(["dry-run", "--lang", "en", str(tmp_path / "train.py"), "--steps", "5"]) == 0
    assert "--steps behind" in capsys.readouterr().err
    assert main(["dry-run", "--lang", "zh", str(tmp_path / "train.py"), "--steps", "5"]) == 0
    assert "之后的 --steps 已传给脚本" in capsys.readouterr().err


def test_words_that_are_taken_from_before_the_dashes_are_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    replace_run(monkeypatch, dry_run, "dry-run", lambda call: 0)
    for lang, told in (
        ("en", "`--steps 5` between the script and `--` was taken"),
        ("zh", "之间的 `--steps 5` 已作为"),
    ):
        assert main(["dry-run", "--lang", lang, "train.py", "--lr", "1", "--steps", "5", "--", "x"]) == 0
        assert told in capsys.readouterr().err
    assert main(["dry-run", "--lang", "en", "train.py", "--", "--steps", "5"]) == 0
    assert not capsys.readouterr().err


def test_an_action_has_its_own_sentence_and_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["course", "reset", "--help"])
    shown = capsys.readouterr().out
    assert "\nPut an exercise back; " in shown and "  ascend-workbook course reset env\n" in shown
    assert "course list\n" not in shown and "course grade" not in shown


def test_a_misspelt_option_leads_to_the_verbs_own_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scan", "x", "--detials", "--lang", "en"]) == 2
    shown = capsys.readouterr().err
    assert "Did you mean --details? `ascend-workbook scan --help`" in shown
    assert main(["scan", "x", "--zzz", "--lang", "en"]) == 2
    assert "See `ascend-workbook scan --help`" in capsys.readouterr().err


def test_a_needed_option_behind_the_script_is_told_as_such(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["capture", "train.py", "--out", "somewhere"]) == 2
    said = capsys.readouterr().err
    assert "--out stands behind the script" in said and "ascend-workbook capture --out" in said
    assert main(["capture", "train.py"]) == 2
    assert "what is required is missing: --out" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("modelarts job --code obs://b/c", "缺少必需的参数：--out、--flavor"),
        ("scan x --zzz", "不认识 --zzz"),
        ("rewrite x --mode magic", "--mode magic：可选 inject、explicit"),
        ("course grade x --timeout abc", "--timeout：'abc' 不是数"),
        ("rewrite x --mode", "--mode 需要一个值"),
        ("modelarts job --code a --out b --flavor f --command x --script y", "--script 不能与 --command 一起使用"),
    ],
)
def test_argparses_sentences_are_in_the_readers_language(
    line: str, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ASCEND_WORKBOOK_LANG", "zh")
    assert main(line.split()) == 2
    shown = capsys.readouterr().err
    assert said in shown and "argument" not in shown, shown


def test_an_option_before_the_verb_is_told_as_such(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--lang", "zh", "check"]) == 2
    assert "--lang 写在了命令之前" in capsys.readouterr().err
    assert main(["--lang", "en"]) == 2
    assert "--lang stands before the command" in capsys.readouterr().err


def test_what_is_told_on_the_way_stays_off_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    progress_line("two steps first")
    progress_lines(Progress(1, 2, None, ("epoch 1", "loss 0.5")))
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", "two steps first\nepoch 1\nloss 0.5\n")


INTERRUPTED = """
import sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "ascend_workbook.cli.parser":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupt())
"""


@pytest.mark.parametrize(
    "start",
    [
        "import runpy; runpy.run_module('ascend_workbook', run_name='__main__')",
        "from importlib import import_module; import_module({module!r})",
    ],
)
def test_an_interrupt_while_the_command_is_imported_is_quiet(start: str) -> None:
    """Both as `python -m ascend_workbook`, and as the installed script imports it."""
    entry = re.search(r'^ascend-workbook = "([\w.]+):main"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert entry is not None
    words = [sys.executable, "-c", INTERRUPTED + start.format(module=entry[1])]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_the_json_has_the_command_that_made_it_without_secrets(tmp_path: Path) -> None:
    script, data = tmp_path / "train.py", tmp_path / "x.json"
    script.write_text("import torch\nx = torch.zeros(1).cuda()\n")
    secret = "hf_" + "Ab3" * 12
    words = ["scan", str(script), "--json", str(data), "--lang", "en"]
    assert main(words) == 0 and json.loads(data.read_text())["command"] == ["ascend-workbook", *words]
    words = ["explain", f"error 507015 token={secret}", "--json", str(data), "--lang", "en"]
    main(words)
    told = json.loads(data.read_text())["command"]
    assert told[:2] == ["ascend-workbook", "explain"] and secret not in " ".join(told) and told[3:] == words[2:]
