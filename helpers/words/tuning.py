"""Words of the advice: for each rule what it is about, what was seen with the bound, and the change to make."""

from dataclasses import replace

from helpers.words import Words

_HEADINGS = {
    "tuning": ("What to change", "建议的修改"),
    "tuning_change": ("Change", "修改"),
    "tuning_bound": ("Saves at most", "最多可省"),
    "tuning_do": ("How", "做法"),
    "tuning_seen": ("Seen", "依据"),
    "tuning_source": ("Source", "出处"),
}

_COMMON = {
    "advice.fine": Words(
        "{topic}: nothing worth changing, at most {gain_ms} ms ({share} % of the step)",
        "{topic}：不值得修改，最多 {gain_ms} ms（占每步的 {share} %）",
    ),
    "advice.no_device": Words(
        "{topic}: not looked at, for there are no times of a real device", "{topic}：未检查，没有真实设备的耗时"
    ),
    "advice.no_npu": Words(
        "{topic}: not looked at, for these are no times of a real NPU", "{topic}：未检查，不是真实 NPU 的耗时"
    ),
    "advice.no_accelerator": Words(
        "{topic}: not looked at, for no accelerator took part", "{topic}：未检查，没有加速设备参与"
    ),
    "advice.no_host": Words(
        "{topic}: not looked at, for the profile has no host events", "{topic}：未检查，没有主机侧事件"
    ),
    "advice.no_units": Words(
        "{topic}: not looked at, for the profile does not name the units", "{topic}：未检查，数据未写明计算单元"
    ),
    "advice.no_dtypes": Words(
        "{topic}: not looked at, for there is no kernel_details.csv with data types (Level1 and up)",
        "{topic}：未检查，没有带数据类型的 kernel_details.csv（Level1 及以上）",
    ),
    "advice.no_environment": Words(
        "{topic}: not looked at, for the profile does not keep the value of {name}",
        "{topic}：未检查，数据中没有 {name} 的值",
    ),
    "advice.waiting_known": Words(
        "waiting for other ranks, {waiting_ms} ms, is not in it", "其中不含等待其他 rank 的 {waiting_ms} ms"
    ),
    "advice.waiting_unknown": Words(
        "waiting for other ranks is in it, for this rank's profile does not tell how much that is",
        "其中含等待其他 rank 的时间，该 rank 的数据无法说明有多少",
    ),
    "advice.with_waiting": Words("{topic} (waiting for other ranks included)", "{topic}（含等待其他 rank 的时间）"),
    "PRF310.advice": Words(
        "{count} changes can save time; the largest: {topic}, at most {gain_ms} ms ({share} % of the step); {open} "
        "kinds were not looked at",
        "有 {count} 项修改可省时间；最大的一项：{topic}，最多 {gain_ms} ms（占每步的 {share} %）；{open} 类未检查",
    ),
    "PRF310.advice_beside": Words(
        "beside {cause}, at most {cause_ms} ms, which no change below counts, {count} changes can save time; the "
        "largest: {topic}, at most {gain_ms} ms ({share} % of the step); {open} kinds were not looked at",
        "除{cause}（最多 {cause_ms} ms，下列修改均不计入）之外，有 {count} 项修改可省时间；最大的一项：{topic}，最多 "
        "{gain_ms} ms（占每步的 {share} %）；{open} 类未检查",
    ),
    "PRF310.advice_of": Words(
        "{count} changes can save time; the largest: {topic}, at most {gain_ms} ms ({share} % of the step); the "
        "largest cause of lost time, {cause}, takes at most {cause_ms} ms in all; {open} kinds were not looked at",
        "有 {count} 项修改可省时间；最大的一项：{topic}，最多 {gain_ms} ms（占每步的 {share} %）；"
        "损失时间最多的原因是{cause}，合计最多 {cause_ms} ms；{open} 类未检查",
    ),
    "PRF310.no_advice": Words(
        "no change of a known kind is worth it; {open} kinds were not looked at",
        "没有值得做的已知修改；{open} 类未检查",
    ),
    "PRF310.no_advice_beside": Words(
        "beside {cause}, at most {cause_ms} ms, no change of a known kind is worth it; {open} kinds were not looked at",
        "除{cause}（最多 {cause_ms} ms）之外，没有值得做的已知修改；{open} 类未检查",
    ),
    "PRF310.no_advice_of": Words(
        "no change of a known kind is worth it, though {cause} takes at most {cause_ms} ms; {open} kinds were not "
        "looked at",
        "没有值得做的已知修改，尽管{cause}最多占 {cause_ms} ms；{open} 类未检查",
    ),
}

#: Code -> the topic in both languages
_TOPICS = {
    "PRF342": ("HCCL buffer", "HCCL 缓存区"),
    "PRF345": ("batch size", "batch 大小"),
    "PRF360": ("fused optimizer", "融合优化器"),
    "PRF361": ("fused attention", "融合注意力"),
    "PRF362": ("fused RMSNorm", "融合 RMSNorm"),
    "PRF363": ("fused rotary embedding", "融合旋转位置编码"),
    "PRF364": ("fused SwiGLU", "融合 SwiGLU"),
    "PRF365": ("AI CPU operators", "AI CPU 算子"),
    "PRF366": ("CPU fallbacks", "CPU 回退"),
    "PRF367": ("dtype casts", "数据类型转换"),
    "PRF368": ("format transfers", "内存格式转换"),
    "PRF369": ("half precision", "半精度"),
    "PRF390": ("values read by the host", "主机读取数值"),
    "PRF391": ("kernels built in the steps", "步内编译计算核"),
    "PRF392": ("task queue", "下发队列"),
    "PRF393": ("Python garbage collection", "Python 垃圾回收"),
    "PRF394": ("loader workers", "数据加载进程"),
    "PRF395": ("collating", "样本整理"),
    "PRF396": ("pinned memory and prefetching", "锁页内存与预取"),
    "PRF397": ("uneven shapes", "形状不一"),
    "PRF398": ("gradient buckets", "梯度分桶"),
    "PRF399": ("gradient accumulation", "梯度累积"),
}

#: Key -> what was seen and what to do
_CHANGES = {
    "PRF342.change": Words(
        "HCCL's buffer is {mb} MB, and collectives that nothing hides take {share} % of the step; at most "
        "{gain_ms} ms; {waiting}",
        "HCCL 缓存区为 {mb} MB，而未掩盖的集合通信占每步的 {share} %；最多可省 {gain_ms} ms；{waiting}",
        "export HCCL_BUFFSIZE=400 (MB; each communicator takes twice that). Look first whether ranks wait for a slow "
        "one: no buffer helps there.",
        "export HCCL_BUFFSIZE=400（单位 MB，每个通信域占用两倍）。先确认是否在等待较慢的 rank：那种情况下缓存区无用。",
    ),
    "PRF345.change": Words(
        "the device waits {share} % of the step for work, in pieces of {mean_us} us on average ({kernels} kernels); "
        "more work per launch saves at most {gain_ms} ms",
        "设备每步有 {share} % 的时间在等待任务，平均每个计算核 {mean_us} us（{kernels} 个）；"
        "增大每次下发的工作量最多可省 {gain_ms} ms",
        "DataLoader(..., batch_size=2 * batch_size) while memory allows; scale the learning rate with it. "
        "`ascend-workbook benchmark` measures which size pays.",
        "内存允许时 DataLoader(..., batch_size=2 * batch_size)，学习率随之调整。"
        "`ascend-workbook benchmark` 可测出合适的大小。",
    ),
    "PRF360.change": Words(
        "{calls} foreach kernels a step take {share} % of it ({operators}); a fused optimizer saves at most "
        "{gain_ms} ms",
        "每步 {calls} 个 foreach 计算核占 {share} %（{operators}）；使用融合优化器最多可省 {gain_ms} ms",
        "NPU: torch_npu.optim.NpuFusedAdamW(model.parameters(), lr=lr) (NpuFusedSGD, NpuFusedAdam, ...), and "
        "optimizer.clip_grad_norm_fused_(max_norm). CUDA: torch.optim.AdamW(..., fused=True).",
        "NPU：torch_npu.optim.NpuFusedAdamW(model.parameters(), lr=lr)（另有 NpuFusedSGD、NpuFusedAdam 等），"
        "以及 optimizer.clip_grad_norm_fused_(max_norm)。CUDA：torch.optim.AdamW(..., fused=True)。",
    ),
    "PRF361.change": Words(
        "attention in parts: {calls} kernels a step take {share} % of it, at most {gain_ms} ms ({fused} are fused "
        "already)",
        "注意力分步计算：每步 {calls} 个计算核占 {share} %，最多可省 {gain_ms} ms（已融合 {fused} 个）",
        "torch.nn.functional.scaled_dot_product_attention(q, k, v), or on an NPU torch_npu.npu_fusion_attention(q, k, "
        'v, heads, input_layout="BNSD", scale=1 / math.sqrt(head_dim))[0].',
        "torch.nn.functional.scaled_dot_product_attention(q, k, v)，或在 NPU 上 torch_npu.npu_fusion_attention(q, k, "
        'v, heads, input_layout="BNSD", scale=1 / math.sqrt(head_dim))[0]。',
    ),
    "PRF362.change": Words(
        "RMSNorm in parts: {calls} kernels a step take {share} % of it, at most {gain_ms} ms ({fused} are fused "
        "already)",
        "RMSNorm 分步计算：每步 {calls} 个计算核占 {share} %，最多可省 {gain_ms} ms（已融合 {fused} 个）",
        "NPU: torch_npu.npu_rms_norm(x, weight, epsilon=eps)[0]. Elsewhere torch.nn.RMSNorm.",
        "NPU：torch_npu.npu_rms_norm(x, weight, epsilon=eps)[0]。其他设备用 torch.nn.RMSNorm。",
    ),
    "PRF363.change": Words(
        "rotary embedding in parts: {calls} kernels a step take {share} % of it, at most {gain_ms} ms ({fused} are "
        "fused "
        "already)",
        "旋转位置编码分步计算：每步 {calls} 个计算核占 {share} %，最多可省 {gain_ms} ms（已融合 {fused} 个）",
        "NPU: torch_npu.npu_rotary_mul(x, cos, sin) in place of x * cos + rotate_half(x) * sin.",
        "NPU：用 torch_npu.npu_rotary_mul(x, cos, sin) 代替 x * cos + rotate_half(x) * sin。",
    ),
    "PRF364.change": Words(
        "SwiGLU in parts: {calls} kernels a step take {share} % of it, at most {gain_ms} ms ({fused} are fused "
        "already)",
        "SwiGLU 分步计算：每步 {calls} 个计算核占 {share} %，最多可省 {gain_ms} ms（已融合 {fused} 个）",
        "NPU: torch_npu.npu_swiglu(torch.cat((gate, up), dim=-1), dim=-1) in place of silu(gate) * up.",
        "NPU：用 torch_npu.npu_swiglu(torch.cat((gate, up), dim=-1), dim=-1) 代替 silu(gate) * up。",
    ),
    "PRF365.change": Words(
        "operators on the AI CPU ({operators}) take {share} % of the step, at most {gain_ms} ms",
        "AI CPU 上的算子（{operators}）占每步的 {share} %，最多可省 {gain_ms} ms",
        "Give them a dtype that the cores take: x.int() in place of int64, float32 in place of float64; "
        "torch.where(mask, a, b) in place of a[mask].",
        "换成核心支持的类型：用 x.int() 代替 int64，用 float32 代替 float64；用 torch.where(mask, a, b) 代替 a[mask]。",
    ),
    "PRF366.change": Words(
        "operators that fell back to the CPU ({operators}; called from {where}) cost at most {gain_ms} ms ({share} %)",
        "回退到 CPU 的算子（{operators}；调用处 {where}）最多耗费 {gain_ms} ms（{share} %）",
        "`ascend-workbook operators` says what to use instead; a dtype that the device takes is often enough.",
        "`ascend-workbook operators` 会给出替代；换成设备支持的数据类型往往即可。",
    ),
    "PRF367.change": Words(
        "{calls} casts a step take {share} % of it, at most {gain_ms} ms",
        "每步 {calls} 次数据类型转换占 {share} %，最多可省 {gain_ms} ms",
        "Make tensors in the dtype of their use: torch.ones(n, dtype=x.dtype, device=x.device); one autocast region "
        "around the whole forward; labels and masks in int32 or bool from the loader on.",
        "按使用时的类型创建张量：torch.ones(n, dtype=x.dtype, device=x.device)；整个前向只用一个 autocast；"
        "标签与掩码自加载起即用 int32 或 bool。",
    ),
    "PRF368.change": Words(
        "{calls} format transfers a step take {share} % of it, at most {gain_ms} ms",
        "每步 {calls} 次内存格式转换占 {share} %，最多可省 {gain_ms} ms",
        "torch_npu.npu.config.allow_internal_format = False before the model is made; where convolutions get slower, "
        "leave it on and keep tensors in one format between them.",
        "在创建模型之前设置 torch_npu.npu.config.allow_internal_format = False；若卷积变慢则保持开启，"
        "并在其间保持同一格式。",
    ),
    "PRF369.change": Words(
        "{kernels} of {cube} kernels on the cube unit compute in float32 and take {share} % of the step, at most "
        "{gain_ms} ms ({hf32} of them are marked for HF32)",
        "cube 单元上的 {cube} 个计算核中有 {kernels} 个以 float32 计算，占每步的 {share} %，最多可省 {gain_ms} ms"
        "（其中 {hf32} 个标记为可用 HF32）",
        'with torch.autocast("npu", dtype=torch.bfloat16): ... or, keeping float32 tensors, '
        "torch.npu.matmul.allow_hf32 = True. Look at the precision first: `ascend-workbook compare`.",
        'with torch.autocast("npu", dtype=torch.bfloat16): ...；或保持 float32 张量而设 '
        "torch.npu.matmul.allow_hf32 = True。请先检查精度：`ascend-workbook compare`。",
    ),
    "PRF390.change": Words(
        "the host reads values from the device {calls} times a step (mostly {operator}, from {where}); the device then "
        "rests, at most {gain_ms} ms ({share} %)",
        "主机每步从设备读取 {calls} 次数值（主要是 {operator}，来自 {where}）；设备随之空闲，最多 {gain_ms} ms（"
        "{share} %）",
        "Add on the device and read seldom: total += loss.detach(); if step % 50 == 0: print(total.item()). Check for "
        "NaN every so many steps; torch.where in place of boolean indexing.",
        "在设备上累加、少读取：total += loss.detach()；if step % 50 == 0: print(total.item())。隔若干步再检查 NaN；"
        "用 torch.where 代替布尔索引。",
    ),
    "PRF391.change": Words(
        "the device waits {share} % of the step while the host builds kernels, at most {gain_ms} ms",
        "主机编译计算核期间设备等待，占每步的 {share} %，最多 {gain_ms} ms",
        "NPU: torch_npu.npu.set_compile_mode(jit_compile=False) before training; fixed shapes (drop_last=True, padding "
        "to few lengths); record after more warm-up steps.",
        "NPU：训练前 torch_npu.npu.set_compile_mode(jit_compile=False)；固定形状（drop_last=True、"
        "填充到少数几种长度）；"
        "预热更多步后再采集。",
    ),
    "PRF392.change": Words(
        "the device waits {share} % of the step for launches, and the task queue is at its first level; at most "
        "{gain_ms} ms",
        "设备每步有 {share} % 的时间在等待下发，而下发队列处于第一级；最多可省 {gain_ms} ms",
        "export TASK_QUEUE_ENABLE=2 (memory may rise), and CPU_AFFINITY_CONF=1.",
        "export TASK_QUEUE_ENABLE=2（内存可能上升），以及 CPU_AFFINITY_CONF=1。",
    ),
    "PRF392.off": Words(
        "the device waits {share} % of the step for launches, and the timeline shows no task queue; at most "
        "{gain_ms} ms",
        "设备每步有 {share} % 的时间在等待下发，而时间线中没有下发队列；最多可省 {gain_ms} ms",
        "Run `unset ASCEND_LAUNCH_BLOCKING; export TASK_QUEUE_ENABLE=2`.",
        "请执行 `unset ASCEND_LAUNCH_BLOCKING; export TASK_QUEUE_ENABLE=2`。",
    ),
    "PRF393.unseen": Words(
        "Python garbage collection: not looked at, for neither collections nor Python calls were recorded",
        "Python 垃圾回收：未检查，既没有采集垃圾回收，也没有采集 Python 调用",
        "Record with gc_detect_threshold=1.0 (torch_npu) or with_stack=True.",
        "请以 gc_detect_threshold=1.0（torch_npu）或 with_stack=True 采集。",
    ),
    "PRF393.change": Words(
        "Python collects garbage {calls} times while nothing else goes on: at most {gain_ms} ms ({share} %)",
        "Python 垃圾回收 {calls} 次且此时没有其他工作：最多 {gain_ms} ms（{share} %）",
        "import gc; gc.freeze(); gc.disable() before the loop, and gc.collect() between epochs.",
        "循环之前 import gc; gc.freeze(); gc.disable()，并在 epoch 之间 gc.collect()。",
    ),
    "PRF394.unseen": Words(
        "loader workers: not looked at, for no DataLoader was recorded", "数据加载进程：未检查，没有采集到 DataLoader"
    ),
    "PRF394.alone": Words(
        "the training process loads its data itself and waits {share} % of the step for it; at most {gain_ms} ms",
        "训练进程自己加载数据，每步有 {share} % 的时间在等待；最多可省 {gain_ms} ms",
        "DataLoader(dataset, num_workers=8, persistent_workers=True, prefetch_factor=4, pin_memory=True). One node "
        "with many ranks: let rank 0 read and torch.distributed.broadcast the batch where the disk is the limit.",
        "DataLoader(dataset, num_workers=8, persistent_workers=True, prefetch_factor=4, pin_memory=True)。"
        "单机多 rank 且磁盘是瓶颈时，由 rank 0 读取并用 torch.distributed.broadcast 分发。",
    ),
    "PRF394.few": Words(
        "the step waits {share} % of its time for its loader's workers; at most {gain_ms} ms",
        "每步有 {share} % 的时间在等待加载进程；最多可省 {gain_ms} ms",
        "More of them (num_workers up to the cores that a rank has), prefetch_factor=4, persistent_workers=True; a "
        "loader that never ends (itertools.chain over epochs) saves the start of each epoch.",
        "增加进程（num_workers 至该 rank 可用的核数）、prefetch_factor=4、persistent_workers=True；"
        "使用不结束的加载器（itertools.chain 连接各 epoch）可省去每个 epoch 的启动。",
    ),
    "PRF395.unseen": Words(
        "collating: not looked at, for no loading was recorded that tells anything",
        "样本整理：未检查，没有可用的加载记录",
    ),
    "PRF395.change": Words(
        "{calls} torch operators a step run inside the loader and take {share} % of the step, at most {gain_ms} ms",
        "加载过程中每步运行 {calls} 个 torch 算子，占每步的 {share} %，最多可省 {gain_ms} ms",
        "A fast collate: keep samples as uint8 arrays, torch.from_numpy(numpy.stack(samples)) once a batch, and divide "
        "and normalise on the device.",
        "快速整理：样本保持为 uint8 数组，每个 batch 只做一次 torch.from_numpy(numpy.stack(samples))，"
        "在设备上做除法与归一化。",
    ),
    "PRF396.unseen": Words(
        "pinned memory: not looked at, for the profile does not tell from which memory the batches were copied",
        "锁页内存：未检查，数据未写明 batch 从何种内存拷贝",
    ),
    "PRF396.change": Words(
        "batches are copied from pageable memory, which nothing hides for {share} % of the step; at most {gain_ms} ms",
        "batch 从可分页内存拷贝，未被掩盖的部分占每步的 {share} %；最多可省 {gain_ms} ms",
        "DataLoader(pin_memory=True) with batch.to(device, non_blocking=True), one batch ahead on a stream of its own "
        "(a prefetcher).",
        "DataLoader(pin_memory=True) 配合 batch.to(device, non_blocking=True)，并在单独的流上提前一个 batch（"
        "预取器）。",
    ),
    "PRF397.unseen": Words(
        "uneven shapes: not looked at, for there are too few steps or no shapes", "形状不一：未检查，步数太少或没有形状"
    ),
    "PRF397.change": Words(
        "{steps} steps have {sets} sets of input shapes; were all like the fastest, {gain_ms} ms ({share} %) would "
        "be saved",
        "{steps} 步共有 {sets} 组输入形状；若都与最快一步相同，可省 {gain_ms} ms（{share} %）",
        "A length-bucketed sampler: order = sorted(range(len(data)), key=lengths.__getitem__), batches cut from it and "
        "shuffled as wholes; pad to few lengths.",
        "按长度分桶采样：order = sorted(range(len(data)), key=lengths.__getitem__)，从中切出 batch 后整体打乱；"
        "填充到少数几种长度。",
    ),
    "PRF398.small": Words(
        "{calls} collectives a step, of {middle_ms} ms in the middle: small buckets; what nothing hides of them takes "
        "{share} % of the step, at most {gain_ms} ms; {waiting}",
        "每步 {calls} 次集合通信，中位数 {middle_ms} ms：分桶偏小；其中未掩盖的部分占每步的 {share} %，最多可省 "
        "{gain_ms} ms；{waiting}",
        "DistributedDataParallel(model, bucket_cap_mb=100, gradient_as_bucket_view=True).",
        "DistributedDataParallel(model, bucket_cap_mb=100, gradient_as_bucket_view=True)。",
    ),
    "PRF398.large": Words(
        "one of {calls} collectives a step takes {largest} % of their time; what nothing hides of them takes {share} % "
        "of the step, at most {gain_ms} ms; {waiting}",
        "每步 {calls} 次集合通信中有一次占其耗时的 {largest} %；未掩盖的部分占每步的 {share} %，"
        "最多可省 {gain_ms} ms；{waiting}",
        "Compare the ranks first: where one is late, the others wait in this collective. Else smaller buckets: "
        "DistributedDataParallel(model, bucket_cap_mb=10).",
        "请先比较各 rank：若有 rank 迟到，其余 rank 会在此等待。否则减小分桶：DistributedDataParallel(model, "
        "bucket_cap_mb=10)。",
    ),
    "PRF399.change": Words(
        "exchanging gradients every {steps} steps instead of each saves at most {gain_ms} ms ({share} %) of that; "
        "{waiting}",
        "每 {steps} 步交换一次梯度而非每步，最多可省其中的 {gain_ms} ms（{share} %）；{waiting}",
        "with model.no_sync(): loss.backward() for all but the last of {steps} micro-batches, then optimizer.step(); "
        "the "
        "batch grows with it.",
        "{steps} 个小 batch 中除最后一个外使用 with model.no_sync(): loss.backward()，然后 optimizer.step()；等效 "
        "batch 随之变大。",
    ),
}

_HOST = (
    ": the host's own time here; on an NPU, whose step is shorter, the wait is not smaller",
    "：这是主机自身的时间；NPU 上每步更短，等待不会更少",
)
#: What was seen without times of a real device
_CHANGES |= {
    f"{key}_host": replace(_CHANGES[key], en=_CHANGES[key].en + _HOST[0], zh=_CHANGES[key].zh + _HOST[1])
    for key in ("PRF394.alone", "PRF394.few", "PRF395.change")
}

WORDS: dict[str, Words] = {
    **{f"name.{name}": Words(en, zh) for name, (en, zh) in _HEADINGS.items()},
    **{f"{code}.topic": Words(en, zh) for code, (en, zh) in _TOPICS.items()},
    **_COMMON,
    **_CHANGES,
}
