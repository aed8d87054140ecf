"""HolisticTraceAnalysis 0.5.0's temporal breakdown of real traces, laid against the same sums of ours.

Made with `TraceAnalysis({0: file}, "/", include_last_profiler_step=True).get_temporal_breakdown(visualize=False)` and
HTA_DISABLE_NS_ROUNDING=1: by default it leaves out the last step, and cuts each event to whole microseconds.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_workbook.profiling.readers import read_trace

#: File -> microseconds from the first to the last of the device, of these idle, of these computing
HTA = {
    "rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz": (480029.227, 7574.786, 468153.602),
    "kineto_resnet50/num_workers_0/worker0.1623143089861.pt.trace.json.gz": (996477.0, 392919.0, 591532.0),
    "kineto_resnet50/num_workers_4/worker0.1623212756351.pt.trace.json.gz": (801550.0, 187137.0, 594868.0),
    "nccl_data.json.gz": (660551.006, 503050.991, 115655.847),
    "hta_trace_diff/control.json.gz": (464594.0, 76007.0, 281336.0),
    "hta_trace_diff/test.json.gz": (744514.0, 51692.0, 514576.0),
}


@pytest.mark.parametrize("name", HTA)
def test_the_same_breakdown_as_hta(shared: Path, name: str) -> None:
    trace = read_trace(shared / "data" / "gpu" / name)
    launched = (trace.launch_ns >= trace.steps[0].start_ns) & (trace.launch_ns <= trace.steps[-1].end_ns)
    seen = launched | (not trace.marked)  # HTA leaves out what no step launched
    busy = trace.intervals_of(trace.where(("compute", "communication", "copy")) & seen)
    computing = trace.intervals_of(trace.where(("compute",)) & seen)
    total = int(busy.end_ns[-1] - busy.start_ns[0])
    found = (total, total - busy.length_ns, computing.length_ns)
    # a float64 of epoch microseconds, in which HTA counts, resolves 0.25 us
    assert found == pytest.approx([us * 1000 for us in HTA[name]], abs=250)
