"""Profiles of steps of 1000 us, so that 10 us of each are 1 % of it and 0.01 ms."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.profiling.facts import Profile
from ascend_workbook.profiling.readers.counters import Counters, Curve
from ascend_workbook.profiling.readers.tables import KernelTable, MemoryTables
from ascend_workbook.profiling.trace import NO_DETAIL, Detail, Event, Looked, Texts, build_trace
from tests.profiling.conftest import US, step
from tests.rules.lines import Example

Made = tuple[str, str, int, int]
Make = Callable[[], Profile]
HALF: Made = ("compute", "k", 0, 500)
TRAINED: Made = ("annotation", "Optimizer.step#SGD.step", 990, 5)
#: Twenty kernels with gaps of 20 us, in which the host is within operators
PIECES: list[Made] = [
    *(("compute", "k", 50 * at, 30) for at in range(20)),
    *(("host_op", "aten::add", 50 * at + 25, 25) for at in range(20)),
]
ALL: Made = ("compute", "k", 0, 1000)
READ: Made = ("host_op", "aten::_local_scalar_dense", 400, 200)
WAIT: Made = ("runtime", "cudaStreamSynchronize", 400, 200)
REDUCE = "hcom_allReduce__1_0_1"
SEND = "hcom_batchSendRecv__128_4_1"
COLUMNS = ("name", "type", "unit", "inputs", "hf32")


def of(
    *events: Made,
    steps: int = 4,
    tier: str = "npu",
    lengths: tuple[int, ...] = (),
    launched: int | None = None,
    record: dict[str, Any] | None = None,
    trace: dict[str, Any] | None = None,
    more: dict[str, Any] | None = None,
    **options: Any,
) -> Make:
    """Steps of 1000 us, or of these lengths, with the events in each; kernels launched so many us before they start;
    `trace` and `more` are fields to replace of the trace and of the profile."""

    def make() -> Profile:
        long = lengths or (1000,) * steps
        starts = [sum(long[:at]) for at in range(len(long) + 1)]
        every = [step(at, starts[at], length) for at, length in enumerate(long)]
        for begin in starts[:-1]:
            for kind, name, start, length in events:
                at = (begin + start) * US
                known = {} if launched is None else {"launch_ns": at - launched * US}
                every.append(Event(name, kind, kind, at, length * US, **known))
        made = build_trace(every, source="made", dialect=options.pop("dialect", "ascend"), **options)
        made = dataclasses.replace(made, **(trace or {}))
        profile = Profile.from_trace(made, {"tier": tier, **(record or {})})
        return dataclasses.replace(profile, **(more or {}))

    return make


def with_shapes(*numbers: int, lengths: tuple[int, ...] = (1000,) * 4) -> Make:
    """One host operator a step, of the shape of this number (0: none)."""

    def make() -> Profile:
        profile = of(HALF, ("host_op", "aten::mm", 0, 10), lengths=lengths)()
        trace = profile.trace
        shape = trace.shape.copy()
        shape[trace.where(("host_op",))] = numbers
        return Profile.from_trace(
            dataclasses.replace(trace, shapes=("", "[8]", "[9]", "[10]"), shape=shape), profile.record
        )

    return make


def kernels_with_shapes(*numbers: int) -> Make:
    """One kernel a step, of the shape of this number; the host operator's shape is always the same."""

    def make() -> Profile:
        profile = with_shapes(1, 1, 1, 1, lengths=(1000, 1000, 4000, 1000))()
        shape = profile.trace.shape.copy()
        shape[profile.trace.where(("compute",))] = numbers
        return Profile.from_trace(dataclasses.replace(profile.trace, shape=shape), profile.record)

    return make


def table(make: Make, *rows: tuple[str, str, str, str, str, float], **more: Any) -> Make:
    """The profile with a table of kernels: name, type, unit, input dtypes, HF32, microseconds; more columns by name."""

    def made() -> Profile:
        profile = make()
        texts = {column: Texts.from_values(row[at] for row in rows) for at, column in enumerate(COLUMNS)}
        numbers = {"duration_us": np.array([row[5] for row in rows])}
        numbers |= {name: np.array(more.pop(name)) for name in list(more) if isinstance(more[name], list)}
        profile.__dict__["kernels"] = KernelTable(Path("kernel_details.csv"), texts, numbers, **more)
        return profile

    return made


def memory(make: Make, allocated: list[float], reserved: list[float], *alive: tuple[str, float]) -> Make:
    """The profile with the allocator's curve, a point a millisecond, and allocations that live throughout."""

    def made() -> Profile:
        profile = make()
        at_ns = np.arange(len(allocated), dtype=np.int64) * 1000 * US
        never = np.full(len(alive), np.iinfo(np.int64).max)
        names, sizes = tuple(name for name, _ in alive), np.array([size for _, size in alive])
        profile.__dict__["memory"] = MemoryTables(
            at_ns, np.array(allocated), np.array(reserved), names, sizes, 0 * never, never, 0.0, {}
        )
        return profile

    return made


def environment(make: Make, **variables: str) -> Make:
    return lambda: dataclasses.replace(make(), record={"environment": variables})


def late(make: Make, wait_us: int, peer: int = 5) -> Make:
    """The same where each collective waits so long for this member, as CANN's own tasks tell."""
    from tests.profiling.test_tuning import waited

    def made() -> Profile:
        profile = waited(make(), wait_us)
        details = (NO_DETAIL, Detail(peer=peer))
        return Profile.from_trace(dataclasses.replace(profile.trace, details=details), profile.record)

    return made


def stacked(make: Make, *frames: str) -> Make:
    """The same with these Python frames, the innermost first, above each event."""

    def made() -> Profile:
        profile = make()
        trace = dataclasses.replace(
            profile.trace, stacks=("", "\n".join(frames)), stack=np.ones(len(profile.trace), np.int32)
        )
        return Profile.from_trace(trace, profile.record)

    return made


def at_once(make: Make) -> Make:
    """The same where one launch at each step's beginning starts all its kernels, as a graph does."""

    def made() -> Profile:
        profile = make()
        begins = profile.trace.start_ns // (1000 * US) * (1000 * US)
        return Profile.from_trace(dataclasses.replace(profile.trace, launch_ns=begins), profile.record)

    return made


def on_ai_cpu(make: Make, name: str, steps: tuple[int, ...] = (0, 1, 2, 3)) -> Make:
    """The same where the kernels of this name in these steps run on the AI CPU, by the timeline; others on the cube."""

    def made() -> Profile:
        trace = make().trace
        mine = trace.mask_of_names(name.__eq__) & np.isin(trace.start_ns // (1000 * US), steps)
        engine = np.where(mine, 2, 1).astype(np.int32)
        return Profile.from_trace(
            dataclasses.replace(trace, engines=("", "AI_CORE", "AI_CPU"), engine=engine), {"tier": "npu"}
        )

    return made


def resting(make: Make, **causes_us: int) -> Make:
    """The same with idle time of these causes, in the three steps together."""

    def made() -> Profile:
        profile = make()
        profile.__dict__["idle"] = {cause: us * US for cause, us in causes_us.items()}
        return profile

    return made


def devices(*lengths: int) -> Make:
    """A kernel on each of several devices."""

    def make() -> Profile:
        every = [step(at, 1000 * at, 1000) for at in range(4)]
        for at in range(4):
            every += [
                Event("k", "compute", f"device {number} stream 7", 1000 * at * US, length * US)
                for number, length in enumerate(lengths)
            ]
        return Profile.from_trace(build_trace(every, source="made", dialect="kineto"), {"tier": "cuda"})

    return make


LOOKED = Looked(3, 5, 40, 2.5e6, 17, 9_000_000)
LOADER: Made = ("loading", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 500, 200)
WORKERS: Made = ("loading", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 500, 200)
PAGEABLE: Made = ("copy", "Memcpy HtoD (Pageable -> Device)", 500, 100)
PINNED: Made = ("copy", "Memcpy HtoD (Pinned -> Device)", 500, 100)
SHORT = [("compute", f"k{at}", 20 * at, 5) for at in range(40)]


def parts(*names: str) -> tuple[Made, ...]:
    """A kernel of 100 us of each name, one after the other, and one of `mm`."""
    return tuple(("compute", name, 100 * at, 100) for at, name in enumerate((*names, "mm")))


def reduces(*lengths: int) -> tuple[Made, ...]:
    """A kernel of half the step, then collectives of these lengths that nothing hides."""
    return (HALF, *(("communication", REDUCE, 500 + sum(lengths[:at]), one) for at, one in enumerate(lengths)))


def chipped(*rows: tuple[str, str, str, str, str, float], chip: str = "Ascend910B3", **more: Any) -> Make:
    """A step half full, on a chip that it names, with a table of kernels and their shapes."""
    shapes = more.pop("shapes", ("4096,4096;4096,4096", "4096,4096"))
    made = table(of(HALF, trace={"about": {"chip": chip} if chip else {}}), *rows, **more)

    def make() -> Profile:
        profile = made()
        count = len(rows)
        written = {"input_shapes": shapes[0], "output_shapes": shapes[1], "output_types": "FLOAT16"}
        texts = profile.kernels.texts if profile.kernels else {}
        texts["input_types"] = Texts.from_values(row[3].replace(" ", ";") for row in rows)
        texts.update({name: Texts.from_values([text] * count) for name, text in written.items()})
        return profile

    return make


def counted(make: Make, **curves: list[tuple[int, float]]) -> Make:
    """The profile with the device's counters: microseconds and value."""

    def made() -> Profile:
        profile = make()
        columns = {name: zip(*points) for name, points in curves.items()}
        found = {}
        for name, (moments, values) in columns.items():
            found[name] = Curve(np.array(moments, np.int64) * US, np.array(values, np.float64))
        profile.__dict__["counters"] = Counters(found)
        return profile

    return made


def fused(code: str, parts_of: tuple[str, ...], others: tuple[str, ...], timed: int, calls: int = 0) -> list[Example]:
    """The parts of a fusion, of which so many are timed, a tenth of the step each; and what lacks a mark."""
    share = 10 * timed
    told = f"NOTE {code}.change calls={calls or timed} fused=0 gain_ms={share / 100:g} share={share} weight={share}"
    fine = "GOOD advice.fine calls=0 fused=0 gain_ms=0 share=0"
    return [(code, of(*parts(*parts_of)), [told]), (code, of(*parts(*others)), [fine])]


MM = ("mm", "MatMulV3", "AI_CORE", "float16 float16", "NO", 500.0)
ADD = ("add", "Add", "AI_VECTOR_CORE", "float16 float16", "NO", 100.0)
#: Cycles of 20 cores at 1.8 GHz in 500 us
FULL = {"cycles": [18e6], "core_us": [500.0], "blocks": [20.0]}

EXAMPLES: list[Example] = [
    # what was recorded
    ("PRF301", of(HALF), ["GOOD PRF301.there kernels=4 operators=0"]),
    ("PRF301", of(READ), ["NOT_LOOKED PRF301.absent kernels=0 operators=4"]),
    ("PRF301", of(READ, tier="cuda"), ["NOT_LOOKED PRF301.absent kernels=0 operators=4"]),
    ("PRF301", of(HALF, tier="npu-simulated"), ["NOT_LOOKED PRF301.simulated kernels=4 operators=0"]),
    ("PRF301", of(READ, tier="npu-simulated"), ["NOT_LOOKED PRF301.simulated_host kernels=0 operators=4"]),
    ("PRF301", of(READ, tier="cpu"), ["GOOD PRF301.cpu kernels=0 operators=4"]),
    ("PRF302", of(HALF, lengths=(1000, 3000, 1000)), ["GOOD PRF302.first first_ms=0.5 step_ms=2 steps=3"]),
    ("PRF302", of(HALF, steps=2), ["NOTE PRF302.few steps=2"]),
    ("PRF302", of(HALF, trace={"marked": False}), ["NOTE PRF302.unmarked"]),
    (
        "PRF302",
        of(HALF, trace={"looked": LOOKED}),
        [
            (
                "NOTE PRF302.warming first=3 first_ms=0.5 last=5 mean_ms=2.5 slowest=17 slowest_ms=9 steady=1 "
                "step_ms=1 steps=40"
            )
        ],
    ),
    (
        "PRF302",
        of(HALF, trace={"looked": dataclasses.replace(LOOKED, behind=True)}),
        [
            (
                "NOTE PRF302.warming first=3 first_ms=0.5 last=5 mean_ms=2.5 slowest=17 slowest_ms=9 steady=1 "
                "step_ms=1 steps=40"
            ),
            (
                "LOOK PRF302.behind first=3 first_ms=0.5 last=5 mean_ms=2.5 slowest=17 slowest_ms=9 steady=1 "
                "step_ms=1 steps=40"
            ),
        ],
    ),
    (
        "PRF302",
        of(HALF, steps=1, trace={"looked": LOOKED}),
        [
            (
                "NOTE PRF302.cold first=3 first_ms=0.5 last=5 mean_ms=2.5 slowest=17 slowest_ms=9 steady=0 "
                "step_ms=0.5 steps=40"
            )
        ],
    ),
    (
        "PRF303",
        of(HALF, lengths=(1000, 1000, 1200, 1000)),
        ["GOOD PRF303.alike mean_ms=1.067 slow=0 slowest_ms=1.2 step=3 step_ms=1 steps=3"],
    ),
    (
        "PRF303",
        of(HALF, lengths=(1000, 1000, 1201, 1000)),
        ["NOTE PRF303.apart mean_ms=1.067 slow=1 slowest_ms=1.201 step=3 step_ms=1 steps=3"],
    ),
    ("PRF303", of(HALF, lengths=(9000, 1000, 4000)), ["CANNOT PRF303.few steps=2"]),
    ("PRF304", of(HALF), ["GOOD PRF304.all events=8"]),
    (
        "PRF304",
        of(HALF, left_out={"no_time": 3, "negative_duration": 2}),
        ["LOOK PRF304.negative_duration count=2 events=8", "LOOK PRF304.no_time count=3 events=8"],
    ),
    ("PRF304", of(HALF, trace={"cut_at": 77}), ["LOOK PRF304.cut_short byte=77 events=8 path=made"]),
    ("PRF304", of(HALF, trace={"slower": "x"}), ["NOTE PRF304.slower reason=x", "GOOD PRF304.all events=8"]),
    ("PRF305", of(HALF), ["NOTE PRF305.absent"]),
    ("PRF305", with_shapes(1, 1, 1, 1), ["GOOD PRF305.there"]),
    ("PRF306", of(HALF), []),
    (
        "PRF306",
        of(HALF, more={"told": {1: {"Computing": 501_000}, 99: {"Computing": 5}}}),
        ["GOOD PRF306.same steps=1"],
    ),
    (
        "PRF306",
        of(HALF, more={"told": {1: {"Computing": 501_001}, 2: {"Computing": 507_000}}}),
        ["LOOK PRF306.apart apart_ms=0.007 of=2 step=2 steps=2"],
    ),
    ("PRF307", of(HALF), []),
    ("PRF307", of(HALF, record={"status": "complete"}), ["GOOD PRF307.whole"]),
    ("PRF307", of(HALF, record={"status": "failed"}), ["LOOK PRF307.failed"]),
    ("PRF307", of(HALF, record={"status": "running"}), ["LOOK PRF307.running"]),
    (
        "PRF307",
        of(HALF, record={"unread": Sentence("command.closed")}),
        ["LOOK PRF307.unread error=command.closed()"],
    ),
    ("PRF308", devices(300), []),
    (
        "PRF308",
        devices(300, 450),
        [
            (
                "LOOK PRF308.several count=2 devices=[profiling.device_share(device=0 share=30), "
                "profiling.device_share(device=1 share=45)] together=45"
            )
        ],
    ),
    # where the time goes: 1 ms a step
    ("PRF311", of(("compute", "k", 0, 901)), ["GOOD PRF311.busy gain_ms=0.099 share=9.9 weight=9.9"]),
    ("PRF311", of(("compute", "k", 0, 900)), ["NOTE PRF311.device gain_ms=0.1 share=10 weight=10"]),
    ("PRF311", of(("compute", "k", 0, 751)), ["NOTE PRF311.device gain_ms=0.249 share=24.9 weight=24.9"]),
    ("PRF311", of(("compute", "k", 0, 750)), ["LOOK PRF311.device gain_ms=0.25 share=25 weight=25"]),
    (
        "PRF311",
        of(("compute", "k", 0, 100), tier="npu-simulated"),
        ["NOTE PRF311.simulated gain_ms=0.9 share=90 weight=90"],
    ),
    ("PRF311", of(("host_op", "aten::mm", 0, 100), tier="cpu"), ["LOOK PRF311.host gain_ms=0.9 share=90 weight=90"]),
    ("PRF311", of(READ), ["CANNOT PRF311.blind"]),
    ("PRF312", of(HALF), ["GOOD PRF312.none"]),
    (
        "PRF312",
        of(ALL, ("communication", REDUCE, 0, 900)),
        ["GOOD PRF312.hidden gain_ms=0 share=0 waited=ranks.nobody() whole=0"],
    ),
    (
        "PRF312",
        of(("compute", "k", 0, 971), ("communication", REDUCE, 971, 29)),
        ["GOOD PRF312.hidden gain_ms=0.029 share=2.9 waited=ranks.nobody() whole=2.9 weight=2.9"],
    ),
    (
        "PRF312",
        of(("compute", "k", 0, 970), ("communication", REDUCE, 970, 30)),
        ["NOTE PRF312.exposed gain_ms=0.03 share=3 waited=ranks.nobody() whole=3 weight=3"],
    ),
    (
        "PRF312",
        of(("compute", "k", 0, 900), ("communication", REDUCE, 900, 100)),
        ["LOOK PRF312.exposed gain_ms=0.1 share=10 waited=ranks.nobody() whole=10 weight=10"],
    ),
    (
        "PRF312",
        of(*reduces(400)),
        ["LOOK PRF312.exposed gain_ms=0.4 share=40 waited=ranks.nobody() whole=40 weight=40"],
    ),
    (
        "PRF312",
        late(of(*reduces(400)), 300),
        ["LOOK PRF312.waiting gain_ms=0.3 share=30 waited=ranks.of_its_group(number=5) whole=40 weight=30"],
    ),
    (
        "PRF312",
        late(of(*reduces(400)), 200),
        ["LOOK PRF312.exposed gain_ms=0.4 share=40 waited=ranks.of_its_group(number=5) whole=40 weight=40"],
    ),
    (
        "PRF312",
        late(of(*reduces(400)), 201),
        ["LOOK PRF312.waiting gain_ms=0.201 share=20.1 waited=ranks.of_its_group(number=5) whole=40 weight=20.1"],
    ),
    (
        "PRF312",
        late(of(("compute", "k", 0, 950), ("communication", REDUCE, 950, 40)), 29),
        ["NOTE PRF312.exposed gain_ms=0.04 share=4 waited=ranks.of_its_group(number=5) whole=4 weight=4"],
    ),
    (
        "PRF312",
        late(of(("compute", "k", 0, 950), ("communication", REDUCE, 950, 40)), 30),
        ["NOTE PRF312.waiting gain_ms=0.03 share=3 waited=ranks.of_its_group(number=5) whole=4 weight=3"],
    ),
    (
        "PRF312",
        of(HALF, ("communication", SEND, 500, 300), ("communication", REDUCE, 800, 100)),
        ["LOOK PRF312.pairwise gain_ms=0.3 share=30 waited=ranks.nobody() whole=40 weight=30"],
    ),
    ("PRF312", of(*reduces(400), tier="npu-simulated"), ["CANNOT PRF312.simulated share=40"]),
    ("PRF313", of(HALF), ["CANNOT PRF313.unseen"]),
    (
        "PRF313",
        of(("loading", "l", 0, 129), ("compute", "k", 100, 900)),
        ["LOOK PRF313.waits gain_ms=0.1 share=10 weight=10"],
    ),
    (
        "PRF313",
        of(("loading", "l", 0, 129), ("compute", "k", 99, 901)),
        ["NOTE PRF313.waits gain_ms=0.099 share=9.9 weight=9.9"],
    ),
    (
        "PRF313",
        of(("loading", "l", 0, 300), ("compute", "k", 29, 971)),
        ["GOOD PRF313.hidden gain_ms=0.029 share=2.9 weight=2.9"],
    ),
    (
        "PRF313",
        of(("loading", "l", 0, 300), ("compute", "k", 30, 970)),
        ["NOTE PRF313.waits gain_ms=0.03 share=3 weight=3"],
    ),
    (
        "PRF313",
        of(("loading", "l", 300, 300), ("host_op", "aten::mm", 0, 200), tier="npu-simulated"),
        ["NOTE PRF313.host gain_ms=0.3 share=30 weight=30"],
    ),
    ("PRF313", of(("loading", "l", 300, 300)), ["CANNOT PRF313.blind"]),
    (
        "PRF314",
        of(("compute", "k", 0, 700), ("runtime", "cudaStreamSynchronize", 500, 210)),
        ["LOOK PRF314.dry gain_ms=0.3 share=30 weight=30"],
    ),
    (
        "PRF314",
        of(("compute", "k", 0, 971), ("runtime", "cudaStreamSynchronize", 500, 480)),
        ["GOOD PRF314.harmless gain_ms=0.029 share=2.9 weight=2.9"],
    ),
    (
        "PRF314",
        of(("compute", "k", 0, 700), ("runtime", "cudaStreamSynchronize", 100, 300)),
        ["GOOD PRF314.harmless gain_ms=0 share=0"],
    ),
    ("PRF314", of(HALF), ["CANNOT PRF314.no_host"]),
    ("PRF314", of(READ, READ, ("host_op", "aten::mm", 0, 500), tier="cpu"), ["NOTE PRF314.read_somewhere calls=2"]),
    ("PRF314", of(("host_op", "aten::mm", 0, 500), tier="cpu"), ["GOOD PRF314.cpu"]),
    ("PRF314", of(READ, ("loading", "l", 300, 400), tier="npu-simulated"), ["CANNOT PRF314.no_device"]),
    (
        "PRF316",
        of(HALF, ("loading", "l", 500, 500)),
        [
            "LOOK PRF316.loading gain_ms=0.5 place=profiling.cause_at(part=100 where=l) share=50 weight=50",
            "NOTE PRF316.computing_work gain_ms=0.5 share=50 where=other weight=15",
        ],
    ),
    (
        "PRF316",
        of(*PIECES),
        [
            "LOOK PRF316.tiny_kernels gain_ms=0.4 place=profiling.cause_at(part=100 where=aten::add) "
            "share=40 weight=40",
            "NOTE PRF316.computing_work gain_ms=0.6 share=60 where=other weight=18",
        ],
    ),
    ("PRF316", of(HALF, tier="npu-simulated"), ["GOOD PRF316.none"]),
    ("PRF316", of(READ), ["CANNOT PRF316.blind"]),
    (
        "PRF315",
        of(("compute", "k", 0, 850), ("copy", "c", 800, 200)),
        ["LOOK PRF315.exposed gain_ms=0.15 share=15 weight=15"],
    ),
    (
        "PRF315",
        of(("compute", "k", 0, 971), ("copy", "c", 800, 200)),
        ["GOOD PRF315.hidden gain_ms=0.029 share=2.9 weight=2.9"],
    ),
    (
        "PRF315",
        of(("compute", "k", 0, 970), ("copy", "c", 800, 200)),
        ["NOTE PRF315.exposed gain_ms=0.03 share=3 weight=3"],
    ),
    ("PRF315", of(READ, tier="cpu"), ["GOOD PRF315.cpu"]),
    ("PRF315", of(HALF, tier="npu-simulated"), ["CANNOT PRF315.no_device"]),
    # why the device rests
    (
        "PRF321",
        of(HALF, launched=10),
        ["NOTE PRF321.host cause=profiling.idle.host() cause_share=98 gain_ms=0.49 share=50 weight=49"],
    ),
    (
        "PRF321",
        of(("compute", "k", 0, 900), launched=0),
        ["NOTE PRF321.host cause=profiling.idle.host() cause_share=100 gain_ms=0.1 share=10 weight=10"],
    ),
    (
        "PRF321",
        of(("compute", "k", 0, 901), launched=0),
        ["GOOD PRF321.host cause=profiling.idle.host() cause_share=100 gain_ms=0.099 share=9.9 weight=9.9"],
    ),
    (
        "PRF321",
        of(HALF, LOADER, launched=10),
        ["NOTE PRF321.host cause=profiling.idle.host() cause_share=58 gain_ms=0.29 share=50 weight=29"],
    ),
    ("PRF321", of(ALL, launched=10), ["GOOD PRF321.none"]),
    ("PRF321", of(HALF), ["CANNOT PRF321.no_launches share=50"]),
    ("PRF321", devices(300, 450), ["CANNOT PRF321.devices count=2"]),
    ("PRF321", of(READ), ["CANNOT PRF321.no_device"]),
    ("PRF322", of(*SHORT, launched=10), ["NOTE PRF322.many gain_ms=0.4 kernels=40 share=40 short=100 weight=40"]),
    (
        "PRF322",
        of(("compute", "a", 0, 5), ("compute", "b", 5, 5), ("compute", "long", 10, 940), launched=0),
        ["NOTE PRF322.many gain_ms=0.05 kernels=3 share=5 short=66.7 weight=5"],
    ),
    (
        "PRF322",
        of(("compute", "a", 0, 5), ("compute", "b", 5, 5), ("compute", "long", 10, 941), launched=0),
        ["GOOD PRF322.few gain_ms=0.049 kernels=3 share=4.9 short=66.7 weight=4.9"],
    ),
    (
        "PRF322",
        of(("compute", "long", 0, 900), launched=0),
        ["NOTE PRF322.late gain_ms=0.1 kernels=1 share=10 short=0 weight=10"],
    ),
    (
        "PRF322",
        of(("compute", "long", 0, 901), launched=0),
        ["GOOD PRF322.few gain_ms=0.099 kernels=1 share=9.9 short=0 weight=9.9"],
    ),
    (
        "PRF322",
        of(*SHORT[:20], *(("compute", "long", 400 + 12 * at, 11) for at in range(20)), launched=5),
        ["NOTE PRF322.many gain_ms=0.556 kernels=40 share=55.6 short=50 weight=55.6"],
    ),
    (
        "PRF322",
        of(*SHORT[:19], *(("compute", "long", 400 + 12 * at, 11) for at in range(21)), launched=5),
        ["NOTE PRF322.late gain_ms=0.554 kernels=40 share=55.4 short=47.5 weight=55.4"],
    ),
    ("PRF322", of(HALF, launched=10), ["NOTE PRF322.late gain_ms=0.49 kernels=1 share=49 short=0 weight=49"]),
    ("PRF322", of(ALL, launched=10), ["GOOD PRF322.few gain_ms=0 kernels=1 share=0 short=0"]),
    ("PRF322", of(*SHORT), ["CANNOT PRF322.no_launches known=0 of=120"]),
    ("PRF322", of(("copy", "c", 0, 500), launched=10), ["CANNOT PRF322.no_kernels"]),
    ("PRF322", of(HALF, tier="npu-simulated"), ["CANNOT PRF322.no_device"]),
    ("PRF322", devices(300, 450), ["CANNOT PRF322.devices count=2"]),
    (
        "PRF345",
        of(TRAINED, *PIECES, launched=10),
        ["NOTE PRF345.change gain_ms=0.4 kernels=60 mean_us=30 share=40 weight=40"],
    ),
    (
        "PRF345",
        of(TRAINED, ("host_op", "aten::add", 0, 1000), *PIECES[:19], ("compute", "k", 950, 50), launched=10),
        ["GOOD advice.fine gain_ms=0 kernels=60 mean_us=31 share=0"],
    ),
    ("PRF345", of(TRAINED, HALF, launched=10), ["GOOD advice.fine gain_ms=0 kernels=3 mean_us=500 share=0"]),
    ("PRF345", of(*PIECES, launched=10), ["CANNOT PRF345.no_training"]),
    ("PRF345", of(HALF, tier="npu-simulated"), ["CANNOT advice.no_device"]),
    (
        "PRF391",
        of(HALF, ("compute", "k", 900, 100), ("runtime", "AscendCL@opCompile", 550, 200), launched=100),
        ["NOTE PRF391.change gain_ms=0.2 share=20 weight=20"],
    ),
    (
        "PRF391",
        of(HALF, ("compute", "k", 900, 100), ("runtime", "AscendCL@opCompile", 550, 5), launched=100),
        ["NOTE PRF391.change gain_ms=0.005 share=0.5 weight=0.5"],
    ),
    (
        "PRF391",
        of(HALF, ("compute", "k", 900, 100), ("runtime", "AscendCL@opCompile", 550, 4), launched=100),
        ["GOOD advice.fine gain_ms=0.004 share=0.4 weight=0.4"],
    ),
    ("PRF391", of(HALF, launched=100), ["CANNOT advice.no_host"]),
    (
        "PRF392",
        of(HALF, ("host_op", "aten::mm", 0, 900), launched=50),
        ["NOTE PRF392.off gain_ms=0.45 share=45 weight=45"],
    ),
    (
        "PRF392",
        of(("compute", "k", 0, 951), ("host_op", "aten::mm", 0, 900), launched=1),
        ["GOOD advice.fine gain_ms=0.048 share=4.8 weight=4.8"],
    ),
    (
        "PRF392",
        environment(of(HALF, ("host_op", "Enqueue", 0, 900), launched=50), TASK_QUEUE_ENABLE="1"),
        ["NOTE PRF392.change gain_ms=0.45 share=45 weight=45"],
    ),
    (
        "PRF392",
        environment(of(HALF, ("host_op", "Dequeue", 0, 900), launched=50), TASK_QUEUE_ENABLE="2"),
        ["GOOD advice.fine gain_ms=0 share=0"],
    ),
    (
        "PRF392",
        of(HALF, ("host_op", "Enqueue", 0, 900), launched=50),
        ["CANNOT advice.no_environment name=TASK_QUEUE_ENABLE"],
    ),
    ("PRF392", of(HALF, READ, tier="cuda"), ["CANNOT advice.no_npu"]),
    (
        "PRF393",
        of(HALF, ("python", "<built-in gc.collect>", 600, 100)),
        ["NOTE PRF393.change calls=4 gain_ms=0.1 share=10 weight=10"],
    ),
    (
        "PRF393",
        of(HALF, ("python", "<built-in gc.collect>", 450, 55)),
        ["NOTE PRF393.change calls=4 gain_ms=0.005 share=0.5 weight=0.5"],
    ),
    (
        "PRF393",
        of(HALF, ("python", "<built-in gc.collect>", 450, 54)),
        ["GOOD advice.fine calls=4 gain_ms=0.004 share=0.4 weight=0.4"],
    ),
    (
        "PRF393",
        of(("host_op", "aten::mm", 0, 900), ("python", "GC", 100, 30), tier="cpu"),
        ["NOTE PRF393.change calls=4 gain_ms=0.03 share=3 weight=3"],
    ),
    ("PRF393", of(HALF), ["CANNOT PRF393.unseen"]),
    ("PRF393", of(HALF, tier="npu-simulated"), ["CANNOT PRF393.unseen"]),
    # kernels
    (
        "PRF323",
        table(of(HALF), ("a", "Cast", "AI_VECTOR_CORE", "float32", "NO", 30.0)),
        ["NOT_LOOKED PRF323.no_metrics"],
    ),
    (
        "PRF323",
        table(
            of(HALF),
            ("a", "MatMul", "AI_CORE", "float32", "NO", 30.0),
            ("b", "MatMul", "AI_CORE", "float32", "NO", 50.0),
            ("c", "Cast", "AI_VECTOR_CORE", "float32", "NO", 20.0),
            mac=[0.8, 0.79, 0.0],
            vector_read=[0.0, 0.0, 0.9],
        ),
        ["GOOD PRF323.bounds computing=30 memory=20 neither=50"],
    ),
    (
        "PRF323",
        table(
            of(HALF),
            ("a", "Cast", "AI_CORE", "float32", "NO", 3.0),
            bad_rows=2,
            bad_line=7,
            bad_cells=4,
            bad_cell="x",
        ),
        [
            "LOOK PRF323.rows kernels=1 line=7 path=kernel_details.csv rows=2",
            "LOOK PRF323.cells cell=x cells=4 kernels=1 path=kernel_details.csv",
            "NOT_LOOKED PRF323.no_metrics",
        ],
    ),
    ("PRF323", of(HALF), ["CANNOT PRF323.no_table"]),
    ("PRF323", of(HALF, tier="cuda"), ["CANNOT PRF323.no_npu"]),
    (
        "PRF331",
        of(("compute", "big", 0, 300), ("compute", "small", 300, 100)),
        ["NOTE PRF331.one computing_share=75 gain_ms=0.3 operator=big share=30 weight=30"],
    ),
    (
        "PRF331",
        of(("compute", "big", 0, 299), ("compute", "small", 300, 101)),
        ["GOOD PRF331.many computing_share=74.8 gain_ms=0.299 operator=big share=29.9 weight=29.9"],
    ),
    ("PRF331", of(*[ALL] * 5), ["NOTE PRF331.one computing_share=100 gain_ms=1 operator=k share=500 weight=500"]),
    ("PRF331", of(("communication", REDUCE, 0, 700)), ["CANNOT PRF331.no_operators"]),
    ("PRF331", of(HALF, tier="npu-simulated"), ["CANNOT PRF331.simulated"]),
    ("PRF331", of(READ), ["CANNOT PRF331.blind"]),
    (
        "PRF365",
        table(
            of(HALF),
            ("a", "Index", "AI_CPU", "int64", "NO", 10.0),
            ("b", "Add", "AI_VECTOR_CORE", "float32", "NO", 90.0),
        ),
        ["NOTE PRF365.change gain_ms=0.05 operators=[Index] share=5 weight=5"],
    ),
    (
        "PRF365",
        table(of(HALF), ("b", "Add", "AI_VECTOR_CORE", "float32", "NO", 90.0)),
        ["GOOD advice.fine gain_ms=0 operators=[] share=0"],
    ),
    ("PRF365", of(HALF), ["CANNOT advice.no_units"]),
    ("PRF365", of(HALF, tier="cuda"), ["CANNOT advice.no_npu"]),
    (
        "PRF366",
        of(HALF, ("host_op", "aten::svd", 500, 300), ("host_op", "aten::_to_cpu", 510, 20)),
        ["NOTE PRF366.change gain_ms=0.3 operators=[aten::svd] share=30 where=None weight=30"],
    ),
    (
        "PRF366",
        of(ALL, ("host_op", "aten::svd", 500, 300), ("host_op", "aten::_to_cpu", 510, 20)),
        ["NOTE PRF366.change gain_ms=0 operators=[aten::svd] share=0 where=None"],
    ),
    (
        "PRF366",
        of(HALF, ("host_op", "aten::svd", 500, 300)),
        ["GOOD advice.fine gain_ms=0 operators=[] share=0 where=None"],
    ),
    ("PRF366", of(HALF), ["CANNOT advice.no_host"]),
    ("PRF366", of(HALF, tier="cpu"), ["CANNOT advice.no_accelerator"]),
    ("PRF367", of(*parts("aten::_to_copy", "Cast")), ["NOTE PRF367.change calls=2 gain_ms=0.2 share=20 weight=20"]),
    (
        "PRF367",
        of(("compute", "Cast", 0, 5), ("compute", "mm", 5, 900)),
        ["NOTE PRF367.change calls=1 gain_ms=0.005 share=0.5 weight=0.5"],
    ),
    (
        "PRF367",
        of(("compute", "Cast", 0, 4), ("compute", "mm", 5, 900)),
        ["GOOD advice.fine calls=1 gain_ms=0.004 share=0.4 weight=0.4"],
    ),
    (
        "PRF367",
        table(
            of(HALF),
            ("a", "Cast", "AI_VECTOR_CORE", "float32", "NO", 30.0),
            ("b", "MatMul", "AI_CORE", "float32", "NO", 70.0),
        ),
        ["NOTE PRF367.change calls=0 gain_ms=0.15 share=15 weight=15"],
    ),
    (
        "PRF367",
        of(*parts("Cast"), tier="npu-simulated"),
        ["NOTE advice.counted calls=1 count=1 gain_ms=None share=None"],
    ),
    (
        "PRF368",
        of(*parts("TransData", "trans_TransData_5")),
        ["NOTE PRF368.change calls=2 gain_ms=0.2 share=20 weight=20"],
    ),
    ("PRF368", of(*parts("Transpose")), ["GOOD advice.fine calls=0 gain_ms=0 share=0"]),
    ("PRF368", of(*parts("TransData"), tier="cuda"), ["CANNOT advice.no_npu"]),
    (
        "PRF369",
        table(
            of(HALF),
            ("a", "MatMul", "AI_CORE", "float32 float32", "YES", 40.0),
            ("b", "MatMul", "MIX_AIC", "float32", "NO", 20.0),
            ("c", "MatMul", "AI_CORE", "float16 float32", "YES", 30.0),
            ("d", "Add", "AI_VECTOR_CORE", "float32", "NO", 10.0),
        ),
        ["NOTE PRF369.change cube=3 gain_ms=0.3 hf32=1 kernels=2 share=30 weight=30"],
    ),
    (
        "PRF369",
        table(of(HALF), ("c", "MatMul", "AI_CORE", "float16", "NO", 30.0)),
        ["GOOD advice.fine cube=1 gain_ms=0 hf32=0 kernels=0 share=0"],
    ),
    ("PRF369", of(HALF), ["CANNOT advice.no_dtypes"]),
    ("PRF369", of(HALF, tier="cuda"), ["CANNOT advice.no_npu"]),
    # fused operators: each part takes 0.1 of 1 ms
    (
        "PRF360",
        of(*parts("aten::_foreach_add_", "ForeachMul")),
        ["NOTE PRF360.change calls=2 gain_ms=0.2 operators=[ForeachMul, aten::_foreach_add_] share=20 weight=20"],
    ),
    ("PRF360", of(*parts("aten::add_")), ["GOOD advice.fine calls=0 gain_ms=0 operators=[] share=0"]),
    (
        "PRF360",
        of(*parts("ForeachMul"), tier="npu-simulated"),
        ["NOTE advice.counted calls=1 count=1 gain_ms=None operators=[ForeachMul] share=None"],
    ),
    (
        "PRF361",
        of(*parts("aten::bmm", "aten::_softmax")),
        ["NOTE PRF361.change calls=2 fused=0 gain_ms=0.2 share=20 weight=20"],
    ),
    (
        "PRF361",
        of(*parts("aten::bmm", "aten::_softmax", "aten::_flash_attention_forward")),
        ["NOTE PRF361.change calls=2 fused=1 gain_ms=0.2 share=20 weight=20"],
    ),
    ("PRF361", of(*parts("aten::bmm")), ["GOOD advice.fine calls=0 fused=0 gain_ms=0 share=0"]),
    (
        "PRF361",
        table(
            of(HALF),
            *(("a", "SoftmaxV2", "AI_VECTOR_CORE", "float16", "NO", 10.0) for _ in range(4)),
            *(("b", "BatchMatMul", "AI_CORE", "float16", "NO", 10.0) for _ in range(4)),
            ("c", "Add", "AI_VECTOR_CORE", "float16", "NO", 20.0),
        ),
        ["NOTE PRF361.change calls=2 fused=0 gain_ms=0.4 share=40 weight=40"],
    ),
    (
        "PRF361",
        of(*parts("aten::bmm"), tier="npu-simulated"),
        ["GOOD advice.not_counted calls=0 count=0 fused=0 gain_ms=None share=None"],
    ),
    (
        "PRF362",
        of(*parts("aten::pow", "aten::mean", "aten::rsqrt")),
        ["NOTE PRF362.change calls=3 fused=0 gain_ms=0.3 share=30 weight=30"],
    ),
    ("PRF362", of(*parts("aten::pow", "aten::mean")), ["GOOD advice.fine calls=0 fused=0 gain_ms=0 share=0"]),
    (
        "PRF363",
        of(*parts("aten::neg", "aten::cat", "aten::cos")),
        ["NOTE PRF363.change calls=2 fused=0 gain_ms=0.2 share=20 weight=20"],
    ),
    ("PRF363", of(*parts("aten::neg", "aten::cat")), ["GOOD advice.fine calls=0 fused=0 gain_ms=0 share=0"]),
    (
        "PRF364",
        of(*parts("aten::silu", "aten::mul")),
        ["NOTE PRF364.change calls=1 fused=0 gain_ms=0.1 share=10 weight=10"],
    ),
    ("PRF364", of(*parts("aten::silu", "aten::add")), ["GOOD advice.fine calls=0 fused=0 gain_ms=0 share=0"]),
    # what the chip can do
    (
        "PRF325",
        chipped(MM),
        [
            "GOOD PRF325.named bandwidth=1600 bound=profiling.roofline.computing() chip=910B3 gain_ms=0.008 known=100 "
            "operator=MatMulV3 peak=277.8 reached=93.2 utilisation=12.4"
        ],
    ),
    (
        "PRF325",
        chipped(MM, chip="", **FULL),
        [
            "GOOD PRF325.inferred bandwidth=1600 bound=profiling.roofline.computing() chip=910B3 gain_ms=0.008 "
            "known=100 operator=MatMulV3 peak=277.8 reached=93.2 utilisation=12.4"
        ],
    ),
    ("PRF325", chipped(MM, chip=""), ["CANNOT PRF325.no_chip"]),
    ("PRF325", table(of(HALF), MM), ["CANNOT PRF325.no_shapes"]),
    ("PRF325", of(HALF, tier="cuda"), ["CANNOT advice.no_npu"]),
    (
        "PRF326",
        counted(of(HALF), frequency_mhz=[(0, 1800.0), (2000, 900.0)]),
        ["LOOK PRF326.dropped gain_ms=0.125 highest=1800 lowest=900 mean=1350 share=12.5 weight=12.5"],
    ),
    (
        "PRF326",
        counted(of(HALF), frequency_mhz=[(0, 1800.0), (2000, 1750.0)]),
        ["GOOD PRF326.steady gain_ms=0.007 highest=1800 lowest=1750 mean=1775 share=0.7 weight=0.694444"],
    ),
    (
        "PRF326",
        table(of(HALF), MM, **FULL),
        ["GOOD PRF326.steady gain_ms=0 highest=1800 lowest=1800 mean=1800 share=0"],
    ),
    ("PRF326", of(HALF), ["CANNOT PRF326.untold"]),
    ("PRF326", of(HALF, tier="cuda"), ["CANNOT advice.no_npu"]),
    (
        "PRF327",
        counted(of(HALF), read_gb_s=[(0, 100.0), (2000, 300.0)], write_gb_s=[(0, 50.0)]),
        ["GOOD PRF327.memory hits=None most=350 read=200 write=50"],
    ),
    (
        "PRF327",
        counted(of(HALF), read_gb_s=[(0, 1.0)], write_gb_s=[(0, 1.0)], hit_percent=[(0, 40.0), (1000, 80.0)]),
        ["GOOD PRF327.hits hits=73.3 most=2 read=1 write=1"],
    ),
    ("PRF327", of(HALF), ["CANNOT PRF327.untold"]),
    ("PRF327", of(HALF, tier="cuda"), ["CANNOT advice.no_npu"]),
    (
        "PRF400",
        chipped(MM, ADD, blocks=[10.0, 40.0]),
        ["NOTE PRF400.change cubes=20 gain_ms=0.208 kernels=1 share=20.83 types=[MatMulV3] vectors=40 weight=20.8333"],
    ),
    (
        "PRF400",
        chipped(MM, (*ADD[:5], 19.9), blocks=[20.0, 1.0]),
        ["GOOD advice.fine cubes=20 gain_ms=0 kernels=0 share=0 types=[] vectors=40"],
    ),
    ("PRF400", table(of(HALF), MM), ["CANNOT PRF400.untold"]),
    ("PRF400", table(of(HALF), MM, blocks=[10.0]), ["CANNOT PRF400.no_chip"]),
    ("PRF400", of(HALF, tier="cuda"), ["CANNOT advice.no_npu"]),
    # fusions
    *fused("PRF401", ("Transpose", "aten::bmm"), ("Transpose", "aten::mm"), 1),
    *fused("PRF402", ("aten::masked_fill", "aten::softmax"), ("aten::masked_fill", "aten::add"), 2),
    *fused("PRF403", ("aten::erf", "aten::mul"), ("aten::erf", "aten::add"), 1),
    *fused("PRF404", ("aten::gelu", "aten::mul", "aten::split"), ("aten::gelu", "aten::mul"), 1, 1),
    *fused("PRF405", ("aten::add_", "aclnnBiasAdd", "aten::mm"), ("aten::add_", "aten::mm"), 1),
    *fused("PRF406", ("aten::_log_softmax", "aten::nll_loss_forward"), ("aten::_log_softmax", "aten::mul"), 2),
    *fused("PRF407", ("aten::sub", "aten::mean", "aten::sqrt", "aten::div"), ("aten::sub", "aten::mean"), 3),
    # settings
    (
        "PRF408",
        environment(of(HALF), ASCEND_LAUNCH_BLOCKING="1", ACLNN_CACHE_LIMIT="20", TASK_QUEUE_ENABLE="1"),
        [
            "NOTE PRF408.change gain_ms=None looked=3 set=[ASCEND_LAUNCH_BLOCKING=1, ACLNN_CACHE_LIMIT=20] share=None "
            "wanted=[ASCEND_LAUNCH_BLOCKING=0, ACLNN_CACHE_LIMIT=100000]"
        ],
    ),
    (
        "PRF408",
        environment(of(HALF), ASCEND_LAUNCH_BLOCKING="", PYTORCH_NPU_ALLOC_CONF="expandable_segments:True"),
        ["GOOD PRF408.fine gain_ms=None looked=2 share=None"],
    ),
    ("PRF408", environment(of(HALF), OTHER="1"), ["CANNOT PRF408.untold"]),
    ("PRF408", of(HALF, tier="cuda"), ["CANNOT advice.no_npu"]),
    (
        "PRF409",
        of(HALF, ("runtime", "AscendCL@aclrtMallocAlign32", 600, 100), ("runtime", "aclrtFree", 450, 100)),
        ["NOTE PRF409.change calls=2 gain_ms=0.133 share=13.33 spent_ms=0.2 weight=13.3333"],
    ),
    (
        "PRF409",
        of(HALF, ("runtime", "aclrtMallocHost", 600, 100), ("runtime", "cudaFreeAsync", 700, 100)),
        ["GOOD advice.fine calls=0 gain_ms=0 share=0 spent_ms=0"],
    ),
    ("PRF409", of(HALF), ["CANNOT PRF409.untold"]),
    ("PRF409", of(HALF, tier="cpu"), ["CANNOT advice.no_device"]),
    # memory
    (
        "PRF324",
        memory(of(HALF), [100.0, 768.0, 512.0], [1024.0, 1024.0, 1024.0], ("aten::mm", 300.0)),
        ["GOOD PRF324.peak at_ms=1 mb=768 operator=aten::mm operator_mb=300 reserved=1024 unused=25"],
    ),
    (
        "PRF324",
        memory(of(HALF), [100.0], [0.0]),
        ["GOOD PRF324.peak at_ms=0 mb=100 operator=None operator_mb=None reserved=0 unused=0"],
    ),
    ("PRF324", of(HALF), ["CANNOT PRF324.absent"]),
    ("PRF324", of(HALF, dialect="kineto"), ["CANNOT PRF324.no_table"]),
    (
        "PRF343",
        memory(environment(of(HALF), PYTORCH_NPU_ALLOC_CONF=""), [1536.0], [2048.0]),
        ["NOTE PRF343.change gain_ms=None mb=512 share=None told=None unused=25"],
    ),
    (
        "PRF343",
        memory(environment(of(HALF), PYTORCH_NPU_ALLOC_CONF="expandable_segments:True"), [1536.0], [2048.0]),
        ["NOTE PRF343.on gain_ms=None mb=512 share=None told=expandable_segments:True unused=25"],
    ),
    (
        "PRF343",
        memory(environment(of(HALF), PYTORCH_NPU_ALLOC_CONF="max_split_size_mb:5"), [1536.0], [2048.0]),
        ["NOTE PRF343.excluded gain_ms=None mb=512 share=None told=max_split_size_mb:5 unused=25"],
    ),
    (
        "PRF343",
        memory(environment(of(HALF), PYTORCH_NPU_ALLOC_CONF="expandable_segments:False"), [1536.0], [2048.0]),
        ["NOTE PRF343.change gain_ms=None mb=512 share=None told=expandable_segments:False unused=25"],
    ),
    (
        "PRF343",
        memory(environment(of(HALF), PYTORCH_NPU_ALLOC_CONF=""), [2047.9], [2560.0]),
        ["NOTE PRF343.change gain_ms=None mb=512 share=None told=None unused=20"],
    ),
    ("PRF343", memory(of(HALF), [1536.0], [2048.0]), ["CANNOT advice.no_environment name=PYTORCH_NPU_ALLOC_CONF"]),
    ("PRF343", memory(of(HALF), [2049.0], [2560.0]), ["GOOD PRF343.little gain_ms=None mb=511 share=None unused=20"]),
    ("PRF343", memory(of(HALF), [1536.0], [2047.0]), ["GOOD PRF343.little gain_ms=None mb=511 share=None unused=25"]),
    ("PRF343", memory(of(HALF), [1000.0], [1511.0]), ["GOOD PRF343.little gain_ms=None mb=511 share=None unused=33.8"]),
    ("PRF343", memory(of(HALF), [2048.0], [2560.0]), ["GOOD PRF343.little gain_ms=None mb=512 share=None unused=20"]),
    ("PRF343", of(HALF), ["CANNOT PRF343.absent"]),
    (
        "PRF344",
        environment(of(*reduces(100)), MULTI_STREAM_MEMORY_REUSE="0"),
        ["NOTE PRF344.change gain_ms=None share=None"],
    ),
    (
        "PRF344",
        environment(of(*reduces(100)), MULTI_STREAM_MEMORY_REUSE="1"),
        ["GOOD PRF344.on gain_ms=None share=None"],
    ),
    ("PRF344", of(HALF), ["GOOD PRF344.alone gain_ms=None share=None"]),
    ("PRF344", of(*reduces(100)), ["CANNOT advice.no_environment name=MULTI_STREAM_MEMORY_REUSE"]),
    ("PRF344", of(HALF, tier="cuda"), ["CANNOT advice.no_npu"]),
    # collectives
    (
        "PRF342",
        environment(of(*reduces(400)), HCCL_BUFFSIZE="200"),
        ["NOTE PRF342.change gain_ms=0.4 mb=200 share=40 waiting=advice.waiting_unknown(waiting_ms=0) weight=40"],
    ),
    (
        "PRF342",
        environment(of(*reduces(400)), HCCL_BUFFSIZE="201"),
        ["GOOD advice.fine gain_ms=0 mb=201 share=0 waiting=advice.waiting_unknown(waiting_ms=0)"],
    ),
    (
        "PRF342",
        environment(of(*reduces(400)), HCCL_BUFFSIZE=""),
        ["NOTE PRF342.change gain_ms=0.4 mb=200 share=40 waiting=advice.waiting_unknown(waiting_ms=0) weight=40"],
    ),
    (
        "PRF342",
        environment(of(*reduces(49)), HCCL_BUFFSIZE=""),
        ["GOOD advice.fine gain_ms=0.049 mb=200 share=4.9 waiting=advice.waiting_unknown(waiting_ms=0) weight=4.9"],
    ),
    ("PRF342", of(*reduces(400)), ["CANNOT advice.no_environment name=HCCL_BUFFSIZE"]),
    ("PRF342", of(HALF), ["GOOD advice.fine gain_ms=0 share=0"]),
    ("PRF342", of(*reduces(400), tier="cuda"), ["CANNOT advice.no_npu"]),
    (
        "PRF398",
        of(*reduces(300, 50)),
        [
            (
                "NOTE PRF398.large calls=2 gain_ms=0.35 largest=85.7 middle_ms=0.175 share=35 "
                "waiting=advice.waiting_unknown(waiting_ms=0) weight=35"
            )
        ],
    ),
    (
        "PRF398",
        of(*reduces(100, 100)),
        [
            (
                "NOTE PRF398.large calls=2 gain_ms=0.2 largest=50 middle_ms=0.1 share=20 "
                "waiting=advice.waiting_unknown(waiting_ms=0) weight=20"
            )
        ],
    ),
    (
        "PRF398",
        of(*reduces(100, 100, 100)),
        [
            (
                "GOOD advice.fine calls=3 gain_ms=0 largest=33.3 middle_ms=0.1 share=0 "
                "waiting=advice.waiting_unknown(waiting_ms=0)"
            )
        ],
    ),
    (
        "PRF398",
        of(*reduces(*[10] * 20)),
        [
            (
                "NOTE PRF398.small calls=20 gain_ms=0.2 largest=5 middle_ms=0.01 share=20 "
                "waiting=advice.waiting_unknown(waiting_ms=0) weight=20"
            )
        ],
    ),
    (
        "PRF398",
        of(*reduces(*[10] * 19)),
        [
            (
                "GOOD advice.fine calls=19 gain_ms=0 largest=5.3 middle_ms=0.01 share=0 "
                "waiting=advice.waiting_unknown(waiting_ms=0)"
            )
        ],
    ),
    (
        "PRF398",
        late(of(*reduces(400)), 300),
        [
            (
                "NOTE PRF398.large calls=1 gain_ms=0.1 largest=100 middle_ms=0.4 share=10 "
                "waiting=advice.waiting_known(waiting_ms=0.3) weight=10"
            )
        ],
    ),
    (
        "PRF398",
        of(HALF),
        ["GOOD advice.fine calls=0 gain_ms=0 largest=0 middle_ms=0 share=0 waiting=advice.waiting_known(waiting_ms=0)"],
    ),
    (  # 20 a step, but the median takes 200 us: they are not small
        "PRF398",
        of(HALF, *[("communication", REDUCE, 500, length) for length in (4000, *[200] * 19)], lengths=(5000,) * 4),
        [
            (
                "NOTE PRF398.large calls=20 gain_ms=4 largest=51.3 middle_ms=0.2 share=80 "
                "waiting=advice.waiting_unknown(waiting_ms=0) weight=80"
            )
        ],
    ),
    (
        "PRF398",
        of(*reduces(300), tier="npu-simulated"),
        [
            "NOTE advice.counted calls=1 count=1 gain_ms=None largest=100 middle_ms=0.3 share=None "
            "waiting=advice.waiting_unknown(waiting_ms=0)"
        ],
    ),
    (
        "PRF399",
        of(*reduces(400)),
        ["NOTE PRF399.change gain_ms=0.3 share=30 steps=4 waiting=advice.waiting_unknown(waiting_ms=0) weight=30"],
    ),
    (
        "PRF399",
        late(of(*reduces(400)), 300),
        ["NOTE PRF399.change gain_ms=0.075 share=7.5 steps=4 waiting=advice.waiting_known(waiting_ms=0.3) weight=7.5"],
    ),
    (
        "PRF399",
        late(of(*reduces(400)), 334),
        ["GOOD advice.fine gain_ms=0.05 share=4.95 steps=4 waiting=advice.waiting_known(waiting_ms=0.334) weight=4.95"],
    ),
    (
        "PRF399",
        of(HALF, ("communication", SEND, 500, 300)),
        ["GOOD advice.fine gain_ms=0 share=0 steps=4 waiting=advice.waiting_known(waiting_ms=0)"],
    ),
    ("PRF399", of(HALF, tier="npu-simulated"), ["CANNOT advice.no_device"]),
    # reading values back
    (
        "PRF390",
        of(HALF, ("compute", "k", 900, 50), WAIT, READ, launched=100),
        ["NOTE PRF390.change calls=1 gain_ms=0.3 operator=aten::_local_scalar_dense share=30 where=None weight=30"],
    ),
    (
        "PRF390",
        of(HALF, ("compute", "k", 900, 50), WAIT, READ, READ, launched=100),
        ["NOTE PRF390.change calls=2 gain_ms=0.3 operator=aten::_local_scalar_dense share=30 where=None weight=30"],
    ),
    (
        "PRF390",
        of(HALF, ("compute", "k", 900, 50), WAIT, ("host_op", "aten::mm", 0, 9), launched=100),
        ["GOOD advice.fine calls=0 gain_ms=0 operator=None share=0 where=None"],
    ),
    ("PRF390", of(HALF), ["CANNOT advice.no_host"]),
    ("PRF390", of(READ), ["CANNOT advice.no_device"]),
    # loading
    ("PRF394", of(HALF, LOADER), ["NOTE PRF394.alone gain_ms=0.2 share=20 weight=20"]),
    ("PRF394", of(HALF, WORKERS), ["NOTE PRF394.few gain_ms=0.2 share=20 weight=20"]),
    ("PRF394", of(HALF, (*WORKERS[:3], 5)), ["NOTE PRF394.few gain_ms=0.005 share=0.5 weight=0.5"]),
    ("PRF394", of(HALF, (*WORKERS[:3], 4)), ["GOOD advice.fine gain_ms=0.004 share=0.4 weight=0.4"]),
    (
        "PRF394",
        of(LOADER, ("host_op", "aten::mm", 0, 500), tier="cpu"),
        ["NOTE PRF394.alone_host gain_ms=0.2 share=20 weight=20"],
    ),
    ("PRF394", of(HALF), ["CANNOT PRF394.unseen"]),
    ("PRF394", of(READ, LOADER), ["CANNOT advice.no_device"]),
    (
        "PRF395",
        of(HALF, LOADER, ("host_op", "aten::stack", 510, 100)),
        ["NOTE PRF395.change calls=1 gain_ms=0.1 share=10 weight=10"],
    ),
    (
        "PRF395",
        of(HALF, LOADER, ("host_op", "aten::stack", 510, 4)),
        ["GOOD advice.fine calls=1 gain_ms=0.004 share=0.4 weight=0.4"],
    ),
    ("PRF395", of(HALF, LOADER, ("host_op", "aten::stack", 400, 100)), ["GOOD advice.fine calls=0 gain_ms=0 share=0"]),
    (
        "PRF395",
        of(LOADER, ("host_op", "aten::stack", 510, 100), tier="cpu"),
        ["NOTE PRF395.change_host calls=1 gain_ms=0.1 share=10 weight=10"],
    ),
    (  # an operator that outlasts the loading it began in costs no more than that
        "PRF395",
        of(HALF, LOADER, ("host_op", "aten::stack", 510, 390)),
        ["NOTE PRF395.change calls=1 gain_ms=0.2 share=20 weight=20"],
    ),
    ("PRF395", of(HALF), ["CANNOT PRF395.unseen"]),
    (
        "PRF396",
        of(HALF, PAGEABLE, tier="cuda", dialect="kineto"),
        ["NOTE PRF396.change gain_ms=0.1 share=10 weight=10"],
    ),
    ("PRF396", of(HALF, PINNED, tier="cuda", dialect="kineto"), ["GOOD advice.fine gain_ms=0 share=0"]),
    ("PRF396", of(HALF, tier="cuda", dialect="kineto"), ["GOOD advice.fine gain_ms=0 share=0"]),
    ("PRF396", of(HALF, ("copy", "c", 500, 100), tier="cuda", dialect="kineto"), ["CANNOT PRF396.unseen"]),
    ("PRF396", of(HALF, PAGEABLE), ["CANNOT PRF396.unseen"]),
    (
        "PRF397",
        with_shapes(1, 1, 2, 1, lengths=(1000, 1000, 4000, 1000)),
        ["NOTE PRF397.change gain_ms=1 sets=2 share=50 steps=3 weight=50"],
    ),
    (
        "PRF397",
        with_shapes(1, 1, 1, 1, lengths=(1000, 1000, 4000, 1000)),
        ["GOOD advice.fine gain_ms=0 sets=1 share=0 steps=3"],
    ),
    (
        "PRF397",
        with_shapes(3, 1, 1, 1, lengths=(1000, 1000, 4000, 1000)),
        ["GOOD advice.fine gain_ms=0 sets=1 share=0 steps=3"],
    ),
    (
        "PRF397",
        with_shapes(1, 1, 2, 3, lengths=(1000, 1000, 1093, 1000)),
        ["NOTE PRF397.change gain_ms=0.031 sets=3 share=3.01 steps=3 weight=3.00679"],
    ),
    (
        "PRF397",
        with_shapes(1, 1, 2, 3, lengths=(1000, 1000, 1092, 1000)),
        ["GOOD advice.fine gain_ms=0.031 sets=3 share=2.98 steps=3 weight=2.97542"],
    ),
    ("PRF397", kernels_with_shapes(1, 1, 2, 3), ["GOOD advice.fine gain_ms=0 sets=1 share=0 steps=3"]),
    ("PRF397", with_shapes(1, 2, 1, lengths=(1000, 1000, 1000)), ["CANNOT PRF397.unseen"]),
    ("PRF397", of(HALF), ["CANNOT PRF397.unseen"]),
    (
        "PRF312",
        late(of(*reduces(400)), 300, 0),
        ["LOOK PRF312.waiting gain_ms=0.3 share=30 waited=ranks.of_its_group(number=0) whole=40 weight=30"],
    ),
    (
        "PRF360",
        of(*parts(*(f"Foreach{name}" for name in "ABCDE"))),
        [
            (
                "NOTE PRF360.change calls=5 gain_ms=0.5 operators=[ForeachA, ForeachB, ForeachC, ForeachD] "
                "share=50 weight=50"
            )
        ],
    ),
    (
        "PRF342",
        environment(of(*reduces(50)), HCCL_BUFFSIZE=""),
        ["NOTE PRF342.change gain_ms=0.05 mb=200 share=5 waiting=advice.waiting_unknown(waiting_ms=0) weight=5"],
    ),
    (
        "PRF390",
        stacked(
            of(HALF, ("compute", "k", 900, 50), WAIT, READ, launched=100),
            "/lib/site-packages/torch/x.py(3): item",
            "train.py(12): step",
        ),
        [
            (
                "NOTE PRF390.change calls=1 gain_ms=0.3 operator=aten::_local_scalar_dense share=30 "
                "where=train.py(12): step weight=30"
            )
        ],
    ),
    (
        "PRF390",
        stacked(
            of(HALF, ("compute", "k", 900, 50), WAIT, READ, launched=100),
            "/lib/site-packages/a.py(1): f",
            "/lib/site-packages/b.py(2): g",
        ),
        [
            (
                "NOTE PRF390.change calls=1 gain_ms=0.3 operator=aten::_local_scalar_dense share=30 "
                "where=/lib/site-packages/a.py(1): f weight=30"
            )
        ],
    ),
    (
        "PRF314",
        stacked(
            of(READ, ("host_op", "aten::mm", 0, 500), tier="cpu"), "torch/_tensor.py(9): item", "/me/train.py(12): step"
        ),
        ["NOTE PRF314.read calls=1 where=[/me/train.py:12]"],
    ),
    (
        "PRF322",
        resting(of(*SHORT, launched=10), host=600, unexplained=400),
        ["NOTE PRF322.many gain_ms=0.2 kernels=40 share=20 short=100 weight=20"],
    ),
    (
        "PRF322",
        resting(of(*SHORT, launched=10), host=500, unexplained=500),
        ["NOTE PRF322.many gain_ms=0.167 kernels=40 share=16.7 short=100 weight=16.6667"],
    ),
    (
        "PRF322",
        resting(of(*SHORT, launched=10), host=499, unexplained=501),
        ["CANNOT PRF322.no_launches known=120 of=120"],
    ),
    (
        "PRF321",
        resting(of(HALF, launched=10), host=300, loading=450, unexplained=150),
        ["NOTE PRF321.loading cause=profiling.idle.loading() cause_share=50 gain_ms=0.15 share=30 weight=15"],
    ),
    (
        "PRF322",
        at_once(of(*SHORT, launched=10)),
        [
            "NOTE PRF322.late gain_ms=0.215 kernels=40 share=21.5 short=0 weight=21.5",
            "GOOD PRF322.shared kernels=40 launches=1",
        ],
    ),
    (
        "PRF322",
        at_once(of(*SHORT[:9], ("compute", "k", 180, 700), launched=10)),
        [
            "NOTE PRF322.late gain_ms=0.12 kernels=10 share=12 short=0 weight=12",
            "GOOD PRF322.shared kernels=10 launches=1",
        ],
    ),
    (
        "PRF365",
        on_ai_cpu(of(*parts("Index")), "Index"),
        ["NOTE PRF365.change gain_ms=0.1 operators=[Index] share=10 weight=10"],
    ),
    (
        "PRF365",
        on_ai_cpu(of(*parts("Index")), "Index", (0,)),
        ["NOTE PRF365.change gain_ms=0.025 operators=[Index] share=2.5 weight=2.5"],
    ),
    ("PRF365", on_ai_cpu(of(*parts("Index")), "Other"), ["GOOD advice.fine gain_ms=0 operators=[] share=0"]),
]
