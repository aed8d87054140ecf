"""Words of benchmarks."""

from helpers.words import Words

_HEADINGS = {
    "benchmark": ("Benchmark", "性能基准"),
    "bench_configuration": ("Configuration", "配置"),
    "bench_rate": ("Throughput", "吞吐"),
    "bench_interval": ("± (95 %)", "±（95 %）"),
    "bench_p50": ("p50", "p50"),
    "bench_p90": ("p90", "p90"),
    "bench_p95": ("p95", "p95"),
    "bench_p99": ("p99", "p99"),
    "bench_tokens": ("Tokens", "token"),
    "bench_loading": ("Waiting for data", "等待数据"),
    "bench_device_peak": ("Device peak", "设备内存峰值"),
    "bench_host_peak": ("Host peak", "主机内存峰值"),
    "bench_power": ("Power", "功率"),
    "bench_relative": ("Of baseline", "相对基准"),
    "bench_outcome": ("Outcome", "结果"),
}

_SMALL = {
    "benchmark.outcome.measured": Words("measured", "已测"),
    "benchmark.outcome.out_of_memory": Words("out of memory", "内存不足"),
    "benchmark.outcome.failed": Words("failed", "失败"),
    "benchmark.outcome.not_run": Words("not run", "未运行"),
    "benchmark.unit.samples": Words("samples", "样本"),
    "benchmark.unit.steps": Words("steps", "步"),
    "benchmark.unit.calls": Words("calls", "次调用"),
    "benchmark.kind.training": Words("training", "训练"),
    "benchmark.kind.inference": Words("inference", "推理"),
    "benchmark.kind.loading": Words("data loading alone", "单独的数据加载"),
    "benchmark.beyond_failed": Words("{name} failed before it", "此前 {name} 已失败"),
    "benchmark.beyond": Words("{name} already ran out of memory", "{name} 已内存不足"),
    "benchmark.few_steps": Words(
        "only {done} steps ran, {wanted} are the least that tell a time", "只运行了 {done} 步，至少需要 {wanted} 步"
    ),
    "benchmark.power.simulated": Words("the NPU is simulated", "NPU 是模拟的"),
    "benchmark.power.cpu": Words("nothing tells the power of this CPU", "无法得知该 CPU 的功率"),
    "benchmark.power.no_tool": Words("there is no {tool}", "没有 {tool}"),
    "benchmark.power.broken": Words("it could not be read: {error}", "无法读取：{error}"),
    "benchmark.power.loading": Words("only data loading was measured", "只测量了数据加载"),
    "benchmark.power.short": Words("the runs were over before it was asked", "运行在询问之前就已结束"),
}

_ERRORS = {
    "benchmark.axis_twice": Words("{name} is varied twice", "{name} 被变化了两次"),
    "benchmark.too_many": Words(
        "more than {most} combinations", "组合超过 {most} 个", "Vary fewer things at once.", "请减少同时变化的项。"
    ),
    "benchmark.bad_axis": Words(
        "{given}: cannot be read as what to vary",
        "{given}：无法理解要变化什么",
        "Write batch-size=8,16,32 (values), batch-size=8..256 (doubling) or amp (without and with --amp); for a loader "
        "workers=0,2,4, prefetch_factor=2,4 or pin_memory.",
        "请写 batch-size=8,16,32（取值）、batch-size=8..256（翻倍）或 amp（不带与带 --amp）；"
        "数据加载写 workers=0,2,4、prefetch_factor=2,4 或 pin_memory。",
    ),
    "benchmark.no_loader_axis": Words(
        "{given} of the DataLoader cannot be varied; known: {known}", "DataLoader 的 {given} 不支持变化；支持：{known}"
    ),
    "benchmark.no_baseline": Words(
        "{path}: holds no benchmark",
        "{path}：其中没有性能基准",
        "Give the file that `ascend-workbook benchmark --json FILE` wrote.",
        "请给出 `ascend-workbook benchmark --json 文件` 写出的文件。",
    ),
    "benchmark.inputs": Words(
        "the inputs cannot be made for a batch of {batch}: {error}",
        "无法生成 batch 为 {batch} 的输入：{error}",
        "Give tensors whose first dimension is the batch, or a function of the batch size.",
        "请给出首维为 batch 的张量，或以 batch 大小为参数的函数。",
    ),
    "benchmark.not_callable": Words(
        "{type} is no script's path, model, function or DataLoader",
        "{type} 不是脚本路径、模型、函数或 DataLoader",
    ),
    "benchmark.no_model": Words(
        "{option} needs a torch module, and {type} is none", "{option} 需要 torch 模块，而 {type} 不是"
    ),
}

_FINDINGS = {
    "PRF370.one": Words(
        "{rate} {unit}/s on {device}; half of the steps take {p50_ms} ms or less, one in a hundred {p99_ms} ms or more",
        "在 {device} 上每秒 {rate} {unit}；一半的步不超过 {p50_ms} ms，百分之一的步达到 {p99_ms} ms 以上",
    ),
    "PRF370.best": Words(
        "of {ran} configurations {name} is the fastest on {device}: {rate} {unit}/s (a step: p50 {p50_ms} ms, "
        "p99 {p99_ms} ms)",
        "{ran} 个配置中，{device} 上最快的是 {name}：每秒 {rate} {unit}（每步 p50 {p50_ms} ms，p99 {p99_ms} ms）",
    ),
    "PRF370.like": Words(
        "{name} came out fastest on {device} ({rate} {unit}/s, p50 {p50_ms} ms a step), but the measurement does not "
        "show that these are slower: {like}",
        "{device} 上最快的是 {name}（每秒 {rate} {unit}，每步 p50 {p50_ms} ms），但测量不足以说明以下配置更慢：{like}",
        "More steps or three repeats (--steps 50 --repeats 3) tell closer ones apart.",
        "增加步数或重复三次（--steps 50 --repeats 3）可以区分更接近的配置。",
    ),
    "PRF370.simulated": Words(
        "{ran} configurations ran; their times are the CPU's ({rate} {unit}/s at most, {name}), so none is called the "
        "faster",
        "运行了 {ran} 个配置；时间是 CPU 的（最高每秒 {rate} {unit}，{name}），因此不评判快慢",
        "Run it again on a real NPU.",
        "请在真实 NPU 上重新运行。",
    ),
    "PRF370.simulated_one": Words(
        "{rate} {unit}/s, p50 {p50_ms} ms a step, by the CPU's times: they tell nothing of an NPU's",
        "按 CPU 的时间每秒 {rate} {unit}，每步 p50 {p50_ms} ms：与 NPU 的时间无关",
        "Run it again on a real NPU.",
        "请在真实 NPU 上重新运行。",
    ),
    "PRF370.none": Words(
        "no configuration could be measured: {why}",
        "没有任何配置可以测得：{why}",
        "Make the script run first: `ascend-workbook dry-run` shows where it stops.",
        "请先让脚本跑通：`ascend-workbook dry-run` 会指出停在哪里。",
    ),
    "PRF371.steady": Words(
        "the times are steady (configurations: {ran}): quartiles and drift within {limit} %",
        "时间稳定（配置数：{ran}）：四分位距与漂移均在 {limit} % 以内",
    ),
    "PRF371.few": Words(
        "{names}: whether the times are steady is not known: fewer than {least} steps",
        "{names}：时间是否稳定未知：少于 {least} 步",
        "Take more steps (--steps 20).",
        "请增加步数（--steps 20）。",
    ),
    "PRF371.shaky": Words(
        "{name}: not steady: quartiles {spread} % of the median apart, drift of {drift} % from the first third of a "
        "run to its last",
        "{name}：不稳定：四分位距为中位数的 {spread} %，从前三分之一到后三分之一漂移 {drift} %",
        "Let nothing else run on the machine, warm up longer (--warmup 20), take more steps.",
        "请勿在机器上运行其他任务，延长预热（--warmup 20），增加步数。",
    ),
    "PRF371.beyond": Words(
        "{name}: {long} of {steps} steps take over {times} times the median step, together {percent} % of the time: an "
        "evaluation, a checkpoint, or data that comes in bursts; the throughput counts them",
        "{name}：{steps} 步中有 {long} 步超过中位数的 {times} 倍，共占 {percent} % 的时间：可能是评估、保存检查点，"
        "或数据成批到达；吞吐已计入这些步",
    ),
    "PRF372.out": Words("{name}: out of memory: {why}", "{name}：内存不足：{why}"),
    "PRF372.failed": Words(
        "{name}: {why}",
        "{name}：{why}",
        "Its output.log is in the folder of the runs.",
        "其 output.log 在 runs 目录下。",
    ),
    "PRF372.host_unknown": Words(
        "{names}: how much host memory each takes is not known: this process had taken as much before "
        "({most} MiB at most)",
        "{names}：各自占用的主机内存未知：本进程此前已达到同样的峰值（最多 {most} MiB）",
        "Smallest first, or each in a process of its own (benchmark of a script).",
        "请从小到大排列，或让每个配置在独立进程中运行（对脚本做性能基准）。",
    ),
    "PRF373.simulated": Words(
        "batch size not judged: on the simulated NPU times are the CPU's",
        "未评判 batch 大小：模拟 NPU 上的时间是 CPU 的",
    ),
    "PRF373.no_samples": Words(
        "batch size not judged: how many samples a step has is not known",
        "未评判 batch 大小：每步的样本数未知",
    ),
    "PRF373.grows": Words(
        "throughput still grows at {name}: {gain} % over {smallest}",
        "吞吐在 {name} 时仍在增长：比 {smallest} 高 {gain} %",
        "Try larger ones, until memory runs out.",
        "请尝试更大的值，直到内存不足。",
    ),
    "PRF373.knee": Words(
        "beyond {name} a larger batch brings less than {limit} %; it gives {gain} % over {smallest}",
        "超过 {name} 后，增大 batch 的收益不足 {limit} %；它比 {smallest} 高 {gain} %",
    ),
    "PRF374.simulated": Words(
        "mixed precision not judged: on the simulated NPU times are the CPU's",
        "未评判混合精度：模拟 NPU 上的时间是 CPU 的",
    ),
    "PRF374.no_switch": Words(
        "mixed precision not judged: which value of {name} is float32 is not known ({values})",
        "未评判混合精度：不知道 {name} 的哪个取值是 float32（{values}）",
        "Vary a switch ({name}, or {name}=0,1), or --autocast.",
        "请变化一个开关（{name} 或 {name}=0,1），或使用 --autocast。",
    ),
    "PRF374.faster": Words("{name}: {ratio} times the speed of float32", "{name}：速度为 float32 的 {ratio} 倍"),
    "PRF374.alike": Words(
        "{name}: {ratio} times the speed of float32, which is within the uncertainty",
        "{name}：速度为 float32 的 {ratio} 倍，在误差范围内",
    ),
    "PRF374.slower": Words(
        "{name}: slower than float32, {ratio} times its speed",
        "{name}：比 float32 慢，速度为其 {ratio} 倍",
        "Small models and CPUs without bfloat16 units lose more by the casts than they gain.",
        "模型较小，或 CPU 没有 bfloat16 单元时，类型转换的代价大于收益。",
    ),
    "PRF375.unseen": Words("data loading was not seen: no DataLoader was used", "没有看到数据加载：未使用 DataLoader"),
    "PRF375.simulated": Words(
        "data loading not judged: a CPU computes the steps, and nothing is copied to a real device; the host waits "
        "{ms} ms a step for data at most ({name}), beside an NPU it may be more",
        "未评判数据加载：各步由 CPU 计算，也没有向真实设备拷贝；主机每步最多等待数据 {ms} ms（{name}），"
        "在 NPU 上可能更久",
    ),
    "PRF375.hidden": Words(
        "{name}: the steps wait {percent} % of their time for data ({ms} ms a step)",
        "{name}：每步有 {percent} % 的时间在等待数据（每步 {ms} ms）",
    ),
    "PRF375.waits": Words(
        "{name}: the steps wait {percent} % of their time for data ({ms} ms a step)",
        "{name}：每步有 {percent} % 的时间在等待数据（每步 {ms} ms）",
        "Try workers: --loader workers=0,2,4.",
        "请尝试多个 worker：--loader workers=0,2,4。",
    ),
    "PRF375.hidden_varied": Words(
        "{name} waits least for data: {ms} ms a step ({percent} % of it); {worst} {worst_ms} ms",
        "等待数据最少的是 {name}：每步 {ms} ms（占 {percent} %）；{worst} 为 {worst_ms} ms",
    ),
    "PRF375.waits_varied": Words(
        "even {name}, which waits least for data, waits {ms} ms a step ({percent} % of it); {worst} {worst_ms} ms",
        "等待数据最少的 {name} 每步仍等待 {ms} ms（占 {percent} %）；{worst} 为 {worst_ms} ms",
        "Cheaper transforms, data on a faster disk, or more workers where there are cores for them.",
        "请使用更轻的数据变换、更快的磁盘；若还有空闲的 CPU 核，可增加 worker。",
    ),
    "PRF376.simulated": Words(
        "not held against the baseline: one of the two is simulated, and its times are a CPU's",
        "未与基准对比：其中一方是模拟的，时间是 CPU 的",
    ),
    "PRF376.nothing": Words(
        "not held against the baseline: no configuration is in both, or one counts {unit} and the other {its_unit}",
        "未与基准对比：没有共同的配置，或一方以 {unit} 计而另一方以 {its_unit} 计",
    ),
    "PRF376.kinds": Words(
        "not held against the baseline: it measured {its}, and this {mine}",
        "未与基准对比：基准测的是{its}，本次测的是{mine}",
        "Give a baseline of the same kind.",
        "请给出同类的基准。",
    ),
    "PRF376.apart": Words(
        "{name}: {device} runs at {ratio} times the throughput of {baseline}",
        "{name}：{device} 的吞吐为 {baseline} 的 {ratio} 倍",
    ),
    "PRF376.alike": Words(
        "{name}: {device} runs at {ratio} times the throughput of {baseline}, which is within the uncertainty or "
        "without a known one",
        "{name}：{device} 的吞吐为 {baseline} 的 {ratio} 倍，在误差范围内，或误差未知",
    ),
    "PRF376.other": Words(
        "the baseline is another experiment: {differ}",
        "基准是另一个实验：{differ}",
        "Run the same script with the same arguments on both.",
        "请在两边以相同的参数运行同一个脚本。",
    ),
    "PRF376.lengths": Words(
        "the baseline's runs are of another length ({differ}): an evaluation or a checkpoint may be in one of them "
        "alone",
        "基准的运行长度不同（{differ}）：评估或检查点可能只出现在其中一方",
        "Take the same --steps and --warmup for both.",
        "请对两者使用相同的 --steps 与 --warmup。",
    ),
    "PRF377.unknown": Words("power was not measured: {why}", "未测得功率：{why}"),
    "PRF377.best": Words(
        "{name}: {per_joule} {unit} a joule, at {watts} W of all cards of the machine",
        "{name}：每焦耳 {per_joule} {unit}，机器上所有卡共 {watts} W",
    ),
    "PRF378.few": Words(
        "what differs from run to run is not in the uncertainty (repeats: {repeats})",
        "误差中不含各次运行之间的差异（运行次数：{repeats}）",
        "Three repeats or more (--repeats 3) measure it.",
        "重复三次以上（--repeats 3）即可测得。",
    ),
    "PRF378.enough": Words(
        "the uncertainty is of {repeats} runs each", "误差来自每个配置的 {repeats} 次运行"
    ),
}

WORDS = {
    **{f"name.{name}": Words(en, zh) for name, (en, zh) in _HEADINGS.items()},
    **_SMALL,
    **_ERRORS,
    **_FINDINGS,
}
