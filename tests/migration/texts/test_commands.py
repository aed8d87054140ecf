"""Commands of shell scripts and the Python within them, by the edges of what is read: words, variables, conditions."""

from __future__ import annotations

from typing import Any

import pytest

from ascend_workbook.migration.repair import class_of
from ascend_workbook.migration.texts import scan_text, text_source
from ascend_workbook.migration.texts.launches import Launch, find_launches
from ascend_workbook.migration.texts.shell_words import parse_commands, plain_text

CONDITIONAL, UNKNOWN, STARTER = "shell_launch.conditional", "shell_launch.unknown", "shell_launch.starter"


def _why(launch: Launch) -> str:
    return str(launch.why["say"]) if isinstance(launch.why, dict) else ""


def _find(text: str, *arguments: str, **outside: str) -> list[Launch]:
    return find_launches(text, "scripts", arguments, outside)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[ -f x ] && python t.py\n", [CONDITIONAL]),
        ("[ -f x ] && echo a && python t.py\n", [CONDITIONAL]),
        ("test -f x && python t.py\n", [CONDITIONAL]),
        ("[ -f x ] && echo a\npython t.py\n", [""]),
        ("[ -f x ]\npython t.py\n", [""]),
        ("echo 好 && python t.py\n", [""]),
        ("echo a || python t.py\n", [CONDITIONAL]),
        ("test -f x && exit 1\npython t.py\n", [""]),
        ("exit 0\npython t.py\n", [CONDITIONAL]),
        ("train() {\n  python t.py\n}\ntrain\npython u.py\n", [CONDITIONAL, ""]),
        ("function train {\n  python t.py\n}\npython u.py\n", [CONDITIONAL, ""]),
        ("function train { cd x; python t.py; }\npython u.py\n", [CONDITIONAL, ""]),
        ("if true; then python t.py; fi; python u.py\n", [CONDITIONAL, ""]),
        ("fi\nwhile true; do\n python t.py\ndone\npython u.py\n", [CONDITIONAL, ""]),
        ("deepspeed t.py --x 1\nsrun hostname\nmpirun -n 2 python t.py\n", [STARTER, STARTER]),
        ("$HOME_OF_IT/python t.py\n", [UNKNOWN]),
        ("python ~/t.py\npython t_{1..3}.py\npython t_{a,b}.py\npython {x}.py\n", [UNKNOWN] * 3 + [""]),
        ("((N+=1))\npython t.py $N\npython t.py 1\n", [UNKNOWN, ""]),
        ("python t.py 1\n((N+=1))\n", [""]),
        ("set -e x\npython t.py $1\n", [UNKNOWN]),
        ("set -e\npython t.py $1\n", [""]),
        ("set -o pipefail\npython t.py $1\n", [""]),
        ("printf -v A 1\npython t.py $1\n", [UNKNOWN]),
        ("printf A\npython t.py $1\n", [""]),
        ("eval A=1\npython t.py $1\n", [UNKNOWN]),
    ],
)
def test_whether_a_command_runs_and_what_it_is_are_told(text: str, told: list[str]) -> None:
    launches = _find(text, "q", HOME_OF="x")
    assert [_why(launch) for launch in launches] == told
    assert [bool(launch.words) for launch in launches] == [not why for why in told]


@pytest.mark.parametrize(
    ("command", "launches"),
    [
        ("python t.py", True),
        ("python3.10 -u t.py", True),
        ("my_python_launcher t.py", True),
        ("./launch.sh t.py", True),
        ("echo t.py", False),
        ("cp t.py u.py", False),
        ("python -m pkg.train", True),
        ("python -u -O -m pkg.train", True),
        ("python -u -O -B -m pkg.train", False),
        ("python -m pip install t.py", False),
        ("python -m", False),
        ("python setup.py build", False),
        ("python tools/setup.py", False),
        ("python -c 'import x' t.py", False),
        ("python t.py -c conf", True),
        ("python --version", False),
        ("torchrun", True),
        ("accelerate launch t.py", True),
        ("accelerate config t.py", False),
        ("stdbuf -oL python t.py", True),
        ("time python t.py", True),
        ("nohup python t.py", True),
        ("exec python t.py", True),
        ("unbuffer python t.py", True),
        ("nice -5 python t.py", True),
        ("env -i A=1 python t.py", True),
        ("then python t.py", True),
        ("", False),
    ],
)
def test_which_commands_train(command: str, launches: bool) -> None:
    assert len(_find(f"{command}\n")) == launches


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('A=(1 2)\nA+=(3)\npython t.py "${A[@]}"\n', ["1", "2", "3"]),
        ("A=(1 2)\nA+=x\npython t.py ${A[@]}\n", ["1x", "2"]),
        ('A=(1 2)\npython t.py "${A[*]}"\n', ["1 2"]),
        ("S=a\nS+=b\npython t.py $S\n", ["ab"]),
        ("S='a b'\npython t.py x$S\n", ["xa", "b"]),
        ("S='a b'\npython t.py \"x$S\"\n", ["xa b"]),
        ('A=\npython t.py ${A:-x} ${A-y} "$A"\n', ["x", ""]),
        ("python t.py ${B:=x} ${B=y} ${B-}\n", ["x", "y"]),
        ("python t.py $((3*4)) $((10/3)) $((1-2))\n", ["12", "3", "-1"]),
        ('python t.py "$@" x\n', ["x"]),
        ("python t.py $PWD/a ${PWD} `pwd`/b\n", ["./a", ".", "./b"]),
        ('python t.py "$(dirname "$0")/c" ${BASH_SOURCE%/*}\n', None),
        ('python t.py "$(dirname "$0")/c"\n', ["scripts/c"]),
        ('python t.py "$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/d"\n', ["scripts/../d"]),
        ('python t.py "\\$A"\n', None),
        ("python t.py $((2**3))\n", None),
        ("python t.py $((1000000000))\n", None),
        ("python t.py $((1/0))\n", None),
        ("python t.py *.txt\n", None),
        ("python t.py '*.txt' \"?\"\n", ["*.txt", "?"]),
        ("python t.py $0\n", None),
        ("python t.py $1\n", None),
        ("python t.py 2 > err 2>&1 < in >> out\n", ["2"]),
        ("python t.py a#b # c\n", ["a#b"]),
        ("python t.py a >", ["a"]),
        ("python t.py a > && echo b", ["a"]),
        ("for\npython t.py a\nselect", None),
        ("python t.py;# python u.py\n", []),
        ("python t.py a\\ b \\\n  c\n", ["a b", "c"]),
        ("A=1 B=$A\npython t.py $B\n", ["1"]),
    ],
)
def test_the_words_of_a_command(text: str, words: list[str] | None) -> None:
    (launch,) = _find(text)
    assert list(launch.words[2:]) == (words or []) and bool(launch.words) == (words is not None)


@pytest.mark.parametrize(
    ("text", "folders"),
    [
        ("cd a\ncd b\npython t.py\n", ["a/b"]),
        ("cd /x\npython t.py\n", ["/x"]),
        ("cd -- a\npython t.py\n", ["a"]),
        ("pushd a/../c\npython t.py\n", ["c"]),
        ("cd -\npython t.py\n", [None]),
        ("cd a b\npython t.py\n", [None]),
        ("cd\npython t.py\n", [None]),
        ("cd $(x)\npython t.py\ncd a\npython t.py\n", [None, None]),
        ("[ -d a ] && cd a\npython t.py\n", [None]),
        ("(cd a && python t.py)\npython u.py\n", ["a", "."]),
    ],
)
def test_the_folder_of_a_command(text: str, folders: list[str | None]) -> None:
    assert [launch.folder for launch in _find(text)] == folders


@pytest.mark.parametrize(
    ("text", "known", "unknown"),
    [
        ("export A=1\nB=2 python t.py\n", {"A": "1", "B": "2"}, ()),
        ("A=1\nexport A\npython t.py\n", {"A": "1"}, ()),
        ("A=1\npython t.py\n", {}, ()),
        ("declare -x A=1\nreadonly B=2\nexport -p B\npython t.py\n", {"B": "2"}, ()),
        ("export A=$(date) B=\npython t.py\n", {"B": ""}, ("A",)),
        ("P=x\nP+=y python t.py\n", {"P": "y"}, ()),
        ("[ -f x ] && export A=1\npython t.py\n", {}, ("A",)),
        ("for A in 1 2; do :; done\nexport A\npython t.py\n", {}, ("A",)),
    ],
)
def test_the_environment_of_a_command(text: str, known: dict[str, str], unknown: tuple[str, ...]) -> None:
    (launch,) = _find(text)
    assert (launch.environment, launch.unknown) == (known, unknown)


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("a `b c` d", [(1, ["a", "`b c`", "d"])]),
        ("a ${b c} $(d ')' \"$(e)\") f", [(1, ["a", "${b c}", "$(d ')' \"$(e)\")", "f"])]),
        ("a $b-c $1x $ d", [(1, ["a", "$b-c", "$1x", "$", "d"])]),
        ("a 'b\nc' d\ne", [(1, ["a", "b\nc", "d"]), (3, ["e"])]),
        ("a \\\n  b\nc", [(1, ["a", "b"]), (3, ["c"])]),
        ("a \\\r\n  b\nc", [(1, ["a", "b"]), (3, ["c"])]),
        ("a b\\\nc\\\n d\ne", [(1, ["a", "bc", "d"]), (4, ["e"])]),
        ('a "b \\\n  c" d\ne', [(1, ["a", "b   c", "d"]), (3, ["e"])]),
        ("a 'b \\\nc' d\ne", [(1, ["a", "b \\\nc", "d"]), (3, ["e"])]),
        ("a $(b \\\n c)\\\n/d\ne", [(1, ["a", "$(b  c)/d"]), (4, ["e"])]),
        ("a >\\\n b c\nd", [(1, ["a", "c"]), (3, ["d"])]),
        ("a >'b\nc' d\ne", [(1, ["a", "d"]), (3, ["e"])]),
        ("# 说明 \\\na\nb # c \\\nd", [(2, ["a"]), (3, ["b"]), (4, ["d"])]),
        ("cat <<EOF # c\nx\nEOF\nb", [(1, ["cat"]), (4, ["b"])]),
        ("cat <<EOF\nx\nEOF\nb", [(1, ["cat"]), (4, ["b"])]),
        ("cat <<-'E F'\nb", [(1, ["cat"]), (2, ["b"])]),
        ("a; b & c | d || e && f", [(1, [name]) for name in "abcdef"]),
        # a backslash that another one escapes joins nothing
        ("echo a\\\\\nb", [(1, ["echo", "a\\"]), (2, ["b"])]),
        ("echo a\\\\\\\nb\nc", [(1, ["echo", "a\\b"]), (3, ["c"])]),
        ("echo \\\\\r\nb", [(1, ["echo", "\\"]), (2, ["b"])]),
        # lines that are joined within a heredoc count; one whose word is quoted joins none
        ("cat <<EOF\nx \\\ny\nEOF\nb", [(1, ["cat"]), (5, ["b"])]),
        ("cat <<EOF\nx \\\nEOF\ny\nEOF\nb", [(1, ["cat"]), (6, ["b"])]),
        ("cat <<EOF\nx\n\\\nEOF\nb", [(1, ["cat"]), (5, ["b"])]),
        ("cat <<'EOF'\nx \\\nEOF\nb", [(1, ["cat"]), (4, ["b"])]),
        ('cat <<"EOF"\nx \\\n  \\\nEOF\nb', [(1, ["cat"]), (5, ["b"])]),
        ("cat <<'EOF'\nEOF\\\nx\nEOF\nb", [(1, ["cat"]), (5, ["b"])]),
        # the number of a redirection stands before it on the line before
        ("a 2\\\n>x\nb", [(1, ["a"]), (3, ["b"])]),
        ("a 1\\\n2\\\n>x b\nc", [(1, ["a", "b"]), (4, ["c"])]),
        ("a\npython 'b", [(1, ["a"])]),
        ('a\npython "b', [(1, ["a"])]),
        ("# a\n\n b", [(3, ["b"])]),
        ("x=(1 2) y", [(1, ["x=(1 2)", "y"])]),
        ("2>x a 3 >y", [(1, ["a", "3"])]),
    ],
)
def test_a_script_is_split_into_commands_and_words(text: str, commands: list[tuple[int, list[str]]]) -> None:
    read = [(command.line, [plain_text(word) for word in command.words]) for command in parse_commands(text)]
    assert read == commands


@pytest.mark.parametrize(
    ("text", "source"),
    [("a  b \\\n  c\n", "a b c"), ("a b\\\nc", "a bc"), ("a \\\n\\\n", "a"), (" a b ; c", "a b")],
)
def test_the_source_of_a_command_is_one_line(text: str, source: str) -> None:
    assert next(parse_commands(text)).source == source


def _judge(text: str, name: str = "a.sh") -> list[tuple[str, str, str, bool]]:
    def place(finding: Any) -> str:
        return str(finding.place).partition(":")[2]

    return [(place(f), f.key, class_of(f), bool(f.edits)) for f in scan_text(text_source(text, name))]


MOVED = "import torch; {}x = x.cuda(torch.device(0))"


@pytest.mark.parametrize(
    ("text", "edited"),
    [
        (f"ssh n \"python -c '{MOVED.format('')}'\"\n", True),
        (
            "ssh n \"python -c '" + MOVED.format("\\\n") + "'\"\n",
            False,
        ),  # the quote around knows a backslash
        (f"ssh n \"cd x\npython -c '{MOVED.format('')}'\"\n", True),
        ("ssh n \"cd x\npython -c '" + MOVED.format("\\\n") + "'\"\n", False),  # nor is one that begins a line above
        (f"python -c '{MOVED.format('')}'\n", True),
        ("python -c '" + MOVED.format("\\\n") + "'\n", True),
        ('python -c "' + MOVED.format("\\\n") + '"\n', False),
        (f'python -c "{MOVED.format("")}"\n', True),
        (f"python <<E\n{MOVED.format('')}\nE\n", True),
        (f"python <<E\n# $HOME\n{MOVED.format('')}\nE\n", False),
        (f"python <<'E'\n# $HOME\n{MOVED.format('')}\nE\n", True),
        (f"python <<-E\n\t{MOVED.format('')}\n\tE\n", False),
        (f"python <<-E\n{MOVED.format('')}\nE\n", True),
        (f"python3 -u - a <<E && echo 好\n{MOVED.format('')}\nE\n", True),
        (f"tee -a x.py <<E\n{MOVED.format('')}\nE\n", True),
    ],
)
def test_python_is_edited_where_the_shell_hands_it_on_as_it_stands(text: str, edited: bool) -> None:
    judged = [finding for finding in _judge(text) if finding[1].startswith("MIG103")]
    assert [(repair, edits) for _, _, repair, edits in judged] == [("rewrite", True) if edited else ("manual", False)]
    place = judged[0][0]
    line = next(line for line in text.split("\n") if "x.cuda" in line)
    assert place == f"{text.split(chr(10)).index(line) + 1}:{line.index('x.cuda') + 1}"


@pytest.mark.parametrize(
    "text",
    [
        f"cat <<E\n{MOVED.format('')}\nE\n",
        f"cat <<E > notes.txt\n{MOVED.format('')}\nE\n",
        f"python t.py; cat <<E\n{MOVED.format('')}\nE\n",
        f"cat <<<python\n{MOVED.format('')}\n",
        "python - <<E\nE\n",
        "python -c ''\n",
    ],
)
def test_text_that_no_python_reads_is_none(text: str) -> None:
    assert not _judge(text)
