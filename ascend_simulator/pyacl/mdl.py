"""acl.mdl: offline models of the simulated NPU, run by onnxruntime on the CPU.

Names, arguments and results are those of the public reference ("pyACL API", "Model management"). Times that a client
measures are those of this machine's CPU. In Python, not in the C library: the wheel of onnxruntime ships no header of
its C functions, so that clients in C++ find no aclmdlLoadFromFile here."""

from __future__ import annotations

import ctypes
import os
import sys
from dataclasses import dataclass, field
from importlib import import_module
from itertools import count
from math import prod
from pathlib import Path
from typing import Any, NoReturn

from .buffers import BUFFERS, Buffer
from .calling import LIBRARY, Lacking
from .handles import (
    BAD_FILE,
    BAD_INPUT,
    BAD_OUTPUT,
    CANNOT_DESERIALIZE,
    FAILED,
    NO_MODEL_ID,
    NOT_DYNAMIC,
    PARAMETER,
    Failure,
    Handles,
    answering,
)
from .util import DEVICE, Attributes

#: aclDataType and aclFormat by NumPy's and ONNX's names.
DATA_TYPES = {"float32": 0, "float16": 1, "int8": 2, "int32": 3, "uint8": 4, "int16": 6, "uint16": 7, "uint32": 8}
DATA_TYPES |= {"int64": 9, "uint64": 10, "float64": 11, "bool": 12}
FORMATS = {"NCHW": 0, "NHWC": 1, "ND": 2}
TO_DEVICE, TO_HOST = 1, 2
_IDS = count(1)


@dataclass
class Loaded:
    """A loaded model: what it says of itself, and the session that runs it."""

    model: Any
    session: Any
    shapes: list[list[int]] = field(default_factory=list)

    @property
    def inputs(self) -> list[Any]:
        """The inputs of a client: behind the model's own the one that tells the gear."""
        own = list(self.model.about.inputs)
        return [*own, _parts().Port(_parts().GEAR_INPUT, "int32", [1])] if self.model.about.batches else own

    @property
    def outputs(self) -> list[Any]:
        return list(self.model.about.outputs)

    def bytes_of(self, port: Any, batch: int = 0) -> int:
        """Return the bytes of an input or output with the batch, the largest gear where none is said."""
        import numpy as np

        most = batch or max(self.model.about.batches, default=1)
        return prod(most if size == -1 else int(size) for size in port.shape) * int(np.dtype(port.dtype).itemsize)


@dataclass
class Dataset:
    """Buffers in the order of a model's inputs or outputs, and the gear that was set."""

    buffers: list[int] = field(default_factory=list)
    batch: int = 0


MODELS: dict[int, Loaded] = {}
DESCRIPTIONS, DATASETS = Handles("model description"), Handles("dataset")


def _parts() -> Any:
    """Return the container's module, which lies beside this package."""
    return _import_beside("container")


def _import_beside(module: str) -> Any:
    folder = str(Path(__file__).resolve().parents[1])
    if folder not in sys.path:
        sys.path.append(folder)
    return import_module(f"offline_models.{module}")


def _require_device() -> None:
    """Raise Failure where the thread has no device: its context is gone, or none was made."""
    code = int(LIBRARY.aclrtGetDevice(ctypes.byref(ctypes.c_int32())))
    if code:
        raise Failure(code, "this thread has set no device: acl.rt.set_device or acl.rt.create_context")


def _load(read: Any, name: str) -> int:
    _require_device()
    errors, running = _import_beside("errors"), _import_beside("running")
    try:
        model = read()
        session = running.open_session(model.graph)
    except OSError as error:
        raise Failure(BAD_FILE, f"{name}: {error.strerror or error}") from None
    except (_parts().NoModel, errors.ConversionError) as error:
        raise Failure(CANNOT_DESERIALIZE, str(error)) from None
    except running.NoRuntime as error:
        raise Failure(FAILED, str(error)) from None
    number = next(_IDS)
    MODELS[number] = Loaded(model, session)
    return number


def _find_model(model_id: int) -> Loaded:
    if model_id not in MODELS:
        raise Failure(NO_MODEL_ID, f"no model {model_id} is loaded")
    return MODELS[model_id]


def _find_described(desc: int) -> Loaded:
    loaded: Loaded | None = DESCRIPTIONS.find(desc)
    if loaded is None:
        raise Failure(PARAMETER, "the description is of no model yet: acl.mdl.get_desc")
    return loaded


def _find_port(desc: int, kind: str, index: int) -> tuple[Loaded, Any]:
    loaded = _find_described(desc)
    ports = loaded.inputs if kind == "input" else loaded.outputs
    if not 0 <= index < len(ports):
        raise Failure(PARAMETER, f"{kind} {index}: the model has {len(ports)}")
    return loaded, ports[index]


@answering(0)
def load_from_file(model_path: str) -> int:
    """Load an offline model; return its id."""
    return _load(lambda: _parts().read_model(model_path), os.fspath(model_path))


@answering(0)
def load_from_mem(model: int, model_size: int) -> int:
    """Load an offline model from the host's memory; return its id."""
    return _load(lambda: _parts().unpack_model(ctypes.string_at(model, model_size), "the memory"), "the memory")


@answering()
def unload(model_id: int) -> None:
    """Forget a model; descriptions of it go on."""
    _find_model(model_id)
    del MODELS[model_id]


@answering(0, 0)
def query_size(file_name: str) -> tuple[int, int]:
    """Return the bytes for working and for weights: here what the graph takes, and nothing beside it."""
    try:
        model = _parts().read_model(file_name)
    except OSError as error:
        raise Failure(BAD_FILE, f"{file_name}: {error.strerror or error}") from None
    except _parts().NoModel as error:
        raise Failure(CANNOT_DESERIALIZE, str(error)) from None
    loaded = Loaded(model, None)
    return sum(map(loaded.bytes_of, (*loaded.inputs, *loaded.outputs))), len(model.graph)


@answering(0, always=True)
def create_desc() -> int:
    """Return a description, of no model yet."""
    return DESCRIPTIONS.add(None)


@answering()
def destroy_desc(model_desc: int) -> None:
    """Give a description back."""
    DESCRIPTIONS.remove(model_desc)


@answering()
def get_desc(model_desc: int, model_id: int) -> None:
    """Make it the description of a loaded model."""
    DESCRIPTIONS.find(model_desc)
    DESCRIPTIONS[model_desc] = _find_model(model_id)


@answering(0, always=True)
def get_num_inputs(model_desc: int) -> int:
    """Return how many inputs a client gives."""
    return len(_find_described(model_desc).inputs)


@answering(0, always=True)
def get_num_outputs(model_desc: int) -> int:
    """Return how many outputs there are."""
    return len(_find_described(model_desc).outputs)


@answering(0, always=True)
def get_input_size_by_index(model_desc: int, index: int) -> int:
    """Return an input's bytes; with gears those of the largest."""
    loaded, port = _find_port(model_desc, "input", index)
    return loaded.bytes_of(port)


@answering(0, always=True)
def get_output_size_by_index(model_desc: int, index: int) -> int:
    """Return an output's bytes; with gears those of the largest."""
    loaded, port = _find_port(model_desc, "output", index)
    return loaded.bytes_of(port)


def _describe_dims(port: Any) -> dict[str, Any]:
    return {"name": port.name, "dimCount": len(port.shape), "dims": list(port.shape)}


@answering({})
def get_input_dims(model_desc: int, index: int) -> dict[str, Any]:
    """Return an input's name and dimensions; -1 is of a gear."""
    return _describe_dims(_find_port(model_desc, "input", index)[1])


get_input_dims_v2 = get_input_dims


@answering({})
def get_output_dims(model_desc: int, index: int) -> dict[str, Any]:
    """Return an output's name and dimensions; -1 is of a gear."""
    return _describe_dims(_find_port(model_desc, "output", index)[1])


@answering({})
def get_cur_output_dims(model_desc: int, index: int) -> dict[str, Any]:
    """Return an output's dimensions of the last run."""
    loaded, port = _find_port(model_desc, "output", index)
    dims = _describe_dims(port)
    if loaded.shapes:
        dims["dims"] = loaded.shapes[index]
    return dims


@answering("", always=True)
def get_input_name_by_index(model_desc: int, index: int) -> str:
    """Return an input's name."""
    return str(_find_port(model_desc, "input", index)[1].name)


@answering("", always=True)
def get_output_name_by_index(model_desc: int, index: int) -> str:
    """Return an output's name."""
    return str(_find_port(model_desc, "output", index)[1].name)


@answering(-1, always=True)
def get_input_data_type(model_desc: int, index: int) -> int:
    """Return an input's aclDataType."""
    return DATA_TYPES.get(_find_port(model_desc, "input", index)[1].dtype, -1)


@answering(-1, always=True)
def get_output_data_type(model_desc: int, index: int) -> int:
    """Return an output's aclDataType."""
    return DATA_TYPES.get(_find_port(model_desc, "output", index)[1].dtype, -1)


@answering(-1, always=True)
def get_input_format(model_desc: int, index: int) -> int:
    """Return an input's aclFormat."""
    return FORMATS[_find_port(model_desc, "input", index)[1].format]


@answering(-1, always=True)
def get_output_format(model_desc: int, index: int) -> int:
    """Return an output's aclFormat."""
    return FORMATS[_find_port(model_desc, "output", index)[1].format]


def _find_index(desc: int, kind: str, name: str) -> int:
    loaded = _find_described(desc)
    names = [port.name for port in (loaded.inputs if kind == "input" else loaded.outputs)]
    if name not in names:
        raise Failure(PARAMETER, f"the model has no {kind} {name}; it has {', '.join(names)}")
    return names.index(name)


@answering(0)
def get_input_index_by_name(model_desc: int, name: str) -> int:
    """Return the place of an input."""
    return _find_index(model_desc, "input", name)


@answering(0)
def get_output_index_by_name(model_desc: int, name: str) -> int:
    """Return the place of an output."""
    return _find_index(model_desc, "output", name)


@answering({"batchCount": 0, "batch": []})
def get_dynamic_batch(model_desc: int) -> dict[str, Any]:
    """Return the gears of the batch."""
    batches = list(_find_described(model_desc).model.about.batches)
    return {"batchCount": len(batches), "batch": batches}


@answering()
def set_dynamic_batch_size(model_id: int, dataset: int, index: int, batch_size: int) -> None:
    """Choose the gear of the next run with this data set."""
    loaded, chosen = _find_model(model_id), DATASETS.find(dataset)
    batches = loaded.model.about.batches
    if not batches:
        raise Failure(NOT_DYNAMIC, "the model was converted without gears of the batch")
    if index != len(loaded.inputs) - 1:
        raise Failure(PARAMETER, f"input {index} tells no gear: acl.mdl.get_input_index_by_name says which does")
    if batch_size not in batches:
        raise Failure(PARAMETER, f"batch {batch_size}: the model's gears are {batches}")
    chosen.batch = batch_size


@answering(0, always=True)
def create_dataset() -> int:
    """Return an empty data set."""
    return DATASETS.add(Dataset())


@answering()
def destroy_dataset(dataset: int) -> None:
    """Give a data set back; its buffers stay."""
    DATASETS.remove(dataset)


@answering(0)
def add_dataset_buffer(dataset: int, data_buffer: int) -> int:
    """Add a buffer behind the others; return the data set."""
    BUFFERS.find(data_buffer)
    DATASETS.find(dataset).buffers.append(data_buffer)
    return dataset


@answering(0, always=True)
def get_dataset_num_buffers(dataset: int) -> int:
    """Return how many buffers a data set holds."""
    return len(DATASETS.find(dataset).buffers)


@answering(0, always=True)
def get_dataset_buffer(dataset: int, index: int) -> int:
    """Return a buffer of a data set."""
    buffers = DATASETS.find(dataset).buffers
    if not 0 <= index < len(buffers):
        raise Failure(PARAMETER, f"buffer {index}: the data set has {len(buffers)}")
    return int(buffers[index])


@answering()
def execute(model_id: int, input: int, output: int) -> None:
    """Run the model: input buffers are read, output buffers filled."""
    _execute(model_id, DATASETS.find(input), DATASETS.find(output))


@answering()
def execute_async(model_id: int, input: int, output: int, stream: int) -> None:
    """Run the model once the stream has come to here; it has run when this returns, which a device does not promise."""
    code = int(LIBRARY.aclrtSynchronizeStream(ctypes.c_void_p(stream)))
    if code:
        raise Failure(code, "the stream cannot be waited for")
    _execute(model_id, DATASETS.find(input), DATASETS.find(output))


def _execute(model_id: int, source: Dataset, target: Dataset) -> None:
    import numpy as np

    _require_device()
    loaded = _find_model(model_id)
    about = loaded.model.about
    if len(source.buffers) != len(loaded.inputs):
        raise Failure(BAD_INPUT, f"{len(source.buffers)} input buffers, the model has {len(loaded.inputs)} inputs")
    if len(target.buffers) != len(loaded.outputs):
        raise Failure(BAD_OUTPUT, f"{len(target.buffers)} output buffers, the model has {len(loaded.outputs)} outputs")
    if about.batches and not source.batch:
        raise Failure(PARAMETER, f"no gear was set: acl.mdl.set_dynamic_batch_size with one of {about.batches}")
    feeds = {}
    for port, number in zip(about.inputs, source.buffers):
        data = _read_device(BUFFERS.find(number), loaded.bytes_of(port, source.batch), f"input {port.name}", BAD_INPUT)
        shape = [source.batch if size == -1 else size for size in port.shape]
        feeds[port.name] = np.frombuffer(data, port.dtype).reshape(shape)
    places = [BUFFERS.find(number) for number in target.buffers]
    for port, place in zip(about.outputs, places):
        _check_device(place, loaded.bytes_of(port, source.batch), f"output {port.name}", BAD_OUTPUT)
    try:
        results = loaded.session.run([port.name for port in about.outputs], feeds)
    except Exception as error:  # noqa: BLE001 - onnxruntime's errors share no public base
        raise Failure(FAILED, f"the graph failed: {str(error).splitlines()[0][:300]}") from None
    for port, place, result in zip(about.outputs, places, results):
        array = np.ascontiguousarray(result)
        _copy(place.address, array.ctypes.data, array.nbytes, TO_DEVICE, f"output {port.name}", BAD_OUTPUT)
    loaded.shapes = [list(result.shape) for result in results]


def _check_device(buffer: Buffer, needed: int, what: str, code: int) -> None:
    """Raise Failure where a buffer is too small, or is not of the device."""
    if buffer.size < needed:
        raise Failure(code, f"{what}: the buffer has {buffer.size} bytes, {needed} are needed")
    attributes = Attributes()
    code_of_place = LIBRARY.aclrtPointerGetAttributes(ctypes.c_void_p(buffer.address), ctypes.byref(attributes))
    if code_of_place != 0 or attributes.kind != DEVICE:
        raise Failure(code, f"{what}: {buffer.address:#x} is no memory of a device: acl.rt.malloc, then acl.rt.memcpy")


def _read_device(buffer: Buffer, needed: int, what: str, code: int) -> bytes:
    _check_device(buffer, needed, what, code)
    data = ctypes.create_string_buffer(needed)
    _copy(ctypes.addressof(data), buffer.address, needed, TO_HOST, what, code)
    return data.raw


def _copy(target: int, source: int, size: int, kind: int, what: str, code: int) -> None:
    """Copy as acl.rt.memcpy does. Raises Failure where it does not."""
    places = ctypes.c_void_p(target), ctypes.c_size_t(size), ctypes.c_void_p(source), ctypes.c_size_t(size)
    if LIBRARY.aclrtMemcpy(*places, ctypes.c_int32(kind)):
        raise Failure(
            code, f"{what}: {size} bytes cannot be copied: the buffer's memory is smaller, or a graph is captured"
        )


def __getattr__(name: str) -> NoReturn:
    raise Lacking(f"acl.mdl.{name}")
