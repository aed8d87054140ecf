"""Words of the migration part: scan, rewrite, dry run."""

from helpers.words import Words

_HEADINGS = {
    "scan": ("CUDA uses in the source", "源码中的 CUDA 用法"),
    "scan_classes": ("What has to be done", "需要做什么"),
    "rewrite": ("The migrated script", "迁移后的脚本"),
    "dry_run": ("Dry run: losses before and after", "试运行：迁移前后的损失"),
    "repair": ("Class", "类别"),
    "repair_action": ("What happens on an NPU, what to do", "在 NPU 上的表现与处理办法"),
    "repair_count": ("Places", "处数"),
    "edit_before": ("Before", "修改前"),
    "edit_after": ("After", "修改后"),
    "diff": ("Diff", "差异"),
    "baseline_loss": ("Baseline loss", "基线损失"),
    "target_loss": ("Target loss", "目标损失"),
}

_CLASSES = {
    "auto": ("auto", "自动"),
    "rewrite": ("rewrite", "改写"),
    "manual": ("by hand", "手工"),
    "unsupported": ("unsupported", "不支持"),
    "advice": ("advice", "建议"),
}

_MEANINGS = {
    "auto": ("transfer_to_npu handles it at run time", "transfer_to_npu 在运行时处理"),
    "rewrite": ("the source must change; `rewrite` does it", "源码须修改，由 `rewrite` 完成"),
    "manual": ("a person has to decide", "需要人工处理"),
    "unsupported": ("no way today on an NPU; take the alternative", "目前 NPU 不支持，请用替代方案"),
    "advice": ("runs, but has no effect or behaves differently", "可运行，但无效果或表现不同"),
}

_CONFIDENCE = {
    "measured": ("run with torch_npu", "经 torch_npu 实测"),
    "documented": ("documentation or source", "文档或源码"),
    "inferred": ("concluded from this file", "由本文件推断"),
}

_RULES: dict[str, Words] = {
    "MIG101.same": Words("{name} is replaced by its torch.npu counterpart", "{name} 由 torch.npu 的同名接口替换"),
    "MIG101.renamed": Words(
        "{name} is replaced; deprecated in torch: *_reserved and reset_peak_memory_stats are today's names",
        "{name} 会被替换；torch 已弃用该名，现名为 *_reserved 与 reset_peak_memory_stats",
    ),
    "MIG101.untouched": Words("{name} stays as it is and does no harm", "{name} 保持原样，没有影响"),
    "MIG101.double": Words(
        "{name} becomes torch.npu.FloatTensor: silently float32; use dtype=torch.float32 and say so",
        "{name} 会变成 torch.npu.FloatTensor，即悄悄变为 float32；请明确写 dtype=torch.float32",
    ),
    "MIG101.capability": Words(
        "{name} answers None on an NPU, indexing it raises; ask is_bf16_supported() or get_device_name() instead",
        "{name} 在 NPU 上返回 None，取下标会出错；改用 is_bf16_supported() 或 get_device_name()",
    ),
    "MIG101.compute_capability": Words(
        "device properties have no compute capability on an NPU (major and minor are None); ask for a feature instead",
        "NPU 的设备属性没有计算能力（major、minor 为 None）；请改为判断具体功能",
    ),
    "MIG101.graph": Words(
        "{name} becomes the NPUGraph counterpart: capture has other limits; run once without it",
        "{name} 变为 NPUGraph 的对应接口，捕获的限制不同；先不用它运行一次",
    ),
    "MIG101.processes": Words(
        "{name} is replaced, but what it reports differs; npu-smi info is the tool",
        "{name} 会被替换，但返回内容不同；请用 npu-smi info",
    ),
    "MIG101.allocator": Words(
        "{name} is replaced; an allocator or pool written for CUDA must be looked at",
        "{name} 会被替换；为 CUDA 编写的分配器或内存池需要检查",
    ),
    "MIG101.nvtx": Words(
        "{name} raises on an NPU: NVTX is NVIDIA's; torch_npu.npu.mstx marks ranges, or remove the call",
        "{name} 在 NPU 上会出错：NVTX 属于 NVIDIA；改用 torch_npu.npu.mstx 或删除",
    ),
    "MIG101.profiler": Words(
        "{name} raises on an NPU; use torch_npu.profiler",
        "{name} 在 NPU 上会出错；请使用 torch_npu.profiler",
    ),
    "MIG101.cudart": Words(
        "{name} reaches into the CUDA runtime: None or an error on an NPU; remove the call",
        "{name} 直接访问 CUDA 运行时：在 NPU 上为 None 或出错；请删除该调用",
    ),
    "MIG101.nccl": Words(
        "{name} asks NCCL itself and raises on an NPU; use torch.distributed",
        "{name} 直接访问 NCCL，在 NPU 上会出错；请使用 torch.distributed",
    ),
    "MIG101.nvml": Words(
        "{name} asks NVML, which an Ascend machine lacks; use npu-smi info",
        "{name} 依赖 NVML，昇腾机器上没有；请使用 npu-smi info",
    ),
    "MIG101.arch": Words(
        "{name} is empty on an NPU; a choice made from it falls to its default",
        "{name} 在 NPU 上为空；由此作出的选择会落到默认分支",
    ),
    "MIG101.submodule": Words(
        "{name} is not replaced: transfer_to_npu replaces torch.cuda's own names only; leave the submodule out",
        "{name} 不会被替换：transfer_to_npu 只替换 torch.cuda 下的名字；请去掉子模块",
    ),
    "MIG101.binding": Words(
        "{name} is not in a build without CUDA; use torch.npu's function for it",
        "没有 CUDA 的构建中没有 {name}；请用 torch.npu 的对应接口",
    ),
    "MIG101.stream_pointer": Words(
        "a stream of an NPU has npu_stream, not cuda_stream; a CUDA kernel cannot take it",
        "NPU 的流是 npu_stream，没有 cuda_stream；CUDA 内核也无法使用它",
    ),
    "MIG101.absent": Words("{name} has no counterpart in torch_npu", "{name} 在 torch_npu 中没有对应接口"),
    "MIG101.unknown": Words(
        "{name} is no public name of torch.cuda 2.13: nobody has looked; try it in the dry run",
        "{name} 不是 torch.cuda 2.13 的公开名称，未核实；请在试运行中验证",
    ),
    "MIG102.replaced": Words("the device string becomes npu where it is used", "设备字符串在使用处被替换为 npu"),
    "MIG102.not_replaced": Words(
        "{name} is not in transfer_to_npu's list and raises with a CUDA device; write npu",
        "{name} 不在 transfer_to_npu 的替换列表中，使用 CUDA 设备会出错；改写为 npu",
    ),
    "MIG102.pin_memory_device": Words(
        "pin_memory_device is tolerated and not needed: pinning follows the accelerator",
        "pin_memory_device 可保留但不需要：锁页内存跟随当前加速器",
    ),
    "MIG103.moved": Words(".cuda() becomes .npu()", ".cuda() 变为 .npu()"),
    "MIG103.takes_number": Words(
        ".cuda() with a string or a device raises under transfer_to_npu (only a number works); write .to(...)",
        "在 transfer_to_npu 下，.cuda() 传入字符串或 device 会出错（只接受整数）；改写为 .to(...)",
    ),
    "MIG104.holds": Words("the answer is right on an NPU too", "该判断在 NPU 上同样成立"),
    "MIG104.assumed": Words(
        "holds where this is text that the script chose; the type of a tensor's own device would say npu",
        "若为脚本自己给出的文本则成立；若取自张量的设备则为 npu",
    ),
    "MIG104.own_branch": Words("the script asks for npu in a branch of its own", "脚本已有单独的 npu 分支"),
    "MIG104.kernels": Words(
        "the branch runs CUDA kernels and an NPU stays out of it, as it should",
        "该分支运行 CUDA 内核，NPU 不会进入，符合预期",
    ),
    "MIG104.data_parallel": Words(
        "the branch makes nn.DataParallel, which an NPU does not have: left as it is, an NPU takes the other one",
        "该分支使用 NPU 不支持的 nn.DataParallel：保持原样，NPU 走另一分支",
    ),
    "MIG104.type": Words(
        'the type is "npu" for what lives on an NPU: this branch would be left out; ask for both',
        "位于 NPU 上时类型为 npu，此分支会被跳过；应同时判断两者",
    ),
    "MIG104.text": Words(
        "the text of a device on an NPU says npu: this test would be false; look for npu too",
        "NPU 设备的文本为 npu，此判断将不成立；请同时判断 npu",
    ),
    "MIG104.cut": Words(
        'the device says "npu:0" on an NPU: nothing is cut off and int raises; ask for .index',
        "NPU 上该设备为 npu:0：截不掉前缀，int 会出错；请用 .index",
    ),
    "MIG104.device": Words(
        "torch.device is not patched: a tensor on an NPU never equals a cuda device; compare with npu",
        "torch.device 不会被替换：NPU 上的张量不等于 cuda 设备；请与 npu 比较",
    ),
    "MIG104.by_hand": Words(
        "a tensor's own device says npu here, the one that the script wrote still says cuda: never equal on an NPU; "
        "compare two tensors' devices, or write npu where this one is made",
        "张量自身的设备为 npu，而脚本写出的仍为 cuda：在 NPU 上永不相等；请比较两个张量的设备，或在其创建处写 npu",
    ),
    "MIG104.keyed": Words(
        'the type of a tensor\'s device is looked up here and is "npu" on an NPU: add an entry for npu beside cuda',
        "此处按张量的设备类型查找，NPU 上为 npu：请在 cuda 旁增加 npu 的条目",
    ),
    "MIG105.true": Words("is_cuda is True for a tensor on an NPU", "NPU 上的张量 is_cuda 为 True"),
    "MIG105.kernel": Words(
        "is_cuda is True on an NPU and the branch runs CUDA kernels: keep an NPU out of it",
        "NPU 上 is_cuda 为 True，而该分支运行 CUDA 内核；应排除 NPU",
    ),
    "MIG105.data_parallel": Words(
        "is_cuda is True on an NPU and the branch makes nn.DataParallel, which it does not have: keep an NPU out of it",
        "NPU 上 is_cuda 为 True，而该分支使用 NPU 不支持的 nn.DataParallel；应排除 NPU",
    ),
    "MIG106.replaced": Words("nccl becomes hccl where the group is made", "创建进程组时 nccl 变为 hccl"),
    "MIG106.upper_case": Words(
        "only lower case nccl is replaced, capitals raise; write nccl", "只替换小写 nccl，大写会出错；改写为 nccl"
    ),
    "MIG106.compared": Words(
        'the backend of a group is "hccl" on an NPU: ask for both',
        "NPU 上进程组的后端为 hccl；应同时判断两者",
    ),
    "MIG107.renamed": Words("an NPU reads {new}, not {name}", "NPU 读取 {new}，而非 {name}"),
    "MIG107.value": Words(
        "{name}={value}: an NPU reads {new}, which does not take this value; write what it takes: {form}",
        "{name}={value}：NPU 读取 {new}，但它不接受该值；请写它接受的值：{form}",
    ),
    "MIG107.no_effect": Words("{name} has no effect on an NPU", "{name} 在 NPU 上没有效果"),
    "MIG107.nccl": Words(
        "{name} is NCCL's and nothing reads it on an NPU; HCCL has HCCL_SOCKET_IFNAME, HCCL_CONNECT_TIMEOUT, ...",
        "{name} 属于 NCCL，NPU 上不会被读取；HCCL 使用 HCCL_SOCKET_IFNAME、HCCL_CONNECT_TIMEOUT 等",
    ),
    "MIG108.works": Words("{name} works for NPU", "{name} 可用于 NPU"),
    "MIG108.wrapped": Words(
        "{name} is not torch's own: make sure that it names npu, or use torch.autocast / torch.amp.GradScaler",
        "{name} 不是 torch 自带接口：请确认它使用 npu，或改用 torch.autocast / torch.amp.GradScaler",
    ),
    "MIG109.no_kernel": Words(
        "DataParallel is not supported on NPU; use DistributedDataParallel, one process per card",
        "NPU 不支持 DataParallel；请使用 DistributedDataParallel，每卡一个进程",
    ),
    "MIG109.wrapper": Words(
        "{name} is nn.DataParallel underneath, as its name says, which an NPU does not support; use "
        "DistributedDataParallel, one process per card",
        "从名称看 {name} 基于 NPU 不支持的 nn.DataParallel；请使用 DistributedDataParallel，每卡一个进程",
    ),
    "MIG110.patched": Words("{name} is patched and runs on HCCL", "{name} 已适配，使用 HCCL"),
    "MIG111.inductor": Words(
        'torch.compile with inductor raises under transfer_to_npu; backend="eager" runs and gains nothing',
        'transfer_to_npu 下 inductor 的 torch.compile 会出错；backend="eager" 可运行但没有加速',
    ),
    "MIG111.backend": Words(
        "the compile backend is not named here; inductor, the default, raises on an NPU: name eager or an NPU's",
        "此处未写明编译后端；默认的 inductor 在 NPU 上会出错：请指定 eager 或 NPU 后端",
    ),
    "MIG112.kernel": Words(
        "Triton kernels are written for NVIDIA; use the branch without them, or review each for triton-ascend",
        "Triton 内核为 NVIDIA 编写；请走不用它的分支，或逐个为 triton-ascend 审查",
    ),
    "MIG112.definition": Words("{name} makes a Triton kernel", "{name} 定义 Triton 内核"),
    "MIG112.call": Words("{name} is a Triton kernel", "{name} 是 Triton 内核"),
    "MIG113.library": Words("{library}: {use}", "{library}：{use}"),
    "MIG113.use": Words("used here: {library}; {use}", "此处使用 {library}：{use}"),
    "MIG114.cuda": Words(
        "{name} compiles CUDA code; port the operator to Ascend C (NpuExtension) or write it in PyTorch",
        "{name} 编译 CUDA 代码；请用 Ascend C（NpuExtension）重写算子或改用 PyTorch 实现",
    ),
    "MIG114.call": Words("{name} was built from CUDA code", "{name} 由 CUDA 代码编译而来"),
    "MIG115.collective": Words(
        "HCCL refuses float64 in collectives (all but Ascend 950); use float32",
        "HCCL 集合通信不支持 float64（Ascend 950 除外）；改用 float32",
    ),
    "MIG115.digits": Words(
        "HCCL refuses float64 in collectives (all but Ascend 950), and float32 tells a time of day to 128 s only: "
        "reduce it as int64 (microseconds), or less a start that all ranks share",
        "HCCL 集合通信不支持 float64（Ascend 950 除外），而 float32 表示时间戳只精确到 128 秒：请以 int64（微秒）规约，"
        "或先减去各 rank 共同的起点",
    ),
    "MIG115.kernel": Words(
        "float64 on the device: many NPU kernels lack it; float32, or compute this on the CPU",
        "设备上的 float64：许多 NPU 内核不支持；改用 float32 或在 CPU 上计算",
    ),
    "MIG115.default": Words(
        "float64 as the default type: many NPU kernels lack it; train in float32",
        "默认类型为 float64：许多 NPU 内核不支持；请用 float32 训练",
    ),
    "MIG116.layout": Words(
        "torch_npu raises on channels_last; contiguous_format gives the same values",
        "torch_npu 遇到 channels_last 会报错；contiguous_format 的结果相同",
    ),
    "MIG116.asked": Words(
        "no tensor on an NPU is channels_last: the answer is always no", "NPU 上没有 channels_last 张量：结果总为否"
    ),
    "MIG117.patched": Words("pin_memory() pins for the NPU", "pin_memory() 为 NPU 锁页"),
    "MIG118.disabled": Words(
        "transfer_to_npu switches torch.jit.script off: the function runs as plain Python",
        "transfer_to_npu 会关闭 torch.jit.script：函数按普通 Python 运行",
    ),
    "MIG118.needs_script": Words(
        "under transfer_to_npu torch.jit.script gives the module itself: {name} needs a ScriptModule; trace it",
        "transfer_to_npu 下 torch.jit.script 返回模块自身：{name} 需要 ScriptModule；请用 trace",
    ),
    "MIG119.cudnn_operator": Words(
        "{name} is an operator of cuDNN: an NPU has none; use the plain one (conv2d, batch_norm, ...)",
        "{name} 是 cuDNN 的算子，NPU 上没有；请改用普通算子（conv2d、batch_norm 等）",
    ),
    "MIG119.cufft": Words(
        "cuFFT's plan cache is not there: reading or setting it raises", "没有 cuFFT 的 plan 缓存：读取或设置都会出错"
    ),
    "MIG119.no_effect": Words("{name} has no effect on an NPU", "{name} 在 NPU 上没有效果"),
    "MIG119.tf32": Words(
        "{name} has no effect on an NPU; torch.npu.matmul.allow_hf32 and torch.npu.conv.allow_hf32 are the like",
        "{name} 在 NPU 上没有效果；类似开关为 torch.npu.matmul.allow_hf32 与 torch.npu.conv.allow_hf32",
    ),
    "MIG119.version": Words(
        "torch.version.cuda is None beside torch_npu", "使用 torch_npu 时 torch.version.cuda 为 None"
    ),
    "MIG119.version_asked": Words(
        "torch.version.cuda is None beside torch_npu: what is decided by it goes the other way, or raises",
        "使用 torch_npu 时 torch.version.cuda 为 None：由它决定的分支会走反，或直接出错",
    ),
    "MIG120.peak": Words(
        "the peak of an NVIDIA card: utilisation figures are wrong on an NPU; put in the NPU's peak",
        "这是 NVIDIA 显卡的峰值算力：在 NPU 上利用率会算错；请填入 NPU 的峰值",
    ),
    "MIG121.removed": Words(
        "torch._six was removed in torch 2.0; inf and nan are in math",
        "torch._six 已在 torch 2.0 移除；inf 与 nan 在 math 中",
    ),
    "MIG122.by_string": Words(
        "a CUDA type named by string raises under transfer_to_npu; the class works",
        "以字符串给出的 CUDA 类型在 transfer_to_npu 下会出错；用类则可以",
    ),
    "MIG122.asked": Words(
        "the type of a tensor on an NPU is torch.npu.*: this comparison does not hold; ask dtype and device",
        "NPU 上张量的类型为 torch.npu.*，此比较不成立；请判断 dtype 与 device",
    ),
    "MIG122.default": Words(
        "this CUDA type has no equal on an NPU; set the default device and dtype instead",
        "该 CUDA 类型在 NPU 上没有对等类型；请改用默认设备与 dtype",
    ),
    "MIG123.tool": Words(
        "nvidia-smi is not on an Ascend machine; npu-smi info", "昇腾机器上没有 nvidia-smi；请用 npu-smi info"
    ),
    "MIG124.replaced": Words("the profiler becomes torch_npu.profiler's", "性能分析器变为 torch_npu.profiler"),
    "MIG124.key_averages": Words(
        "torch_npu's profiler has no key_averages(); read operator_details.csv or the profiling notebook",
        "torch_npu 的 profiler 没有 key_averages()；请看 operator_details.csv 或性能笔记本",
    ),
    "MIG124.autograd": Words(
        "the autograd profiler is not replaced and raises for cuda; use torch.profiler.profile",
        "autograd profiler 不会被替换，对 cuda 会出错；请用 torch.profiler.profile",
    ),
    "MIG129.gone": Words("{name} no longer exists; today: {use}", "{name} 已不存在；现在请用：{use}"),
    "MIG132.collectives": Words(
        "{name} works on an NPU; set HCCL_DETERMINISTIC=true too, or collectives still add in any order",
        "{name} 在 NPU 上可用；还须设置 HCCL_DETERMINISTIC=true，否则集合通信的累加顺序仍不固定",
    ),
    "MIG132.seed": Words(
        "{name} seeds an NPU only where the library knows one; torch.npu.manual_seed_all does for sure",
        "{name} 只有在该库支持时才会设置 NPU 种子；请同时调用 torch.npu.manual_seed_all",
    ),
    "MIG133.sync": Words(
        ".{name}() in every step waits for the device; gather on the device and read now and then",
        "每步调用 .{name}() 都会等待设备；请先在设备上累加，隔若干步再读取",
    ),
    "MIG134.fork": Words(
        "a forked worker must not touch the NPU; keep tensors on the CPU there, or use spawn",
        "fork 出的子进程不能使用 NPU；请让其张量留在 CPU，或改用 spawn",
    ),
    "MIG135.nvml": Words(
        "{name} asks NVIDIA's driver; npu-smi info or torch.npu.mem_get_info",
        "{name} 访问 NVIDIA 驱动；请用 npu-smi info 或 torch.npu.mem_get_info",
    ),
    "MIG135.nvtx": Words(
        "{name} marks ranges for NVIDIA's profilers; torch_npu.npu.mstx marks them for msprof",
        "{name} 用于 NVIDIA 性能工具；msprof 请用 torch_npu.npu.mstx",
    ),
    "MIG137.module": Words(
        "{name} is a CUDA extension of the project's own; plain PyTorch in its place, or an Ascend C operator",
        "{name} 是项目自带的 CUDA 扩展；请改用纯 PyTorch 实现，或编写 Ascend C 算子",
    ),
    "MIG137.call": Words("a kernel of the CUDA extension {name}", "CUDA 扩展 {name} 的内核"),
    "MIG139.message": Words(
        "an NPU's message does not say CUDA: this test would not hold; look for the rest of it",
        "NPU 的报错信息中没有 CUDA，此判断不成立；请匹配其余部分",
    ),
    "MIG151.bitsandbytes": Words(
        "{name} asks for bitsandbytes: a build with NPU kernels (NF4 only), or leave it out",
        "{name} 需要 bitsandbytes：请用带 NPU 内核的版本（仅 NF4），或去掉该选项",
    ),
    "MIG151.flash": Words(
        "{name}: transformers 5 takes an NPU's fused attention for it; older ones need sdpa here",
        "{name}：transformers 5 会使用 NPU 的融合注意力；更旧的版本请改用 sdpa",
    ),
    "MIG151.fused": Words(
        "{name} is apex's optimiser: adamw_torch, or adamw_torch_npu_fused",
        "{name} 是 apex 的优化器：请用 adamw_torch 或 adamw_torch_npu_fused",
    ),
    "MIG138.provider": Words(
        "{name} is not there; CANNExecutionProvider of onnxruntime-cann, or CPUExecutionProvider",
        "没有 {name}；请用 onnxruntime-cann 的 CANNExecutionProvider，或 CPUExecutionProvider",
    ),
    "MIG136.script": Words(
        "a TensorFlow script: convert_tf2npu with npu_bridge (1.15) or npu_device (2.6); only a coarse look was taken",
        "TensorFlow 脚本：请用 convert_tf2npu，配合 npu_bridge（1.15）或 npu_device（2.6）；此处只作粗略扫描",
    ),
    "MIG136.tool": Words(
        "{name} is changed by convert_tf2npu; look at its result", "{name} 由 convert_tf2npu 修改；请核对结果"
    ),
    "MIG136.by_hand": Words("{name} has to be changed by hand for an NPU", "{name} 须为 NPU 手工修改"),
    "MIG136.no_effect": Words("{name} has no effect on an NPU", "{name} 在 NPU 上没有效果"),
    "MIG136.unsupported": Words("{name} is not supported on an NPU", "NPU 不支持 {name}"),
    "MIG127.analyse": Words(
        "{command}: these options are gone; today: msprof-analyze compare, cluster or advisor",
        "{command}：这些选项已不存在；现在请用 msprof-analyze 的 compare、cluster 或 advisor",
    ),
    "MIG127.renamed": Words("an NPU reads {new}, not {name}", "NPU 读取 {new}，而非 {name}"),
    "MIG127.value": Words(
        "{name}={value}: an NPU reads {new}, which does not take this value; write what it takes: {form}",
        "{name}={value}：NPU 读取 {new}，但它不接受该值；请写它接受的值：{form}",
    ),
    "MIG127.no_effect": Words("{name} has no effect on an NPU", "{name} 在 NPU 上没有效果"),
    "MIG127.nccl_variable": Words(
        "{name} is NCCL's and nothing reads it on an NPU; HCCL has HCCL_SOCKET_IFNAME, HCCL_CONNECT_TIMEOUT, ...",
        "{name} 属于 NCCL，NPU 上不会被读取；HCCL 使用 HCCL_SOCKET_IFNAME、HCCL_CONNECT_TIMEOUT 等",
    ),
    "MIG127.backend": Words(
        "{option} nccl stays: it becomes hccl where the group is made", "{option} nccl 保留：创建进程组时变为 hccl"
    ),
    "MIG127.upper_case": Words(
        "{option} NCCL: only lower case nccl is replaced where the group is made; write nccl, here and in the script",
        "{option} NCCL：创建进程组时只替换小写 nccl；请在此处和脚本中改写为 nccl",
    ),
    "MIG127.fixed_choices": Words(
        "{option} takes only its own choices: keep nccl, it becomes hccl where the group is made",
        "{option} 只接受固定选项：保留 nccl，创建进程组时变为 hccl",
    ),
    "MIG127.smi": Words(
        "nvidia-smi is not on an Ascend machine; npu-smi info", "昇腾机器上没有 nvidia-smi；请用 npu-smi info"
    ),
    "MIG127.nvidia_profiler": Words(
        "{command} is NVIDIA's profiler; use msprof or torch_npu.profiler",
        "{command} 是 NVIDIA 的性能工具；请使用 msprof 或 torch_npu.profiler",
    ),
    "MIG127.toolkit": Words(
        "{command} belongs to the CUDA toolkit; source CANN's set_env.sh instead",
        "{command} 属于 CUDA 工具包；请改为 source CANN 的 set_env.sh",
    ),
    "MIG127.wheel": Words(
        "{command}: a CUDA build of torch; on an NPU take the CPU build and torch_npu",
        "{command}：torch 的 CUDA 版本；NPU 上请安装 CPU 版本与 torch_npu",
    ),
    "MIG127.docker": Words(
        "{command}: Ascend containers take --runtime=ascend or the /dev/davinci* devices",
        "{command}：昇腾容器使用 --runtime=ascend 或挂载 /dev/davinci* 设备",
    ),
    "MIG127.launch": Words(
        "torch.distributed.launch works but is deprecated; torchrun takes its place",
        "torch.distributed.launch 可用但已弃用；请改用 torchrun",
    ),
    "MIG128.library": Words("{library}: {use}", "{library}：{use}"),
    "MIG128.too_old": Words(
        "{library} {pin} knows no NPU: ask for {since} or later",
        "{library} {pin} 还不支持 NPU：请使用 {since} 或更高版本",
    ),
    "MIG128.toolkit": Words(
        "{library} is built for CUDA: leave it out on an Ascend machine",
        "{library} 为 CUDA 构建：昇腾机器上请去掉",
    ),
    "MIG128.cuda_build": Words(
        "a CUDA build of {library}: take the CPU build of a version that torch_npu has a partner for",
        "{library} 的 CUDA 版本：请安装与 torch_npu 配套版本的 CPU 版",
    ),
    "MIG126.number": Words("a device by number means npu:N", "以编号给出的设备表示 npu:N"),
    "MIG125.not_followed": Words(
        "names from `from {module} import *` were not followed", "`from {module} import *` 引入的名称未被跟踪"
    ),
}

WORDS: dict[str, Words] = {
    **{f"name.{name}": Words(en, zh) for name, (en, zh) in _HEADINGS.items()},
    **{f"migration.class.{name}": Words(en, zh) for name, (en, zh) in _CLASSES.items()},
    **{f"migration.meaning.{name}": Words(en, zh) for name, (en, zh) in _MEANINGS.items()},
    **{f"migration.confidence.{name}": Words(en, zh) for name, (en, zh) in _CONFIDENCE.items()},
    **_RULES,
    "MIG100.nothing": Words("no CUDA use in {files}", "{files}中没有 CUDA 用法"),
    "MIG100.nothing_in_rest": Words(
        "no CUDA use in {files} file(s); {unread} file(s) could not be read and were not checked",
        "{files} 个文件中没有 CUDA 用法；另有 {unread} 个文件无法读取，未检查",
    ),
    "MIG100.no_file": Words(
        "{path} holds no Python file, notebook, launch script, list of requirements or settings: nothing to look at",
        "{path} 中没有 Python 文件、笔记本、启动脚本、依赖清单或配置文件：没有可检查的内容",
        "Give the training script, or the folder that holds it.",
        "请给出训练脚本或其所在的目录。",
    ),
    "MIG100.counted": Words(
        "{grave}{uses} CUDA use(s) in {files}: {auto} automatic, {rewrite} to rewrite, {manual} by hand, "
        "{unsupported} unsupported, {advice} advice{unread}",
        "{grave}{files}中有 {uses} 处 CUDA 用法："
        "自动 {auto}，改写 {rewrite}，手工 {manual}，不支持 {unsupported}，建议 {advice}{unread}",
        "`ascend-workbook assess {path}` tells the effort and the risks; `ascend-workbook rewrite {path} --diff` shows "
        "every edit before anything is written.",
        "`ascend-workbook assess {path}` 给出工作量与风险；"
        "`ascend-workbook rewrite {path} --diff` 在写入之前显示全部改动。",
    ),
    "MIG100.classes": Words(
        "{auto} of {uses} handled at run time, {rewrite} by `rewrite`, {manual} by hand, "
        "{unsupported} with no way today",
        "共 {uses} 处：运行时自动处理 {auto}，由 `rewrite` 改写 {rewrite}，手工 {manual}，目前无法支持 {unsupported}",
    ),
    "MIG100.unreadable": Words(
        "{path} could not be read{at}: {error}; nothing in it was checked",
        "{path} 无法读取{at}：{error}；其内容未检查",
        "{next}",
        "{next}",
    ),
    "MIG100.not_python": Words(
        "{count} {kind} file(s) mention CUDA and were not scanned, first: {first}",
        "有 {count} 个 {kind} 文件提到 CUDA 但未扫描，首个：{first}",
        "Python, notebooks, launch scripts, requirements, Dockerfiles and settings (YAML, JSON, .env, up to 1 MiB) are "
        "scanned. Read these by hand.",
        "目前扫描 Python、笔记本、启动脚本、依赖清单、Dockerfile 与配置（YAML、JSON、.env，不超过 1 MiB），"
        "请人工查看这些文件。",
    ),
    "MIG100.cuda_sources": Words(
        "{count} CUDA source file(s), first: {first}; each kernel needs a port to Ascend C or PyTorch",
        "有 {count} 个 CUDA 源文件，首个：{first}；每个内核都须移植到 Ascend C 或改用 PyTorch",
    ),
    "migration.no_path": Words(
        "{path}: no such file or folder",
        "{path}：没有该文件或目录",
        "Give a Python file or a folder.",
        "请给出 Python 文件或目录。",
    ),
    "migration.not_a_script": Words(
        "{path} is no Python file",
        "{path} 不是 Python 文件",
        "Give a .py file or a folder of them.",
        "请给出 .py 文件或其目录。",
    ),
    "migration.changed": Words(
        "{path} has changed since it was scanned; no edit was made",
        "{path} 在扫描后已被修改；未作任何改动",
        "Scan it again: edits are good for one text only.",
        "请重新扫描：修改只对应当时的文本。",
    ),
    "migration.overlap": Words(
        "{path}: two edits overlap at character {at}; no edit was made",
        "{path}：两处修改在第 {at} 个字符处重叠；未作任何改动",
        "Please report this with the line. Edit it by hand meanwhile.",
        "请附上该行反馈；可先手工修改。",
    ),
    "migration.broken": Words(
        "{path}: the rewritten text would not parse ({error}); no edit was made",
        "{path}：改写后的文本无法解析（{error}）；未作任何改动",
        "Please report this with the script.",
        "请附上脚本反馈。",
    ),
    "migration.out_is_input": Words(
        "{path}: the result would overwrite the input",
        "{path}：结果会覆盖输入文件",
        "Name another folder with --out.",
        "请用 --out 指定另一个目录。",
    ),
    "MIG130.migrated": Words(
        "{grave}{edits} edit(s) in {files} file(s): {imports} file(s) import transfer_to_npu, {rewrites} line(s) "
        "rewritten; left to do by hand: {manual}, unsupported: {unsupported}{ported}{unread}",
        "{grave}{files} 个文件共 {edits} 处修改：{imports} 个文件导入 transfer_to_npu，改写 {rewrites} 行；"
        "尚需手工 {manual} 处，不支持 {unsupported} 处{ported}{unread}",
    ),
    "MIG130.nothing": Words(
        "{grave}nothing to change in {looked}; left to do by hand: {manual}, unsupported: {unsupported}{ported}"
        "{unread}",
        "{grave}{looked}无需修改；尚需手工 {manual} 处，不支持 {unsupported} 处{ported}{unread}",
    ),
    "MIG131.transfer": Words(
        "import torch_npu and transfer_to_npu before torch is used", "在使用 torch 前导入 torch_npu 与 transfer_to_npu"
    ),
    "MIG140.within": Words(
        "{steps} step(s): the largest relative loss error is {worst} at step {step}, allowed {tolerance} ({dtype}); "
        "baseline {baseline}",
        "{steps} 步：损失的最大相对误差为 {worst}（第 {step} 步），允许 {tolerance}（{dtype}）；基线：{baseline}",
    ),
    "MIG140.beyond": Words(
        "{steps} step(s): the relative loss error reaches {worst} at step {step}, allowed {tolerance} ({dtype}); "
        "baseline {baseline}",
        "{steps} 步：第 {step} 步损失的相对误差达到 {worst}，超出允许的 {tolerance}（{dtype}）；基线：{baseline}",
        "Look for the first tensor that differs: notebook 03, precision. Random numbers drawn on the device, dropout's "
        "too, differ from device to device: draw them on the CPU and move them, and set dropout to 0.",
        "请用 03 精度笔记本查找第一个出现差异的张量。在设备上生成的随机数（包括 dropout）因设备而异："
        "请在 CPU 上生成后再移到设备，并把 dropout 设为 0。",
    ),
    "MIG140.drift": Words(
        "{steps} step(s): step 1 agrees ({first}), by step {step} the relative loss error has grown to {worst}, "
        "allowed {tolerance} ({dtype}); baseline {baseline}",
        "{steps} 步：第 1 步一致（{first}），到第 {step} 步损失的相对误差增至 {worst}，"
        "超出允许的 {tolerance}（{dtype}）；基线：{baseline}",
        "Rounding that training amplifies (usual in half precision), or a difference in backward or in the optimizer: "
        "compare in float32 first, then see notebook 03, precision.",
        "可能是训练放大的舍入误差（半精度下常见），也可能是反向或优化器的差异：先用 float32 比较，再看 03 精度笔记本。",
    ),
    "MIG140.no_loss": Words(
        "{steps} step(s) ran, but no loss was seen on both sides: nothing was compared",
        "运行了 {steps} 步，但未在两侧同时得到损失：没有可比较的数据",
        "Name the loss by a pattern over the output (loss_regex).",
        "请用输出上的匹配模式（loss_regex）指明损失。",
    ),
    "MIG140.steps_differ": Words(
        "the baseline took {baseline} step(s), the migrated script {target}",
        "基线执行了 {baseline} 步，迁移后的脚本执行了 {target} 步",
    ),
    "MIG140.off_npu": Words(
        "the migrated script trained on {devices}, not on the NPU: equal losses say nothing about it",
        "迁移后的脚本在 {devices} 上训练，没有用到 NPU：损失一致不说明任何问题",
        "Let the script move its model and batches to the GPU (`.cuda()`); on an NPU the migration makes that the NPU.",
        "请让脚本把模型和数据移到 GPU（`.cuda()`）；在 NPU 上，迁移会把它变为 NPU。",
    ),
    "MIG140.failed": Words(
        "the {side} failed{at}: {why}{then}",
        "{side}运行失败{at}：{why}{then}",
    ),
    "MIG140.reason": Words("what this message means: {reason}", "该信息的含义：{reason}"),
    "MIG140.not_run": Words(
        "there is no NPU here ({tier}): the migrated script was not run, only the baseline",
        "此处没有 NPU（{tier}）：未运行迁移后的脚本，只运行了基线",
        "Build the simulated NPU (`ascend-workbook simulator build`) or use a machine with an NPU.",
        "请构建模拟 NPU（`ascend-workbook simulator build`），或在有 NPU 的机器上运行。",
    ),
    "MIG141.fallback": Words(
        "{count} operator(s) ran on the CPU for want of an NPU kernel: {operators}",
        "有 {count} 个算子因没有 NPU 内核而在 CPU 上运行：{operators}",
        "Each call copies to the CPU and back: replace them where they stand in the training loop.",
        "每次调用都会往返拷贝到 CPU：如在训练循环中请替换。",
    ),
    "MIG141.none": Words("no operator fell back to the CPU", "没有算子回退到 CPU"),
    "MIG142.not_shown": Words(
        "not shown by a simulated NPU: kernel and dtype support, numerics, memory and speed of a real one",
        "模拟 NPU 不能说明真实 NPU 的内核与数据类型支持、数值、内存和速度",
    ),
    "MIG150.joined": Words("{scan}. Dry run: {run}", "{scan}。试运行：{run}"),
    "migration.side.baseline": Words("baseline", "基线"),
    "migration.side.target": Words("migrated script", "迁移后的脚本"),
    "migration.standing_in": Words("the CPU standing in for CUDA", "由 CPU 代替 CUDA"),
    "migration.on_cuda": Words("CUDA", "CUDA"),
    "migration.reason.cuda_method": Words(
        "`.cuda(...)` was given a string or a device; under transfer_to_npu only a number works, `.to(...)` takes all",
        "`.cuda(...)` 收到了字符串或 device；transfer_to_npu 下只接受整数，`.to(...)` 均可",
    ),
    "migration.reason.still_cuda": Words(
        "a CUDA device reached a function that transfer_to_npu does not patch; write npu there",
        "CUDA 设备传到了 transfer_to_npu 未替换的函数；请在那里写 npu",
    ),
    "migration.reason.nccl": Words(
        "the backend was asked for as NCCL in capitals; only lower case is replaced",
        "后端以大写 NCCL 指定；只替换小写",
    ),
    "migration.reason.nvtx": Words("NVTX is NVIDIA's; remove the ranges", "NVTX 属于 NVIDIA；请删除"),
    "migration.reason.compile": Words(
        'torch.compile with inductor does not work under transfer_to_npu; backend="eager" runs',
        'transfer_to_npu 下不能使用 inductor 的 torch.compile；backend="eager" 可运行',
    ),
    "migration.reason.data_parallel": Words(
        "nn.DataParallel is not supported on NPU; use DistributedDataParallel",
        "NPU 不支持 nn.DataParallel；请用 DistributedDataParallel",
    ),
    "migration.reason.extension": Words(
        "the script compiles a CUDA extension; port the operator", "脚本要编译 CUDA 扩展；须移植该算子"
    ),
    "migration.reason.libraries": Words(
        "a CANN library was not found: the environment is not set up; see notebook 01",
        "找不到 CANN 的库：环境未配置；见 01 环境笔记本",
    ),
    "migration.reason.layout": Words(
        "torch_npu has contiguous tensors only; write torch.contiguous_format for channels_last",
        "torch_npu 只有连续张量；请把 channels_last 改为 torch.contiguous_format",
    ),
    "migration.reason.mixed": Words(
        "a tensor of this call stayed on another device; move it with the others. CUDA refuses this too, "
        "the CPU standing in for it does not see it",
        "此调用中有张量留在别的设备上；请一并移过去。CUDA 同样拒绝，代替 CUDA 的 CPU 看不出来",
    ),
    "migration.reason.simulator": Words(
        "the simulated NPU lacks this function; that says nothing about a real NPU",
        "模拟 NPU 没有实现该功能；这不代表真实 NPU",
    ),
    "migration.reason.memory": Words(
        "device memory ran out; take a smaller batch or model", "设备内存不足；请减小 batch 或模型"
    ),
    "migration.reason.missing": Words(
        "the module {module} is not installed here; on an NPU: {use}", "此处未安装模块 {module}；在 NPU 上：{use}"
    ),
}
