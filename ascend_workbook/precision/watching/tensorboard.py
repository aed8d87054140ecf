"""TensorBoard events of a watched run, where the package is there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.precision.watching.reading import read_watched

SCALARS = ("loss", "lr", "grad_norm", "loss_scale")


def check_package() -> None:
    """Raises WorkbookError where TensorBoard is not installed."""
    if find_spec("tensorboard") is None:
        raise WorkbookError("watch.no_tensorboard")


class Writer:
    """Takes the records of a file in order."""

    def __init__(self, folder: Path) -> None:
        check_package()
        from tensorboard.summary.writer.event_file_writer import EventFileWriter  # type: ignore[import-untyped, unused-ignore]

        folder.mkdir(parents=True, exist_ok=True)
        self._writer = EventFileWriter(str(folder))
        self._names: list[str] = []

    def add(self, record: Mapping[str, Any]) -> None:
        """Add a step's numbers; other lines only name what is to come."""
        from tensorboard.compat.proto.event_pb2 import Event  # type: ignore[import-untyped, unused-ignore]
        from tensorboard.compat.proto.summary_pb2 import Summary  # type: ignore[import-untyped, unused-ignore]

        if "schema" in record:
            self._names = list(record.get("parameters", ()))
        elif "step" in record:
            values = [Summary.Value(tag=tag, simple_value=value) for tag, value in list_scalars(record, self._names)]
            self._writer.add_event(Event(step=int(record["step"]), summary=Summary(value=values)))

    def close(self) -> None:
        self._writer.close()


def list_scalars(record: Mapping[str, Any], names: list[str]) -> Iterator[tuple[str, float]]:
    """Yield (tag, number) of a step."""
    for name in SCALARS:
        if record.get(name) is not None:
            yield name, float(record[name])
    for name, norm in zip(names, record.get("gradients") or ()):
        if norm is not None:
            yield f"gradient/{name}", float(norm)
    for place, ratio, weight, _ in record.get("updates") or ():
        if ratio is not None:
            yield f"update/{names[place]}", float(ratio)
        yield f"weight/{names[place]}", float(weight)
    for name, norm in (record.get("activations") or {}).items():
        if norm is not None:
            yield f"activation/{name}", float(norm)


def write_events(path: Path, folder: Path) -> None:
    """Write the events of a finished file."""
    watched = read_watched(path)
    writer = Writer(folder)
    writer.add(watched.head)
    for record in watched.records:
        writer.add(record)
    writer.close()
