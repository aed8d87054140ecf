"""Public training scripts, rewritten in both modes and run: 20 steps on the simulated NPU beside the original.

    python benchmarks/public_scripts.py --sources FOLDER [--steps 20] [--write docs/public-scripts.md] [--only NAME]

FOLDER holds checkouts as their projects have them: nanoGPT, examples (pytorch/examples), mae with timm-0.3.2 beside it,
and, for the last table, ModelZoo-PyTorch (Ascend's ports by hand). torchvision must be importable for the image
scripts. What is absent is skipped with the reason. Nothing in FOLDER is changed: scripts run in mirrors of it.

Bar: in each mode every step's loss equals the original's on the CPU within --tolerance (relative, float32).
"""

from __future__ import annotations

import argparse
import difflib
import importlib.util
import os
import re
import shutil
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from ascend_workbook.findings.errors import WorkbookError  # noqa: E402
from ascend_workbook.findings.finding import Status  # noqa: E402
from ascend_workbook.findings.report import Report  # noqa: E402
from ascend_workbook.migration.closure import walk_imports  # noqa: E402
from ascend_workbook.migration.dry_run import dry_run  # noqa: E402
from ascend_workbook.migration.dry_run.mirror import migrate_modules  # noqa: E402
from ascend_workbook.migration.rewrite.change import MODES  # noqa: E402

#: What MAE and timm 0.3.2 take from older releases of torch and NumPy, for both sides of a run.
OLDER = """
import collections.abc, importlib.abc, importlib.util, math, sys, types
import numpy
numpy.float = float

class Six(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        return importlib.util.spec_from_loader(name, self) if name == "torch._six" else None
    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.inf, module.string_classes, module.container_abcs = math.inf, (str, bytes), collections.abc
        return module
    def exec_module(self, module):
        pass

sys.meta_path.insert(0, Six())
"""
#: A model for 20 steps in a minute, put behind a copy of MAE's models. Autocast is off in it on both sides: half
#: precision rounds differently on a CPU, and the bar is equal losses. So is drawing the random masks on the device:
#: every kind of device has random numbers of its own.
TINY = """

def mae_vit_tiny(**kwargs):
    model = MaskedAutoencoderViT(
        patch_size=16, embed_dim=64, depth=2, num_heads=2, decoder_embed_dim=32, decoder_depth=1,
        decoder_num_heads=2, mlp_ratio=4, norm_layer=partial(nn.LayerNorm, eps=1e-6), **kwargs)
    forward = model.forward

    def plain(images, **more):
        drawn = torch.rand
        torch.rand = lambda *size, device=None: drawn(*size).to(device)
        try:
            with torch.autocast(images.device.type, enabled=False):
                return forward(images, **more)
        finally:
            torch.rand = drawn

    model.forward = plain
    return model
"""
#: What a port by hand changes, by the first pattern that its new line matches.
CHANGES = {
    "apex mixed precision": r"\bapex\b|\bamp\.|opt_level|loss_scale",
    "fused optimizers and gradients for NPU": r"Npu\w*Fused|combine_(grad|ddp)|npu_fusion",
    "device and backend names": r"\bnpu\b|hccl|torch_npu|ASCEND",
    "ranks, ports and addresses": r"MASTER_|RANK|world_size|init_process|dist_url|rank\b",
    "data types": r"int32|float16|float32|\.half\(|\.float\(|\.to\(torch\.",
    "static shapes": r"drop_last|shape|pad",
    "timing, FPS and profiler": r"FPS|fps|time\.|prof\w*|batch_time",
    "checkpoints and options": r"add_argument|checkpoint|resume|save",
}


@dataclass(frozen=True)
class Case:
    """A script: `folder` below --sources (or the project), its arguments, what must be importable, its port."""

    name: str
    folder: str
    script: str
    args: tuple[str, ...]
    needs: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    ports: tuple[tuple[str, str], ...] = ()
    port_note: str = ""
    older: bool = False
    added: tuple[str, str] = ("", "")


MAE_PORT = "PyTorch/contrib/cv/classification/MAE_for_PyTorch/"
CASES = (
    Case(
        "nanoGPT train.py",
        "nanoGPT",
        "train.py",
        (
            "--dataset=shakespeare_char",
            "--eval_iters=1",
            "--eval_interval=1000",
            "--block_size=32",
            "--batch_size=8",
            "--gradient_accumulation_steps=1",
            "--n_layer=2",
            "--n_head=2",
            "--n_embd=64",
            "--dropout=0.0",
            "--dtype=float32",
            "--device=cuda",
            "--compile=True",
            "--log_interval=1",
        ),
        port_note="no port of it in ModelZoo-PyTorch",
    ),
    Case(
        "pytorch/examples imagenet/main.py",
        "examples/imagenet",
        "main.py",
        ("--dummy", "-a", "resnet18", "-b", "4", "-j", "0", "-p", "1", "--epochs", "1"),
        needs=("torchvision",),
        ports=(("main.py", "PyTorch/built-in/cv/classification/ResNet50_for_PyTorch/pytorch_resnet50_apex.py"),),
        port_note="the port began from an older commit of the example",
    ),
    Case(
        "MAE main_pretrain.py",
        "mae",
        "main_pretrain.py",
        (
            "--batch_size",
            "2",
            "--model",
            "mae_vit_tiny",
            "--epochs",
            "1",
            "--num_workers",
            "0",
            "--data_path",
            "{images}",
            "--output_dir",
            "",
            "--log_dir",
            "{logs}",
            "--device",
            "cuda",
        ),
        needs=("torchvision", "tensorboard"),
        beside=("timm-0.3.2",),
        ports=tuple((name, MAE_PORT + name) for name in ("main_pretrain.py", "engine_pretrain.py", "util/misc.py")),
        older=True,
        added=("models_mae.py", TINY),
    ),
    Case("bundled gpt_text.py", "", "notebooks/scripts/gpt_text.py", (), port_note="this project's own script"),
    Case(
        "bundled resnet_digits.py", "", "notebooks/scripts/resnet_digits.py", (), port_note="this project's own script"
    ),
)


@dataclass(frozen=True)
class Outcome:
    """`worst` is the largest relative loss error, None where the run did not get there; `why` says what was wrong."""

    case: Case
    mode: str
    edits: Counter[str]
    files: int
    worst: Optional[float] = None
    steps: int = 0
    why: str = ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sources", type=Path, help="folder of the public checkouts")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--tolerance", type=float, default=1e-6, help="relative, for each step's loss (default: 1e-6)")
    parser.add_argument("--only", help="scripts whose name has this pattern")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the tables as Markdown")
    args = parser.parse_args()
    outcomes: list[Outcome] = []
    skipped: list[tuple[Case, str]] = []
    with tempfile.TemporaryDirectory(prefix="public-scripts-") as made:
        for case in CASES:
            if args.only and not re.search(args.only, case.name):
                continue
            why = _absent(case, args.sources)
            if why:
                skipped.append((case, why))
                print(f"{case.name}: skipped: {why}", flush=True)
                continue
            for mode in MODES:
                outcomes.append(_run(case, mode, args, Path(made)))
                print(_line(outcomes[-1]), flush=True)
    text = _page(outcomes, skipped, args)
    if args.write:
        args.write.write_text(text, encoding="utf-8")
    else:
        print(text)
    good = [one for one in outcomes if one.worst is not None and one.worst <= args.tolerance and not one.why]
    print("within the bar" if len(good) == len(outcomes) else "over the bar")
    return int(len(good) != len(outcomes))


def _absent(case: Case, sources: Path | None) -> str:
    if not case.folder:
        return ""
    if sources is None or not (sources / case.folder / case.script).is_file():
        return f"--sources has no {case.folder}/{case.script}"
    missing = [name for name in case.needs if importlib.util.find_spec(name) is None]
    missing += [name for name in case.beside if not (sources / name).is_dir()]
    return f"not here: {', '.join(missing)}" if missing else ""


def _run(case: Case, mode: str, args: argparse.Namespace, made: Path) -> Outcome:
    script = _script(case, args.sources, made)
    contents, findings = migrate_modules(dict.fromkeys(walk_imports(script)), script, script.parent, mode)
    edits = Counter({finding.rule: 0 for finding in findings})
    edits.update({rule: sum(len(f.edits) for f in findings if f.rule == rule) for rule in edits})
    places = {"images": str(_images(made)), "logs": str(made / "logs")} if "{images}" in case.args else {}
    given = [value.format(**places) for value in case.args]
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [*_paths(case, args.sources, made), before]))
    try:
        report = dry_run(script, given, "npu-simulated", args.steps, mode=mode, baseline="cpu")
    except WorkbookError as error:
        return Outcome(case, mode, edits, len(contents), why=str(error))
    finally:
        os.environ["PYTHONPATH"] = before or ""
    steps, worst = _errors(report)
    bad = [found for found in report.findings if found.status is Status.FIX]
    why = bad[0].message("en") if bad else "" if steps == args.steps else f"{steps} of {args.steps} steps"
    return Outcome(case, mode, edits, len(contents), worst, steps, why)


def _script(case: Case, sources: Path, made: Path) -> Path:
    """The script where it lies, or in a copy of its folder where something is put beside it."""
    folder = sources / case.folder if case.folder else ROOT
    if case.added[0]:
        copy = made / case.folder
        if not copy.exists():
            shutil.copytree(folder, copy, ignore=shutil.ignore_patterns(".git"))
            with (copy / case.added[0]).open("a", encoding="utf-8") as stream:
                stream.write(case.added[1])
        folder = copy
    return folder / case.script


def _paths(case: Case, sources: Path | None, made: Path) -> list[str]:
    found = [str(sources / name) for name in case.beside] if sources else []
    if case.older:
        (made / "older").mkdir(exist_ok=True)
        (made / "older" / "sitecustomize.py").write_text(OLDER, encoding="utf-8")
        found.append(str(made / "older"))
    return found


def _images(made: Path) -> Path:
    """64 pictures of noise in two classes, as ImageFolder wants them; the same each time."""
    import numpy
    from PIL import Image

    noise = numpy.random.default_rng(0)
    for number in range(64):
        folder = made / "images" / "train" / f"class{number % 2}"
        folder.mkdir(parents=True, exist_ok=True)
        pixels = noise.integers(0, 256, (64, 64, 3), dtype=numpy.uint8)
        Image.fromarray(pixels).save(folder / f"{number}.png")
    return made / "images"


def _errors(report: Report) -> tuple[int, float | None]:
    rows: list[dict[str, Any]] = []
    if report.table:
        names = [column.name for column in report.table.columns]
        rows = [dict(zip(names, row)) for row in report.table.rows]
    errors = [float(row["relative_error"]) for row in rows if row["relative_error"] is not None]
    return len(errors), max(errors, default=None)


def _line(outcome: Outcome) -> str:
    worst = "-" if outcome.worst is None else f"{outcome.worst:.1e}"
    said = f"{sum(outcome.edits.values())} edits, {outcome.steps} steps, worst relative loss error {worst}"
    return f"{outcome.case.name} [{outcome.mode}]: {said}{'; ' + outcome.why if outcome.why else ''}"


def _page(outcomes: list[Outcome], skipped: list[tuple[Case, str]], args: argparse.Namespace) -> str:
    lines = [
        "# Public scripts, rewritten and run",
        "",
        "Written by `benchmarks/public_scripts.py`. Each script is rewritten in both modes of `rewrite` and run for "
        f"{args.steps} optimizer steps on the simulated NPU; the original runs on the CPU with the same seed. "
        "Equal losses show that the rewritten script takes the same path with the same values; numerics, kernels, "
        "memory and speed of a real NPU are not shown. MAE runs with a tiny model put behind a copy of its models, in "
        "float32 and with its random masks drawn on the host, on both sides.",
        "",
        "| script | mode | edits (files) | by rule | steps | worst relative loss error | |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in outcomes:
        rules = ", ".join(f"{rule} x{count}" for rule, count in sorted(one.edits.items()))
        worst = "-" if one.worst is None else "0" if one.worst == 0 else f"{one.worst:.1e}"
        edits = f"{sum(one.edits.values())} ({one.files})"
        lines.append(f"| {one.case.name} | {one.mode} | {edits} | {rules} | {one.steps} | {worst} | {one.why} |")
    lines += [f"| {case.name} | - | - | - | - | - | skipped: {why} |" for case, why in skipped]
    lines += ["", "Rules are those of `scan`; MIG131 are the import lines, MIG138 the names of mode explicit.", ""]
    lines += _ports(outcomes, args.sources)
    return "\n".join(lines) + "\n"


def _ports(outcomes: list[Outcome], sources: Path | None) -> list[str]:
    lines = [
        "## Beside the ports by hand",
        "",
        "Ports are Ascend/ModelZoo-PyTorch's. Lines are those of a plain diff; each new line counts once, by the first "
        "kind that it matches. What `rewrite` does is names of devices and backends and what would raise; the rest of "
        "a port is choice: mixed precision by apex, fused optimizers, static shapes, timing.",
        "",
        "| script | file | lines taken out / put in by hand | by `rewrite` (explicit) | put in by hand, by kind |",
        "|---|---|---|---|---|",
    ]
    for case in dict.fromkeys(one.case for one in outcomes):
        zoo = sources / "ModelZoo-PyTorch" if sources else None
        if not case.ports or zoo is None or not zoo.is_dir():
            lines.append(f"| {case.name} | - | - | - | {case.port_note or 'ModelZoo-PyTorch is not in --sources'} |")
            continue
        assert sources is not None
        script = sources / case.folder / case.script
        contents, _ = migrate_modules(dict.fromkeys(walk_imports(script)), script, script.parent, "explicit")
        for name, port in case.ports:
            original = sources / case.folder / name
            if not (zoo / port).is_file():
                lines.append(f"| {case.name} | {name} | - | - | {port} is not there |")
                continue
            out, put = _changed(original.read_text("utf-8"), (zoo / port).read_text("utf-8"))
            ours = contents.get(original.absolute(), original.read_bytes()).decode("utf-8")
            taken, given = _changed(original.read_text("utf-8"), ours)
            kinds = ", ".join(f"{kind} {count}" for kind, count in Counter(map(_kind, put)).most_common())
            note = f" ({case.port_note})" if case.port_note else ""
            row = f"{len(out)} / {len(put)}{note} | {len(taken)} / {len(given)}"
            lines.append(f"| {case.name} | {name} | {row} | {kinds} |")
    return lines


def _changed(before: str, after: str) -> tuple[list[str], list[str]]:
    old, new = ([line.rstrip() for line in text.splitlines()] for text in (before, after))
    lines = list(difflib.unified_diff(old, new, lineterm="", n=0))[2:]
    out = [line[1:] for line in lines if line.startswith("-") and line[1:].strip()]
    return out, [line[1:] for line in lines if line.startswith("+") and line[1:].strip()]


def _kind(line: str) -> str:
    if line.lstrip().startswith("#"):
        return "comments"
    return next((kind for kind, pattern in CHANGES.items() if re.search(pattern, line)), "other")


if __name__ == "__main__":
    sys.exit(main())
