"""Launch commands of shell scripts: variables, arrays, folders; what only a shell can tell is said, never guessed."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.migration.dry_run.command_line import read_shell_command
from ascend_workbook.migration.texts.launches import find_launches

SCRIPT = r"""#!/bin/bash
# python nothing.py  注释
export CUDA_DEVICE_MAX_CONNECTIONS=1 NAME="a b"
GPUS=2
WORLD=$(($GPUS*2))
cd "$(dirname "${BASH_SOURCE[0]}")/.."
DIST="
    --nproc_per_node $GPUS \
    --nnodes ${NNODES:-1}
"
ARGS=(
    --lr 1e-3   # rate
    --name "$NAME"
)
ARGS+=(--world $WORLD)
cat <<EOF > config
python hidden.py
EOF
mkdir -p logs && CUDA_VISIBLE_DEVICES=0,1 nohup torchrun $DIST tools/train.py \
    "${ARGS[@]}" --title 'it # is $x' "$@" > logs/x.log 2>&1 &
"""


def test_variables_arrays_and_the_folder_are_read() -> None:
    (found,) = find_launches(SCRIPT, "scripts", ["--more", "c d"], {})
    assert found.words == (
        "torchrun",
        "--nproc_per_node",
        "2",
        "--nnodes",
        "1",
        "tools/train.py",
        "--lr",
        "1e-3",
        "--name",
        "a b",
        "--world",
        "4",
        "--title",
        "it # is $x",
        "--more",
        "c d",
    )
    assert found.line == 19 and found.folder == "." and found.why is None
    assert found.environment == {"CUDA_DEVICE_MAX_CONNECTIONS": "1", "NAME": "a b", "CUDA_VISIBLE_DEVICES": "0,1"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("python train.py --a ${1:-3}\n", "python train.py --a 3"),
        ("PY=${PYTHON:-python3}\n$PY -u t.py 2>&1 | tee x\n", "python3 -u t.py"),
        ('cd sub; (python t.py "$@")\n', "python t.py"),
        ("pip install x; python setup.py build\npython -c 'a.py'\npython -m pip list\npython t.py", "python t.py"),
        ("A='x y'\npython t.py $A \"$A\"\n", "python t.py x y x y"),
        ("A='x y'\npython t.py $A$A\n", "python t.py x yx y"),
        ("set -eo pipefail\nsource env.sh\npython t.py --a 1\n", "python t.py --a 1"),
        ("set -euo pipefail; set -x; A=1; printf hi; python t.py $A\n", "python t.py 1"),
        ("accelerate launch \\\n  t.py \\\n  -a\n", "accelerate launch t.py -a"),
        ("N=100\npython t.py $((N*8)) $((999999999+0))\n", "python t.py 800 999999999"),
    ],
)
def test_plain_commands(text: str, words: str) -> None:
    assert [" ".join(one.words) for one in find_launches(text, ".", [], {})] == [words]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("for lr in 1 2; do\n  python t.py --lr $lr\ndone\n", "shell_launch.conditional"),
        ("train() {\n  python t.py\n}\ntrain\n", "shell_launch.conditional"),
        ("if true; then python t.py; fi\n", "shell_launch.conditional"),
        ("python t.py --data $DATA\n", "shell_launch.unknown"),
        ('[ -z "$A" ] && A=1\npython t.py --a $A\n', "shell_launch.unknown"),
        ("python t.py $(ls)\n", "shell_launch.unknown"),
        ("python t.py $((1000000000+0))\n", "shell_launch.unknown"),
        ("python t.py *.json\n", "shell_launch.unknown"),
        ("A=1; unset A\npython t.py $A\n", "shell_launch.unknown"),
        ("A=1\nsource env.sh\npython t.py $A\n", "shell_launch.unknown"),
        ("A=1\nprintf -v A 2; python t.py $A\n", "shell_launch.unknown"),
        ("LR=1\ngrep -q x y && LR=2\npython t.py $LR\n", "shell_launch.unknown"),
        ("N=1\n((N+=1))\npython t.py --n $N\n", "shell_launch.unknown"),
        ("(LR=5; echo)\npython t.py --lr $LR\n", "shell_launch.unknown"),
        ("python t.py ~/d\n", "shell_launch.unknown"),
        ("python t.py {1..3}\n", "shell_launch.unknown"),
        ('python t.py "\\$HOME"\n', "shell_launch.unknown"),
        ("exit 0\npython t.py\n", "shell_launch.conditional"),
        ("srun -n 2 python t.py\n", "shell_launch.starter"),
        ("deepspeed t.py --a\n", "shell_launch.starter"),
    ],
)
def test_what_only_a_shell_can_tell_is_not_guessed(text: str, why: str) -> None:
    (found,) = find_launches(text, ".", [], {})
    assert not found.words and isinstance(found.why, dict) and found.why["say"] == why


@pytest.mark.parametrize(
    ("text", "key", "named"),
    [
        ("python a.py\npython b.py --x 1\n", "shell_launch.several", "run.sh:2: python b.py --x 1"),
        ("python a.py $X_UNSET\n", "shell_launch.not_plain", "$X_UNSET"),
        ("echo hi\n", "shell_launch.none", "run.sh"),
        ("bash scripts/inner.sh\n", "shell_launch.other_scripts", "scripts/inner.sh"),
        ("python 'a.py\n", "shell_launch.none", "run.sh"),
    ],
)
def test_one_error_lists_what_was_found(tmp_path: Path, text: str, key: str, named: str) -> None:
    script = tmp_path / "run.sh"
    script.write_text(text, encoding="utf-8")
    with pytest.raises(WorkbookError) as error:
        read_shell_command(f"bash -ex {script}", ())
    assert error.value.key == key and named in error.value.message("en") and error.value.hint("zh")


def test_only_shell_scripts_are_taken_for_one(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("#!/usr/bin/env bash\npython t.py\n", encoding="utf-8")
    (tmp_path / "train.py").write_text("", encoding="utf-8")
    found = read_shell_command(tmp_path / "run", ("--a",))
    assert found is not None and found.words == ("python", ("t.py",))
    assert (
        read_shell_command(tmp_path / "train.py", ()) is None and read_shell_command("torchrun", ("train.py",)) is None
    )


def test_devices_and_values_that_may_be_secret_are_not_taken(tmp_path: Path) -> None:
    text = "export CUDA_VISIBLE_DEVICES=3 API_KEY=s3cret TOKEN=$(cat x)\npython t.py\n"
    (tmp_path / "run.sh").write_text(text, encoding="utf-8")
    found = read_shell_command(tmp_path / "run.sh", ())
    assert found is not None and found.environment == {"API_KEY": "s3cret"}
    said = found.finding.message("en")
    assert "s3cret" not in said and "API_KEY" in said and "CUDA_VISIBLE_DEVICES, TOKEN" in said


def test_an_unset_variable_is_not_exported() -> None:
    (found,) = find_launches("export A=1 B=2\nunset A\npython t.py\n", ".", [], {})
    assert found.environment == {"B": "2"} and found.words == ("python", "t.py")


@pytest.mark.parametrize("text", ['CFG=$1; shift; python t.py --cfg $CFG "$@"\n', "set -- 1 2\npython t.py $1\n"])
def test_arguments_that_are_moved_are_not_guessed(text: str) -> None:
    (found,) = find_launches(text, ".", ["c", "d"], {})
    assert not found.words and isinstance(found.why, dict) and found.why["say"] == "shell_launch.unknown"


def test_a_subshell_keeps_what_it_sets_to_itself() -> None:
    text = "LR=1\n(cd data && LR=5 && python t.py)\npython u.py --lr $LR\n"
    found = find_launches(text, ".", [], {})
    assert [(one.words, one.folder) for one in found] == [
        (("python", "t.py"), "data"),
        (("python", "u.py", "--lr", "1"), "."),
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('LR=""\npython t.py --lr ${LR:-0.1}\n', "python t.py --lr 0.1"),
        ("LR=2\npython t.py --lr ${LR:-0.1}\n", "python t.py --lr 2"),
        ("test -f x || exit 1\npython t.py '~/d' \"{a,b}\"\n", "python t.py ~/d {a,b}"),
        ("python t.py $((1+1))\n", "python t.py 2"),
    ],
)
def test_what_stays_as_it_is(text: str, words: str) -> None:
    assert [" ".join(one.words) for one in find_launches(text, ".", [], {})] == [words]


@pytest.mark.parametrize("value", ['$(echo "")', "$(echo '')", '$(echo ")")', '$(echo $(echo ""))', '(a "" b)'])
def test_a_quote_in_brackets_ends_where_it_is_closed(value: str) -> None:
    found = find_launches(f"A={value}\npython t.py\n", ".", [], {})
    assert [(one.line, one.words) for one in found] == [(2, ("python", "t.py"))]


def test_arguments_of_the_script_are_counted_from_one() -> None:
    (found,) = find_launches('python t.py --cfg $1 --name "$2"\n', ".", ["c.yaml", "a b"], {})
    assert found.words == ("python", "t.py", "--cfg", "c.yaml", "--name", "a b")
    (lacking,) = find_launches("python t.py $3\n", ".", ["c", "d"], {"3": "e"})
    assert not lacking.words


def test_a_quote_behind_a_backslash_ends_nothing() -> None:
    text = 'python train.py --title "说 \\" 好; python other.py" --lr 1 > a.log\n'
    (first,) = find_launches(text, ".", [], {})
    assert first.words == ("python", "train.py", "--title", '说 " 好; python other.py', "--lr", "1")


def test_what_a_loop_leaves_in_its_variable_is_not_known() -> None:
    text = "GPU=0\nfor GPU in 1 2; do\n  echo $GPU\ndone\npython train.py --gpu $GPU\nif true; then\n  :\nfi\n"
    (launch,) = find_launches(text, ".", [], {"true": "x"})
    assert launch.words == () and launch.line == 5 and launch.why is not None


def test_what_stands_before_a_command_is_none_of_it() -> None:
    (launch,) = find_launches("nohup env -i A=1 B=显卡 python train.py --x 1\n", ".", [], {})
    assert launch.words == ("python", "train.py", "--x", "1") and launch.environment == {"A": "1", "B": "显卡"}


def test_a_comment_may_be_the_first_letter_and_a_backslash_keeps_one() -> None:
    (launch,) = find_launches("#python hidden.py\npython train.py --name a\\ b --tag x#y\n", ".", [], {})
    assert launch.words == ("python", "train.py", "--name", "a b", "--tag", "x#y") and launch.line == 2
