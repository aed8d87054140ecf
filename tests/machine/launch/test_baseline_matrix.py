"""The CPU standing in for CUDA changes no bit of a script: losses, gradients, weights, what else the script makes, and
random streams, each step's to the last bit, against the same script run by Python. About 35 seconds.

Where numbers have to differ, the run's notes name why, and a run by Python with that difference put in by hand ("told",
see matrix/telling.py) has every bit of the stand-in's.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from ascend_workbook.findings.sentence import say
from ascend_workbook.machine.launch import RunLog
from tests.machine.launch.matrix.running import BASELINE, HERE, PLAIN, TOLD, WAYS, compare, notes, run_all

#: Why numbers differ, by the note of the run's log.
STREAM, AUTOCAST, SIDE = "own_stream", "autocast_as_cuda", "side_assumed"
# ruff: noqa: SIM905 - a column of names reads better without quotes
#: Cases whose every number is the plain run's.
SAME = """
checkpointing.reentrant_without_dropout checkpointing.other_without_dropout drawing.no_draws drawing.dropout_alone
drawing.encoder_in_evaluation drawing.generators mixed.scaler_alone mixed.scaler_that_skips mixed.switched_off
mixed.inner_region_off mixed.own_function mixed.own_function_old_names mixed.weights_in_bfloat16 mixed.half_by_hand
mixed.after_a_region feeding.shuffled feeding.workers feeding.pinned feeding.pinned_by_workers feeding.own_generator
settings.convolutions settings.cudnn_flags settings.deterministic settings.deterministic_by_level
settings.matmul_precision settings.channels_last settings.default_dtype settings.moved_in_every_way
settings.copies_are_copies settings.best_weights_kept settings.streams_and_events settings.memory_asked_for
settings.graphs_guarded settings.data_parallel settings.compiled settings.scripted settings.optimizers settings.closure
settings.scheduled_and_averaged settings.clipped settings.accumulated settings.resumed settings.file_saved
settings.branches_by_device settings.attention_backends settings.higher_gradients settings.functional_transforms
settings.sparse_and_embeddings together.ddp together.collectives together.batch_norm together.sharded
libraries.accelerated libraries.accelerated_in_parts libraries.bert libraries.trainer libraries.hidden_layers
""".split()
#: Cases that draw on the GPU: numbers of another stream than the plain run's, which has one.
DRAWN = """
checkpointing.reentrant checkpointing.other checkpointing.reentrant_not_preserved checkpointing.other_not_preserved
checkpointing.in_parts checkpointing.nested checkpointing.selective checkpointing.arguments_by_name
checkpointing.twice_per_step drawing.dropout drawing.other_dropouts drawing.dropout_in_place drawing.functions_of_torch
drawing.encoder_layers drawing.attention drawing.attention_module drawing.recurrent drawing.noise_like_the_batch
drawing.methods_in_place drawing.distributions drawing.after_the_model drawing.beside_on_the_cpu drawing.made_on_the_gpu
drawing.made_under_a_default_device drawing.made_under_set_default_device drawing.initialised_after_the_move
drawing.seeded_in_every_way drawing.states_saved_and_restored drawing.forked_streams drawing.device_module
drawing.seeds_of_one_side feeding.shuffled_with_dropout feeding.workers_with_dropout feeding.weighted feeding.streamed
feeding.split feeding.prefetched together.ddp_with_dropout libraries.accelerated_with_dropout
libraries.bert_with_dropout libraries.bert_checkpointed libraries.gpt2_with_dropout
""".split()
#: Cases under autocast, and of these those that draw too.
CAST = ["mixed.half", "mixed.bfloat16", "mixed.half_with_scaler", "mixed.old_names"]
CAST_AND_DRAWN = ["mixed.half_with_dropout", "mixed.checkpointed", "mixed.checkpointed_reentrant"]
REASONS = {
    **dict.fromkeys(SAME, ()),
    **dict.fromkeys(DRAWN, (STREAM,)),
    **dict.fromkeys(CAST, (AUTOCAST,)),
    **dict.fromkeys(CAST_AND_DRAWN, (AUTOCAST, STREAM)),
}
#: Cases of which some draws come from tensors that operators made.
ASSUMED = ["drawing.methods_in_place", "drawing.distributions", "drawing.after_the_model"]
#: Cases with a difference that their numbers do not show: seeded anew before each draw, a region switched off inside.
UNSEEN = {"drawing.dropout_alone": STREAM, "mixed.inner_region_off": AUTOCAST}
#: Their ranks are forked, and a forked process leaves no log.
UNLOGGED = ["together.ddp_with_dropout"]
#: They import the libraries, seconds each, or start processes of their own.
LONG = [name for name in REASONS if name.startswith(("libraries.", "together."))]
LONG = [name for name in LONG if name not in ("libraries.bert_with_dropout", "together.ddp")]
LONG += """
feeding.workers feeding.pinned_by_workers feeding.streamed drawing.seeds_of_one_side drawing.device_module
drawing.dropout_in_place checkpointing.twice_per_step settings.default_dtype settings.memory_asked_for settings.scripted
settings.scheduled_and_averaged settings.cudnn_flags mixed.own_function mixed.half_by_hand mixed.after_a_region
""".split()


def _mark(name: str) -> object:
    return pytest.param(name, marks=pytest.mark.full) if name in LONG else name


@pytest.fixture(scope="module")
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All cases of the tests that were chosen, run in all the ways they need."""
    out = tmp_path_factory.mktemp("matrix")
    chosen = {item.callspec.params["name"] for item in request.session.items if hasattr(item, "callspec")
              and item.path == request.path and "name" in item.callspec.params
              and (request.config.getoption("--full") or not item.get_closest_marker("full"))}  # fmt: skip
    ways = [(name, way) for name in sorted(chosen) for way in (PLAIN, BASELINE, *((TOLD,) if REASONS[name] else ()))]
    run_all(out, [(name, WAYS[way]) for name, way in ways])
    return out


@pytest.mark.parametrize("name", list(map(_mark, REASONS)))
def test_no_bit_is_changed_without_a_reason(ran: Path, name: str) -> None:
    folder, reasons = ran / name, REASONS[name]
    noted = notes(folder / BASELINE) & {STREAM, AUTOCAST, SIDE}
    expected = {*reasons, *([SIDE] if name in ASSUMED else []), *([UNSEEN[name]] if name in UNSEEN else [])}
    assert noted == expected or name in UNLOGGED
    # a machine without a GPU has no stream of it
    as_it_is = compare(folder / PLAIN, folder / BASELINE, without=["gpu"])
    if not reasons:
        assert as_it_is == {}
        return
    assert as_it_is, "nothing differs: the reason is none, the case belongs among SAME"
    assert compare(folder / TOLD, folder / BASELINE) == {}


def test_every_case_is_run() -> None:
    """The table has each function of the areas, none twice, and forty at the least."""
    written = [
        f"{path.stem}.{node.name}"
        for path in sorted(HERE.glob("*.py"))
        if path.stem not in ("case", "forks", "running", "telling", "__init__")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and node.name != "digest_of"
    ]
    assert sorted(written) == sorted([*SAME, *DRAWN, *CAST, *CAST_AND_DRAWN])
    assert len(set(REASONS) - set(LONG)) >= 40


def test_a_user_reads_the_reasons(ran: Path) -> None:
    log = RunLog.load_log(ran / "mixed.half_with_dropout" / BASELINE / "gpulog.json")
    for note in log.notes:
        for lang in ("en", "zh"):
            assert say(f"launch.note.{note['code']}", lang, **note["args"])
