"""Who reads files from outside, and small whole files of each kind."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from ascend_workbook.batch.plan.reading import read_plan
from ascend_workbook.diagnose import explain
from ascend_workbook.machine.npu_smi import parse_npu_smi
from ascend_workbook.migration.scan import scan
from ascend_workbook.profiling import analyse
from ascend_workbook.profiling.readers import loading, read_trace
from ascend_workbook.profiling.readers.document import Document
from ascend_workbook.profiling.readers.tables import read_kernel_table, read_memory_tables, read_step_times
from tests.environment.recorded.npu_smi import table
from tests.fuzz.harness import DATA, Files, Target, dump_database, read_files, read_folders
from tests.profiling.readers.test_database import SCHEMA
from tests.profiling.readers.test_database import TEXTS as DATABASE_TEXTS

TRACES = tuple(f"tests/data/profiling/{name}.pt.trace.json" for name in ("cpu", "cuda", "rocm"))
LOGS = ("two_ranks", "clean/npu_smi", "clean/pip", "clean/plog-2101_20261120100000", "clean/training")
FOLDERS = tuple(f"tests/data/profiling/{name}_ascend_pt" for name in ("new", "old", "timeline"))
NOTEBOOK = {
    "cells": [
        {"cell_type": "code", "source": ["import torch\n", "x = torch.ones(2).cuda()\n", "%pip install apex\n"]},
        {"cell_type": "markdown", "source": "# 标题"},
    ],
    "metadata": {"kernelspec": {"name": "python3"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}
TEXTS: dict[str, bytes] = {
    "config.yaml": b"model: &m\n  device: cuda:0\n  amp: true\ntrain:\n  <<: *m\n  backend: nccl\n  workers: [0, 1]\n",
    "pyproject.toml": b'[project]\nname = "a"\ndependencies = ["torch==2.1.0", "flash-attn>=2"]\n',
    "requirements.txt": b"torch==2.1.0+cu118\n--extra-index-url https://a.org/whl/cu118\napex @ git+https://a/b\n",
    "environment.yml": b"dependencies:\n  - pytorch=2.1\n  - pip:\n    - deepspeed\n",
    "notebook.ipynb": json.dumps(NOTEBOOK).encode(),
    "train.py": b"import torch\nfrom apex import amp\nmodel = torch.nn.Linear(2, 2).cuda()\ntorch.cuda.empty_cache()\n",
    "run.sh": b"#!/bin/bash\nexport CUDA_VISIBLE_DEVICES=0,1\ntorchrun --nproc_per_node=2 a.py \\\n  --device cuda\n",
    "Dockerfile": b"FROM nvidia/cuda:11.8-devel\nRUN pip install torch==2.1.0\n",
    "ds_config.json": b'{"fp16": {"enabled": true}, "optimizer": {"type": "OneBitAdam"}}',
}
PLAN = b"""name: nightly
defaults:
  device: cpu
  steps: 2
runs:
  - script: train.py
    args: [--epochs, 1]
    matrix:
      lr: [0.1, 0.01]
  - script: other.py
    tags: [slow]
expect:
  - run: train
    loss: {below: 2.0}
"""
SMI = table("25.0.rc1", [(0, 0, "910B3", "OK", "0000:C1:00.0", 3300, 65536)], [(0, 0, 4711, "python", 3000)])


def parse_texts(path: Path) -> object:
    return parse_npu_smi(path.read_bytes().decode("utf-8", "replace"))


def read_tables(folder: Path) -> object:
    """Every table by itself: one that is refused does not hide the others."""
    for output in (path.parent for path in folder.rglob("*.csv")):
        for read in (read_kernel_table, read_memory_tables):
            _try(lambda: read(output))  # noqa: B023
        if (output / "step_trace_time.csv").is_file():
            _try(lambda: read_step_times(output / "step_trace_time.csv"))  # noqa: B023
    return None


def _try(read: object) -> None:
    from ascend_workbook.findings.errors import WorkbookError

    try:
        read()  # type: ignore[operator]
    except WorkbookError as error:
        assert error.message("zh") and error.message("en")


def read_in_python(path: Path) -> object:
    document, collector = Document(path), loading.Collector()
    for batch in document.read_batches():
        collector.take_batch(batch, document.is_list)
    return collector.collect_events()


def make_gzips() -> list[Files]:
    packed = [gzip.compress((DATA / f"{name}.pt.trace.json").read_bytes(), 9) for name in ("cpu", "cuda")]
    return [{"a.pt.trace.json.gz": content} for content in packed]


def make_tables() -> list[Files]:
    memory = "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Device\n" + "PTA,{0}.5\t,{0},9,NPU:0\n"
    rows = "".join(f"PTA,{at}.5\t,{at},9,NPU:0\nAPP,{at},N/A,12.5,NPU:0\n" for at in range(1, 9))
    held = "Name,Size(KB),Allocation Time(us),Release Time(us)\naten::empty,4.0,3\t,5\nb,N/A,4,\n"
    extra = {"memory_record.csv": (memory.partition("PTA")[0] + rows).encode(), "operator_memory.csv": held.encode()}
    made = []
    for files in read_folders(*FOLDERS)():
        output = f"{Path(next(iter(files))).parts[0]}/ASCEND_PROFILER_OUTPUT"
        made.append({**files, **{f"{output}/{name}": text for name, text in extra.items()}})
    return made


def make_databases() -> list[Files]:
    texts = [f"INSERT INTO STRING_IDS VALUES ({at}, '{text}');" for at, text in enumerate(DATABASE_TEXTS)]
    return [{"x_ascend_pt/ascend_pytorch_profiler_0.db": dump_database(SCHEMA + "".join(texts) + ROWS)}]


#: One step: an operator launches a kernel, a collective runs beside it
ROWS = """
INSERT INTO PYTORCH_API VALUES ('1100', '2000', 1, NULL, 1, 10, 11, 50001);
INSERT INTO PYTORCH_API VALUES ('1200', '1900', 1, 0, 2, NULL, NULL, 50001);
INSERT INTO CANN_API VALUES (1960, 1980, 2, 70, 4);
INSERT INTO TASK VALUES (3000, 5000, 70, 1, 5, 2), (4000, 7000, 72, 2, 7, 3), (7500, 8000, 73, 3, 6, 2);
INSERT INTO COMPUTE_TASK_INFO VALUES (8, 1, 11, 10);
INSERT INTO COMMUNICATION_OP VALUES (9, 4000, 7000, 72, 9);
"""


TARGETS = {
    "trace": Target(read_trace, read_files(*TRACES, f"{FOLDERS[2]}/ASCEND_PROFILER_OUTPUT/trace_view.json")),
    "trace_in_python": Target(read_in_python, read_files(*TRACES)),
    "trace_gz": Target(read_trace, make_gzips),
    "tables": Target(read_tables, make_tables, folder=True),
    "database": Target(
        read_trace, lambda: [{"x_ascend_pt/ascend_pytorch_profiler_0.db": dump_database(SCHEMA)}], folder=True
    ),
    "ascend_pt": Target(analyse, make_tables, folder=True),
    "analyse": Target(analyse, read_files(*TRACES)),
    "scan": Target(scan, lambda: [{name: content} for name, content in TEXTS.items()]),
    "plan": Target(lambda path: read_plan(path, "zh"), lambda: [{"plan.yaml": PLAN}]),
    "npu_smi": Target(parse_texts, lambda: [{"npu_smi.txt": SMI.encode()}]),
    "explain": Target(explain, read_files(*(f"tests/data/logs/{name}.log" for name in LOGS))),
}
