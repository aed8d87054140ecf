"""The operators of two ranks merged against those of one, through `compare`."""

from __future__ import annotations

from pathlib import Path

import torch

from ascend_workbook.findings.finding import Status
from ascend_workbook.precision.compare import compare
from tests.precision.dumps import Dump

X = torch.randn(4, 6, generator=torch.Generator().manual_seed(1))
W = torch.randn(8, 6, generator=torch.Generator().manual_seed(2))
V = torch.randn(6, 8, generator=torch.Generator().manual_seed(3))


def write_whole(folder: Path) -> Path:
    dump = Dump(folder)
    hidden = X @ W.T
    dump.forward("Functional.linear", [X, W], [hidden])
    dump.forward("Functional.gelu", [hidden], [torch.nn.functional.gelu(hidden)])
    dump.forward(
        "Functional.linear", [torch.nn.functional.gelu(hidden), V], [torch.nn.functional.gelu(hidden) @ V.T], call=1
    )
    dump.forward(
        "Functional.softmax",
        [torch.nn.functional.gelu(hidden) @ V.T],
        [torch.softmax(torch.nn.functional.gelu(hidden) @ V.T, -1)],
    )
    dump.save()
    return folder


def write_ranks(folder: Path, *, reduced: bool = True, wrong: int = -1) -> Path:
    """Tensor parallel: the first layer by columns, the second by rows."""
    parts = []
    for rank in (0, 1):
        w, v = W.chunk(2, 0)[rank], V.chunk(2, 1)[rank]
        h = X @ w.T
        g = torch.nn.functional.gelu(h) * (1.01 if rank == wrong else 1.0)
        parts.append((w, v, h, g, g @ v.T))
    total = parts[0][4] + parts[1][4]
    for rank, (w, v, h, g, out) in enumerate(parts):
        dump = Dump(folder, rank=f"rank{rank}")
        dump.forward("Functional.linear", [X, w], [h])
        dump.forward("Functional.gelu", [h], [g])
        dump.forward("Functional.linear", [g, v], [out], call=1)
        dump.forward("Distributed.all_reduce", [out], [total])
        read = total if reduced else out
        dump.forward("Functional.softmax", [read], [torch.softmax(read, -1)], line=30)
        dump.save()
    return folder


def test_a_divided_model_agrees_with_the_whole(tmp_path: Path) -> None:
    report = compare(write_whole(tmp_path / "one"), write_ranks(tmp_path / "two"), replaying=False)
    assert report.facts["outcomes"] == {"agrees": 4}
    merged = next(finding for finding in report.findings if finding.key == "ACC220.merged")
    assert {name: merged.args[name] for name in ("copies", "laid", "sums")} == {"copies": 3, "laid": 6, "sums": 1}


def test_the_rank_is_named_whose_operator_is_wrong(tmp_path: Path) -> None:
    report = compare(write_whole(tmp_path / "one"), write_ranks(tmp_path / "two", wrong=1), replaying=False)
    assert str(report.facts["first_divergence"]).startswith("Functional.gelu.0.forward")
    named = next(finding for finding in report.findings if finding.rule == "ACC225")
    assert named.key == "ACC225.rank"
    assert named.args["ranks"] == [1]


def test_a_missing_reduction_is_named_where_its_parts_are_read(tmp_path: Path) -> None:
    report = compare(write_whole(tmp_path / "one"), write_ranks(tmp_path / "two", reduced=False), replaying=False)
    named = next(finding for finding in report.findings if finding.rule == "ACC225")
    assert (named.key, named.status) == ("ACC225.partial", Status.FIX)
    assert named.args["name"] == "Functional.softmax.0.forward"
    assert str(named.place).endswith("train.py:30")


def test_copies_that_part_on_one_rank_are_named_with_that_rank(tmp_path: Path) -> None:
    whole = Dump(tmp_path / "one")
    total = X @ W.T
    whole.forward("Functional.linear", [X, W], [total])
    whole.forward("Functional.gelu", [total], [torch.nn.functional.gelu(total)], line=40)
    whole.save()
    for rank, factor in ((0, 1.01), (1, 1.0)):
        dump = Dump(tmp_path / "two", rank=f"rank{rank}")
        dump.forward("Functional.linear", [X, W.chunk(2, 0)[rank]], [X @ W.chunk(2, 0)[rank].T])
        dump.forward("Functional.gelu", [total * factor], [torch.nn.functional.gelu(total * factor)], line=40)
        dump.save()
    report = compare(tmp_path / "one", tmp_path / "two", replaying=False)
    named = next(finding for finding in report.findings if finding.key == "ACC225.copy")
    assert named.args["ranks"] == [0]
    assert str(named.place).endswith("train.py:40")


def test_indices_of_a_ranks_own_are_no_copies_that_differ(tmp_path: Path) -> None:
    words, x = torch.randn(6, 4, generator=torch.Generator().manual_seed(5)), torch.tensor([0, 5, 2, 3])
    whole = Dump(tmp_path / "one")
    whole.forward("Functional.embedding", [x, words], [words[x]])
    whole.forward("Functional.relu", [words[x]], [torch.relu(words[x])])
    whole.save()
    for rank in (0, 1):
        there = (x >= 3 * rank) & (x < 3 * rank + 3)
        own = torch.where(there, x - 3 * rank, torch.zeros_like(x))
        dump = Dump(tmp_path / "two", rank=f"rank{rank}")
        dump.forward(
            "Functional.embedding", [own, words[3 * rank : 3 * rank + 3]], [words[3 * rank : 3 * rank + 3][own]]
        )
        dump.forward("Functional.relu", [words[x]], [torch.relu(words[x])])
        dump.save()
    report = compare(tmp_path / "one", tmp_path / "two", replaying=False)
    assert report.facts["outcomes"] == {"agrees": 1}
    assert not [finding.key for finding in report.findings if finding.rule == "ACC225"]


def test_what_cancels_to_nothing_is_not_judged(tmp_path: Path) -> None:
    noise = torch.randn(2, 8, generator=torch.Generator().manual_seed(6)) * 1e-10

    def write(dump: Dump, tensor: torch.Tensor, w: torch.Tensor) -> None:
        dump.forward("Tensor.square", [tensor], [tensor.square()])
        dump.forward("Functional.gelu", [w], [torch.nn.functional.gelu(w)])
        dump.save()

    write(Dump(tmp_path / "one"), noise[0], W)
    for rank in (0, 1):
        write(Dump(tmp_path / "two", rank=f"rank{rank}"), noise[1].chunk(2)[rank], W.chunk(2)[rank])
    report = compare(tmp_path / "one", tmp_path / "two", replaying=False)
    assert report.facts["outcomes"] == {"agrees": 1}
    assert [finding.args["count"] for finding in report.findings if finding.key == "ACC220.left_out"] == [
        3
    ]  # two tensors, and so the operator


def write_rows(folder: Path, count: int, *, wrong: int = -1) -> Path:
    """Data parallel: every rank has its rows."""
    for rank in range(count):
        x = X.chunk(count)[rank]
        h = x @ W.T
        g = torch.nn.functional.gelu(h) * (1.01 if rank == wrong else 1.0)
        dump = Dump(folder, rank=f"rank{rank}")
        dump.forward("Functional.linear", [x, W], [h])
        dump.forward("Functional.gelu", [h], [g])
        dump.forward("Tensor.mean", [g], [g.mean()])
        dump.save()
    return folder


def test_several_ranks_agree_with_several_others(tmp_path: Path) -> None:
    two = write_rows(tmp_path / "two", 2)
    report = compare(two, write_rows(tmp_path / "four", 4), replaying=False)
    assert report.facts["outcomes"] == {"agrees": 2}
    assert "ACC220.both" in [finding.key for finding in report.findings]
    report = compare(two, write_rows(tmp_path / "wrong", 4, wrong=3), replaying=False)
    assert str(report.facts["first_divergence"]).startswith("Functional.gelu.0.forward")
    named = next(finding for finding in report.findings if finding.key == "ACC225.rank")
    assert named.args["ranks"] == [3]


def test_rows_of_two_wrong_ranks_are_seen_from_the_other_side_too(tmp_path: Path) -> None:
    report = compare(write_rows(tmp_path / "two", 2, wrong=1), write_rows(tmp_path / "four", 4), replaying=False)
    assert str(report.facts["first_divergence"]).startswith("Functional.gelu.0.forward")
