"""Words of a comparison of two profiles."""

from helpers.words import Words

_HEADINGS = {
    "compare_profiles": ("Baseline and target", "基线与目标对比"),
    "comparable": ("Can they be compared?", "是否可比"),
    "compare_kinds": ("The difference by kind", "按类别的差异"),
    "compare_operators": ("The difference by operator", "按算子的差异"),
    "compare_modules": ("The difference by module", "按模块的差异"),
    "compare_what": ("What", "项目"),
    "compare_baseline": ("Baseline", "基线"),
    "compare_target": ("Target", "目标"),
    "baseline_time": ("Baseline", "基线"),
    "target_time": ("Target", "目标"),
    "difference": ("Difference", "差异"),
    "share_of_difference": ("Share of the difference", "占总差异"),
    "calls_baseline": ("Calls, baseline", "调用次数（基线）"),
    "calls_target": ("Calls, target", "调用次数（目标）"),
    "pairing": ("Pairing", "对应关系"),
    "module": ("Module", "模块"),
}

_TEXTS = {
    "compare.row.loading": ("waiting for data", "等待数据"),
    "compare.row.free": ("free time", "空闲时间"),
    "compare.row.hidden": ("at the same time as other work", "与其他工作重叠（扣除）"),
    "compare.row.rest": ("not explained by operators", "算子无法解释的部分"),
    "compare.row.outside": ("outside of modules (backward, optimizer, ...)", "模块之外（反向、优化器等）"),
    "compare.row.others": ("{count} others", "其余 {count} 项"),
    "compare.family.attention": ("attention, fused on one side", "注意力（一侧融合）"),
    "compare.family.rms_norm": ("RMS norm, fused on one side", "RMSNorm（一侧融合）"),
    "compare.family.swiglu": ("SwiGLU, fused on one side", "SwiGLU（一侧融合）"),
    "compare.family.rotary": ("rotary embedding, fused on one side", "旋转位置编码（一侧融合）"),
    "compare.family.compiled": ("compiled on one side (torch.compile)", "一侧经 torch.compile 编译"),
    "compare.pairing.alike": ("alike", "一致"),
    "compare.pairing.changed": ("other calls or shapes", "次数或形状不同"),
    "compare.pairing.only_baseline": ("baseline only", "仅基线"),
    "compare.pairing.only_target": ("target only", "仅目标"),
    "compare.pairing.joined": ("fused and decomposed", "融合与拆分对应"),
    "compare.modules.modules": ("modules", "模块"),
    "compare.modules.marks": ("the script's own marks", "脚本自己的标记"),
    "compare.modules.none": ("nothing", "无"),
    "compare.recorded.file": ("file", "文件"),
    "compare.recorded.tier": ("ran on", "运行于"),
    "compare.recorded.looked": ("steps looked at", "所看的步"),
    "compare.recorded.steps": ("steady steps", "稳定步数"),
    "compare.recorded.marked": ("steps are marked", "有步标记"),
    "compare.recorded.device": ("device times", "设备侧耗时"),
    "compare.recorded.python": ("Python's stacks", "Python 调用栈"),
    "compare.recorded.shapes": ("input shapes", "输入形状"),
    "compare.recorded.memory": ("memory records", "内存记录"),
    "compare.recorded.whole": ("the file is whole", "文件完整"),
    "compare.yes": ("yes", "是"),
    "compare.no": ("no", "否"),
    "compare.cause_overlap": ("other overlap", "重叠变化"),
    "compare.cause": ("{name} {ms} ms", "{name} {ms} ms"),
}

_SLOWER = "the target's step takes {target_ms} ms, the baseline's {baseline_ms} ms: {ms} ms ({share} %) more"
_FASTER = "the target's step takes {target_ms} ms, the baseline's {baseline_ms} ms: {ms} ms ({share} %) less"
_SLOWER_ZH = "目标每步 {target_ms} ms，基线 {baseline_ms} ms：多 {ms} ms（{share} %）"
_FASTER_ZH = "目标每步 {target_ms} ms，基线 {baseline_ms} ms：少 {ms} ms（{share} %）"
_ALIKE = "the steps take about the same: {target_ms} ms and the baseline's {baseline_ms} ms"
_ALIKE_ZH = "每步耗时相近：目标 {target_ms} ms，基线 {baseline_ms} ms"
_SPREAD, _SPREAD_ZH = "; no single row makes much of it", "；没有哪一项占其中的大部分"
_MOST, _MOST_ZH = "; most of it: {causes}", "；主要来自：{causes}"
_UNLIKE = "not the same work, so the times are no measure of the devices: "
_UNLIKE_ZH = "两侧做的不是同一件事，耗时不能用来比较设备："
_SIMULATED = "no verdict on speed, as a side is simulated and its times are the CPU's: "
_SIMULATED_ZH = "有一侧是模拟的，其耗时是 CPU 的，因此不评判快慢："

_FINDINGS = {
    f"PRF380.{name}{word}": Words(before + en, before_zh + zh)
    for name, before, before_zh in (
        ("", "", ""),
        ("unlike_", _UNLIKE, _UNLIKE_ZH),
        ("simulated_", _SIMULATED, _SIMULATED_ZH),
    )
    for word, en, zh in (
        ("slower", _SLOWER + _MOST, _SLOWER_ZH + _MOST_ZH),
        ("faster", _FASTER + _MOST, _FASTER_ZH + _MOST_ZH),
        ("slower_spread", _SLOWER + _SPREAD, _SLOWER_ZH + _SPREAD_ZH),
        ("faster_spread", _FASTER + _SPREAD, _FASTER_ZH + _SPREAD_ZH),
        ("alike", _ALIKE, _ALIKE_ZH),
    )
}

_FINDINGS |= {
    "PRF380.blind": Words(
        "cannot compare: {path} has no device times, and host operators only hand out work",
        "无法对比：{path} 没有设备侧耗时，而主机算子只负责下发",
        "Record it again with both activities, CPU and NPU (or CUDA).",
        "请同时采集 CPU 与 NPU（或 CUDA）后重试。",
    ),
    "PRF381.other_model": Words(
        "{baseline} % of the baseline's and {target} % of the target's operator time has no partner, or one called far "
        "more or less often: likely another model or other code",
        "基线 {baseline} %、目标 {target} % 的算子时间在另一侧没有对应或调用次数相差很多：很可能是不同的模型或代码",
        "Record the same script with the same settings on both sides.",
        "请在两侧用相同的脚本与设置采集。",
    ),
    "PRF381.no_shapes": Words(
        "batch size and shapes not compared: not recorded on both sides",
        "未比较 batch 大小与形状：并非两侧都有记录",
        "Record with record_shapes=True on both sides.",
        "请在两侧都以 record_shapes=True 采集。",
    ),
    "PRF381.same": Words("{operators} operators have the same shapes", "{operators} 个算子的形状一致"),
    "PRF381.shapes": Words(
        "{operators} of {of} operators have other shapes: {operator} takes {baseline} in the baseline, {target} in the "
        "target",
        "{of} 个算子中有 {operators} 个形状不同：{operator} 在基线为 {baseline}，在目标为 {target}",
        "Use the same batch size and data, or divide the times by the batch size.",
        "请使用相同的 batch 与数据，或把耗时除以 batch 大小再比较。",
    ),
    "PRF382.same": Words("the same was recorded on both sides", "两侧采集的内容相同"),
    "PRF382.apart": Words(
        "recorded on one side only: {what}; recording costs time, so that side may look slower than it is",
        "仅一侧采集了：{what}；采集本身耗时，该侧可能显得比实际更慢",
        "Record both sides with the same options.",
        "请在两侧使用相同的采集选项。",
    ),
    "PRF382.one_step": Words(
        "one side has a single step: it may be no usual one",
        "有一侧只有一步：未必有代表性",
        "Record three steps or more.",
        "请采集三步以上。",
    ),
    "PRF383.one_step": Words("spread of the steps not looked at: one step a side", "未检查步间差异：每侧只有一步"),
    "PRF383.within": Words(
        "the difference ({difference_ms} ms) is within the spread of the steps (± {spread_ms} ms): it may be chance",
        "差异（{difference_ms} ms）在步间波动（± {spread_ms} ms）之内：可能只是偶然",
        "Record more steps, on a machine that does nothing else.",
        "请在空闲的机器上采集更多步。",
    ),
    "PRF383.beyond": Words(
        "the difference ({difference_ms} ms) is larger than the spread of the steps (± {spread_ms} ms)",
        "差异（{difference_ms} ms）大于步间波动（± {spread_ms} ms）",
    ),
    "PRF384.only_baseline": Words(
        "{operators} operators run in the baseline only, {ms} ms: {names}",
        "{operators} 个算子仅在基线中运行，共 {ms} ms：{names}",
    ),
    "PRF384.only_target": Words(
        "{operators} operators run in the target only, {ms} ms: {names}",
        "{operators} 个算子仅在目标中运行，共 {ms} ms：{names}",
        "See whether they replace operators of the baseline, or come from a fallback, a cast or a format conversion.",
        "请看它们是替代了基线的算子，还是来自回退、类型转换或格式转换。",
    ),
    "PRF384.none": Words("every operator has a partner", "每个算子都有对应"),
    "PRF384.joined": Words(
        "{family}: {operators} operators are held together ({names}, ...), {ms} ms difference",
        "{family}：{operators} 个算子合并比较（{names} 等），差异 {ms} ms",
    ),
    "PRF385.little": Words("the rows explain the difference but for {ms} ms", "各行可解释全部差异，仅余 {ms} ms"),
    "PRF385.much": Words(
        "{ms} ms, {share} % of the difference, is not explained by operators: kernels whose step is not known",
        "{ms} ms（占差异的 {share} %）无法由算子解释：有计算核不知属于哪一步",
        "Record whole steps, with profiler.step() at the end of each.",
        "请采集完整的步，并在每步末尾调用 profiler.step()。",
    ),
    "PRF386.none": Words(
        "no row differs by {share} % of the step or more", "没有任何一行的差异达到每步的 {share} %"
    ),
    "PRF386.slower": Words(
        "{name}: {ms} ms more ({of_step} % of the baseline's step): {baseline_ms} -> {target_ms} ms",
        "{name}：多 {ms} ms（基线每步的 {of_step} %）：{baseline_ms} -> {target_ms} ms",
    ),
    "PRF386.faster": Words(
        "{name}: {ms} ms less ({of_step} % of the baseline's step): {baseline_ms} -> {target_ms} ms",
        "{name}：少 {ms} ms（基线每步的 {of_step} %）：{baseline_ms} -> {target_ms} ms",
    ),
    "PRF387.seen": Words("compared by {kind}: {modules} rows", "按{kind}对比：{modules} 行"),
    "PRF387.unseen": Words(
        "not compared by module: recorded were {baseline} in the baseline and {target} in the target",
        "未按模块对比：基线记录了{baseline}，目标记录了{target}",
        "Record both sides with with_stack=True: with_modules=True alone records no module.",
        "请在两侧都以 with_stack=True 采集：仅 with_modules=True 不会记录模块。",
    ),
    "PRF388.some": Words(
        "{side}: looked at steps {first} to {last} of {steps}: their mean is {step_ms} ms, that of all but the first "
        "on the host {mean_ms} ms; the slowest of the others is step {slowest} with {slowest_ms} ms",
        "{side}：所看的是 {steps} 步中的第 {first} 至 {last} 步：平均 {step_ms} ms，主机侧除第一步外全部平均为 "
        "{mean_ms} ms；其余各步中最慢的是第 {slowest} 步，{slowest_ms} ms",
        "`--steps all` compares all steps of both sides; memory then grows with the files.",
        "`--steps all` 对比两侧的全部步；内存随文件增大。",
    ),
    "PRF388.behind": Words(
        "{side}: the device is far behind the host: kernels of other steps may count in steps {first} to {last}, and "
        "theirs be left out",
        "{side}：设备远远落后于主机：其他步的计算核可能计入第 {first} 至 {last} 步，而这些步自己的可能被漏掉",
        "Compare all steps: `--steps all`.",
        "请对比全部步：`--steps all`。",
    ),
}

WORDS: dict[str, Words] = {
    **{f"name.{name}": Words(en, zh) for name, (en, zh) in _HEADINGS.items()},
    **{key: Words(en, zh) for key, (en, zh) in _TEXTS.items()},
    **_FINDINGS,
}
