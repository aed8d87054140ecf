"""Benchmarks whose rates can be read off: 8 samples in a second are 8 samples/s."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.profiling.benchmark import answer
from ascend_workbook.profiling.benchmark.facts import FAILED, NOT_RUN, OUT_OF_MEMORY, Bench, Measured, Tried
from tests.profiling.benchmark.test_rules import bench, measured
from tests.rules.lines import Example


def of(*rows: Measured, **more: Any) -> Callable[[], Bench]:
    return lambda: bench(*rows, **more)


def timed(*times: float, **more: Any) -> Measured:
    return measured({"b": "1"}, runs_s=(times,), **more)


def sizes(*seconds: float, name: str = "batch-size", **more: Any) -> Callable[[], Bench]:
    """Batches of 8, 16, 32… samples, a step of each in so many seconds."""
    rows = [measured({name: str(8 << at)}, one, samples=8.0 * 2**at) for at, one in enumerate(seconds)]
    return of(*rows, axes=(name,), **more)


def switched(name: str, *seconds: tuple[Any, float], **more: Any) -> Callable[[], Bench]:
    return of(*(measured({name: value}, one) for value, one in seconds), axes=(name,), **more)


def waits(*rows: tuple[int, float], **more: Any) -> Callable[[], Bench]:
    """Steps of a second by workers, that wait so long for data."""
    found = [measured({"workers": at}, loading_s=(wait,) * 10) for at, wait in rows]
    return of(*found, axes=("workers",), **more)


def against(theirs: float, ours: float, *, facts: dict[str, Any] | None = None, **more: Any) -> Callable[[], Bench]:
    """Ours in so many seconds a step, on an NPU, beside theirs on a GPU."""

    def make() -> Bench:
        same = {"script": "/a/train.py", "args": [], "nproc": 1, "steps": 20, "kind": "training"}
        earlier = answer.report_benchmark(bench(measured({"b": "1"}, theirs), facts=same))
        row = measured(more.pop("settings", {"b": "1"}), ours)
        return bench(row, baseline=earlier, **{"tier": "npu", "facts": {**same, **(facts or {})}, **more})

    return make


SHAKY = (*(1.0,) * 5, *(1.2,) * 5)


def tried(verdict: str, *bounds: float | None, apart: float = 0.0, **more: Any) -> Measured:
    """A setting after five rounds: ratio, low, high."""
    ratio, low, high = bounds or (1.0, None, None)
    told = Tried(verdict, ratio or 1.0, low, high, 5, apart, 0.0, ("export Q=2",))
    return measured({"Q": "2"}, tried=told, **more)


AS_IT_IS = measured({"b": "as-is"}, host_peak_mib=100.0)
REFUSED = Measured("Q=3", {}, NOT_RUN, Sentence("benchmark.trial.no_accelerator"))
TRIAL: dict[str, Any] = {"trial": True, "axes": ("Q",)}
EXAMPLES: list[Example] = [
    ("PRF370", of(REFUSED, REFUSED, **TRIAL), ["CANNOT PRF370.nothing"]),
    (
        "PRF379",
        of(AS_IT_IS, tried("faster", 1.25, 1.2, 1.3), **TRIAL),
        [
            "NOTE PRF379.best gain=25 high=30 lines=[export Q=2] low=20 name=Q=2 rounds=5 weight=50",
            "GOOD PRF379.faster gain=25 high=30 low=20 name=Q=2 rounds=5",
        ],
    ),
    (
        "PRF379",
        of(AS_IT_IS, tried("faster", 1.25, 1.2, 1.3, apart=0.5), **TRIAL),
        ["GOOD PRF379.faster gain=25 high=30 low=20 name=Q=2 rounds=5"],
    ),
    (
        "PRF379",
        of(AS_IT_IS, tried("slower", 0.8, 0.75, 0.85), REFUSED, **TRIAL),
        [
            "GOOD PRF379.slower gain=-20 high=-15 low=-25 name=Q=2 rounds=5",
            "NOT_LOOKED PRF379.refused name=Q=3 why=benchmark.trial.no_accelerator()",
        ],
    ),
    (
        "PRF379",
        of(AS_IT_IS, tried("alike", 1.001, 0.99, 1.01), **TRIAL),
        ["GOOD PRF379.alike gain=0.1 high=1 low=-1 name=Q=2 rounds=5"],
    ),
    (
        "PRF379",
        of(AS_IT_IS, tried("open", 1.001, 0.9, 1.1), facts={"interrupted": True}, **TRIAL),
        ["GOOD PRF379.open gain=0.1 high=10 low=-10 name=Q=2 rounds=5", "NOTE PRF379.interrupted ran=1"],
    ),
    ("PRF379", of(AS_IT_IS, tried("open"), **TRIAL), ["GOOD PRF379.few gain=0 high=None low=None name=Q=2 rounds=5"]),
    (
        "PRF379",
        of(AS_IT_IS, tried("faster", 1.25, 1.2, 1.3), tier="npu-simulated", **TRIAL),
        ["NOT_LOOKED PRF379.simulated gain=25 high=30 low=20 name=Q=2 rounds=5"],
    ),
    ("PRF379", of(measured({"b": "1"})), []),
    (
        "PRF389",
        of(AS_IT_IS, tried("faster", 1.25, 1.2, 1.3, apart=0.5, host_peak_mib=105.0), **TRIAL),
        ["LOOK PRF389.loss apart=50 name=Q=2 spread=0"],
    ),
    (
        "PRF389",
        of(AS_IT_IS, tried("alike", host_peak_mib=150.0), tried("alike", host_peak_mib=50.0), **TRIAL),
        [
            "NOTE PRF389.more after=150 before=100 memory=benchmark.memory.host() name=Q=2",
            "NOTE PRF389.less after=50 before=100 memory=benchmark.memory.host() name=Q=2",
        ],
    ),
    ("PRF389", of(AS_IT_IS, tried("alike", apart=0.0009), **TRIAL), ["GOOD PRF389.same count=1"]),
    ("PRF389", of(measured({"b": "1"})), []),
    (
        "PRF370",
        of(measured({"b": "1"}), measured({"b": "2"}, 2.0)),
        [
            (
                "GOOD PRF370.best device=H100 like=[] name=b=1 p50_ms=1000 p99_ms=1010 ran=2 rate=8 "
                "unit=benchmark.unit.samples() weight=100"
            )
        ],
    ),
    (
        "PRF370",
        of(measured({"b": "1"}), measured({"b": "2"}, 1.001)),
        [
            (
                "GOOD PRF370.like device=H100 like=[b=2] name=b=1 p50_ms=1000 p99_ms=1010 ran=2 rate=8 "
                "unit=benchmark.unit.samples() weight=100"
            )
        ],
    ),
    (
        "PRF370",
        of(measured({"b": "1"}, 0.5)),
        [
            (
                "GOOD PRF370.one device=H100 like=[] name=b=1 p50_ms=500 p99_ms=505 ran=1 rate=16 "
                "unit=benchmark.unit.samples() weight=100"
            )
        ],
    ),
    (
        "PRF370",
        of(Measured("b=1", {"b": "1"}, FAILED, "no such option")),
        ["FIX PRF370.none why=no such option weight=100"],
    ),
    (
        "PRF370",
        of(measured({"b": "1"}), tier="npu-simulated"),
        [
            (
                "NOT_LOOKED PRF370.simulated_one device=npu-simulated name=b=1 p50_ms=1000 p99_ms=1010 ran=1 rate=8 "
                "unit=benchmark.unit.samples() weight=100"
            )
        ],
    ),
    (
        "PRF370",
        of(measured({"b": "1"}), measured({"b": "2"}, 2.0), tier="npu-simulated"),
        [
            (
                "NOT_LOOKED PRF370.simulated device=npu-simulated name=b=1 p50_ms=1000 p99_ms=1010 ran=2 rate=8 "
                "unit=benchmark.unit.samples() weight=100"
            )
        ],
    ),
    ("PRF371", of(measured({"b": "1"})), ["GOOD PRF371.steady limit=10 ran=1"]),
    ("PRF371", of(timed(*SHAKY)), ["NOTE PRF371.shaky drift=20 name=b=1 spread=18.2"]),
    ("PRF371", of(timed(*(1.0,) * 5, *(1.1,) * 5)), ["NOTE PRF371.shaky drift=10 name=b=1 spread=9.5"]),
    ("PRF371", of(timed(*(1.0,) * 5, *(1.4,) * 5)), ["LOOK PRF371.shaky drift=40 name=b=1 spread=33.3"]),
    ("PRF371", of(timed(1.0, 1.0, 1.0, 1.0, 1.0)), ["NOTE PRF371.few least=6 names=[b=1]"]),
    ("PRF371", of(timed(1.0, 1.0, 1.0, 1.0, 1.0, 1.0)), ["GOOD PRF371.steady limit=10 ran=1"]),
    (
        "PRF371",
        of(timed(*(1.0,) * 20, 9.0)),
        ["GOOD PRF371.steady limit=10 ran=1", "NOTE PRF371.beyond long=1 name=b=1 percent=31 steps=21 times=5"],
    ),
    ("PRF372", of(measured({"b": "1"})), []),
    (
        "PRF372",
        of(Measured("b=64", {}, OUT_OF_MEMORY, "CUDA out of memory"), Measured("b=1", {}, FAILED, "x")),
        ["NOTE PRF372.out name=b=64 why=CUDA out of memory", "FIX PRF372.failed name=b=1 why=x"],
    ),
    (
        "PRF372",
        of(measured({"b": "1"}, host_at_most_mib=100.4), measured({"b": "2"}, host_at_most_mib=200.6)),
        ["NOTE PRF372.host_unknown most=201 names=[b=1, b=2]"],
    ),
    ("PRF373", sizes(1.0, 1.0), ["GOOD PRF373.grows gain=100 limit=5 name=batch-size=16 smallest=batch-size=8"]),
    ("PRF373", sizes(1.0, 1.0, 1.9), ["GOOD PRF373.grows gain=110.5 limit=5 name=batch-size=32 smallest=batch-size=8"]),
    ("PRF373", sizes(1.0, 1.0, 1.91), ["GOOD PRF373.knee gain=100 limit=5 name=batch-size=16 smallest=batch-size=8"]),
    ("PRF373", sizes(1.0, 1.0, tier="npu-simulated"), ["CANNOT PRF373.simulated"]),
    ("PRF373", sizes(1.0, 1.0, unit="steps"), ["CANNOT PRF373.no_samples"]),
    ("PRF373", sizes(1.0, 1.0, name="num-batches"), []),
    ("PRF373", sizes(1.0), []),
    ("PRF374", switched("amp", ("1", 0.5), ("0", 1.0)), ["GOOD PRF374.faster name=amp=1 ratio=2"]),
    ("PRF374", switched("autocast", (False, 1.0), (True, 1.001)), ["GOOD PRF374.alike name=autocast=True ratio=1"]),
    ("PRF374", switched("autocast", (False, 1.0), (True, 2.0)), ["NOTE PRF374.slower name=autocast=True ratio=0.5"]),
    ("PRF374", switched("amp", ("O1", 0.5), ("O2", 1.0)), ["NOT_LOOKED PRF374.no_switch name=amp values=[O1, O2]"]),
    ("PRF374", switched("amp", ("1", 0.5), ("0", 1.0), tier="npu-simulated"), ["CANNOT PRF374.simulated"]),
    ("PRF374", switched("lr", ("1", 0.5), ("0", 1.0)), []),
    ("PRF375", waits((0, 0.1001)), ["NOTE PRF375.waits ms=100.1 name=workers=0 percent=10"]),
    ("PRF375", waits((0, 0.1)), ["GOOD PRF375.hidden ms=100 name=workers=0 percent=10"]),
    (
        "PRF375",
        waits((0, 0.5), (2, 0.01)),
        ["GOOD PRF375.hidden_varied ms=10 name=workers=2 percent=1 worst=workers=0 worst_ms=500"],
    ),
    (
        "PRF375",
        waits((0, 0.5), (2, 0.2)),
        ["NOTE PRF375.waits_varied ms=200 name=workers=2 percent=20 worst=workers=0 worst_ms=500"],
    ),
    ("PRF375", waits((0, 0.5), (2, 0.2), tier="npu-simulated"), ["CANNOT PRF375.simulated ms=500 name=workers=0"]),
    ("PRF375", of(measured({})), ["NOTE PRF375.unseen"]),
    ("PRF375", of(measured({}), facts={"kind": "loading"}), []),
    ("PRF376", against(1.0, 0.5), ["GOOD PRF376.apart baseline=H100 device=Ascend910B2 name=b=1 ratio=2"]),
    ("PRF376", against(1.0, 1.001), ["GOOD PRF376.alike baseline=H100 device=Ascend910B2 name=b=1 ratio=0.999"]),
    (
        "PRF376",
        against(1.0, 0.5, facts={"script": "C:\\b\\train.py"}),
        ["GOOD PRF376.apart baseline=H100 device=Ascend910B2 name=b=1 ratio=2"],
    ),
    (
        "PRF376",
        against(1.0, 0.5, facts={"script": "other.py", "nproc": 8, "steps": 50}),
        [
            "GOOD PRF376.apart baseline=H100 device=Ascend910B2 name=b=1 ratio=2",
            "LOOK PRF376.other differ=[nproc: 1 / 8, script: train.py / other.py]",
            "NOTE PRF376.lengths differ=[steps: 20 / 50]",
        ],
    ),
    (
        "PRF376",
        against(1.0, 0.5, facts={"kind": "inference"}),
        ["CANNOT PRF376.kinds its=benchmark.kind.training() mine=benchmark.kind.inference()"],
    ),
    ("PRF376", against(1.0, 0.5, unit="steps"), ["CANNOT PRF376.nothing its_unit=samples unit=steps"]),
    ("PRF376", against(1.0, 0.5, settings={"b": "2"}), ["CANNOT PRF376.nothing its_unit=samples unit=samples"]),
    ("PRF376", against(1.0, 0.5, tier="npu-simulated"), ["CANNOT PRF376.simulated"]),
    ("PRF376", of(measured({})), []),
    (
        "PRF377",
        of(measured({"b": "1"}, power_w=100.04), measured({"b": "2"}, 2.0, power_w=40.0)),
        ["GOOD PRF377.best name=b=2 per_joule=0.1 unit=benchmark.unit.samples() watts=40"],
    ),
    (
        "PRF377",
        of(measured({"b": "1"}, power_w=100.0), measured({"b": "2"}, 2.0, power_w=60.0)),
        ["GOOD PRF377.best name=b=1 per_joule=0.08 unit=benchmark.unit.samples() watts=100"],
    ),
    ("PRF377", of(measured({})), ["NOTE PRF377.unknown why=benchmark.power.short()"]),
    ("PRF378", of(measured({}), repeats=2), ["NOTE PRF378.few repeats=2"]),
    ("PRF378", of(measured({}), repeats=3), ["GOOD PRF378.enough repeats=3"]),
    ("PRF371", of(timed(*(1.0,) * 5, *(1.23456,) * 5)), ["NOTE PRF371.shaky drift=23.5 name=b=1 spread=21"]),
    ("PRF371", of(timed(9.0, 10.0, 11.0, 9.5, 10.0, 10.5, 9.0, 10.0, 11.0)), ["GOOD PRF371.steady limit=10 ran=1"]),
    (
        "PRF371",
        of(timed(9.0, 10.0, 11.0, 9.4, 10.0, 10.5, 9.0, 10.0, 11.0)),
        ["NOTE PRF371.shaky drift=0 name=b=1 spread=11"],
    ),
    (
        "PRF374",
        of(
            *(
                measured({"amp": amp, "bf16": half}, seconds)
                for amp, half, seconds in (
                    (False, False, 1.0),
                    (False, True, 0.5),
                    (True, False, 0.25),
                    (True, True, 0.2),
                )
            ),
            axes=("amp", "bf16"),
        ),
        [
            "GOOD PRF374.faster name=amp=True, bf16=False ratio=4",
            "GOOD PRF374.faster name=amp=False, bf16=True ratio=2",
        ],
    ),
]
