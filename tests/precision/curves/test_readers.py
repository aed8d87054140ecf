"""Every format gives the same curve; damage is told, the rest is read; nothing a file holds ends in a traceback."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.precision.curves import curves
from ascend_workbook.precision.curves.readers import Log, read
from ascend_workbook.precision.curves.readers.text import TextFeed
from ascend_workbook.precision.curves.series import Curve
from tests.precision.curves import logs

VALUES = [2.5, 2.25, 2.125]


def loss(curve: Curve) -> dict[int, float]:
    return dict(zip(curve.series["loss"].steps, curve.series["loss"].values))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.jsonl", '{"step": 1, "loss": 2.5}\n{"step": 2, "loss": 2.25}\n{"iter": 3, "loss": "2.125"}\n'),
        ("a.json", '[{"step": 1, "loss": 2.5}, {"step": 2, "loss": 2.25}, {"step": 3, "loss": 2.125}]'),
        ("b.json", '{"step": [1, 2, 3], "loss": [2.5, 2.25, 2.125]}'),
        ("c.json", '{"1": {"loss": 2.5}, "2": {"loss": 2.25}, "3": {"loss": 2.125}}'),
        (
            "trainer_state.json",
            '{"global_step": 3, "log_history": [{"step": 1, "loss": 2.5}, {"step": 2, "loss": 2.25},'
            ' {"step": 3, "loss": 2.125, "learning_rate": 1e-4}]}',
        ),
        ("a.csv", "epoch,step,train_loss,val\n0,1,2.5,\n0,2,2.25,\n0,2,,7\n0,3,2.125,\n"),
        ("a.tsv", "step\tloss\n1\t2.5\n2\t2.25\n3\t2.125\n"),
        ("tb.csv", "Wall time,Step,Value\n1.5,1,2.5\n1.6,2,2.25\n1.7,3,2.125\n"),
        ("plain.log", "hello\nstep 1 loss 2.5\nstep 2 loss 2.25 \nstep=3, loss=2.125, lr=1e-4\n"),
        (
            "nano.log",
            "step 1: train loss 9.0, val loss 9.1\niter 1: loss 2.5000, time 3.00ms, mfu 1.00%\n"
            "iter 2: loss 2.2500, time 3.00ms\niter 3: loss 2.1250, time 3.00ms\n",
        ),
        (
            "mm.log",
            "12:00 - mmengine - INFO - Iter(train) [    1/80000]  lr: 1.0e-02  eta: 0:01:00  loss: 2.5000\n"
            "12:00 - mmengine - INFO - Iter(train) [    2/80000]  lr: 1.0e-02  loss: 2.2500\n"
            "12:00 - mmengine - INFO - Iter(train) [    3/80000]  lr: 1.0e-02  loss: 2.1250\n",
        ),
        (
            "bar.log",
            "Epoch 0:   1%|#  | 1/64 [00:01<00:01, 30it/s, loss=2.5]\rEpoch 0:   2%|#  | 2/64 [00:01<00:01,"
            " 30it/s, loss=2.25]\rEpoch 0:   3%|#  | 3/64 [00:01<00:01, 30it/s, loss=2.125]\n",
        ),
        (
            "hf.log",
            " 1%|# | 1/500 [00:01<00:30]\n{'loss': 2.5, 'epoch': 0.1}\n 1%|# | 2/500 [00:01<00:30]\n"
            "{'loss': '2.25', 'epoch': 0.1}\n 1%|# | 3/500 [00:01<00:30]\n{'loss': 2.125, 'epoch': 0.1}\n",
        ),
        (
            "Epochs.log",
            "Epoch: [0][1/10]\tTime 0.3 (0.4)\tLoss 2.5e+00 (2.5e+00)\n"
            "Epoch: [0][2/10]\tTime 0.3 (0.4)\tLoss 2.25e+00 (2.5e+00)\n"
            "Train Epoch: 0 [3/10 (1%)]\tLoss: 2.125\n",
        ),
        ("it.log", "1it [00:10, 9.5it/s, loss=2.5]\r2it [00:20, 9.5it/s, loss=2.25]\r3it [00:30, 9.5it/s, loss=2.125]"),
        (
            "zh.log",
            "第1步：损失=2.5，学习率=0.001\n第 2/9 步：损失为 2.25，总步数：9\n步数３：损失：２．１２５，步长：0.1\n",
        ),
        ("zh_epochs.log", "第1轮 平均损失 2.5\n轮次：2，平均损失：2.25，每步: 3ms\n第3轮：平均损失=2.125\n"),
        ("comma.csv", "iter;train_loss;learn_rate\n1;2,5;0,001\n2;2,25;1,0e-3\n3;2,125;0,001\n"),
        ("zh.csv", "步数,训练损失\n1,2.5\n2,2.25\n3,2.125\n"),
        ("unnumbered.log", "Loss: 2.5\nLoss: 2.25 after\nLoss: 2.125\n"),
    ],
)
def test_formats_give_the_same_curve(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    curve = read(path)
    assert loss(curve) == dict(zip((1, 2, 3), VALUES))
    assert curve.ordinal == (name == "unnumbered.log") and not curve.told


def test_megatron_and_its_checkpoints(tmp_path: Path) -> None:
    curve = read(logs.megatron(tmp_path / "m.log", [3.0] * 120, scales=[65536.0] * 60 + [32768.0] * 60))
    assert {"loss", "lr", "grad_norm", "loss_scale"} <= curve.series.keys()
    assert not {name for name in curve.series if "time" in name or "samples" in name}
    assert [(one.step, one.where) for one in curve.checkpoints] == [
        (50, f"{tmp_path}/m.log:52"),
        (100, f"{tmp_path}/m.log:103"),
    ]
    assert curve.place_of_value(curve.series["loss"], 119) == (str(tmp_path / "m.log"), 123)


def test_a_pattern_reads_what_is_left(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("<<7>> verlust 2,5 = 2.5\nstep 9 loss 4\n<<8>> verlust = nan\n")
    curve = read(tmp_path / "a.log", pattern=r"<<(?P<step>\d+)>>.*= (?P<loss>\S+)")
    assert list(curve.series["loss"].steps) == [7, 8] and curve.series["loss"].values[0] == 2.5
    for pattern in ("(", r"(?P<loss>\d+)", r"(?P<step>\d+)"):
        with pytest.raises(WorkbookError, match="--pattern"):
            read(tmp_path / "a.log", pattern=pattern)


def test_tensorboard_without_tensorboard(tmp_path: Path) -> None:
    records = [b"\x1a\x0dbrain.Event:2"] + [logs.event(at, "train/loss", value) for at, value in enumerate(VALUES, 1)]
    good = logs.framed(records)
    path = tmp_path / "events.out.tfevents.1700000000.host"
    path.write_bytes(good)
    assert loss(read(tmp_path)) == dict(zip((1, 2, 3), VALUES))
    for data, told, left in (
        (good[:-5], "ACC257.cut", {1: 2.5, 2: 2.25}),
        (good[:-6] + b"\x7f" + good[-5:], "ACC257.checksum", {1: 2.5, 2: 2.25}),
        (good + b"\x01" * 40, "ACC257.unframed", dict(zip((1, 2, 3), VALUES))),
    ):
        path.write_bytes(data)
        curve = read(path)
        assert loss(curve) == left and [key for key, _ in curve.told] == [told]


def test_the_writer_of_torch_is_read(tmp_path: Path) -> None:
    writer = pytest.importorskip("torch.utils.tensorboard").SummaryWriter(str(tmp_path))
    for step, value in enumerate(VALUES, 1):
        writer.add_scalar("loss", value, step, new_style=step == 2)
    writer.add_histogram("weights", __import__("torch").ones(50_000).cumsum(0), 1)
    writer.close()
    assert loss(read(tmp_path)) == dict(zip((1, 2, 3), VALUES)) and not read(tmp_path).told


@given(st.binary(max_size=600), st.sampled_from(["a.log", "a.csv", "a.json", "a.jsonl", "events.out.tfevents.1"]))
@settings(max_examples=150, deadline=None)
def test_no_bytes_end_in_a_traceback(tmp_path_factory: pytest.TempPathFactory, data: bytes, name: str) -> None:
    path = tmp_path_factory.mktemp("any") / name
    path.write_bytes(data)
    try:
        assert isinstance(read(path), Curve)
    except WorkbookError as error:
        assert str(path) in error.message("en") and error.message("zh")


@given(st.lists(st.floats(allow_nan=False, width=32), min_size=1, max_size=30), st.data())
@settings(max_examples=60, deadline=None)
def test_reading_in_pieces_is_reading_at_once(values: list[float], data: st.DataObject) -> None:
    """A run is followed in pieces that end anywhere."""
    text = "".join(f"step {at} loss {value!r} lr: {at}e-5\r\n" for at, value in enumerate(values)).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    curve = Curve(Path("a.log"), "text")
    feed = TextFeed(curve, "a.log")
    for begin, end in zip([0, *cuts], [*cuts, len(text)]):
        feed.feed(text[begin:end])
    feed.end()
    assert list(curve.series["loss"].values) == values
    assert list(curve.series["loss"].lines) == list(range(1, len(values) + 1))


@pytest.mark.parametrize(
    ("name", "content", "key"),
    [
        ("a.log", b"", "curves.empty"),
        ("a.log", b"\x7fELF\0\0" * 100, "curves.binary"),
        ("a.log", "step 1 loss 2".encode("utf-16"), "curves.utf16"),
        ("a.json", b'[{"step": 1, "loss": 2.0}, {"st', "curves.json_cut"),
        ("a.json", b"[" * 100_000, "curves.json_cut"),
        ("a.json", b'{"a": 1}', "curves.no_records"),
        ("a.csv", b"1,2.5\n2,2.25\n", "curves.no_heading"),
    ],
)
def test_bad_files_are_one_clear_error(tmp_path: Path, name: str, content: bytes, key: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(WorkbookError) as caught:
        read(tmp_path / name)
    assert caught.value.key == key and caught.value.hint("en") and caught.value.hint("zh")


def test_nan_in_json_a_cut_last_line_and_a_huge_line(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('[{"step": 1, "loss": NaN}, {"step": 2, "loss": "inf"}]')
    assert [str(value) for value in read(tmp_path / "a.json").series["loss"].values] == ["nan", "inf"]
    (tmp_path / "a.jsonl").write_text('{"step": 1, "loss": 2.5}\n{"step": 2, "lo')
    cut = read(tmp_path / "a.jsonl")
    assert loss(cut) == {1: 2.5} and [key for key, _ in cut.told] == ["ACC257.cut"]
    (tmp_path / "a.log").write_bytes(b"step 1 loss 2.5\nstep 2 loss 3 " + b"x" * (3 << 20) + b"\nstep 3 loss 2.125\n")
    huge = read(tmp_path / "a.log")
    assert loss(huge) == {1: 2.5, 3: 2.125} and list(huge.series["loss"].lines) == [1, 3]
    assert [key for key, _ in huge.told] == ["ACC257.long_line"]


def test_odd_characters_are_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('[{"step": 1, "loss": 2.5, "\\ud800": 1}]')
    assert {name for name in read(tmp_path / "a.json").series if name.encode()} == {"loss", "?"}
    (tmp_path / "b.json").write_text('{"\u00b2": {"loss": 1.0}}')
    with pytest.raises(WorkbookError, match="no records"):
        read(tmp_path / "b.json")


def test_what_is_kept_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ascend_workbook.precision.curves.series.MOST_VALUES", 50)
    monkeypatch.setattr("ascend_workbook.precision.curves.series.MOST_SERIES", 3)
    record = {f"n{at}": at for at in range(9)}
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"step": at, **record}) + "\n" for at in range(100)))
    curve = read(tmp_path / "a.jsonl")
    assert len(curve.series) == 3 and curve.values == 50
    assert {key for key, _ in curve.told} == {"ACC257.many_names", "ACC257.many_values"}


def test_a_grown_and_a_replaced_log_are_read_on(tmp_path: Path) -> None:
    path = logs.plain(tmp_path / "a.log", [3.0, 2.0])
    log = Log(path)
    assert log.read_new() and not log.read_new()
    with path.open("a") as stream:
        stream.write("step 3 loss 1.5\nstep 4 lo")
    assert log.read_new() and loss(log.make_curve(final=False)) == {1: 3.0, 2: 2.0, 3: 1.5}
    path.write_text("step 1 loss 9\n")
    assert log.read_new() and loss(log.make_curve()) == {1: 9.0}


def test_folders(tmp_path: Path) -> None:
    for name in ("checkpoint-9", "checkpoint-10"):
        (tmp_path / name).mkdir()
        state = {"global_step": 1, "log_history": [{"step": 1, "loss": float(name[-1])}]}
        (tmp_path / name / "trainer_state.json").write_text(json.dumps(state))
    assert loss(read(tmp_path)) == {1: 0.0}, "checkpoint-10 is the last"
    logs.plain(tmp_path / "a.log", [1.0])
    logs.plain(tmp_path / "checkpoint-9" / "a.log", [1.0])
    logs.plain(tmp_path / "checkpoint-9" / "b.log", [1.0])
    (tmp_path / "checkpoint-9" / "trainer_state.json").unlink()
    with pytest.raises(WorkbookError, match=r"a\.log, b\.log"):
        read(tmp_path / "checkpoint-9")


def test_chinese_names_are_ours(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(
        "迭代 7：损失 2.5，验证损失：3.0，学习率 1e-4，准确率＝0.7，测试集精度 0.6，梯度范数 1.5\n"
    )
    curve = read(tmp_path / "a.log")
    assert {name: list(series.values) for name, series in curve.series.items()} == {
        "loss": [2.5],
        "val_loss": [3.0],
        "lr": [1e-4],
        "accuracy": [0.7],
        "test_accuracy": [0.6],
        "grad_norm": [1.5],
    }
    assert list(curve.series["lr"].steps) == [7]


@given(
    st.integers(0, 10**9),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(
        [
            "第{}步：损失={}，学习率=0.1",
            "步数：{}，损失：{}",
            "迭代{} 损失值为{}",
            "第{}轮 损失 {}",
            "【第 {} 次迭代】损失＝{}。",
        ]
    ),
)
@settings(max_examples=150, deadline=None)
def test_chinese_lines_give_their_step_and_loss(step: int, value: float, line: str) -> None:
    curve = Curve(Path("a.log"), "text")
    feed = TextFeed(curve, "a.log")
    feed.feed((line.format(step, repr(value)) + "\n").encode())
    feed.end()
    assert loss(curve) == {step: value}


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
@settings(max_examples=80, deadline=None)
def test_decimal_commas_are_the_same_numbers(tmp_path_factory: pytest.TempPathFactory, values: list[float]) -> None:
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    rows = (f"{at};{repr(value).replace('.', ',')}\n" for at, value in enumerate(values))
    path.write_text("step;loss\n" + "".join(rows))
    assert loss(read(path)) == dict(enumerate(values)) and not read(path).told


@given(st.integers(0, 10**11), st.integers(1, 10**11), st.floats(0, 1e9))
def test_progress_bars_count_their_own_steps(done: int, more: int, value: float) -> None:
    for state in (
        f"{done}it [00:10, 9.5it/s, loss={value!r}]",
        f" 10%|#  | {done}/{done + more} [00:10<00:30, 9.5it/s, loss={value!r}]",
    ):
        curve = Curve(Path("a.log"), "text")
        feed = TextFeed(curve, "a.log")
        feed.feed(f"0it [00:00, ?it/s]\r{state}\r".encode())
        feed.end()
        assert loss(curve) == {done: value} and not curve.ordinal


def test_commas_are_decimal_only_beside_semicolons_and_never_mixed(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("step;loss\n1;2.5\n2;1,234\n")
    mixed = read(tmp_path / "a.csv")
    assert loss(mixed) == {1: 2.5} and [key for key, _ in mixed.told] == ["ACC257.line"]
    (tmp_path / "b.csv").write_text('step,loss\n1,"2,5"\n')
    assert "loss" not in read(tmp_path / "b.csv").series


def test_a_log_without_numbers_shows_what_was_not_understood(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("begin\nschritt eins verlust 2\n")
    with pytest.raises(WorkbookError, match="line 2: schritt eins verlust 2"):
        curves(tmp_path / "a.log", tmp_path / "a.log")


def test_a_scale_that_fell_is_told_of_the_step_that_was_left_out(tmp_path: Path) -> None:
    """torch_npu's GradScaler tells it within the update, before the loop prints its step and the scale it used."""
    path = tmp_path / "a.log"
    path.write_text(
        "Loss scaler reducing loss scale to 512.0\nstep 1 loss 2.5 loss_scale 1024\n"
        "step 2 loss 2.5 loss_scale 512\nstep 3 loss 2.4 loss_scale 512\n"
    )
    curve = read(path)
    steps, places = curve.series["loss_scale"].last_of_each()
    assert dict(zip(steps.tolist(), np.asarray(curve.series["loss_scale"].values)[places])) == {1: 1024, 2: 512, 3: 512}
    assert curve.skipped == 1
    path.write_text("OVERFLOW! Attempted loss scale: 1024, reducing to 512\nstep 1 loss 2.5\n")
    assert list(read(path).series["loss_scale"].steps) == [1]


TERMINAL = "[rank0]:[titan] 2025-01-01 00:00:01 - root - INFO - \x1b[31mstep: {step:2}  \x1b[32mloss: {loss:7.4f}  "
TERMINAL += "\x1b[38;5;208mgrad_norm: {norm:7.4f}  \x1b[33mmemory: 10.00GiB(12.5%)  \x1b[34mtps: 1,234\x1b[39m\n"
ULTRALYTICS = (
    "       {step}/30      2.5G      {loss:.4f}      1.0000      0.5000        16        640: 100%|█| 9/9 [00:01]\n"
)
FROM_OUTSIDE = {
    "titan.log": ("", TERMINAL),
    "printed.log": (
        "",
        "{{'loss': '{loss:.4f}', 'grad_norm': '{norm:.4f}', 'learning_rate': '1e-05', 'step': '{step}'}}\n",
    ),
    "wandb.csv": (
        '"Step","a - train/loss","a - train/loss__MIN","a - train/loss__MAX"\n',
        '"{step}","{loss:.4f}","0","9"\n',
    ),
    "gbk.log": ("", "第 {step} 步 损失: {loss:.4f}\n"),
    "zh.jsonl": ("", '{{"步数": {step}, "损失": {loss:.4f}}}\n'),
    "nested.jsonl": ("", '{{"step": {step}, "metrics": {{"loss": {loss:.4f}}}, "val": {{"loss": 9}}}}\n'),
}


@pytest.mark.parametrize("name", FROM_OUTSIDE)
def test_logs_of_other_makers(tmp_path: Path, name: str) -> None:
    head, line = FROM_OUTSIDE[name]
    path = tmp_path / name
    text = head + "".join(line.format(step=step, loss=3 - step / 10, norm=1 + step / 10) for step in range(1, 20))
    path.write_bytes(text.encode("gbk" if name.startswith("gbk") else "utf-8"))
    curve = read(path)
    assert list(curve.series["loss"].steps) == list(range(1, 20)) and not curve.ordinal
    assert list(curve.series["loss"].values) == pytest.approx([3 - step / 10 for step in range(1, 20)])
    if "norm" in line:
        assert curve.series["grad_norm"].values[4] == pytest.approx(1.5)


@pytest.mark.parametrize("form", ["csv", "text"])
def test_a_loss_in_parts_is_their_sum_and_that_is_said(tmp_path: Path, form: str) -> None:
    path = tmp_path / ("results.csv" if form == "csv" else "train.log")
    if form == "csv":
        head, line = (
            "  epoch,  train/box_loss,  train/cls_loss,  train/dfl_loss,  val/box_loss\n",
            "{step}, {loss}, 1, 0.5, 7\n",
        )
    else:
        head, line = "      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size\n", ULTRALYTICS
        line = line.replace("100%", " 10%").replace("1.0000", "8.0000") + line  # a bar on its way
    path.write_text(head + "".join(line.format(step=step, loss=step / 10) for step in range(1, 9)), encoding="utf-8")
    curve = read(path)
    assert list(curve.series["loss"].values) == pytest.approx([step / 10 + 1.5 for step in range(1, 9)])
    assert list(curve.series["loss"].steps) == list(range(1, 9))
    assert [key for key, _ in curve.told] == ["ACC257.sum"]


def test_several_runs_in_one_export_are_not_mixed(tmp_path: Path) -> None:
    path = tmp_path / "wandb.csv"
    path.write_text('"Step","a - train/loss","b - train/loss"\n"1","2","3"\n')
    assert "loss" not in read(path).series and len(read(path).series) == 2


def test_a_broken_byte_makes_no_other_encoding(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_bytes("第 1 步 损失: 3.0\n".encode() + b"\xb5\xda\n" + "第 2 步 损失: 2.0\n".encode())
    assert list(read(path).series["loss"].values) == [3.0, 2.0]
