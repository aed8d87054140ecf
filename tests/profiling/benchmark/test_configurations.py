"""What is varied, read from a command line's words."""

from __future__ import annotations

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.profiling.benchmark.configurations import combine_axes, from_words, parse_axes


def test_an_argument_takes_each_value() -> None:
    found = combine_axes(parse_axes(["batch-size=8,16"]))
    assert [one.args for one in found] == [("--batch-size", "8"), ("--batch-size", "16")]
    assert [one.name for one in found] == ["batch-size=8", "batch-size=16"]


@pytest.mark.parametrize(("text", "args"), [("-b=4", ("-b", "4")), ("--batch_size=4", ("--batch_size", "4"))])
def test_an_option_is_taken_as_it_is_written(text: str, args: tuple[str, ...]) -> None:
    assert combine_axes(parse_axes([text]))[0].args == args


def test_a_switch_is_left_out_and_put_in() -> None:
    found = combine_axes(parse_axes(["amp"]))
    assert [(one.name, one.args) for one in found] == [("amp=off", ()), ("amp=on", ("--amp",))]


def test_a_range_doubles_up_to_its_end() -> None:
    (axis,) = parse_axes(["batch-size=3..25"])
    assert axis.values == ("3", "6", "12", "24") and axis.doubling


def test_every_combination_of_script_loader_and_precision() -> None:
    found = combine_axes(parse_axes(["b=1,2"], ["workers=0,2", "pin_memory"], autocast=True))
    assert len(found) == 2 * 2 * 2 * 2
    assert found[-1].loader == {"num_workers": 2, "pin_memory": True} and found[-1].autocast
    assert found[-1].name == "b=2, workers=2, pin_memory=on, autocast=on"
    assert not found[0].autocast


def test_one_line_says_what_is_varied() -> None:
    found = from_words("batch-size=8,16 workers=0,2 autocast amp")
    none: dict[str, list[str]] = {"env": [], "preset": []}
    assert found == {"sweep": ["batch-size=8,16", "amp"], "loader": ["workers=0,2"], "autocast": True, **none}
    assert from_words("") == {"sweep": [], "loader": [], "autocast": False, **none}


def test_nothing_varied_is_one_configuration() -> None:
    (one,) = combine_axes(parse_axes())
    assert (one.name, one.args, one.loader, one.autocast) == ("", (), {}, False)


@pytest.mark.parametrize(
    ("sweep", "loader"),
    [
        (["=8"], []),
        (["batch-size="], []),
        (["batch-size=8,8"], []),
        (["batch-size=16..8"], []),
        (["batch-size=0..8"], []),
        (["a=1", "a=2"], []),
        ([], ["shuffle=on"]),
        ([], ["workers=many"]),
        ([], ["pin_memory=2"]),
        ([], ["workers"]),
    ],
)
def test_what_cannot_be_read_is_refused(sweep: list[str], loader: list[str]) -> None:
    with pytest.raises(WorkbookError) as caught:
        parse_axes(sweep, loader)
    assert caught.value.message("zh") != caught.value.message("en")


def test_too_many_combinations_are_refused_before_the_first_runs() -> None:
    with pytest.raises(WorkbookError, match="more than 64"):
        combine_axes(parse_axes(["a=1..1000000", "b=1,2,3,4,5"]))
