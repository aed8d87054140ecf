"""Words of `advise`: causes of differences, what was seen of them, and what to change."""

from helpers.words import Words

_HEADINGS = {
    "advise": ("Advice", "建议"),
    "advice_seen": ("What was seen", "观察到的情况"),
    "advice_change": ("What to change", "应作的修改"),
    "advice_source": ("Source", "来源"),
}
_CAUSES = {
    "ACC260": ("HF32 in convolutions and matrix products", "卷积与矩阵乘中的 HF32"),
    "ACC261": ("mixed precision where float32 is needed", "需要 float32 处使用了混合精度"),
    "ACC262": ("loss scale", "损失缩放"),
    "ACC263": ("runs that do not repeat themselves", "同一侧两次运行结果不同"),
    "ACC264": ("float64 on the NPU", "NPU 上的 float64"),
    "ACC265": ("sums kept in 16 bits", "以 16 位保存的求和"),
    "ACC266": ("random numbers of the device", "设备随机数"),
    "ACC267": ("order of the data", "数据顺序"),
    "ACC268": ("form of the optimizer's update", "优化器更新的实现形式"),
    "ACC269": ("dtype of collectives", "集合通信的数据类型"),
}
_KINDS = {
    "ACC261.softmax": ("softmax", "softmax"),
    "ACC261.loss": ("loss", "损失函数"),
    "ACC261.norm": ("norm", "归一化"),
    "ACC261.power": ("power or logarithm", "幂或对数"),
    "ACC261.attention": ("product of attention and V", "注意力与 V 的乘积"),
}

WORDS: dict[str, Words] = {
    **{f"name.{name}": Words(en, zh) for name, (en, zh) in _HEADINGS.items()},
    **{f"{code}.cause": Words(en, zh) for code, (en, zh) in _CAUSES.items()},
    **{key: Words(en, zh) for key, (en, zh) in _KINDS.items()},
    "advice.unknown_size": Words("an unknown amount", "未知大小"),
    "advice.nothing": Words("looked at: nothing to change", "已检查：无需修改"),
    "ACC259.changes": Words(
        "{changes} change(s) advised and {remarks} remark(s) by {rules} rules; {skipped} could not look",
        "{rules} 条规则给出 {changes} 项修改建议和 {remarks} 条说明；{skipped} 条未能检查",
    ),
    "ACC259.none": Words(
        "nothing to change: {rules} rules, {remarks} remark(s), {skipped} could not look",
        "无需修改：{rules} 条规则，{remarks} 条说明，{skipped} 条未能检查",
    ),
    "ACC259.other_experiment": Words(
        "not the same experiment: the runs differ in {what} before any operator ran, and no tensor was looked at;"
        " {skipped} of {rules} rules could not look, the others give {changes} change(s) and {remarks} remark(s)",
        "不是同一个实验：两次运行在任何算子执行之前就有不同（{what}），未检查任何张量；{rules} 条规则中有 {skipped} "
        "条未能检查，其余给出 {changes} 项修改建议和 {remarks} 条说明",
        "Make both sides alike in this and capture again; `ascend-workbook compare` tells each difference.",
        "请使两侧在这些方面一致后重新采集；`ascend-workbook compare` 会逐项说明差异。",
    ),
    "ACC259.no_operators": Words(
        "no tensor was looked at, since one side recorded fingerprints and losses alone; {skipped} of {rules} rules"
        " could not look, the others give {changes} change(s) and {remarks} remark(s)",
        "其中一侧只记录了指纹和损失，未检查任何张量；{rules} 条规则中有 {skipped} 条未能检查，其余给出 {changes} "
        "项修改建议和 {remarks} 条说明",
        "Record that side with statistics or tensors.",
        "请在该侧记录统计量或张量。",
    ),
    "ACC260.no_record": Words(
        "not looked: the dump does not tell whether HF32 was allowed, and its numbers do not show it",
        "未检查：采集数据未记录是否允许 HF32，数值上也看不出",
        "Capture with `ascend-workbook capture`, which records it.",
        "请用 `ascend-workbook capture` 采集，它会记录该设置。",
    ),
    "ACC260.no_values": Words(
        "not looked: HF32 is allowed for {count} operators, and by how much their results differ was not captured",
        "未检查：有 {count} 个算子允许使用 HF32，但未采集其结果的差异大小",
        "Capture with `--task tensor`.",
        "请使用 `--task tensor` 采集。",
    ),
    "ACC260.off": Words(
        "{count} {what} round float32 inputs to HF32 on the NPU alone, and an operator parts the runs; the largest "
        "error"
        " is {error}, at {operator}",
        "仅 NPU 侧有 {count} 个{what}将 float32 输入舍入为 HF32，且有算子使两次运行出现差异；最大误差 {error}，"
        "位于 {operator}",
        "`{switch}` before the model is made, capture again, and turn it on again once the rest agrees. {source}",
        "在构造模型之前设置 `{switch}`，重新采集；其余部分一致后再打开。{source}",
    ),
    "ACC260.keep": Words(
        "{count} {what} round float32 inputs to HF32 on the NPU; nothing parts the runs, the largest error is "
        "{error}, at"
        " {operator}: keep it, it is the faster way",
        "NPU 上有 {count} 个{what}将 float32 输入舍入为 HF32；两次运行没有差异，最大误差 {error}，位于 {operator}："
        "可保留，速度更快",
    ),
    "ACC260.alike": Words(
        "{count} {what} round float32 inputs on both sides, to HF32 and TF32; the largest error is {error}, at "
        "{operator}:"
        " keep it",
        "两侧的 {count} 个{what}都会舍入 float32 输入（HF32 与 TF32）；最大误差 {error}，位于 {operator}：可保留",
    ),
    "ACC261.modules_only": Words(
        "not looked: no operator was captured, only modules",
        "未检查：只采集了模块，没有采集算子",
        "Capture at level L1 or mix.",
        "请以 L1 或 mix 级别采集。",
    ),
    "ACC261.wider": Words(
        "{count} calls of a {what} run in {dtype}, {wider} of them in float32 in the baseline: {names}",
        "{count} 次{what}以 {dtype} 计算，其中 {wider} 次在基线中以 float32 计算：{names}",
        "Leave it in float32: `with torch.autocast(x.device.type, enabled=False): y = {api}(x.float(), ...)`. {source}",
        "请保持 float32：`with torch.autocast(x.device.type, enabled=False): y = {api}(x.float(), ...)`。{source}",
    ),
    "ACC261.half": Words(
        "{count} calls of a {what} run in {dtype} ({wider} of them in float32 in the baseline): {names}",
        "{count} 次{what}以 {dtype} 计算（其中 {wider} 次在基线中以 float32 计算）：{names}",
        "Autocast would take float32 here, so the model was cast as a whole: keep it in float32 and use autocast, or"
        " `y = {api}(x.float(), ...)`. {source}",
        "autocast 在此会使用 float32，说明模型被整体转换：请保持模型为 float32 并使用 autocast，"
        "或写成 `y = {api}(x.float(), ...)`。{source}",
    ),
    "ACC262.no_log": Words(
        "not looked: neither a log nor the capture tells of a loss scale",
        "未检查：日志与采集数据均未记录损失缩放",
        "Give the logs (--log-target), or capture with `ascend-workbook capture`.",
        "请给出日志（--log-target），或用 `ascend-workbook capture` 采集。",
    ),
    "ACC262.minimum": Words(
        "the target's loss scale fell {falls} times and is at its minimum {lowest} since step {step}: gradients "
        "overflow"
        " whatever it is",
        "目标侧的损失缩放下降了 {falls} 次，自第 {step} 步起处于最小值 {lowest}：无论取何值梯度都会溢出",
        "Seek the first operator that makes an infinity (capture that step with `--task statistics`); do not raise the"
        " scale. {source}",
        "请查找最先产生无穷的算子（以 `--task statistics` 采集该步）；不要增大缩放。{source}",
    ),
    "ACC262.falls": Words(
        "the target's loss scale fell {falls} times, first at step {step}, down to {lowest}; the baseline's "
        "{baseline} times",
        "目标侧的损失缩放下降了 {falls} 次，最先在第 {step} 步，最低 {lowest}；基线下降 {baseline} 次",
        "Compare the step before the first fall tensor by tensor: `ascend-workbook capture --dump-steps N`. {source}",
        "请逐张量比对第一次下降之前的那一步：`ascend-workbook capture --dump-steps N`。{source}",
    ),
    "ACC262.skipped": Words(
        "updates skipped for an overflow: {baseline} in the baseline, {target} in the target: their steps are no "
        "longer the"
        " same",
        "因溢出跳过的更新：基线 {baseline} 次，目标 {target} 次：两侧的步不再对应",
        "Start both from one `torch.amp.GradScaler(init_scale=...)` low enough that neither skips. {source}",
        "请在两侧使用相同且足够小的 `torch.amp.GradScaler(init_scale=...)`，使任何一侧都不跳过。{source}",
    ),
    "ACC262.saturated": Words(
        "{name} makes the NPU saturate: an overflow becomes the largest number and NaN becomes 0, which a loss scale"
        " cannot see",
        "{name} 使 NPU 处于饱和模式：溢出变为最大值，NaN 变为 0，损失缩放无法察觉",
        "`export INF_NAN_MODE_ENABLE=1` and unset INF_NAN_MODE_FORCE_DISABLE. {source}",
        "请 `export INF_NAN_MODE_ENABLE=1` 并取消 INF_NAN_MODE_FORCE_DISABLE。{source}",
    ),
    "ACC262.without": Words(
        "{count} operators run in float16 and no GradScaler was made: small gradients become 0; first {names}",
        "{count} 个算子以 float16 计算，但没有创建 GradScaler：较小的梯度会变为 0；最先是 {names}",
        "`scaler = torch.amp.GradScaler(\"npu\")` around backward and step, or bfloat16. {source}",
        "请在反向与更新中使用 `scaler = torch.amp.GradScaler(\"npu\")`，或改用 bfloat16。{source}",
    ),
    "ACC263.once": Words(
        "not looked: no second capture of one side was given",
        "未检查：没有给出同一侧的第二次采集",
        "Capture one side again with the same options and give it as `--again DIR`.",
        "请用相同选项再次采集其中一侧，并以 `--again 目录` 给出。",
    ),
    "ACC263.other_experiment": Words(
        "not looked: the second capture is another experiment (options, weights or data differ)",
        "未检查：第二次采集是另一个实验（选项、权重或数据不同）",
    ),
    "ACC263.no_values": Words(
        "not looked: no output of the second capture could be compared with the first",
        "未检查：第二次采集中没有任何输出能与第一次比对",
        "Capture both times with `--task tensor` (or statistics), and the same steps and level.",
        "两次采集请都使用 `--task tensor`（或 statistics），并采用相同的步和级别。",
    ),
    "ACC263.operator": Words(
        "the same side run twice differs: {operator} (step {step}) is off by {error} from itself first, {count} "
        "operators"
        " in all",
        "同一侧两次运行结果不同：最先是 {operator}（第 {step} 步），自身误差 {error}，共 {count} 个算子",
        "`torch.use_deterministic_algorithms(True)` before the first operator, on both sides. {source}",
        "请在两侧、第一个算子之前设置 `torch.use_deterministic_algorithms(True)`。{source}",
    ),
    "ACC263.although": Words(
        "the same side run twice differs although deterministic algorithms were on: {operator} (step {step}) is off by"
        " {error} from itself first, {count} operators in all",
        "已开启确定性算法，但同一侧两次运行仍不同：最先是 {operator}（第 {step} 步），自身误差 {error}，共 {count} "
        "个算子",
        "Replace this operator for the comparison, or compute it on the CPU: `op(x.cpu()).to(x.device)`. {source}",
        "比对时请替换该算子，或在 CPU 上计算：`op(x.cpu()).to(x.device)`。{source}",
    ),
    "ACC263.collective": Words(
        "the same side run twice differs: the collective {operator} (step {step}) is off by {error} from itself first,"
        " {count} operators in all",
        "同一侧两次运行结果不同：最先是集合通信 {operator}（第 {step} 步），自身误差 {error}，共 {count} 个算子",
        "`export HCCL_DETERMINISTIC=true` before the ranks start. {source}",
        "请在各 rank 启动前 `export HCCL_DETERMINISTIC=true`。{source}",
    ),
    "ACC264.no_npu": Words(
        "not looked: the target is {tier}, not an NPU", "未检查：目标侧是 {tier}，不是 NPU"
    ),
    "ACC264.kept": Words(
        "{count} operators of the target take or give float64: {names}",
        "目标侧有 {count} 个算子使用 float64：{names}",
        "`x = x.float()`, or `dtype=torch.float32` where the tensor is made; keep float64 on the CPU. {source}",
        "请写 `x = x.float()`，或在创建张量处使用 `dtype=torch.float32`；float64 请留在 CPU。{source}",
    ),
    "ACC264.lost": Words(
        "{count} operators are float64 in the baseline and float32 in the target: {names}",
        "有 {count} 个算子在基线为 float64，在目标为 float32：{names}",
        "`dtype=torch.float32` on both sides, so that the same is compared; or that part on the CPU. {source}",
        "请在两侧都使用 `dtype=torch.float32`，以便比对同样的计算；或将该部分放到 CPU。{source}",
    ),
    "ACC265.no_flags": Words(
        "not looked: {count} matrix products run in 16 bits, and the baseline's capture does not tell how it adds "
        "them up",
        "未检查：有 {count} 个 16 位矩阵乘，基线的采集数据未记录其累加方式",
        "Capture the baseline with `ascend-workbook capture`, which records torch's switches.",
        "请用 `ascend-workbook capture` 采集基线，它会记录 torch 的开关。",
    ),
    "ACC265.split": Words(
        "{count} {dtype} matrix products may add their parts in {dtype} on the GPU, an NPU's do not: {names}",
        "GPU 上有 {count} 个 {dtype} 矩阵乘可能以 {dtype} 累加部分和，NPU 不会：{names}",
        "`{switch}` on the GPU's side, and record the baseline anew. {source}",
        "请在 GPU 侧设置 `{switch}` 并重新采集基线。{source}",
    ),
    "ACC265.sums": Words(
        "{count} sums of up to {terms} terms take and give {dtype}: {names}",
        "有 {count} 个求和（最多 {terms} 项）以 {dtype} 输入并输出：{names}",
        "`x.{api}(..., dtype=torch.float32)`. {source}",
        "请写 `x.{api}(..., dtype=torch.float32)`。{source}",
    ),
    "ACC266.no_values": Words(
        "not looked: {count} operators draw random numbers, and their results were not captured",
        "未检查：有 {count} 个算子使用随机数，但未采集其结果",
    ),
    "ACC266.masks": Words(
        "{count} of {all} operators that draw give other results from the same inputs, as masks of different generators"
        " do: {names}",
        "{all} 个使用随机数的算子中有 {count} 个在输入相同时结果不同，符合不同随机数生成器的掩码：{names}",
        "`p=0` for the comparison (`seed_all(rm_dropout=True)` of msprobe), on both sides; seeds do not help. {source}",
        "比对时请在两侧设 `p=0`（msprobe 的 `seed_all(rm_dropout=True)`）；设置种子无效。{source}",
    ),
    "ACC266.draws": Words(
        "{count} of {all} operators that draw give other numbers: {names}",
        "{all} 个使用随机数的算子中有 {count} 个结果不同：{names}",
        "Draw on the CPU from one seed and move: `torch.rand(n, generator=g).to(x.device)`. {source}",
        "请在 CPU 上以同一种子生成再移到设备：`torch.rand(n, generator=g).to(x.device)`。{source}",
    ),
    "ACC267.no_record": Words(
        "not looked: the batches of both sides were not recorded",
        "未检查：未记录两侧的批次数据",
        "Capture both sides with `ascend-workbook capture`.",
        "请用 `ascend-workbook capture` 采集两侧。",
    ),
    "ACC267.steps": Words(
        "the batches come in another order: the baseline's of step {step} is the target's of step {at} ({rank}; {count}"
        " steps differ; the target's loader: {loader})",
        "批次顺序不同：基线第 {step} 步的批次是目标第 {at} 步的批次（{rank}；共 {count} 步不同；目标的加载器："
        "{loader}）",
        "`DataLoader(..., shuffle=False)`, or `generator=torch.Generator().manual_seed(0)` on both sides. {source}",
        "请使用 `DataLoader(..., shuffle=False)`，或在两侧设置 `generator=torch.Generator().manual_seed(0)`。{source}",
    ),
    "ACC267.within": Words(
        "the batch of step {step} has the same samples in another order ({rank}; {count} steps differ; the "
        "target's loader:"
        " {loader})",
        "第 {step} 步的批次样本相同但顺序不同（{rank}；共 {count} 步不同；目标的加载器：{loader}）",
        "Sort, or sample with `generator=torch.Generator().manual_seed(0)` on both sides. {source}",
        "请排序，或在两侧以 `generator=torch.Generator().manual_seed(0)` 采样。{source}",
    ),
    "ACC267.other": Words(
        "the batches hold other data from step {step} on ({rank}; {count} steps differ; the target's loader: {loader})",
        "自第 {step} 步起批次的数据不同（{rank}；共 {count} 步不同；目标的加载器：{loader}）",
        "Seed sampler and workers (`worker_init_fn`, `generator=`), leave out random augmentation, and read the same"
        " files. {source}",
        "请为采样器与工作进程设置种子（`worker_init_fn`、`generator=`），去掉随机增强，并读取相同的文件。{source}",
    ),
    "ACC268.no_record": Words(
        "not looked: how the optimizers compute was not recorded on both sides",
        "未检查：两侧未记录优化器的实现形式",
        "Capture both sides with `ascend-workbook capture`.",
        "请用 `ascend-workbook capture` 采集两侧。",
    ),
    "ACC268.parted": Words(
        "{name} computes its update as {baseline} in the baseline and as {target} in the target, and the weights "
        "part in"
        " the update",
        "{name} 在基线以 {baseline} 形式、在目标以 {target} 形式计算更新，且权重在更新时出现差异",
        "`torch.optim.{plain}(..., foreach=False, fused=False)` on both sides; if they then agree, the form is at "
        "fault."
        " {source}",
        "请在两侧使用 `torch.optim.{plain}(..., foreach=False, fused=False)`；若随后一致，则问题在实现形式。{source}",
    ),
    "ACC268.differ": Words(
        "{name} computes its update as {baseline} in the baseline and as {target} in the target; the weights do "
        "not part"
        " by it where it was looked at",
        "{name} 在基线以 {baseline} 形式、在目标以 {target} 形式计算更新；在已检查之处权重未因此出现差异",
    ),
    "ACC268.unseen": Words(
        "{name} computes its update as {baseline} in the baseline and as {target} in the target; whether the weights"
        " part in the update was not looked at",
        "{name} 在基线以 {baseline} 形式、在目标以 {target} 形式计算更新；未检查权重是否在更新时出现差异",
        "Capture two steps in a row on both sides (`--dump-steps 0,1`), and settle first what parts the runs before."
        " {source}",
        "请在两侧采集相邻的两步（`--dump-steps 0,1`），并先解决在此之前使两次运行出现差异的问题。{source}",
    ),
    "ACC269.not_recorded": Words(
        "not looked: {ranks} ranks, and no collective was recorded (DistributedDataParallel's own are not)",
        "未检查：共 {ranks} 个 rank，但没有记录集合通信（DistributedDataParallel 自身的通信不会被记录）",
    ),
    "ACC269.wider": Words(
        "{count} of {all} reductions over {ranks} ranks add in {dtype} where the baseline adds in a wider format: "
        "{names}",
        "{ranks} 个 rank 之间的 {all} 次归约中有 {count} 次以 {dtype} 相加，而基线使用更宽的格式：{names}",
        "`MixedPrecision(reduce_dtype=torch.float32)`, no bf16/fp16 compress hook, or `all_reduce(x.float())`. "
        "{source}",
        "请使用 `MixedPrecision(reduce_dtype=torch.float32)`、去掉 bf16/fp16 压缩 hook，或 "
        "`all_reduce(x.float())`。{source}",
    ),
    "ACC269.half": Words(
        "{count} of {all} reductions over {ranks} ranks add in {dtype}: {names}",
        "{ranks} 个 rank 之间的 {all} 次归约中有 {count} 次以 {dtype} 相加：{names}",
        "`MixedPrecision(reduce_dtype=torch.float32)`, no bf16/fp16 compress hook, or `all_reduce(x.float())`. "
        "{source}",
        "请使用 `MixedPrecision(reduce_dtype=torch.float32)`、去掉 bf16/fp16 压缩 hook，或 "
        "`all_reduce(x.float())`。{source}",
    ),
}
