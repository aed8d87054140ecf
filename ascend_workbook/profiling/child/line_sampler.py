"""Which lines of the script the host is at, while its steps are recorded: the training thread's call stack, looked at
about every millisecond from a thread beside it, every collection of Python's garbage, and every call that waits for the
device or for other processes: these are too short to be met by chance, and each has its line.

The profilers' own call stacks take a time with every Python call: a step of many short calls takes several times as
long, and the profile shows the recording. This one costs the same whatever the script does. Beside each
look it notes how long the thread ran, and how long it and those that it may wait for were ready to run while others had
the cores: on a busy machine a step is longer by that, and no script can help it.

Written beside the data (`rank0.lines.json`); profiling/readers/lines.py reads it. Imports nothing of the workbook."""

from __future__ import annotations

import ctypes
import functools
import gc
import inspect
import json
import os
import sys
import threading
import time
import tracemalloc
import weakref
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

INTERVAL_S = 0.001
#: While it samples: a thread that computes in Python alone hands over so often, else it would be seen late or never
SWITCH_S = 0.0001
#: Frames of one stack that are kept, the innermost ones, and collections that are told of
DEEPEST, SHORTEST_NS = 60, 20_000
#: The generation of garbage whose collection looks at every object
OLDEST = 2
#: In the path of what pip installed
PACKAGES = "-packages" + os.sep
#: Our own frames below and above the script's
OURS = str(Path(__file__).parents[2]) + os.sep

#: Of Python's own library: a thread with nothing else below it is none of the script's
LIBRARY = (str(Path(os.__file__).parent) + os.sep, "<frozen ")
#: At every so many looks the other threads are looked at; one runs that has had a core for one in so many parts of the
#: time since then
LOOK_AT_OTHERS, RUNS = 10, 5
#: Every so many samples it is asked anew which threads and worker processes there are
FIND_THREADS = 50
#: Calls whose lines are noted: of torch.Tensor, of torch.distributed, of the devices' modules and their classes
READS = ("item", "tolist", "nonzero", "cpu", "numpy", "to", "__bool__", "__float__", "__int__")
SELECTING = ("nonzero", "masked_select")
#: Of these only such as are given a mask on a device: how many elements it chooses must be known
INDEXING = ("__getitem__", "__setitem__")
COLLECTIVES = (
    *("all_reduce", "all_gather", "all_gather_into_tensor", "reduce_scatter", "reduce_scatter_tensor"),
    *("broadcast", "all_to_all_single", "barrier"),
    *("all_gather_object", "gather_object", "broadcast_object_list", "scatter_object_list"),
)
#: Passes through the graph of what was computed
PASSES = ("backward", "grad")
#: Beside a module's call: the call before it at this line was of another module of its class, on the same tensor
SAME_INPUT = "module on the same input"
#: Beside the call that empties gradients: the shapes of those that no update had used, of parameters that updates use
UNUSED = "unused gradients: "
#: Of these only such as bring a tensor to the host are noted
MOVE = "Tensor.to"
DEVICES, OF_DEVICE, OF_CLASSES = ("npu", "cuda"), ("synchronize", "empty_cache"), ("Event", "Stream")

Stack = tuple[tuple[CodeType, int], ...]


class LineSampler:
    """Samples the thread that makes it, from `start` to `stop`; `write_samples` then says what was seen."""

    def __init__(self) -> None:
        self._thread_id, self._native_id = threading.get_ident(), threading.get_native_id()
        self._samples: list[tuple[int, int]] = []
        self._stacks: dict[Stack, int] = {}
        self._collections: list[tuple[int, int, int]] = []
        self._collecting_since = 0
        self._calls: list[tuple[Any, ...]] = []
        self._delays: list[tuple[int, int, int, int, int]] = []
        self._queues = Queues(self._thread_id, self._native_id)
        self._replaced: list[tuple[Any, str, Any, bool]] = []
        self._modules: dict[int, int] = {}
        self._inputs: dict[tuple[CodeType, int], tuple[int, type, Any]] = {}
        self._ran: dict[int, tuple[int, int]] = {}
        self._others: dict[tuple[CodeType, int], int] = {}
        self._modes: list[tuple[str, CodeType, int, str]] = []
        self._versions: dict[int, int] = {}
        self._ended_early = ""
        self._owners: weakref.WeakSet[Any] = weakref.WeakSet()
        self._used: dict[int, tuple[Any, int]] = {}
        self._hook: Any = None
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._switch_s = sys.getswitchinterval()

    def start(self) -> None:
        """Begin to sample, in a thread of its own."""
        self._switch_s = sys.getswitchinterval()
        sys.setswitchinterval(min(self._switch_s, SWITCH_S))
        gc.callbacks.append(self._note_collection)
        self._note_calls()
        _entered.clear()
        _entered.update(dict.fromkeys(place for place, _ in _modes.values()))
        self._thread = threading.Thread(target=self._sample, name="line-sampler", daemon=True)
        self._thread.start()

    @property
    def delays(self) -> list[tuple[int, int, int, int, int]]:
        """Return a row a look: when it ended; how long the thread had run; how long it, and of the others the one that
        waited the longest, had waited for a core; how long the look kept the interpreter. Nanoseconds."""
        return self._delays

    def stop(self) -> None:
        """End sampling; without a start nothing happens."""
        if self._thread is None:
            return
        self._ended.set()
        self._thread.join()
        self._thread = None
        self._modes = list(_entered)
        self._queues.close()
        gc.callbacks.remove(self._note_collection)
        for owner, name, original, own in reversed(self._replaced):
            setattr(owner, name, original) if own else delattr(owner, name)
        self._replaced.clear()
        if self._hook is not None:
            self._hook.remove()
        sys.setswitchinterval(self._switch_s)

    def write_samples(self, path: Path, calm_steps: Sequence[tuple[int, int]] = ()) -> None:
        """Write what was seen: frames by number, stacks of them from the outermost, and when each stack was seen; and
        what steps took that were not recorded, and waited for a core: recording takes a time of its own."""
        numbers: dict[tuple[str, int, str], int] = {}
        stacks = []
        for stack in self._stacks:
            frames = [(code.co_filename, find_line(code, at), name_function(code)) for code, at in reversed(stack)]
            stacks.append([numbers.setdefault(frame, len(numbers)) for frame in frames])
        calls = []
        for begin, length, code, at, *called in self._calls:
            frame = (code.co_filename, find_line(code, at), name_function(code))
            calls.append((begin, length, numbers.setdefault(frame, len(numbers)), *called))
        content = {
            "version": 1,
            "pid": os.getpid(),
            "tid": self._native_id,
            "interval_ns": round(1e9 * INTERVAL_S),
            "frames": list(numbers),
            "stacks": stacks,
            "samples": self._samples,
            "collections": self._collections,
            "calls": calls,
            "delays": self._delays,
            "calm_steps": list(calm_steps),
            "tools": list_tools(),
            "modes": [
                (name, code.co_filename, find_line(code, at), name_function(code), file)
                for name, code, at, file in self._modes
            ],
            "others": [
                (code.co_filename, find_line(code, at), name_function(code), count)
                for (code, at), count in self._others.items()
            ],
            "never_used": self._list_never_used(),
            "ended_early": self._ended_early,
        }
        path.write_text(json.dumps(content, separators=(",", ":")), encoding="utf-8")

    def _note_calls(self) -> None:
        """Replace calls that wait by such as note their lines; a module that is not loaded is not."""
        torch = sys.modules.get("torch")
        asked: list[tuple[Any, tuple[str, ...]]] = [
            (getattr(torch, "Tensor", None), (*READS, *INDEXING)),
            (torch, SELECTING),
            (sys.modules.get("torch.distributed"), COLLECTIVES),
            (getattr(torch, "autograd", None), PASSES),
        ]
        for device in (getattr(torch, name, None) for name in DEVICES):
            asked += [(device, OF_DEVICE), *((getattr(device, name, None), ("synchronize",)) for name in OF_CLASSES)]
        for owner, names in asked:
            for name in names if owner is not None else ():
                call = getattr(owner, name, None)
                if call is not None:
                    self._replaced.append((owner, name, call, name in vars(owner)))
                    short = f"{owner.__name__.rpartition('.')[2]}.{name}"
                    setattr(owner, name, self._note_call(call, short))
        self._note_modules(torch)
        self._note_functions(torch)
        self._note_unused(torch)

    def _note_modules(self, torch: Any) -> None:
        """Replace how modules are called by what notes the lines of the script that do, and where its own classes are
        called: one name a module."""
        owner = getattr(getattr(torch, "nn", None), "Module", None)
        if owner is None:
            return
        call, calls, ours, numbers = owner.__call__, self._calls, self._thread_id, self._modules
        is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", bool)  # torch 2.3
        own_classes: dict[type, bool] = {}

        @functools.wraps(call)
        def call_and_note(module: Any, *args: Any, **kwargs: Any) -> Any:
            if is_compiling():
                return call(module, *args, **kwargs)
            frame: FrameType = sys._getframe(1)
            own = own_classes.get(type(module))
            if own is None:
                own = own_classes[type(module)] = _is_own_class(type(module))
            if threading.get_ident() != ours or not (own or _is_own(frame.f_code)):
                return call(module, *args, **kwargs)
            if module not in self._owners:
                self._owners.add(module)
                self._versions.update((id(each), _version_of(each)) for each in module.parameters())
            frame = _find_caller(frame)
            at, begin = frame.f_lasti, time.time_ns()
            result = call(module, *args, **kwargs)
            names = [f"module#{numbers.setdefault(id(module), len(numbers))}{' own' * own}"]
            if self._is_same_input((frame.f_code, at), module, args):
                names.append(SAME_INPUT)
            calls.append((begin, time.time_ns() - begin, frame.f_code, at, *names))
            return result

        self._replaced.append((owner, "__call__", call, True))
        owner.__call__ = call_and_note

    def _note_functions(self, torch: Any) -> None:
        """Note the lines that apply the script's own functions with a gradient of their own."""
        owner = getattr(getattr(torch, "autograd", None), "Function", None)
        if owner is None or "apply" not in vars(owner):
            return
        apply, calls, ours = vars(owner)["apply"], self._calls, self._thread_id
        is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", bool)

        def apply_and_note(kind: Any, *args: Any, **kwargs: Any) -> Any:
            if is_compiling() or threading.get_ident() != ours or not _is_own_class(kind):
                return apply.__func__(kind, *args, **kwargs)
            frame = _find_caller(sys._getframe(1))
            at, begin = frame.f_lasti, time.time_ns()
            result = apply.__func__(kind, *args, **kwargs)
            calls.append((begin, time.time_ns() - begin, frame.f_code, at, "autograd.Function"))
            return result

        self._replaced.append((owner, "apply", apply, True))
        owner.apply = classmethod(apply_and_note)

    def _is_same_input(self, place: tuple[CodeType, int], module: Any, args: tuple[Any, ...]) -> bool:
        """Return whether the call before at this place was of another module of this class on the same tensor."""
        before = self._inputs.get(place)
        try:
            self._inputs[place] = (id(module), type(module), weakref.ref(args[0]))
        except (IndexError, TypeError):  # called by names, or on what is no tensor
            self._inputs.pop(place, None)
            return False
        if before is None:
            return False
        number, kind, tensor = before
        return number != id(module) and kind is type(module) and tensor() is args[0]

    def _note_unused(self, torch: Any) -> None:
        """Note where gradients are emptied that no update has used."""
        register = getattr(sys.modules.get("torch.optim.optimizer"), "register_optimizer_step_pre_hook", None)
        if register is None:  # not loaded, or older than torch 2.0
            return
        self._hook = register(lambda optimizer, *_: self._keep_used(_list_parameters(optimizer)))
        for owner in (torch.optim.Optimizer, torch.nn.Module):
            self._replaced.append((owner, "zero_grad", owner.zero_grad, True))
            owner.zero_grad = self._note_emptying(owner.zero_grad)

    def _list_never_used(self) -> str:
        """Return the shapes of the gradients of modules' parameters that no update has used, where others are. One that
        was written to is updated by hand."""
        parameters = {id(parameter): parameter for owner in self._owners for parameter in owner.parameters()}
        unused = [
            value.grad
            for number, value in parameters.items()
            if self._used and number not in self._used and _version_of(value) == self._versions.get(number)
        ]
        return _list_shapes([grad for grad in unused if grad is not None])

    def _keep_used(self, parameters: Iterable[Any]) -> None:
        for parameter in parameters:
            if parameter.grad is not None:
                self._used[id(parameter)] = (weakref.ref(parameter.grad), parameter.grad._version)

    def _note_emptying(self, empty: Any) -> Any:
        @functools.wraps(empty)
        def empty_and_note(owner: Any, *args: Any, **kwargs: Any) -> Any:
            parameters = [parameter for parameter in _list_parameters(owner) if id(parameter) in self._used]
            grads = [(self._used[id(parameter)], parameter.grad) for parameter in parameters]
            grads = [(used, grad) for used, grad in grads if grad is not None]
            unused = [grad for (used, version), grad in grads if used() is not grad or version != grad._version]
            name = UNUSED + _list_shapes(unused)
            begin = time.time_ns()
            result = empty(owner, *args, **kwargs)
            if unused and threading.get_ident() == self._thread_id:
                frame = _find_caller(sys._getframe(1))
                self._calls.append((begin, time.time_ns() - begin, frame.f_code, frame.f_lasti, name))
            self._keep_used(parameters)
            return result

        return empty_and_note

    def _note_call(self, call: Any, name: str) -> Any:
        calls, ours = self._calls, self._thread_id
        is_index = name.rpartition(".")[2] in INDEXING

        @functools.wraps(call)
        def call_and_note(*args: Any, **kwargs: Any) -> Any:
            begin = time.time_ns()
            result = call(*args, **kwargs)
            if threading.get_ident() == ours and (
                (name != MOVE or _comes_to_host(args[0], result)) and (not is_index or _holds_mask(args[1]))
            ):
                frame = _find_caller(sys._getframe(1))
                calls.append((begin, time.time_ns() - begin, frame.f_code, frame.f_lasti, name))
            return result

        return call_and_note

    def _sample(self) -> None:
        try:
            while not self._ended.wait(INTERVAL_S):
                self._look()
        except Exception as error:  # noqa: BLE001 - the script goes on; what was not seen from here on is told of
            self._ended_early = f"{type(error).__name__}: {error}"

    def _look(self) -> None:
        if len(self._delays) % FIND_THREADS == 0:
            self._queues.find_threads()
        begin = time.time_ns()
        frames = _read_frames()
        frame = frames.pop(self._thread_id, None)
        if frame is not None:
            self._keep_stack(frame)
        usage = self._queues.read_usage()
        now = time.time_ns()
        self._delays.append((now, *usage, now - begin))
        if len(self._delays) % LOOK_AT_OTHERS == 0:  # it gives the interpreter away
            self._keep_others(frames, now)

    def _keep_others(self, frames: dict[int, FrameType], now_ns: int) -> None:
        """Keep where other threads of the script run that have had a core for a part of the time. It may end at any
        moment: its clock is a file that is then gone."""
        frames.pop(threading.get_ident(), None)
        threads: dict[int, threading.Thread] = getattr(threading, "_active", {})  # enumerate() waits for a lock
        for number, frame in frames.items():
            place, thread = _find_own_code(frame), threads.get(number)
            if place is None or thread is None or thread.native_id is None:
                continue
            words = _read_words(f"/proc/self/task/{thread.native_id}/schedstat")
            if not words:
                continue
            before, ran_ns = self._ran.get(thread.native_id), int(words[0])
            self._ran[thread.native_id] = (now_ns, ran_ns)
            if before is not None and RUNS * (ran_ns - before[1]) >= now_ns - before[0]:
                key = (place.f_code, place.f_lasti)
                self._others[key] = self._others.get(key, 0) + LOOK_AT_OTHERS

    def _keep_own_stack(self) -> None:
        """Keep the stack below a collection: there is none where C collects and no Python runs below it."""
        if threading.get_ident() == self._thread_id:
            self._keep_stack(sys._getframe())

    def _keep_stack(self, frame: FrameType | None) -> None:
        stack: list[tuple[CodeType, int]] = []
        now = time.time_ns()
        while frame is not None and len(stack) < DEEPEST:
            if not frame.f_code.co_filename.startswith(OURS):
                stack.append((frame.f_code, frame.f_lasti))
            frame = frame.f_back
        if stack:
            key = tuple(stack)
            self._samples.append((now, self._stacks.setdefault(key, len(self._stacks))))

    def _note_collection(self, phase: str, info: dict[str, Any]) -> None:
        """Note a collection, and the stack at both its ends: no thread is seen while one goes on."""
        now = time.time_ns()
        if phase == "start":
            self._collecting_since = now
            if info["generation"] == OLDEST:
                self._keep_own_stack()
        elif now - self._collecting_since >= SHORTEST_NS:
            self._collections.append((self._collecting_since, now - self._collecting_since, info["generation"]))
            self._keep_own_stack()


def _read_frames() -> dict[int, FrameType]:
    """Return the innermost frame of each thread. Up to Python 3.11 a collection may begin meanwhile, which holds a lock
    that a thread that begins waits for: none does."""
    collects = gc.isenabled()
    gc.disable()
    try:
        return sys._current_frames()
    finally:
        if collects:
            gc.enable()


def note_tools() -> None:
    """Note from now on, until `forget_tools`, the lines that begin to trace Python's allocations, and those that enter
    modes in which operators are dispatched through Python. What is set by sys.setprofile and sys.settrace looks at its
    own caller: these stay as they are."""
    _replace(tracemalloc, "start", _note_start)
    mode = getattr(sys.modules.get("torch.utils._python_dispatch"), "TorchDispatchMode", None)
    if mode is not None:
        _replace(mode, "__enter__", _note_entering)
        _replace(mode, "__exit__", _note_leaving)


def forget_tools() -> None:
    """Take back what `note_tools` has replaced, where nothing else was put there since."""
    while _replaced:
        owner, name, original, ours = _replaced.pop()
        if vars(owner).get(name) is ours:
            setattr(owner, name, original)


def _replace(owner: Any, name: str, make: Any) -> None:
    original = getattr(owner, name)
    ours = functools.wraps(original)(make(original))
    _replaced.append((owner, name, original, ours))
    setattr(owner, name, ours)


#: What note_tools has replaced: whose, its name, what it was and what it is now
_replaced: list[tuple[Any, str, Any, Any]] = []
#: The modes that the script is in, by their number: class, where each was entered, the file of its class; how often
_modes: dict[int, tuple[tuple[str, CodeType, int, str], int]] = {}
#: Those of them that it was in since the sampler began
_entered: dict[tuple[str, CodeType, int, str], None] = {}
#: Where a tool was begun: file, line, function
_begun: dict[str, tuple[str, int, str]] = {}


def _note_start(start: Any) -> Any:
    def start_and_note(*args: Any, **kwargs: Any) -> Any:
        frame = _find_own_code(sys._getframe(1))
        if frame is not None:
            _begun["tracemalloc"] = (frame.f_code.co_filename, frame.f_lineno, name_function(frame.f_code))
        return start(*args, **kwargs)

    return start_and_note


def _note_entering(enter: Any) -> Any:
    def enter_and_note(mode: Any) -> Any:
        result = enter(mode)
        frame = _find_own_code(sys._getframe(1))
        place, times = _modes.get(id(mode), (None, 0))
        if place is None and frame is not None:
            dispatch = inspect.unwrap(type(mode).__torch_dispatch__)
            file = getattr(getattr(dispatch, "__code__", None), "co_filename", "")
            place = (type(mode).__name__, frame.f_code, frame.f_lasti, file)
        if place is not None:  # it may enter itself again around each operator
            _modes[id(mode)] = (place, times + 1)
            _entered[place] = None
        return result

    return enter_and_note


def _note_leaving(leave: Any) -> Any:
    def leave_and_note(mode: Any, *args: Any) -> Any:
        place, times = _modes.pop(id(mode), (None, 0))
        if place is not None and times > 1:
            _modes[id(mode)] = (place, times - 1)
        return leave(mode, *args)

    return leave_and_note


def list_tools() -> list[tuple[str, str, int, str]]:
    """Return what watches each of Python's allocations or calls at this moment, and where it was begun: a file, a line
    and a function, empty where that is not known."""
    going = {
        "tracemalloc": tracemalloc.is_tracing(),
        "sys.settrace": sys.gettrace() is not None,
        "sys.setprofile": sys.getprofile() is not None,
    }
    return [(tool, *_begun.get(tool, ("", 0, ""))) for tool, is_on in going.items() if is_on]


def _find_caller(frame: FrameType) -> FrameType:
    """Return the nearest frame of no installed package and not ours, else the frame itself."""
    near: FrameType | None = frame
    while near is not None and not _is_own(near.f_code):
        near = near.f_back
    return near or frame


def _find_own_code(frame: FrameType | None) -> FrameType | None:
    """Return the nearest frame of the script's own code, which Python's library is not, or None."""
    while frame is not None and (not _is_own(frame.f_code) or frame.f_code.co_filename.startswith(LIBRARY)):
        frame = frame.f_back
    return frame


def _is_own(code: CodeType) -> bool:
    """Return whether code is the script's own."""
    return not (PACKAGES in code.co_filename or code.co_filename.startswith(OURS))


def _version_of(tensor: Any) -> int:
    """Return how often a tensor was written to; of one made in inference mode it is not known."""
    return -1 if tensor.is_inference() else int(tensor._version)


def _list_shapes(tensors: list[Any]) -> str:
    return " ".join(str(list(tensor.shape)).replace(" ", "") for tensor in tensors)


def _list_parameters(owner: Any) -> list[Any]:
    """Return the parameters of an optimizer or a module."""
    groups = getattr(owner, "param_groups", None)
    return (
        list(owner.parameters()) if groups is None else [parameter for group in groups for parameter in group["params"]]
    )


def _is_own_class(module: type) -> bool:
    code = getattr(getattr(module, "forward", None), "__code__", None)
    return code is not None and _is_own(code)


def _comes_to_host(tensor: Any, result: Any) -> bool:
    return bool(result.device.type == "cpu" != tensor.device.type)


def _holds_mask(index: Any) -> bool:
    """Return whether an index is, or has in it, a tensor of booleans on a device."""
    parts = index if isinstance(index, tuple) else (index,)
    return any("bool" in str(getattr(part, "dtype", "")) and part.device.type != "cpu" for part in parts)


class Queues:
    """How long a thread has run, and how long it and others of its process, and its workers, waited for a core."""

    def __init__(self, thread_id: int, native_id: int) -> None:
        self._native_id = native_id
        self._clock = time.pthread_getcpuclockid(thread_id) if hasattr(time, "pthread_getcpuclockid") else None
        self._files: dict[str, int] = {}
        self._waited: dict[str, int] = {}
        self._others_ns = 0
        # it keeps the interpreter, which os.pread gives away at each call
        self._pread: Any = getattr(ctypes.PyDLL(None), "pread", None)
        self._buffer = ctypes.create_string_buffer(80)

    def find_threads(self) -> None:
        """Open what the system tells of each thread and worker process; where it tells nothing there is none."""
        pid, own = os.getpid(), threading.get_native_id()
        paths = set()
        for tid in _list_names(f"/proc/{pid}/task"):
            if tid != str(own):
                paths.add(f"/proc/{pid}/task/{tid}/schedstat")
            for child in _read_words(f"/proc/{pid}/task/{tid}/children"):
                paths.add(f"/proc/{child}/schedstat")
        for path in self._files.keys() - paths:
            os.close(self._files.pop(path))
        for path in paths - self._files.keys():
            try:
                self._files[path] = os.open(path, os.O_RDONLY)
            except OSError:
                continue

    def read_usage(self) -> tuple[int, int, int]:
        """Return how long the thread has run, how long it waited for a core, and how long the one of the others did
        that waited the longest, summed over all calls: nanoseconds."""
        ran = time.clock_gettime_ns(self._clock) if self._clock is not None else 0
        own, most = 0, 0
        ours = f"/proc/{os.getpid()}/task/{self._native_id}/schedstat"
        for path, file in self._files.items():
            size = self._pread(file, self._buffer, 79, ctypes.c_long(0)) if self._pread else 0
            words = self._buffer.raw[: max(0, size)].split()
            if len(words) < 2:
                continue
            waited = int(words[1])
            if path == ours:
                own = waited
            else:
                most = max(most, waited - self._waited.get(path, waited))
            self._waited[path] = waited
        self._others_ns += most
        return ran, own, self._others_ns

    def close(self) -> None:
        """Close all files."""
        for file in self._files.values():
            os.close(file)
        self._files.clear()


def _list_names(folder: str) -> list[str]:
    try:
        return [entry.name for entry in Path(folder).iterdir()]
    except OSError:
        return []


def _read_words(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="ascii").split()
    except OSError:
        return []


def name_function(code: CodeType) -> str:
    """Return a function's name, of the script's own methods with their class: two of one name are apart."""
    name: str = getattr(code, "co_qualname", code.co_name) if _is_own(code) else code.co_name  # Python 3.11
    return name.rpartition("<locals>.")[2]


def find_line(code: CodeType, at: int) -> int:
    """Return the line of an instruction of a function."""
    line = code.co_firstlineno
    if hasattr(code, "co_lines"):
        for begin, end, number in code.co_lines():
            if begin <= at < end:
                return line if number is None else int(number)
        return line
    import dis  # Python 3.9

    for begin, number in dis.findlinestarts(code):
        if begin > at:
            break
        line = number
    return line
