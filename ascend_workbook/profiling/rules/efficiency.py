"""How near the kernels come to what the chip can do: roofline, clock, cores used, the memory's bandwidth."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.rules import CannotCheck
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.profiling.device.chip import CUBES, VECTORS, clocks_mhz, find_chip_of
from ascend_workbook.profiling.device.efficiency import half_speed, model_utilisation
from ascend_workbook.profiling.facts import Profile
from ascend_workbook.profiling.figures import to_percent
from ascend_workbook.profiling.savings import advise_change, needs_npu

BASIS = {"PRF325": "defined", "PRF326": "reasoned", "PRF327": "facts"}
BLOCKS = "https://gitcode.com/Ascend/msprof-analyze"
#: A clock below this share of the highest is a drop
DROPPED = 0.95
#: A kernel that takes less is over before more cores would help
LEAST_US = 20.0


def check_roofline(profile: Profile) -> Iterator[Finding]:
    """How near do the operators come to what the chip can do? Their multiplications over the cubes' speed and their
    bytes over the memory's bandwidth, whichever takes longer, against the time they took."""
    needs_npu(profile, "PRF325")
    roofline = profile.roofline
    if roofline is None:
        table = profile.kernels
        shaped = table is not None and table.has_columns("input_shapes", "output_shapes")
        raise CannotCheck("PRF325.no_chip" if shaped else "PRF325.no_shapes")
    chip = roofline.found.chip
    farthest = max(roofline.rows, key=lambda row: row.seconds - min(row.seconds, row.least_s))
    args: dict[str, Scalar] = {
        "chip": chip.name if roofline.found.named else " / ".join(roofline.found.alike),
        "peak": round(half_speed(chip) / 1e12, 1),
        "bandwidth": round(chip.bandwidth_bytes_s / 1e9),
        "utilisation": to_percent(model_utilisation(profile, roofline)),
        "known": to_percent(roofline.known),
        "operator": farthest.type,
        "reached": to_percent(farthest.share_of_peak),
        "bound": Sentence(f"profiling.roofline.{farthest.bound}"),
        "gain_ms": profile.to_ms(1e9 * (farthest.seconds - farthest.least_s) / profile.trace.recorded_steps),
    }
    yield Finding("PRF325", Status.GOOD, "PRF325.named" if roofline.found.named else "PRF325.inferred", args)


def check_clock(profile: Profile) -> Iterator[Finding]:
    """Did the cores' clock drop? Power or heat lowers it; then all kernels take longer by as much."""
    needs_npu(profile, "PRF326")
    curve = profile.counters.curves.get("frequency_mhz")
    steady = profile.breakdown.steady
    if curve is not None:
        highest = float(curve.values.max())
        mean = curve.mean_within(steady[0].start_ns, steady[-1].end_ns)
        lowest = float(curve.values.min())
    else:
        clocks = clocks_mhz(profile.kernels) if profile.kernels is not None else np.empty(0)
        if not clocks.size or np.isnan(clocks).all():
            raise CannotCheck("PRF326.untold")
        highest, mean, lowest = (float(pick(clocks)) for pick in (np.nanmax, np.nanmean, np.nanmin))
    args: dict[str, Scalar] = {"highest": round(highest), "lowest": round(lowest), "mean": round(mean)}
    share = (1 - mean / highest) * profile.breakdown.share_of("computing") if highest else 0.0
    dropped = bool(highest) and lowest < DROPPED * highest
    args |= {"share": to_percent(share), "gain_ms": profile.to_ms(share * profile.breakdown.step_ns)}
    status, key = (Status.LOOK, "PRF326.dropped") if dropped else (Status.GOOD, "PRF326.steady")
    yield Finding("PRF326", status, key, args, weight=100 * share)


def check_bandwidth(profile: Profile) -> Iterator[Finding]:
    """How busy was the memory, and did reads hit the cache? Counters that the profiler samples while it records."""
    needs_npu(profile, "PRF327")
    curves, steady = profile.counters.curves, profile.breakdown.steady
    if "read_gb_s" not in curves or "write_gb_s" not in curves:
        raise CannotCheck("PRF327.untold")
    span = steady[0].start_ns, steady[-1].end_ns
    means = {name: curves[name].mean_within(*span) for name in ("read_gb_s", "write_gb_s")}
    args: dict[str, Scalar] = {"read": round(means["read_gb_s"], 1), "write": round(means["write_gb_s"], 1)}
    args["most"] = round(float(curves["read_gb_s"].values.max() + curves["write_gb_s"].values.max()), 1)
    hits = curves.get("hit_percent")
    args["hits"] = round(hits.mean_within(*span), 1) if hits else None
    yield Finding("PRF327", Status.GOOD, "PRF327.hits" if hits else "PRF327.memory", args)


def check_cores(profile: Profile) -> Iterator[Finding]:
    """Are kernels given fewer cores than the chip has? The rest of them idles meanwhile. Kernels that are over in 20 us
    are not counted; larger shapes, or others that divide evenly, spread over more."""
    needs_npu(profile, "PRF400")
    table = profile.kernels
    if table is None or not table.has_columns("unit", "blocks"):
        raise CannotCheck("PRF400.untold", topic=Sentence("PRF400.topic"))
    match = find_chip_of(table, str(profile.trace.about.get("chip") or ""))
    if match is None:
        raise CannotCheck("PRF400.no_chip", topic=Sentence("PRF400.topic"))
    durations = table.numbers["duration_us"]
    idle = np.zeros(len(table))
    for units, cores in ((CUBES, match.chip.cube_cores), (VECTORS, match.chip.vector_cores)):
        blocks = table.numbers["blocks"]
        few = table.mask_where("unit", units.__contains__) & (blocks < cores) & (durations >= LEAST_US) & (blocks > 0)
        idle[few] = durations[few] * (1 - blocks[few] / cores)
    total = float(np.nansum(durations))
    share = float(idle.sum()) / total * profile.breakdown.share_of("computing") if total else 0.0
    by_type: dict[str, float] = {}
    if "type" in table.texts:
        texts, code = table.texts["type"]
        for at in np.flatnonzero(idle).tolist():
            by_type[texts[code[at]]] = by_type.get(texts[code[at]], 0.0) + float(idle[at])
    types: list[Scalar] = sorted(by_type, key=lambda kind: -by_type[kind])[:4]  # type: ignore[assignment]
    args: dict[str, Scalar] = {"kernels": int((idle > 0).sum()), "types": types}
    args |= {"cubes": match.chip.cube_cores, "vectors": match.chip.vector_cores}
    yield advise_change(profile, "PRF400.change", share, BLOCKS, worth=0.03, **args)


RULES = {"PRF325": check_roofline, "PRF326": check_clock, "PRF327": check_bandwidth, "PRF400": check_cores}
