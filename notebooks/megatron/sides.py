"""What megatron_tiny.sh needs beside Megatron-LM and MindSpeed: tiny data, two copies, the CPU's run, the comparison.

The copy for NPUs is what the workbook's rules MIG330 to MIG332 make of Megatron-LM; the one for the CPU is as it came,
but for `pkg_resources` (MIG331), which new environments lack.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import runpy
import shutil
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

FETCH = """Fetch a pair that fits together, for example:
  git clone --branch core_v0.12.1 https://github.com/NVIDIA/Megatron-LM
  git clone --branch 26.1.0_core_r0.12.1 https://github.com/Ascend/MindSpeed
and say where they are: MEGATRON=Megatron-LM MINDSPEED=MindSpeed bash notebooks/scripts/megatron_tiny.sh OUT"""
#: What both import, as their requirements say; the packages' names where they differ.
PACKAGES = ("pybind11", "einops", "regex", "six", "packaging", "sentencepiece", "transformers", "scipy", "pandas")
SCRIPTS = ("pretrain_gpt.py", "tools/preprocess_data.py")
ADAPTOR = "import mindspeed.megatron_adaptor"
#: MindSpeed's function that torch 2.13 cannot call, and its answer given with a parameter (MIG332).
NO_PARAMETER = "def get_device_capability():"
ANSWER = "torch.cuda.get_device_capability = lambda device=None: (9, 0)"
#: How far losses may part: fp32 by the last printed digit, fp16 by the rounding of another order of sums.
TOLERANCE = {"fp32": 1e-6, "fp16": 1e-4}
STEP = re.compile(r"iteration +(\d+)/.*lm loss: ([-+0-9.Einfa]+) .*grad norm: ([-+0-9.Einfa]+) ")


def main() -> int:
    if sys.argv[1:2] == ["cpu"]:
        run_on_cpu(sys.argv[2:])
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    for name in ("check", "prepare"):
        verb = verbs.add_parser(name)
        for folder in ("megatron", "mindspeed", "out"):
            verb.add_argument(f"--{folder}", type=Path, required=True)
        verb.add_argument("--precision", default="fp32")
    verb = verbs.add_parser("compare")
    verb.add_argument("npu", type=Path)
    verb.add_argument("cpu", type=Path)
    verb.add_argument("--precision", choices=TOLERANCE, default="fp32")
    verb.add_argument("--steps", type=int, required=True)
    given = parser.parse_args()
    if given.verb == "check":
        return check_folders(given.megatron, given.mindspeed, given.out, given.precision)
    if given.verb == "prepare":
        return prepare_copies(given.megatron, given.mindspeed, given.out)
    return compare_logs(given.npu, given.cpu, given.steps, TOLERANCE[given.precision])


def check_folders(megatron: Path, mindspeed: Path, out: Path, precision: str) -> int:
    """Say what is missing, and make the folder of results, which must be new or empty."""
    for name, folder, inside in (
        ("MEGATRON", megatron, "pretrain_gpt.py"),
        ("MINDSPEED", mindspeed, "mindspeed/megatron_adaptor.py"),
    ):
        if folder == Path() or not (folder / inside).is_file():
            given = "not given" if folder == Path() else str(folder)
            return refuse(f"{name} is to be a folder that holds {inside}; it is {given}\n{FETCH}")
    if precision not in TOLERANCE:
        return refuse(f"PRECISION is {precision!r}; it is to be one of: {', '.join(TOLERANCE)}")
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        return refuse(f"packages that Megatron-LM and MindSpeed import are missing: pip install {' '.join(missing)}")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        return refuse(f"{out} is there already; name a folder that is new or empty")
    out.mkdir(parents=True, exist_ok=True)
    return 0


def refuse(why: str) -> int:
    print(f"megatron_tiny.sh: {why}", file=sys.stderr)
    return 2


def prepare_copies(megatron: Path, mindspeed: Path, out: Path) -> int:
    """Copy Megatron-LM twice, apply the rules, and write the tiny data."""
    for side in ("npu", "cpu"):
        shutil.copytree(megatron, out / side, ignore=shutil.ignore_patterns(".git", "__pycache__"), symlinks=True)
    for side, codes in (("npu", {"MIG330", "MIG331"}), ("cpu", {"MIG331"})):
        for file in sorted((out / side).rglob("*.py")):
            scripts = [out / side / name for name in SCRIPTS]
            if (file in scripts or file.is_relative_to(out / side / "megatron")) and not file.is_symlink():
                apply_rules(file, codes, shown=side == "npu")
    answers = mindspeed / "mindspeed/core/transformer/moe/grouped_gemm_util.py"
    if answers.is_file() and NO_PARAMETER in answers.read_text(encoding="utf-8"):
        for name in SCRIPTS:
            file = out / "npu" / name
            text = file.read_text(encoding="utf-8")
            file.write_text(text.replace(ADAPTOR, f"{ADAPTOR}\n{ANSWER}", 1), encoding="utf-8")
        print(f"MIG332 {' '.join(SCRIPTS)}: {ANSWER}")
    make_data(out / "data")
    return 0


def apply_rules(file: Path, codes: set[str], *, shown: bool) -> None:
    """Apply what the workbook's rules of these codes rewrite in a file of a copy."""
    data = file.read_bytes()
    if b"pkg_resources" not in data and not (b"megatron.core" in data and b"__main__" in data):
        return
    from ascend_workbook.migration.reading.source import read_source
    from ascend_workbook.migration.rewrite.change import apply_edits
    from ascend_workbook.migration.scan import scan_source

    source = read_source(file)
    findings = [finding for finding in scan_source(source) if finding.rule in codes and finding.edits]
    if findings:
        text = apply_edits(source, [edit for finding in findings for edit in finding.edits])
        file.write_bytes(source.encode_text(text))
    for finding in findings if shown else ():
        print(f"{finding.rule} {finding.place}: {' '.join(edit.text.strip() for edit in finding.edits)}")


def make_data(folder: Path) -> None:
    """Write 400 short texts and a tokenizer of every byte and three pairs."""
    folder.mkdir()
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = {byte: chr(byte) for byte in shown}
    for byte in range(256):
        letters.setdefault(byte, chr(256 + len(letters) - len(shown)))
    pairs = ["Ġ t", "h e", "Ġt he"]
    vocabulary = [letters[byte] for byte in range(256)] + ["".join(pair.split()) for pair in pairs] + ["<|endoftext|>"]
    numbers = {word: number for number, word in enumerate(vocabulary)}
    (folder / "vocab.json").write_text(json.dumps(numbers), encoding="utf-8")
    (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *pairs, ""]), encoding="utf-8")
    draw = random.Random(1)
    words = ["the", "card", "counts", "its", "steps", "and", "the", "loss", "falls", "昇腾", "训练"]
    lines = (json.dumps({"text": " ".join(draw.choices(words, k=40))}) for _ in range(400))
    (folder / "tiny.json").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def run_on_cpu(command: list[str]) -> None:
    """Run a script of Megatron-LM as it is, the CPU standing in for CUDA."""
    from ascend_workbook.machine.launch.child.baseline import install_baseline

    install_baseline(lambda code, **args: None)
    sys.path.insert(0, str(Path.cwd()))
    with suppress(ImportError):  # it only asks nvcc, which is not here; newer cores have none
        from megatron.legacy import fused_kernels

        fused_kernels.load = lambda args: None
    sys.argv = command
    runpy.run_path(command[0], run_name="__main__")


def read_steps(log: Path) -> dict[int, tuple[float, float]]:
    """Read the loss and the norm of the gradients of each step; a step that Megatron-LM skipped has none."""
    found = STEP.finditer(log.read_text(encoding="utf-8", errors="replace"))
    return {int(match[1]): (float(match[2]), float(match[3])) for match in found}


def compare_logs(npu: Path, cpu: Path, steps: int, tolerance: float) -> int:
    """Print both sides step by step; 0 where every step is there and its losses agree, else 1."""
    ours, theirs = read_steps(npu), read_steps(cpu)
    print("step  NPU, simulated  CPU, gloo      apart")
    worst = 0.0
    for step in range(1, steps + 1):
        if step not in ours or step not in theirs:
            print(f"{step:4}  no loss in {npu if step not in ours else cpu}")
            worst = math.inf
            continue
        apart = max(abs(ours[step][0] / theirs[step][0] - 1), 0.0)
        worst = max(worst, math.inf if math.isnan(apart) else apart)
        print(f"{step:4}  {ours[step][0]:.6f}        {theirs[step][0]:.6f}   {apart:.1e}")
    agree = worst <= tolerance
    print(f"losses {'agree' if agree else 'DIFFER'}: at most {worst:.1e} apart, {tolerance:.0e} allowed")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
