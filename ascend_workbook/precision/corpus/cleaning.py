"""A copy of the corpus without its odd records, and a list of what was left out and why."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.precision.corpus.judging import Corpus, walk_again
from ascend_workbook.precision.corpus.reading import CHUNK, format_of, table_head
from ascend_workbook.redaction.exits import redact

DROPPED = "dropped.jsonl"


def check_folder(out: Path) -> None:
    """Raises WorkbookError where the folder has anything in it: nothing is written over."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise WorkbookError("data.not_empty", path=str(out))


def name_copies(files: tuple[Path, ...]) -> list[str]:
    """Return a name for each copy: the file's own, with its number where two are alike."""
    names = [path.name for path in files]
    taken = {DROPPED}
    result = []
    for number, name in enumerate(names):
        chosen = name if name not in taken else f"{number}-{name}"
        taken.add(chosen)
        result.append(chosen)
    return result


class _Writer:
    """Writes kept records in the form of their file."""

    def __init__(self, source: Path, target: Path, stack: ExitStack) -> None:
        self.source, self.target, self.suffix = source, target, format_of(source)
        self.keep: list[bool] = []
        self.count, self.is_single = 0, False
        if self.suffix == ".parquet":
            return
        is_packed = target.name.endswith(".gz")
        self.file = cast("io.BufferedWriter", stack.enter_context((gzip.open if is_packed else open)(target, "wb")))
        if self.suffix in (".csv", ".tsv"):
            self._write_row(table_head(source))

    def add(self, raw: Any, is_kept: bool) -> None:
        self.keep.append(is_kept) if self.suffix == ".parquet" else None
        if not is_kept or self.suffix == ".parquet":
            return
        if self.suffix in (".csv", ".tsv"):
            self._write_row(raw)
        elif self.suffix == ".json" and not isinstance(raw, bytes):
            self.file.write(b",\n" if self.count else b"[\n")
            self.file.write(json.dumps(raw, ensure_ascii=False).encode("utf-8"))
        else:
            self.is_single = self.suffix == ".json"
            self.file.write(raw)
        self.count += 1

    def finish(self) -> None:
        if self.suffix == ".json":
            is_list = self.count and not self.is_single
            self.file.write(b"\n]\n" if is_list else b"" if self.count else b"[]\n")
        elif self.suffix == ".parquet":
            self._write_batches()

    def _write_row(self, row: list[str]) -> None:
        text = io.StringIO()
        csv.writer(text, delimiter="\t" if self.suffix == ".tsv" else ",", lineterminator="\n").writerow(row)
        self.file.write(text.getvalue().encode("utf-8", "surrogateescape"))

    def _write_batches(self) -> None:
        import pyarrow
        import pyarrow.parquet

        source, at = pyarrow.parquet.ParquetFile(self.source, buffer_size=CHUNK, pre_buffer=False), 0
        with pyarrow.parquet.ParquetWriter(self.target, source.schema_arrow) as writer:
            for batch in source.iter_batches(batch_size=1000):
                mask = pyarrow.array(self.keep[at : at + batch.num_rows], pyarrow.bool_())
                writer.write_batch(batch.filter(mask))
                at += batch.num_rows


def write_clean(corpus: Corpus, out: Path) -> dict[str, int]:
    """Write the copies and the list into an empty folder; return how many records of each file are kept."""
    check_folder(out)
    out.mkdir(parents=True, exist_ok=True)
    names = name_copies(corpus.files)
    kept_counts = {str(path): 0 for path in corpus.files}
    with (out / DROPPED).open("w", encoding="utf-8") as dropped:
        for number, rows in _by_file(corpus):
            path = corpus.files[number]
            with ExitStack() as stack:
                writer = _Writer(path, out / names[number], stack)
                for at, record in rows:
                    reasons = corpus.oddities(at)
                    writer.add(record.raw, not reasons)
                    if reasons:
                        entry = {"file": str(path), "line": record.line, "reasons": reasons}
                        dropped.write(redact(json.dumps(entry, ensure_ascii=False)) + "\n")
                    else:
                        kept_counts[str(path)] += 1
                writer.finish()
    return kept_counts


def _by_file(corpus: Corpus) -> Iterator[tuple[int, Iterator[tuple[int, Any]]]]:
    """Yield each file's number and its records."""
    for number, path in enumerate(corpus.files):
        end = corpus.starts[number + 1] if number + 1 < len(corpus.starts) else len(corpus)
        if str(path) in corpus.errors and end == corpus.starts[number]:
            continue
        yield number, ((at, record) for at, _, record in walk_again(corpus, number))
