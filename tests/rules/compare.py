"""Two profiles of steps of 1 ms, held against each other."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from ascend_workbook.profiling.compare.costs import REST
from ascend_workbook.profiling.compare.facts import Comparison
from ascend_workbook.profiling.facts import Profile
from ascend_workbook.profiling.trace import Looked
from tests.profiling.compare.test_compare import Made, conv, made
from tests.rules.lines import Example

LOOKED = Looked(3, 5, 40, 2.5e6, 17, 9_000_000)


def of(baseline: Made, target: Made, *, left: Any = None, right: Any = None) -> Callable[[], Comparison]:
    """Both sides with these events; `left` and `right` are options of made()."""
    return lambda: Comparison.from_profiles(made(baseline, **(left or {})), made(target, **(right or {})))


def changed(**fields: Any) -> Callable[[], Comparison]:
    """A profile beside itself with these fields of its trace."""

    def make() -> Comparison:
        one = made(kernels(500))
        return Comparison.from_profiles(one, Profile.from_trace(dataclasses.replace(one.trace, **fields), one.record))

    return make


def rest(unexplained_us: float, difference_us: float) -> Callable[[], Any]:
    """Steps of 1 ms whose difference leaves so much in no row."""
    rows = [SimpleNamespace(name=name, difference_ns=1000 * us) for name, us in (("k", 7.0), (REST, unexplained_us))]
    side = SimpleNamespace(step_ns=1_000_000)
    return lambda: SimpleNamespace(operators=rows, difference_ns=1000 * difference_us, baseline=side)


def kernels(*lengths: int, name: str = "k") -> Made:
    """Kernels of these lengths, in microseconds, one after the other."""
    return [("compute", f"{name}{at}", sum(lengths[:at]), one, "", -1) for at, one in enumerate(lengths)]


def operators(*each: tuple[str, int, str]) -> Made:
    """Host operators (name, microseconds of its kernel, shape), each with a kernel of its own."""
    found: Made = []
    for at, (name, took, shape) in enumerate(each):
        found.append(("host_op", name, 10 * at, 5, shape, -1))
        found.append(("compute", f"kernel{at}", 100 + 100 * at, took, "", 2 * at))
    return found


PARTS: Made = [
    ("host_op", name, 10 * at, 5, "", -1) for at, name in enumerate(("aten::bmm", "aten::softmax", "aten::bmm"))
]
PARTS += [("compute", f"kernel{at}", 100 + 100 * at, 90, "", at) for at in range(3)]
FUSED: Made = [
    ("host_op", "npu::npu_fusion_attention", 10, 5, "", -1),
    ("compute", "fa", 100, 120, "", 0),
]
EXAMPLES: list[Example] = [
    ("PRF381", of(conv("a", 300), conv("b", 300)), ["GOOD PRF381.same operators=1"]),
    (
        "PRF381",
        of(conv("a", 300), conv("b", 300, "[16,3]")),
        ["LOOK PRF381.shapes baseline=[8,3] of=1 operator=aten::conv2d operators=1 target=[16,3] weight=900"],
    ),
    ("PRF381", of(conv("a", 10), conv("b", 10, "[16,3]")), ["GOOD PRF381.same operators=1"]),
    (
        "PRF381",
        of(conv("a", 11), conv("b", 11, "[16,3]")),
        ["LOOK PRF381.shapes baseline=[8,3] of=1 operator=aten::conv2d operators=1 target=[16,3] weight=900"],
    ),
    (
        "PRF381",
        of(operators(("aten::mm", 50, ""), ("aten::add", 50, "")), operators(("aten::mm", 50, ""))),
        ["CANNOT PRF381.no_shapes"],
    ),
    (
        "PRF381",
        of(operators(("aten::mm", 49, ""), ("aten::add", 51, "")), operators(("aten::mm", 50, ""))),
        ["LOOK PRF381.other_model baseline=51 target=0 weight=900"],
    ),
    (
        "PRF381",
        of(operators(*[("aten::mm", 50, "")] * 3), operators(*[("aten::mm", 50, "")] * 2)),
        ["LOOK PRF381.other_model baseline=100 target=100 weight=900"],
    ),
    (
        "PRF381",
        of(operators(*[("aten::mm", 50, "")] * 4), operators(*[("aten::mm", 50, "")] * 2)),
        ["LOOK PRF381.other_model baseline=100 target=100 weight=900"],
    ),
    ("PRF382", of(conv("a", 300), conv("b", 300)), ["GOOD PRF382.same"]),
    ("PRF382", of(conv("a", 300), conv("b", 300, "")), ["NOTE PRF382.apart what=[compare.recorded.shapes()]"]),
    ("PRF382", changed(cut_at=7), ["NOTE PRF382.apart what=[compare.recorded.whole()]"]),
    ("PRF382", of(kernels(500), kernels(500), right={"steps": 2}), ["GOOD PRF382.same"]),
    (
        "PRF383",
        of(kernels(500), kernels(500), right={"length": 1200}),
        ["GOOD PRF383.beyond difference_ms=0.2 spread_ms=0"],
    ),
    (
        "PRF383",
        of(kernels(500), kernels(500), left={"slower": 300}),
        ["NOTE PRF383.within difference_ms=0.1 spread_ms=0.15"],
    ),
    (
        "PRF383",
        of(kernels(500), kernels(500), left={"slower": 300}, right={"length": 2000}),
        ["GOOD PRF383.beyond difference_ms=0.9 spread_ms=0.15"],
    ),
    (
        "PRF383",
        of(kernels(500), kernels(500), left={"steps": 2}, right={"steps": 2}),
        ["NOTE PRF383.within difference_ms=0 spread_ms=0.25"],
    ),
    ("PRF384", of(kernels(500), kernels(500)), ["GOOD PRF384.none"]),
    (
        "PRF384",
        of(kernels(100, 200, 50, 25), kernels(100)),
        ["NOTE PRF384.only_baseline ms=0.275 names=[k1, k2, k3] operators=3 weight=0.275"],
    ),
    (
        "PRF384",
        of(kernels(100), kernels(100, 30)),
        ["NOTE PRF384.only_target ms=0.03 names=[k1] operators=1 weight=0.03"],
    ),
    (
        "PRF384",
        of(PARTS, FUSED),
        [
            "GOOD PRF384.none",
            (
                "GOOD PRF384.joined family=compare.family.attention() ms=-0.15 names=[npu::npu_fusion_attention, "
                "aten::bmm, aten::softmax] operators=3"
            ),
        ],
    ),
    ("PRF385", rest(20.0, 100.0), ["NOTE PRF385.much ms=0.02 share=20"]),
    ("PRF385", rest(-20.0, 100.0), ["NOTE PRF385.much ms=-0.02 share=20"]),
    ("PRF385", rest(20.0, 200.0), ["GOOD PRF385.little ms=0.02 share=10"]),
    ("PRF385", rest(20.0, 199.0), ["NOTE PRF385.much ms=0.02 share=10.0503"]),
    ("PRF385", rest(10.0, 50.0), ["GOOD PRF385.little ms=0.01 share=20"]),
    ("PRF385", rest(11.0, 50.0), ["NOTE PRF385.much ms=0.011 share=22"]),
    ("PRF385", rest(5.0, 0.0), ["GOOD PRF385.little ms=0.005 share=0"]),
    ("PRF386", of(kernels(500), kernels(500)), ["GOOD PRF386.none share=2"]),
    (
        "PRF386",
        of(kernels(500), kernels(521)),
        [
            "NOTE PRF386.slower baseline_ms=0.5 ms=0.021 name=k0 of_step=2.1 target_ms=0.521 weight=0.021",
            (
                "GOOD PRF386.faster baseline_ms=0.5 ms=0.021 name=compare.row.free() of_step=2.1 target_ms=0.479 "
                "weight=0.021"
            ),
        ],
    ),
    ("PRF386", of(kernels(500), kernels(519)), ["GOOD PRF386.none share=2"]),
    (
        "PRF386",
        of(kernels(500, 100), kernels(400, 300)),
        [
            "NOTE PRF386.slower baseline_ms=0.1 ms=0.2 name=k1 of_step=20 target_ms=0.3 weight=0.2",
            "GOOD PRF386.faster baseline_ms=0.5 ms=0.1 name=k0 of_step=10 target_ms=0.4 weight=0.1",
            "GOOD PRF386.faster baseline_ms=0.4 ms=0.1 name=compare.row.free() of_step=10 target_ms=0.3 weight=0.1",
        ],
    ),
    (
        "PRF386",
        of(PARTS, FUSED),
        [
            (
                "GOOD PRF386.faster baseline_ms=0.27 ms=0.15 name=compare.family.attention() of_step=15 "
                "target_ms=0.12 weight=0.15"
            ),
            "NOTE PRF386.slower baseline_ms=0.73 ms=0.15 name=compare.row.free() of_step=15 target_ms=0.88 weight=0.15",
        ],
    ),
    (
        "PRF386",
        of(kernels(*[50] * 10), kernels(*[100] * 10), right={"length": 1500}),
        [
            "NOTE PRF386.slower baseline_ms=0.05 ms=0.05 name=k0 of_step=5 target_ms=0.1 weight=0.05",
            "NOTE PRF386.slower baseline_ms=0.05 ms=0.05 name=k1 of_step=5 target_ms=0.1 weight=0.05",
            "NOTE PRF386.slower baseline_ms=0.05 ms=0.05 name=k2 of_step=5 target_ms=0.1 weight=0.05",
            "NOTE PRF386.slower baseline_ms=0.05 ms=0.05 name=k3 of_step=5 target_ms=0.1 weight=0.05",
            "NOTE PRF386.slower baseline_ms=0.05 ms=0.05 name=k4 of_step=5 target_ms=0.1 weight=0.05",
            "NOTE PRF386.slower baseline_ms=0.05 ms=0.05 name=k5 of_step=5 target_ms=0.1 weight=0.05",
            "NOTE PRF386.slower baseline_ms=0.05 ms=0.05 name=k6 of_step=5 target_ms=0.1 weight=0.05",
            "NOTE PRF386.slower baseline_ms=0.05 ms=0.05 name=k7 of_step=5 target_ms=0.1 weight=0.05",
        ],
    ),
    ("PRF388", of(kernels(500), kernels(500)), []),
    (
        "PRF388",
        changed(looked=LOOKED),
        [
            (
                "NOTE PRF388.some first=3 last=5 mean_ms=2.5 side=name.compare_target() slowest=17 slowest_ms=9 "
                "step_ms=1 steps=40"
            )
        ],
    ),
    (
        "PRF388",
        changed(looked=dataclasses.replace(LOOKED, behind=True)),
        [
            (
                "NOTE PRF388.some first=3 last=5 mean_ms=2.5 side=name.compare_target() slowest=17 slowest_ms=9 "
                "step_ms=1 steps=40"
            ),
            (
                "LOOK PRF388.behind first=3 last=5 mean_ms=2.5 side=name.compare_target() slowest=17 "
                "slowest_ms=9 step_ms=1 steps=40"
            ),
        ],
    ),
    ("PRF382", changed(memory_records=1), ["NOTE PRF382.apart what=[compare.recorded.memory()]"]),
    ("PRF382", changed(marked=False), ["NOTE PRF382.apart what=[compare.recorded.marked()]"]),
]
