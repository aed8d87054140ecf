"""Writes the synthetic traces beside this file: the same three steps in every dialect. python make.py

Each step takes 1000 us on the host:  0-100 DataLoader, 100-300 aten::conv2d (inside it 120-280
aten::convolution, which launches at 150), 310-500 the same again (convolution 320-480, launch at 330),
600-860 aten::item, inside it 610-855 the synchronising call.
On the device: 200-400 and 400-600 the kernels of the convolutions, 500-800 a collective, 800-850 a copy.
So the steady steps, each from the end of the collective before to its own: computing 400, exposed
communication 200 (100 overlapped), exposed copy 50, loading 100, free 250.
"""

import csv
import gzip
import json
from pathlib import Path

HERE = Path(__file__).parent
EPOCH_US = 1_736_408_883_000_000  # a float64 of it resolves 0.25 us
STEPS, FIRST, STEP_US = 3, 50, 1000
LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
HOST = [  # name, start, duration, input dims
    (LOADER, 0, 100, None),
    ("aten::conv2d", 100, 200, [[8, 3, 32, 32], [16, 3, 3, 3], []]),
    ("aten::convolution", 120, 160, [[8, 3, 32, 32], [16, 3, 3, 3], []]),
    ("aten::conv2d", 310, 190, [[8, 16, 32, 32], [16, 16, 3, 3], []]),
    ("aten::convolution", 320, 160, [[8, 16, 32, 32], [16, 16, 3, 3], []]),
    ("aten::item", 600, 260, [[]]),
]
DEVICE = [("conv_kernel", 200, 200, 150), ("conv_kernel", 400, 200, 330), ("collective", 500, 300, 490)]
DEVICE.append(("copy", 800, 50, 605))
SYNC = (610, 245)


def kineto(stamp, names, base_ns=None):
    """names: category of host, marks, runtime, kernel, copy; the collective's kernel; the synchronising call."""
    events = [{"ph": "M", "name": "process_name", "pid": 7, "tid": 0, "ts": stamp(0), "args": {"name": "python"}}]
    number = 0
    for step in range(STEPS):
        at = step * STEP_US

        def event(cat, name, start, duration, tid, at=at, **args):
            what = {"ph": "X", "cat": cat, "name": name, "pid": 7, "tid": tid}
            events.append({**what, "ts": stamp(at + start), "dur": duration, "args": args})

        event(names["mark"], f"ProfilerStep#{FIRST + step}", 0, STEP_US, 7)
        ids = {}
        for name, start, duration, dims in HOST:
            number += 1
            ids[start] = number
            cat = names["mark"] if name == LOADER else names["host"]
            known = {} if dims is None else {"Input Dims": dims}
            event(cat, name, start, duration, 7, **{"External id": number, **known})
        event(names["runtime"], names["sync"], *SYNC, 7, correlation=9000 + step)
        for place, (name, start, duration, launch) in enumerate(DEVICE):
            link = step * 100 + place
            event(names["runtime"], names["launch"], launch, 5, 7, correlation=link)
            cat = names["copy"] if name == "copy" else names["kernel"]
            shown = {"collective": names["collective"], "copy": "Memcpy HtoD (Pageable -> Device)"}.get(name, name)
            args = {"device": 0, "stream": 20 if name == "collective" else 7, "correlation": link}
            if names["external"] and name == "conv_kernel":
                args[names["external"]] = ids[120] if launch == 150 else ids[320]
            event(cat, shown, start, duration, args["stream"], **args)
        memory = {"ph": "i", "name": "[memory]", "pid": 7, "tid": 7, "ts": stamp(at + 110), "s": "t"}
        events.append({**memory, "args": {"Bytes": 512}})
    trace = {"schemaVersion": 1, "deviceProperties": [], "traceEvents": events}
    return {**trace, "baseTimeNanoseconds": base_ns} if base_ns else trace


def cpu(stamp, base_ns):
    trace = kineto(stamp, {**CUDA, "external": None}, base_ns)
    kept = ("cpu_op", "user_annotation", None)
    return {**trace, "traceEvents": [one for one in trace["traceEvents"] if one.get("cat") in kept]}


CUDA = {
    "host": "cpu_op",
    "mark": "user_annotation",
    "runtime": "cuda_runtime",
    "kernel": "kernel",
    "copy": "gpu_memcpy",
    "collective": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "sync": "cudaStreamSynchronize",
    "launch": "cudaLaunchKernel",
    "external": "External id",
}
OLD = {
    **CUDA,
    "host": "Operator",
    "mark": "Operator",
    "runtime": "Runtime",
    "kernel": "Kernel",
    "copy": "Memcpy",
    "external": "external id",
}
ROCM = {**CUDA, "sync": "hipStreamSynchronize", "launch": "hipLaunchKernel", "external": None}


def ascend_events():
    """trace_view.json: a list, times as texts with three decimals."""
    names = {7: "Python", 31: "CANN", 32: "Ascend Hardware", 33: "HCCL", 34: "Overlap Analysis"}
    head = {"ph": "M", "name": "process_name"}
    events = [{**head, "pid": pid, "tid": 0, "args": {"name": name}} for pid, name in names.items()]

    def stamp(us):
        return f"{EPOCH_US + us}.250"

    def event(pid, tid, name, start, duration, cat=None, **args):
        one = {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": stamp(start), "dur": duration, "args": args}
        events.append({**one, "cat": cat} if cat else one)

    for step in range(STEPS):
        at = step * STEP_US
        event(7, 7, f"ProfilerStep#{FIRST + step}", at, STEP_US, "cpu_op")
        for name, start, duration, dims in HOST:
            text = ";\r\n".join(",".join(map(str, one)) for one in dims or [])
            # as torch_npu does it: the innermost operator, which launches, has no shapes of its own
            shown = {"Input Dims": text} if dims and name != "aten::convolution" else {}
            event(7, 7, name, at + start, duration, "cpu_op", **shown)
        event(31, 8, "AscendCL@aclrtSynchronizeStreamWithTimeout", at + SYNC[0], SYNC[1], connection_id=1)
        for name, start, duration, launch in DEVICE:
            kernel = (at + start, EPOCH_US * 1000 + (at + start) * 1000 + 250)
            pid, tid = (33, 0) if name == "collective" else (32, 2)
            if name == "collective":
                event(33, 0, f"hcom_allReduce__719_{step}_1", at + start, duration)
                event(33, 1, "Notify_Wait", at + start, 200, **{"task type": "Notify Wait"})
                event(32, 4, "Notify Wait", at + start, 200, **{"Task Type": "Notify Wait"})
            else:
                task = "AI_CORE" if name == "conv_kernel" else "PCIE_DMA_SQE"
                shown = "Conv2D" if task == "AI_CORE" else "MEMCPY_ASYNC"
                event(32, 2, shown, at + start, duration, **{"Task Type": task})
            flow = {"name": "torch_to_npu", "id": kernel[1], "cat": "async_npu", "bp": "e"}
            events.append({"ph": "s", "pid": 7, "tid": 7, "ts": stamp(at + launch), **flow})
            events.append({"ph": "f", "pid": pid, "tid": tid, "ts": stamp(kernel[0]), **flow})
        event(34, 0, "Computing", at + 200, 400)
        events.append({"ph": "C", "name": "AI Core Freq", "pid": 35, "tid": 0, "ts": stamp(at), "args": {"MHz": 1800}})
    return events


def kernel_details(path, *, new):
    """kernel_details.csv: with Device_id and Block Num as today, or with Block Dim and without Step Id."""
    head = ["Step Id", "Device_id"] if new else []
    head += ["Model ID", "Task ID", "Stream ID", "Name", "Type", "Accelerator Core", "Start Time(us)", "Duration(us)"]
    head += ["Wait Time(us)", "Block Num" if new else "Block Dim", "Input Shapes"]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(head)
        for step in range(STEPS):
            for name, start, duration, _ in DEVICE[:3]:
                core, shown = ("HCCL", "hcom_allReduce__719_0_1") if name == "collective" else ("AI_CORE", "Conv2D")
                begin = f"{EPOCH_US + step * STEP_US + start}.250\t"
                row = ["1", str(start), "2", shown, "Conv2D", core, begin, duration, 0, 8, '"8,3,32,32;16,3,3,3"']
                writer.writerow([*([FIRST + step, 0] if new else []), *row])


def main():
    base_s = EPOCH_US // 10**6
    (HERE / "cuda.pt.trace.json").write_text(json.dumps(kineto(lambda us: us + 0.125, CUDA, base_s * 10**9)))
    quoted = json.dumps(kineto(lambda us: f"{EPOCH_US + us}.125", CUDA))  # a float could not hold it
    (HERE / "cuda_epoch.pt.trace.json").write_text(quoted.replace('.125"', ".125").replace('"ts": "', '"ts": '))
    with gzip.GzipFile(HERE / "cuda_old.pt.trace.json.gz", "wb", mtime=0) as file:
        file.write(json.dumps(kineto(lambda us: EPOCH_US + us, OLD)).encode())
    rocm = json.dumps(kineto(lambda us: us + 0.5, ROCM, base_s * 10**9)).replace("ncclDev", "rcclDev")
    (HERE / "rocm.pt.trace.json").write_text(rocm)
    (HERE / "cpu.pt.trace.json").write_text(json.dumps(cpu(lambda us: us + 0.125, base_s * 10**9)))
    for folder, new in (("new_ascend_pt", True), ("old_ascend_pt", False)):
        output = HERE / folder / "ASCEND_PROFILER_OUTPUT"
        output.mkdir(parents=True, exist_ok=True)
        kernel_details(output / "kernel_details.csv", new=new)
    output = HERE / "timeline_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True, exist_ok=True)
    (output / "trace_view.json").write_text(json.dumps(ascend_events()))
    (output / "operator_memory.csv").write_text("Name,Size(KB)\naten::empty,2.5\naten::empty,2.5\n")


if __name__ == "__main__":
    main()
