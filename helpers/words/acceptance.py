"""Words of the acceptance page: what each item asks, what ticked it, and what to do where it is open."""

from helpers.words import Words

WORDS: dict[str, Words] = {
    "name.accept": Words("Acceptance", "验收"),
    "name.accept_group": Words("Part", "部分"),
    "name.accept_item": Words("Asked", "要求"),
    "name.accept_state": Words("State", "状态"),
    "name.accept_where": Words("Where", "位置"),
    "name.accept_date": Words("Date", "日期"),
    "accept.group.environment": Words("Environment", "环境"),
    "accept.group.code": Words("Code", "代码"),
    "accept.group.performance": Words("Performance", "性能"),
    "accept.group.precision": Words("Precision", "精度"),
    "accept.group.deployment": Words("Deployment", "部署"),
    "accept.group.rollback": Words("Rollback", "回退"),
    "accept.state.met": Words("met", "满足"),
    "accept.state.simulated": Words("met on the simulator", "仅在模拟 NPU 上满足"),
    "accept.state.by_hand": Words("confirmed by hand", "人工确认"),
    "accept.state.missed": Words("not met", "不满足"),
    "accept.state.not_looked": Words("not looked", "未检查"),
    "accept.state.not_applicable": Words("not applicable", "不适用"),
    "accept.left.not_looked": Words("{count} items not looked at", "{count} 项未检查"),
    "accept.left.simulated": Words(
        "{count} seen on the simulated NPU only, to be repeated on hardware",
        "{count} 项仅在模拟 NPU 上检查，须在真机上重做",
    ),
    "accept.repeat": Words("Repeat it on a real NPU.", "请在真实 NPU 上重做。"),
    "ACP500.accepted": Words(
        "accepted: all {items} items are met or do not apply",
        "验收通过：{items} 项全部满足或不适用",
    ),
    "ACP500.accepted_by_hand": Words(
        "accepted: all {items} items are met or do not apply; {by_hand} of them were confirmed by hand",
        "验收通过：{items} 项全部满足或不适用，其中 {by_hand} 项为人工确认",
    ),
    "ACP500.missed": Words(
        "not accepted: {missed} of {items} items are not met; first: {first} — {said}",
        "验收不通过：{items} 项中 {missed} 项不满足；首项：{first} — {said}",
    ),
    "ACP500.not_yet": Words(
        "not yet: {left} (of {items}; {met} met)",
        "尚不能验收：{left}（共 {items} 项，已满足 {met} 项）",
    ),
    "ACP500.plan": Words("{accepted} of {runs} runs are accepted", "{runs} 个运行中 {accepted} 个验收通过"),
    "accept.evidence": Words("{said}", "{said}"),
    "accept.by_hand": Words("by hand: {who}", "人工确认：{who}"),
    "accept.absent": Words("no report of {what} is there", "没有“{what}”的报告"),
    "accept.no_npu": Words("it ran on {tier}, not on an NPU", "运行于 {tier}，而非 NPU"),
    "accept.tier_unknown": Words(
        "{page} does not tell on which device it ran", "{page} 没有说明运行于哪种设备"
    ),
    "accept.no_device_time": Words(
        "only measured on the simulated NPU: not a device time", "仅在模拟 NPU 上测得：不是设备时间"
    ),
    "accept.simulator_has_none": Words(
        "the simulated NPU has neither CANN nor a driver", "模拟 NPU 没有 CANN 和驱动"
    ),
    "accept.not_in_report": Words("{page} does not tell ({rules})", "{page} 中没有（{rules}）"),
    "accept.could_not_look": Words("could not be judged: {said}", "无法判断：{said}"),
    "accept.no_report_tells": Words("no report tells", "没有报告涉及此项"),
    "accept.no_metric_target": Words("no target for a metric was given", "未给出指标的目标"),
    "accept.no_metric": Words(
        "the curves have no last value of {name} on both sides; they have {known}",
        "曲线中没有两侧都有的 {name} 最终值；已有：{known}",
    ),
    "accept.metric.met": Words(
        "{name} after {steps} steps: {target}, baseline {baseline}, within {within}",
        "{name}，{steps} 步后：{target}，基线 {baseline}，在 {within} 以内",
    ),
    "accept.metric.missed": Words(
        "{name} after {steps} steps: {target}, baseline {baseline}, not within {within}",
        "{name}，{steps} 步后：{target}，基线 {baseline}，超出 {within}",
    ),
    "accept.no_throughput_target": Words("no target for throughput was given", "未给出吞吐率的目标"),
    "accept.no_throughput_baseline": Words(
        "the benchmark was not held against a baseline", "性能测试未与基线对比"
    ),
    "accept.other_benchmark": Words(
        "the benchmark and its baseline differ in more than the device", "性能测试与基线的差别不止于设备"
    ),
    "accept.throughput": Words(
        "{ratio} of the baseline's throughput, at least {wanted} is asked",
        "吞吐率为基线的 {ratio}，要求不低于 {wanted}",
    ),
    "accept.unexplained": Words(
        "{share} of a step is idle without a cause; {limit} is let pass",
        "每步中有 {share} 的空闲时间原因不明；允许 {limit}",
    ),
    "accept.code_clean": Words(
        "nothing by hand, nothing unsupported, no file that still asks for CUDA",
        "无须手工修改，无不支持项，无仍使用 CUDA 的文件",
    ),
    "accept.code_left": Words(
        "{manual} by hand, {unsupported} unsupported, {cuda} files still ask for CUDA",
        "手工修改 {manual} 处，不支持 {unsupported} 处，仍使用 CUDA 的文件 {cuda} 个",
    ),
    "accept.recorded": Words(
        "Python {python} and {count} packages are recorded; container: {container}",
        "已记录 Python {python} 和 {count} 个软件包；容器：{container}",
    ),
    "accept.many_cards": Words("{what} ran on {count} cards", "{what}在 {count} 张卡上运行过"),
    "accept.one_card": Words("the machine has one card", "本机只有一张卡"),
    "accept.no_many_cards": Words("no run on several cards is among the reports", "报告中没有多卡运行"),
    "accept.original_kept": Words("{count} original files are as they were", "{count} 个原始文件保持不变"),
    "accept.original_changed": Words("changed since: {changed}", "此后被修改：{changed}"),
    "accept.original_gone": Words("{path} is not here to be looked at", "此处找不到 {path}，无法检查"),
    "accept.backups": Words(
        "rewritten in place; {backups} of {of} backups are there",
        "就地改写；{of} 个备份中 {backups} 个仍在",
    ),
    "accept.baseline_kept": Words("kept: {path}", "已保留：{path}"),
    "accept.baseline_gone": Words("no longer there: {path}", "已不存在：{path}"),
    "accept.no_reports": Words(
        "{path} holds no report of a run",
        "{path} 中没有运行的报告",
        "Give the folder of a run or a plan below runs/; a run's has the folders {stages}.",
        "请给出 runs/ 下某个运行或计划的目录；运行目录中有 {stages}。",
    ),
    "accept.summary": Words(
        "{path} cannot be read: {error}",
        "无法读取 {path}：{error}",
        "Run the plan again, or give the folder of one run.",
        "请重新运行该计划，或给出单个运行的目录。",
    ),
    "accept.target": Words(
        "target {text!r}: expected NAME=VALUE",
        "目标 {text!r}：应为 名称=数值",
        "Write for example --target loss=1% or --target throughput=80%.",
        "例如 --target loss=1% 或 --target throughput=80%。",
    ),
    "accept.confirm": Words(
        "--confirm {code}: no item that can be answered by hand",
        "--confirm {code}：不是可以人工确认的项",
        "Those are: {known}.",
        "可以人工确认的项：{known}。",
    ),
    "accept.item.ACP501": Words(
        "torch and torch_npu are a pair",
        "torch 与 torch_npu 版本配套",
        "Run `ascend-workbook check` on the target machine.",
        "在目标机器上运行 `ascend-workbook check`。",
    ),
    "accept.item.ACP502": Words(
        "CANN fits torch_npu, the driver fits CANN",
        "CANN 与 torch_npu 配套，驱动与 CANN 配套",
        "Run `ascend-workbook check` on the target machine; it names the versions that belong together.",
        "在目标机器上运行 `ascend-workbook check`，它会列出配套版本。",
    ),
    "accept.item.ACP503": Words(
        "NPUs are seen and healthy",
        "能看到 NPU 且状态正常",
        "Run `ascend-workbook check` on the target machine.",
        "在目标机器上运行 `ascend-workbook check`。",
    ),
    "accept.item.ACP504": Words(
        "operators and collectives on the devices give right numbers",
        "设备上的算子与集合通信结果正确",
        "Run the environment notebook, or `ascend-workbook check --compute`.",
        "运行环境笔记本，或 `ascend-workbook check --compute`。",
    ),
    "accept.item.ACP511": Words(
        "no blocking finding and no CUDA-only call is left",
        "没有遗留的阻断项和仅限 CUDA 的调用",
        "Run `ascend-workbook rewrite` and mend what it left to do by hand.",
        "运行 `ascend-workbook rewrite`，并处理其中需手工修改之处。",
    ),
    "accept.item.ACP512": Words(
        "the dry run passes with the original's losses",
        "试运行通过，损失与原脚本一致",
        "Run `ascend-workbook dry-run` on the target device.",
        "在目标设备上运行 `ascend-workbook dry-run`。",
    ),
    "accept.item.ACP513": Words(
        "every operator of a step runs on the NPU",
        "每步的所有算子都在 NPU 上运行",
        "Run `ascend-workbook operators` and replace those that do not.",
        "运行 `ascend-workbook operators`，替换不在 NPU 上运行的算子。",
    ),
    "accept.item.ACP521": Words(
        "baseline and target are the same experiment",
        "基线与目标为同一实验",
        "Capture both sides with the same options, seed, weights and data.",
        "两侧采用相同的参数、随机种子、权重和数据重新采集。",
    ),
    "accept.item.ACP522": Words(
        "the loss curves stay together",
        "损失曲线一致",
        "Run `ascend-workbook curves` on both logs.",
        "对两侧日志运行 `ascend-workbook curves`。",
    ),
    "accept.item.ACP523": Words(
        "no operator parts the runs, or it is explained",
        "没有首个分歧算子，或其原因已明",
        "Run `ascend-workbook compare`; follow what it says of the first to part.",
        "运行 `ascend-workbook compare`，按其对首个分歧算子的说明处理。",
    ),
    "accept.item.ACP524": Words(
        "both models agree on many inputs",
        "两侧模型在多组输入上一致",
        "Run `ascend-workbook verify`.",
        "运行 `ascend-workbook verify`。",
    ),
    "accept.item.ACP525": Words(
        "the final metrics are within their targets",
        "最终指标在目标范围内",
        "Give --target NAME=VALUE (in a plan: `targets:`), and logs that reach the end of the training.",
        "给出 --target 名称=数值（在计划中为 `targets:`），并使用训练到结束的日志。",
    ),
    "accept.item.ACP531": Words(
        "throughput reaches its share of the baseline's",
        "吞吐率达到基线的目标比例",
        "Run `ascend-workbook benchmark --baseline FILE` on the NPU and give --target throughput=PERCENT.",
        "在 NPU 上运行 `ascend-workbook benchmark --baseline FILE`，并给出 --target throughput=百分比。",
    ),
    "accept.item.ACP532": Words(
        "no waiting without a cause",
        "没有原因不明的等待",
        "Run `ascend-workbook profile` and `analyse` on the NPU.",
        "在 NPU 上运行 `ascend-workbook profile` 和 `analyse`。",
    ),
    "accept.item.ACP533": Words(
        "mixed precision is used where it pays",
        "在有收益处使用了混合精度",
        "Run `ascend-workbook profile` with kernel details on the NPU, then `analyse`.",
        "在 NPU 上运行带内核明细的 `ascend-workbook profile`，再运行 `analyse`。",
    ),
    "accept.item.ACP541": Words(
        "a checkpoint saved on the NPU loads on a CPU",
        "NPU 上保存的检查点可在 CPU 上加载",
        "Load one with map_location='cpu' on a host without an NPU, then --confirm ACP541 TEXT.",
        "在没有 NPU 的主机上以 map_location='cpu' 加载，然后使用 --confirm ACP541 文字说明。",
    ),
    "accept.item.ACP542": Words(
        "Python, packages and container are recorded",
        "已记录 Python、软件包和容器",
        "Run `ascend-workbook check` in the target's environment.",
        "在目标环境中运行 `ascend-workbook check`。",
    ),
    "accept.item.ACP543": Words(
        "a run on several cards was seen",
        "已有多卡运行",
        "Run `ascend-workbook dry-run` or `benchmark` with a torchrun command of several processes.",
        "以多进程的 torchrun 命令运行 `ascend-workbook dry-run` 或 `benchmark`。",
    ),
    "accept.item.ACP551": Words(
        "the original can be gone back to",
        "可以回退到原始代码",
        "Keep the original, or its backups, under version control.",
        "请将原始代码或其备份纳入版本管理。",
    ),
    "accept.item.ACP552": Words(
        "the baseline is kept",
        "基线已保留",
        "Make one with `ascend-workbook baseline` and keep it.",
        "用 `ascend-workbook baseline` 制作并保留。",
    ),
}
