"""Readers of files from outside, fed with files that are spoilt at random: no crash, no hang, bounded memory.

`python -m tests.fuzz.harness TARGET SEED SECONDS` runs one target in this process, under limits, and prints JSON. What
a reader may do with any file is answer, or raise WorkbookError with a sentence in each language. Case `i` of a seed is
always the same: `--case I` runs that one alone, and keeps its file.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import random
import re
import resource
import shutil
import signal
import sqlite3
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import LANGUAGES
from tests.conftest import ROOT

DATA = ROOT / "tests" / "data" / "profiling"
#: Of one case, in seconds, and of the process, in MiB
HANG_S, MOST_MIB = 60, 3072
#: Pieces that files of these forms are made of, and what breaks them
PIECES = (
    *(b"\0", b"\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\r", b"\n\n", b"\t", b'"', b"'", b"\\", b"\\u0000"),
    *(b"{", b"}", b"[", b"]", b",", b":", b"[[[[[[[[", b"]}", b'"traceEvents": [', b'"ph": "X"', b'"ts": -1'),
    *(b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-0", b"0x7f", b"9" * 30, b"9" * 5000, b"1.", b".5", b"null"),
    *(b"&a", b"*a", b"<<: *a", b"!!python/object:os.system", b"---\n", b"- ", b"  ", b"#", b"|", b"%", b"$(", b"`"),
    *("，".encode(), b"\xe9", "\u202e".encode(), b"a" * 3000, b"(" * 300, b"-r x.txt", b"==", b"@ file://", b"\\ud800"),
)
NUMBERS = (b"-1", b"0", b"4611686018427387904", b"9" * 25, b"1e400")
Files = Mapping[str, bytes]


@dataclass(frozen=True)
class Target:
    """What reads: given the path of the file, or of the folder where `folder` is true. `corpus`: names of files or
    folders below ROOT, or files made here."""

    read: Callable[[Path], object]
    corpus: Callable[[], list[Files]]
    folder: bool = False


def spoil(content: bytes, others: list[bytes], dice: random.Random) -> bytes:
    """Return the content with one to eight changes."""
    text = bytearray(content)
    for _ in range(dice.choice((1, 1, 2, 3, 8))):
        at = dice.randrange(len(text) + 1)
        size = min(len(text) - at, int(2 ** dice.uniform(0, 12)))
        way = dice.randrange(9)
        if way == 0:
            text[at : at + 1] = bytes([dice.randrange(256)])
        elif way == 1:
            del text[at : at + size]
        elif way == 2:
            text[at:at] = dice.choice(PIECES)
        elif way == 3:
            text[at : at + dice.randrange(12)] = dice.choice(PIECES)
        elif way == 4:
            text[at:at] = text[at : at + size] * dice.choice((1, 2, 50))
        elif way == 5:
            del text[at:]
        elif way == 6:
            other = dice.choice(others)
            begin = dice.randrange(len(other) + 1)
            text[at : at + size] = other[begin : begin + size]
        elif way == 7 and (numbers := list(itertools.islice(re.finditer(rb"\d+", text), 2000))):
            number = dice.choice(numbers)
            text[number.start() : number.end()] = dice.choice(
                (b"-1", b"0", b"4611686018427387904", b"9" * 25, b"1e400")
            )
        elif way == 8 and text:
            text[at : at + 1] = bytes([text[min(at, len(text) - 1)] ^ (1 << dice.randrange(8))])
    return bytes(text[: 2**21])


def make_case(corpus: list[Files], dice: random.Random) -> dict[str, bytes]:
    """Return the files of one case: those of one of the corpus, of which one is spoilt, or away, or several are."""
    files = dict(dice.choice(corpus))
    others = [content for each in corpus for content in each.values()]
    for name in dice.sample(sorted(files), min(len(files), dice.choice((1, 1, 1, 2)))):
        if len(files) > 1 and dice.random() < 0.05:
            del files[name]
        elif name.endswith(".gz") and dice.random() < 0.5:
            files[name] = gzip.compress(spoil(gzip.decompress(files[name]), others, dice), 1)
        else:
            files[name] = spoil(files[name], others, dice)
    return files


def answer_for(target: Target, place: Path) -> None:
    """Let the target read; a report's sentences are said, and a rule that broke is a failure."""
    try:
        answer = target.read(place)
    except WorkbookError as error:
        for lang in LANGUAGES:
            assert error.message(lang).strip(), error.key
        return
    if isinstance(answer, Report):
        check_report(answer)


def check_report(report: Report) -> None:
    json.dumps(report.to_json())
    for finding in report.findings:
        assert finding.key != "rule.broke", finding.args
        assert all(finding.message(lang) for lang in LANGUAGES), finding.key
    for part in report.parts:
        check_report(part)


def run_case(target: Target, corpus: list[Files], seed: str, number: int, folder: Path) -> str:
    """Return what went wrong with this case, empty where nothing did."""
    files = make_case(corpus, random.Random(f"{seed}:{number}"))
    shutil.rmtree(folder, ignore_errors=True)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    signal.alarm(HANG_S)
    try:
        answer_for(target, folder if target.folder or not files else folder / next(iter(files)))
    except Exception:  # noqa: BLE001 - that is what is looked for
        return traceback.format_exc()
    finally:
        signal.alarm(0)
    return ""


def run_target(name: str, seed: str, seconds: float) -> dict[str, object]:
    """Run cases of a target for so long; return how many, the slowest, the memory, and the failures by their last
    line."""
    target = find_targets()[name]
    corpus = target.corpus()
    failures: dict[str, dict[str, object]] = {}
    end, worst, number = time.monotonic() + seconds, (0.0, 0), 0
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        while time.monotonic() < end:
            began = time.process_time()
            if trouble := run_case(target, corpus, seed, number, Path(folder, "case")):
                failures.setdefault(trouble.strip().splitlines()[-1][:300], {"case": number, "trace": trouble})
            worst = max(worst, (time.process_time() - began, number))
            number += 1
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return {"cases": number, "slowest": worst, "peak_mib": peak, "failures": failures}


def hang(_number: int, _frame: FrameType | None) -> None:
    raise TimeoutError(f"a case takes longer than {HANG_S} s")


def find_targets() -> dict[str, Target]:
    from tests.fuzz import targets

    return targets.TARGETS


def read_files(*names: str) -> Callable[[], list[Files]]:
    """Return a corpus of single files of the repository."""
    return lambda: [{Path(name).name: (ROOT / name).read_bytes()} for name in names]


def read_folders(*names: str) -> Callable[[], list[Files]]:
    """Return a corpus of whole folders of the repository, each with its own name."""

    def read() -> list[Files]:
        return [dict(_files_below(ROOT / name)) for name in names]

    return read


def _files_below(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path.relative_to(folder.parent).as_posix(), path.read_bytes()


def dump_database(script: str) -> bytes:
    """Return the bytes of a database that a script makes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "made.db")
        with closing(sqlite3.connect(path)) as made:
            made.executescript(script)
            made.commit()
        return path.read_bytes()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    parser.add_argument("seed")
    parser.add_argument("seconds", type=float)
    parser.add_argument("--case", type=int)
    asked = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MIB * 2**20,) * 2)
    signal.signal(signal.SIGALRM, hang)
    if asked.case is None:
        print(json.dumps(run_target(asked.target, asked.seed, asked.seconds)))
    else:
        target, folder = find_targets()[asked.target], Path(tempfile.gettempdir(), f"fuzz-{asked.target}-{asked.case}")
        print(folder, run_case(target, target.corpus(), asked.seed, asked.case, folder), sep="\n")


if __name__ == "__main__":
    main()
