"""Checklists of `explain --symptom`: a cause in each sentence, then its cure."""

from __future__ import annotations

from helpers.words import Words

_NAMES = {
    "slow": ("slow", "慢"),
    "oom": ("out of memory", "显存不足"),
    "nan": ("NaN or infinite loss", "loss 出现 NaN 或 INF"),
    "differs": ("another loss than on the GPU", "loss 与 GPU 不一致"),
}

_SLOW = {
    "fallback": (
        "Operators without an NPU kernel run on the CPU, with a copy each way.",
        "没有 NPU 实现的算子在 CPU 上运行，并来回拷贝。",
        "Replace the operators that the warning names; `ascend-workbook scan` lists substitutes.",
        "替换警告中指出的算子；`ascend-workbook scan` 会列出替代写法。",
    ),
    "blocking": (
        "A variable for debugging is still set: launches wait for one another, or memory is not reused.",
        "调试用的环境变量仍然生效：算子逐个同步下发，或显存不复用。",
        "TASK_QUEUE_ENABLE=1 (2 from CANN 8.0 on), unset the other two; a notebook sets TASK_QUEUE_ENABLE=0 by itself.",
        "设置 TASK_QUEUE_ENABLE=1（CANN 8.0 起可用 2），取消另外两个；notebook 会自动把 TASK_QUEUE_ENABLE 设为 0。",
    ),
    "warm_up": (
        "The first steps compile and load kernels: they say nothing of the speed.",
        "最初几步包含算子编译与加载，不能代表速度。",
        "Leave out at least the first ten steps of a measurement.",
        "测量时至少去掉前十步。",
    ),
    "compiling": (
        "Operators are compiled anew for every new shape (jit_compile on).",
        "每遇到新 shape 就重新编译算子（开启了 jit_compile）。",
        "torch.npu.set_compile_mode(jit_compile=False); keep shapes fixed (drop_last, padding to lengths).",
        "torch.npu.set_compile_mode(jit_compile=False)；固定 shape（drop_last、按长度补齐）。",
    ),
    "synchronising": (
        "The script asks for a value in every step (.item(), print(loss), nonzero), so the NPU runs dry.",
        "脚本每步都取值（.item()、print(loss)、nonzero），NPU 因此空转。",
        "Log every hundredth step; keep sums on the device; masks in place of nonzero.",
        "每百步记录一次；在设备上累加；用掩码代替 nonzero。",
    ),
    "loading": (
        "The NPU waits for data.",
        "NPU 在等待数据。",
        "num_workers near the CPUs a rank has, pin_memory=True, persistent_workers=True; decode once and cache.",
        "num_workers 接近每个 rank 的 CPU 数，pin_memory=True、persistent_workers=True；预先解码并缓存。",
    ),
    "host": (
        "Too few CPUs (a container's quota counts), or a slow frequency governor.",
        "CPU 太少（含容器配额），或频率策略过低。",
        "Eight or more CPUs for each NPU; governor performance.",
        "每张 NPU 至少八个 CPU；频率策略设为 performance。",
    ),
    "binding": (
        "A rank's process runs on the CPUs of another NUMA node than its card.",
        "进程运行在与卡不同的 NUMA 节点上。",
        "CPU_AFFINITY_CONF=1, or taskset along `npu-smi info -t topo`.",
        "设置 CPU_AFFINITY_CONF=1，或按 `npu-smi info -t topo` 用 taskset 绑核。",
    ),
    "precision": (
        "Matrix products run in float32, several times slower than half precision.",
        "矩阵乘以 float32 计算，比半精度慢数倍。",
        "Autocast to bfloat16 (Atlas A2 and later) or float16, as the GPU script does.",
        "与 GPU 脚本一样使用 autocast：bfloat16（Atlas A2 及以上）或 float16。",
    ),
    "copies": (
        "Copies between host and device, or between memory formats (TransData), in every step.",
        "每步都有主机与设备间拷贝或格式转换（TransData）。",
        "Move constants once; torch.npu.config.allow_internal_format=False removes the changes of format.",
        "常量只搬一次；torch.npu.config.allow_internal_format=False 可去掉格式转换。",
    ),
    "communication": (
        "Collectives are not hidden behind computation, or one rank is slower than the rest.",
        "通信没有被计算掩盖，或某个 rank 比其他慢。",
        "Larger DDP buckets, no_sync while accumulating; compare the ranks' profiles, `hccn_tool -i N -link -g`.",
        "增大 DDP 的 bucket，梯度累积时使用 no_sync；比较各 rank 的性能数据，检查 `hccn_tool -i N -link -g`。",
    ),
    "neighbours": (
        "Another process works on the same card, or it runs hot.",
        "同一张卡上有其他进程，或温度过高。",
        "Stop it, or take another card.",
        "停止该进程，或换一张卡。",
    ),
    "logging": (
        "CANN logs at the level debug or info, or prints its log to the screen.",
        "CANN 日志级别为 debug 或 info，或把日志打印到屏幕。",
        "ASCEND_GLOBAL_LOG_LEVEL=3 and ASCEND_SLOG_PRINT_TO_STDOUT=0.",
        "设置 ASCEND_GLOBAL_LOG_LEVEL=3、ASCEND_SLOG_PRINT_TO_STDOUT=0。",
    ),
}

_OOM = {
    "neighbours": (
        "Another process holds memory of the card: one that was left over, or another container.",
        "其他进程占用该卡显存：残留进程或其他容器。",
        "End it, or choose another card with ASCEND_RT_VISIBLE_DEVICES.",
        "结束该进程，或用 ASCEND_RT_VISIBLE_DEVICES 选择其他卡。",
    ),
    "first_card": (
        "Every rank works on card 0, because none was set.",
        "没有设置设备，所有 rank 都用了 0 号卡。",
        'torch.npu.set_device(int(os.environ["LOCAL_RANK"])) before anything touches the NPU.',
        '在使用 NPU 之前执行 torch.npu.set_device(int(os.environ["LOCAL_RANK"]))。',
    ),
    "kept_graph": (
        "Losses are added up or listed as tensors, which keeps every step's graph.",
        "以张量形式累加或保存 loss，使每一步的计算图都被保留。",
        "loss.detach() before adding or appending.",
        "累加或保存前先 loss.detach()。",
    ),
    "evaluation": (
        "Evaluation records a graph.",
        "评估阶段也在记录计算图。",
        "torch.no_grad() around it.",
        "评估时使用 torch.no_grad()。",
    ),
    "batch": (
        "Batch or sequence is larger than this card's memory takes (a GPU may have had more).",
        "batch 或序列长度超出该卡显存（原 GPU 显存可能更大）。",
        "Smaller batch with gradient accumulation; activation checkpointing.",
        "减小 batch 并做梯度累积；启用重计算。",
    ),
    "full_precision": (
        "Activations stay in float32 because autocast did not survive the migration.",
        "迁移后 autocast 未生效，激活值仍是 float32。",
        'torch.autocast("npu", dtype=torch.bfloat16 or torch.float16).',
        'torch.autocast("npu", dtype=torch.bfloat16 或 torch.float16)。',
    ),
    "fragments": (
        "Free memory is in pieces: the message shows much reserved and little allocated.",
        "显存碎片化：报错中 reserved 很大而 allocated 较小。",
        "PYTORCH_NPU_ALLOC_CONF=expandable_segments:True, without other options beside it.",
        "PYTORCH_NPU_ALLOC_CONF=expandable_segments:True，不要与其他选项并用。",
    ),
    "hccl_buffers": (
        "Each communicator holds two buffers of HCCL_BUFFSIZE MiB outside of PyTorch's count.",
        "每个通信域占用两块 HCCL_BUFFSIZE MiB 的缓冲区，不计入 PyTorch。",
        "Lower HCCL_BUFFSIZE, or use fewer process groups.",
        "调小 HCCL_BUFFSIZE，或减少通信域数量。",
    ),
    "optimizer": (
        "Weights, gradients and two moments of Adam: 16 bytes a parameter before the first activation.",
        "权重、梯度与 Adam 两个动量：每个参数 16 字节，还未计激活值。",
        "FSDP or ZeRO over the ranks, or an optimiser with less state.",
        "用 FSDP 或 ZeRO 分摊到各 rank，或使用状态更少的优化器。",
    ),
    "host_memory": (
        "It is the host's memory or /dev/shm, not the NPU's.",
        "其实是主机内存或 /dev/shm 不足，而非 NPU。",
        "Fewer DataLoader workers; a larger --shm-size for the container.",
        "减少 DataLoader worker；加大容器的 --shm-size。",
    ),
}

_NAN = {
    "half_overflow": (
        "float16 without a GradScaler, or operators forced into float16: values above 65504 become infinite.",
        "使用 float16 而没有 GradScaler，或强制 float16：超过 65504 的值变为 INF。",
        "torch.npu.amp.GradScaler, or bfloat16 where the chip has it.",
        "使用 torch.npu.amp.GradScaler，或在支持的芯片上使用 bfloat16。",
    ),
    "scale": (
        "The loss scale falls in every step: some gradient is always infinite.",
        "loss scale 每步都在下降：总有梯度为 INF。",
        "Find the first infinite tensor: capture both sides and compare them.",
        "找出第一个 INF 张量：两侧采集后比较。",
    ),
    "script": (
        "The script itself diverges (learning rate, no warm-up, no clipping): then the baseline does so too.",
        "脚本本身发散（学习率、无预热、无梯度裁剪）：基线也会如此。",
        "Where the dry run's baseline is NaN as well, mend the training before the migration.",
        "若 dry-run 的基线同样为 NaN，先修正训练再谈迁移。",
    ),
    "operator": (
        "One operator returns NaN on the NPU where the baseline does not.",
        "某个算子在 NPU 上返回 NaN，而基线没有。",
        "Capture baseline and NPU with the same seed (`ascend-workbook capture`); the comparison names the first one.",
        "用相同种子分别采集基线与 NPU（`ascend-workbook capture`）；比较会指出第一个出错的算子。",
    ),
    "data": (
        "The input holds NaN or infinities, or an empty batch was averaged.",
        "输入中有 NaN 或 INF，或对空 batch 取了平均。",
        "Save the batch at which it happens and look at it; skip or clean such samples.",
        "保存出错时的 batch 并检查；跳过或清洗这类样本。",
    ),
    "domain": (
        "log(0), sqrt of a negative number, or a division by something near zero; an epsilon of 1e-8 is 0 in float16.",
        "log(0)、对负数开方，或除以接近零的数；1e-8 的 epsilon 在 float16 中为 0。",
        "Clamp the argument; an epsilon of 1e-6 or more for float16.",
        "对参数做 clamp；float16 下 epsilon 取 1e-6 以上。",
    ),
    "index": (
        "An index beyond its table reads foreign memory instead of raising.",
        "索引越界时读到无关内存而不报错。",
        "Run one step on the CPU, which checks indices.",
        "在会检查索引的 CPU 上运行一步。",
    ),
    "race": (
        "A tensor is used before its copy has ended, or freed while another stream reads it.",
        "拷贝尚未完成就使用张量，或其他 stream 读取时已释放。",
        "non_blocking=False for a test; record_stream and wait_stream where streams are mixed.",
        "先用 non_blocking=False 验证；混用 stream 时使用 record_stream 与 wait_stream。",
    ),
    "empty": (
        "Memory that was never written: torch.empty holds what was there before, and on an NPU that is other data.",
        "读取了未写入的内存：torch.empty 保留旧数据，NPU 上可能是任意值。",
        "torch.zeros, or write the tensor first.",
        "改用 torch.zeros，或先写入再使用。",
    ),
    "infinities": (
        "Saturation mode hides infinities: an overflow becomes the largest value instead.",
        "饱和模式掩盖 INF：溢出会变成最大值。",
        "INF_NAN_MODE_ENABLE=1 on Atlas A2 and later, as on a GPU.",
        "Atlas A2 及以上设置 INF_NAN_MODE_ENABLE=1，与 GPU 一致。",
    ),
    "reduction": (
        "A sum over many ranks overflows in float16.",
        "多个 rank 的求和在 float16 下溢出。",
        "Reduce in float32, or divide before the sum.",
        "用 float32 规约，或先除后加。",
    ),
}

_DIFFERS = {
    "seeds": (
        "Not every generator is seeded: Python, numpy, torch, each DataLoader worker.",
        "并非所有随机数发生器都设了种子：Python、numpy、torch 以及每个 DataLoader worker。",
        "Seed all of them; the verbs of this workbook do so in both runs.",
        "全部设置种子；本手册的命令会在两次运行中都设置。",
    ),
    "dropout": (
        "NPU and GPU draw other random numbers from the same seed: dropout masks differ.",
        "相同种子下 NPU 与 GPU 产生的随机数不同：dropout 掩码不同。",
        "Set dropout to 0 for the comparison; random initial weights are made on the CPU or loaded.",
        "比较时把 dropout 设为 0；初始权重在 CPU 上生成或从文件加载。",
    ),
    "order": (
        "The data come in another order.",
        "数据顺序不同。",
        "shuffle=False, or a seeded generator, and num_workers=0 for the comparison.",
        "比较时 shuffle=False 或使用带种子的 generator，num_workers=0。",
    ),
    "weights": (
        "The initial weights differ; the comparison says so in its first row.",
        "初始权重不同；比较结果的第一行会指出。",
        "Save one state_dict and load it on both sides.",
        "保存同一个 state_dict，两侧都加载。",
    ),
    "settings": (
        "Batch, accumulation, number of ranks or learning rate differ, so the steps are not the same.",
        "batch、梯度累积、rank 数或学习率不同，步与步不对应。",
        "Make batch times ranks times accumulation equal on both sides.",
        "保证两侧 batch × rank 数 × 累积步数相等。",
    ),
    "reduced_matmul": (
        "Convolutions run in HF32 on the NPU by default; a GPU may use TF32.",
        "NPU 上卷积默认使用 HF32；GPU 可能使用 TF32。",
        "torch.npu.conv.allow_hf32 = False and torch.backends.cudnn.allow_tf32 = False for the comparison.",
        "比较时设 torch.npu.conv.allow_hf32 = False 与 torch.backends.cudnn.allow_tf32 = False。",
    ),
    "float64": (
        "float64 is computed in float32 on the NPU.",
        "NPU 把 float64 按 float32 计算。",
        "Use float32 on both sides, or leave that part on the CPU.",
        "两侧都用 float32，或把该部分放在 CPU。",
    ),
    "amp": (
        "Autocast differs: dtype, operators covered, or the loss scale at the start.",
        "autocast 不同：dtype、覆盖的算子或初始 loss scale。",
        "Compare without AMP first; then with the same dtype and the same initial scale.",
        "先关闭 AMP 比较；再用相同 dtype 与相同初始 scale 比较。",
    ),
    "nondeterministic": (
        "Sums in another order each time, in operators and in collectives.",
        "算子与集合通信每次求和顺序不同。",
        "torch.use_deterministic_algorithms(True) and HCCL_DETERMINISTIC=true.",
        "torch.use_deterministic_algorithms(True) 与 HCCL_DETERMINISTIC=true。",
    ),
    "operator": (
        "One operator is wrong or coarse on the NPU.",
        "某个算子在 NPU 上结果错误或精度较低。",
        "Capture both sides at the step where they part; the comparison names the first operator that differs.",
        "在分叉的那一步采集两侧；比较会指出第一个不同的算子。",
    ),
    "noise": (
        "Rounding, amplified by training: the curves part later and keep meeting in the mean.",
        "舍入误差被训练放大：曲线较晚分开，均值仍一致。",
        "Judge by the mean loss over many steps and by the final metric.",
        "以多步平均 loss 与最终指标判断。",
    ),
    "fused": (
        "Fused optimisers and kernels round differently from the plain ones.",
        "融合优化器与融合算子的舍入方式和普通实现不同。",
        "Compare with the plain ones, then switch the fused ones on.",
        "先用普通实现比较，再启用融合实现。",
    ),
}

_LISTS = (("slow", _SLOW), ("oom", _OOM), ("nan", _NAN), ("differs", _DIFFERS))
WORDS: dict[str, Words] = {
    **{f"symptom.{name}": Words(en, zh) for name, (en, zh) in _NAMES.items()},
    **{f"symptom.{at}.{name}": Words(*texts) for at, causes in _LISTS for name, texts in causes.items()},
}
