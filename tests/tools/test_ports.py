"""Ports made by people, measured: what counts as a changed line, and the parts that the seed drew."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools.ports.__main__ import HELD, draw_held, judge, load_ports
from tools.ports.measuring import (
    classify_size,
    count_changed_lines,
    estimate_hours_of_lines,
    find_roots,
    is_near_equation,
    is_within_class,
    measure_port,
    read_python,
)

BEFORE = "import torch\n# a note\nmodel = Net().cuda()\n\nfor batch in loader:\n    step(batch)\n"


def test_comments_blank_lines_and_space_do_not_count() -> None:
    assert count_changed_lines(BEFORE, BEFORE.replace("# a note", "# another").replace("    step", "  step")) == (0, 0)
    assert count_changed_lines(BEFORE, BEFORE.replace("\n", "\r\n")) == (0, 0)


def test_of_a_changed_stretch_the_longer_side_counts() -> None:
    after = BEFORE.replace("model = Net().cuda()", "import torch_npu\nnet = Net()\nmodel = net.npu()")
    assert count_changed_lines(BEFORE, after) == (3, 2)
    assert count_changed_lines(after, BEFORE) == (3, 2)
    assert count_changed_lines(BEFORE, BEFORE.replace("    step(batch)", "    log(step(batch))")) == (1, 0)


def test_only_files_of_both_sides_count() -> None:
    size = measure_port(
        {"a.py": BEFORE, "b.py": "x = 1\n"}, {"a.py": BEFORE + "gpu = 0\n", "tools/convert.py": "y\n" * 99}
    )
    assert (size.files, size.lines, size.device_lines) == (1, 1, 1)


def test_roots_are_where_most_paths_agree() -> None:
    before = {"imagenet/main.py", "imagenet/data/read.py", "vae/main.py"}
    assert find_roots(before, {"main.py", "data/read.py", "convert.py"}) == ("imagenet/", "")
    assert find_roots({"train.py", "nets/a.py"}, {"train.py", "nets/a.py"}) == ("", "")
    assert find_roots({"a.py"}, {"port/a.py", "port/b.py"}) == ("", "port/")


def test_hours_of_lines_are_those_of_the_published_equation() -> None:
    """2.94 person-months of 152 hours for a thousand lines; 0.1 ** 1.0997 = 0.07949 of that for a hundred."""
    assert estimate_hours_of_lines(1000) == pytest.approx(446.88)
    assert estimate_hours_of_lines(100) == pytest.approx(35.52, abs=0.01)
    assert estimate_hours_of_lines(0) == 0


def test_hours_lie_within_a_factor_of_two_of_a_class() -> None:
    assert [classify_size(lines)[0] for lines in (0, 39, 40, 99, 100, 299)] == ["small"] * 2 + ["medium"] * 2 + [
        "large"
    ] * 2
    with pytest.raises(ValueError, match="300 lines"):
        classify_size(300)
    _, low, high = classify_size(50)
    # fifty lines are 16.6 h
    assert [is_near_equation(hours, 50) for hours in (8.2, 8.4, 33.0, 33.3)] == [False, True, True, False]
    judged = [is_within_class(hours, 50) for hours in (low / 2 - 0.1, low / 2, high * 2, high * 2 + 0.1)]
    assert judged == [False, True, True, False]


def test_the_parts_are_those_that_the_seed_draws() -> None:
    content = load_ports()
    ports = {port["port"]: port for port in content["ports"]}
    assert len(ports) == len(content["ports"]) >= 15
    assert {name for name, port in ports.items() if port["part"] == HELD} == draw_held(
        list(ports), content["part_seed"]
    )
    for port in ports.values():
        size = port["size"]
        assert 0 < size["device_lines"] <= size["lines"] and len(port["commit"]) == 40 and port["entry"].endswith(".py")


def test_a_clone_is_read_without_its_tree_and_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clone = tmp_path / "clones/someone/nets"
    (clone / "sub").mkdir(parents=True)
    (clone / "sub/train.py").write_text(BEFORE, encoding="utf-8")
    (clone / "sub/run.sh").write_text("python train.py\n", encoding="utf-8")
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    for words in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "first"]):
        subprocess.run(["git", "-C", str(clone), *words], check=True)
    assert read_python(clone, "HEAD", "sub") == {"train.py": BEFORE}
    port = {
        "upstream": "someone/nets",
        "commit": "HEAD",
        "folder": "sub",
        "entry": "train.py",
        "port": "p",
        "part": HELD,
    }
    size = {"files": 1, "lines": 60, "device_lines": 50}
    monkeypatch.setattr("tools.ports.__main__.load_ports", lambda: {"ports": [{**port, "size": size}]})
    assert judge(tmp_path / "clones", tmp_path / "out", HELD) == 0
    told = capsys.readouterr().out
    assert "someone/nets: 20 h (10 to 40), medium, 13 to 36 h: within" in told
    assert "assess: within a factor of two of the class 1 of 1, of the port's own size 1" in told
    assert "h for every port: within a factor of two of the class 1 of 1" in told
