"""Known failures of operators, memory and files, and what the simulated NPU says. Sentence: cause, then cure.

The patterns, excerpts and sources are in helpers/diagnosis/data/known_errors.json.
"""

from __future__ import annotations

from helpers.words import Words

_OPERATOR = {
    "aicore_507015": (
        "A kernel stopped an AI core. The NPU works behind the script's back, so the Python line shown is usually "
        "not the one that started it.",
        "某个算子使 AI Core 异常停止。NPU 是异步执行的，因此报错的 Python 行通常不是真正的出错位置。",
        "Run again with ASCEND_LAUNCH_BLOCKING=1; read errcode and errorStr below; check index inputs (embedding, "
        "gather, index_put) on the CPU first, then try a newer CANN; msaicerr gathers what a ticket needs.",
        "设置 ASCEND_LAUNCH_BLOCKING=1 重新运行；查看下方 errcode 与 errorStr；先在 CPU 上检查索引类输入（"
        "embedding、gather、index_put），再尝试更新的 CANN；提单所需信息可用 msaicerr 收集。",
    ),
    "vector_507035": (
        "A kernel stopped a vector core (Atlas A2 and A3); the Python line shown is usually not the one that "
        "started it.",
        "某个算子使 Vector Core 异常停止（Atlas A2、A3）；报错的 Python 行通常不是真正的出错位置。",
        "As for the AI core: ASCEND_LAUNCH_BLOCKING=1, then errcode and errorStr, then the index inputs.",
        "处理方法同 AI Core 异常：ASCEND_LAUNCH_BLOCKING=1，再看 errcode 与 errorStr，再查索引类输入。",
    ),
    "model_507011": (
        "A captured graph or a queued task failed on the device; the reason is an AI core, AI CPU or copy error "
        "reported beside it, often by another rank.",
        "设备上的图或排队任务执行失败；真正原因是旁边报告的 AI Core、AI CPU 或拷贝错误，且常在其他 rank 上。",
        "Find the first rank with an `error from device` line and decode its errcode; run without graphs and with "
        "ASCEND_LAUNCH_BLOCKING=1.",
        "找到最先出现 `error from device` 的 rank 并解析其 errcode；关闭图模式并设置 ASCEND_LAUNCH_BLOCKING=1 运行。",
    ),
    "mte_ddr_range": (
        "A kernel read or wrote device memory that is not its own: an index out of range, a tensor freed or used "
        "again on another stream, or a defect of the kernel.",
        "算子读写了不属于它的设备内存：索引越界、张量被释放或在另一条 stream 上复用，或算子自身缺陷。",
        "Check index inputs on the CPU; PYTORCH_NO_NPU_MEMORY_CACHING=1 narrows it down; tensor.record_stream "
        "where several streams share it; a newer ops package.",
        "在 CPU 上检查索引输入；PYTORCH_NO_NPU_MEMORY_CACHING=1 有助于定位；多 stream 共用的张量要 record_stream；"
        "更新算子包。",
    ),
    "ub_out_of_bounds": (
        "A vector instruction left the unified buffer: a defect of the kernel, often a custom or Triton one.",
        "向量指令超出 Unified Buffer：算子缺陷，多见于自定义或 Triton 算子。",
        "Custom operator: correct its tiling. Built in: try another shape or dtype, a newer ops package, and "
        "report it.",
        "自定义算子：修正 tiling。内置算子：换 shape 或 dtype、更新算子包，并提单反馈。",
    ),
    "aicpu_507018": (
        "An operator that runs on the AI CPU failed: bad input values, or AI CPU packages of another version.",
        "运行在 AI CPU 上的算子失败：输入值非法，或 AI CPU 包版本不配套。",
        "ASCEND_LAUNCH_BLOCKING=1 finds the operator; compare driver and CANN; start a new process.",
        "用 ASCEND_LAUNCH_BLOCKING=1 找到算子；核对驱动与 CANN；重启进程。",
    ),
    "aclnn_561103": (
        "An aclnn operator met an empty pointer inside: in practice its binaries for this chip are missing or of "
        "another CANN, or this CANN does not know the chip.",
        "aclnn 算子内部遇到空指针：实际多为该芯片的算子包缺失或与 CANN 版本不同，或 CANN 不认识该芯片。",
        "Look into <opp>/built-in/op_impl/ai_core/tbe/kernel for this chip; install the ops package of CANN's "
        "version; check the pairing with the driver.",
        "查看 <opp>/built-in/op_impl/ai_core/tbe/kernel 下是否有该芯片；安装与 CANN 同版本的 ops 包；核对与驱动的"
        "配套。",
    ),
    "find_kernel_561003": (
        "The operator's binaries are not installed.",
        "没有安装该算子的二进制包。",
        "Install the kernels/ops package of this CANN version for this chip.",
        "安装与 CANN 同版本、对应该芯片的 kernels/ops 包。",
    ),
    "aclnn_param": (
        "The operator does not take this dtype, shape or memory format on this chip.",
        "该芯片上的算子不支持此 dtype、shape 或内存格式。",
        "The EZ1001 line below names the argument; cast it (bfloat16 needs an Atlas A2 or later), make it contiguous.",
        "下方的 EZ1001 会指出参数；转换其类型（bfloat16 需要 Atlas A2 及以上），或先 contiguous()。",
    ),
    "no_binary": (
        "No compiled kernel for these types on this chip: the ops package is missing, or lacks the dtype.",
        "该芯片上没有对应这些类型的已编译算子：缺少 ops 包，或不含该 dtype。",
        "Install the ops package; or cast; or torch.npu.set_compile_mode(jit_compile=True) for this operator.",
        "安装 ops 包；或转换 dtype；或对该算子 torch.npu.set_compile_mode(jit_compile=True)。",
    ),
    "compile_e40021": (
        "An operator did not compile: a dtype the chip lacks, torch_npu newer than CANN, a missing Python "
        "package, no compiler, or a working directory that cannot be written.",
        "算子在线编译失败：芯片不支持该 dtype、torch_npu 比 CANN 新、缺少 Python 依赖、没有编译器，或当前目录不可写。",
        "torch.npu.set_compile_mode(jit_compile=False) avoids compiling; use the paired CANN; the plog holds the "
        "compiler's own traceback.",
        "torch.npu.set_compile_mode(jit_compile=False) 可避免在线编译；使用配套的 CANN；编译器自身的堆栈在 plog 中。",
    ),
    "dynamic_shape_e60108": (
        "The operator has no kernel for changing shapes when jit_compile is off.",
        "关闭 jit_compile 时，该算子没有动态 shape 的实现。",
        "torch.npu.set_compile_mode(jit_compile=True) around it, or fixed shapes (drop_last, padding).",
        "在其前后使用 torch.npu.set_compile_mode(jit_compile=True)，或固定 shape（drop_last、padding）。",
    ),
    "bf16_unsupported": (
        'The operator or the chip does not take bfloat16. First-generation 910 (npu-smi shows "910B" without a '
        "digit) and 310P have none.",
        "算子或芯片不支持 bfloat16。第一代 910（npu-smi 显示不带数字的“910B”）与 310P 都没有 bf16。",
        "float16 with a GradScaler, or an Atlas A2/A3; `ascend-workbook check` names the generation.",
        "改用 float16 加 GradScaler，或使用 Atlas A2/A3；`ascend-workbook check` 会给出芯片代次。",
    ),
    "dtype_unsupported": (
        "The NPU operator does not take this dtype (float64, complex or an integer type, mostly).",
        "NPU 算子不支持该 dtype（多为 float64、complex 或某种整数类型）。",
        "Cast to a dtype of the list in the message (float64: float32, and compare the loss), or compute this "
        "part on the CPU; `ascend-workbook scan` finds float64 in the source.",
        "转换为报错列表中的 dtype（float64 改为 float32 并核对 loss），或把这部分放到 CPU 计算；`ascend-workbook "
        "scan` 会找出源码中的 float64。",
    ),
    "double_warning": (
        "float64 is computed in float32 on the NPU, without an error: results lose digits.",
        "NPU 把 float64 按 float32 计算且不报错：结果会损失精度。",
        "Compare against a float32 baseline, or compute this part on the CPU.",
        "用 float32 的基线比较，或把这部分放到 CPU 计算。",
    ),
    "cpu_fallback": (
        "The operator has no NPU kernel: it runs on the CPU with a copy each way, slowly.",
        "该算子没有 NPU 实现：在 CPU 上运行并来回拷贝，速度很慢。",
        "`ascend-workbook scan` and the dry run list them; replace the operator or take a newer torch_npu.",
        "`ascend-workbook scan` 与 dry-run 会列出这些算子；替换算子或升级 torch_npu。",
    ),
    "same_device": (
        "A CPU tensor meets an NPU tensor in one operator: a mask, an index or a constant was not moved.",
        "同一算子里混用了 CPU 张量与 NPU 张量：mask、索引或常量没有搬到 NPU。",
        "tensor.to(x.device), or register constants with register_buffer so that Module.to moves them.",
        "tensor.to(x.device)，或用 register_buffer 注册常量，使 Module.to 一并搬移。",
    ),
    "syncbn_cpu": (
        "SyncBatchNorm was given a tensor that is not on the NPU.",
        "SyncBatchNorm 收到了不在 NPU 上的张量。",
        "Move the model and its inputs to the NPU before the first forward; on one process use BatchNorm.",
        "在第一次 forward 之前把模型与输入搬到 NPU；单进程时使用 BatchNorm。",
    ),
    "triton_drivers": (
        "The CUDA triton is installed on an NPU machine, or both triton and triton-ascend (they own the same folder).",
        "NPU 机器上安装了 CUDA 版 triton，或同时装了 triton 与 triton-ascend（两者占用同一目录）。",
        "`pip uninstall triton triton-ascend`, then install triton-ascend alone if it is needed.",
        "`pip uninstall triton triton-ascend`，需要时只安装 triton-ascend。",
    ),
    "compile_backend": (
        "torch.compile was asked for a backend that this machine does not have (inductor for NPU needs triton-ascend).",
        "torch.compile 使用了本机没有的后端（NPU 上的 inductor 需要 triton-ascend）。",
        "Leave torch.compile out first; then try torchair (graph mode) or triton-ascend of the same version.",
        "先去掉 torch.compile；之后再尝试 torchair（图模式）或同版本的 triton-ascend。",
    ),
    "graph_capture": (
        "Something that a captured graph cannot hold ran while it was captured: a synchronisation, .item(), a "
        "copy to the host, another stream.",
        "图捕获期间执行了图中不能包含的操作：同步、.item()、拷贝到主机或使用其他 stream。",
        "Take it out of the captured part, warm up before capturing, or run without graphs.",
        "把该操作移出捕获范围，捕获前先预热，或关闭图模式。",
    ),
    "data_parallel": (
        "torch.nn.DataParallel is made for CUDA: its parameters must be on cuda:0.",
        "torch.nn.DataParallel 面向 CUDA：参数必须在 cuda:0 上。",
        "Use DistributedDataParallel with torchrun, one process a device.",
        "改用 DistributedDataParallel 与 torchrun，每个设备一个进程。",
    ),
    "cuda_checkpoint": (
        "A checkpoint saved on CUDA is loaded where there is no CUDA.",
        "在没有 CUDA 的机器上加载了 CUDA 上保存的 checkpoint。",
        "torch.load(path, map_location='cpu'), then move the model to the NPU.",
        "torch.load(path, map_location='cpu')，再把模型搬到 NPU。",
    ),
    "weights_only": (
        "From 2.6 on torch.load takes tensors only, and the file holds other objects.",
        "torch 2.6 起 torch.load 默认只接受张量，而文件中含有其他对象。",
        "Save state_dict only; for a file you trust, torch.serialization.add_safe_globals or weights_only=False.",
        "只保存 state_dict；对可信文件使用 torch.serialization.add_safe_globals 或 weights_only=False。",
    ),
    "index_range": (
        "An index is larger than the table (an embedding with a token beyond the vocabulary, a label beyond the "
        "classes). The CPU says so; an NPU may read foreign memory instead.",
        "索引超出表的范围（embedding 的 token 超出词表、标签超出类别数）。CPU 会报错；NPU 则可能读到无关内存。",
        "Compare the largest index with the table's size; tokenizer and model must belong together.",
        "比较最大索引与表的大小；tokenizer 与模型要配套。",
    ),
}

_MEMORY = {
    "oom": (
        "The NPU's memory is full or in pieces. Buffers of CANN and HCCL and other processes on the card stand "
        "beside PyTorch's share.",
        "NPU 显存已满或碎片化。除 PyTorch 占用外，还有 CANN、HCCL 缓冲区和卡上其他进程。",
        "`npu-smi info` shows other processes; smaller batch, activation checkpointing; "
        "PYTORCH_NPU_ALLOC_CONF=expandable_segments:True (alone); lower HCCL_BUFFSIZE. `ascend-workbook explain "
        "--symptom oom` walks through them.",
        "`npu-smi info` 查看其他进程；减小 batch、启用重计算；PYTORCH_NPU_ALLOC_CONF=expandable_segments:True（单"
        "独使用）；调小 HCCL_BUFFSIZE。`ascend-workbook explain --symptom oom` 会逐项列出。",
    ),
    "hbm_fault": (
        "The device's memory has a faulty cell (ECC): hardware, not the script.",
        "设备显存出现故障（ECC）：硬件问题，与脚本无关。",
        "`npu-smi info -t ecc -i N` counts the errors; restart the card, and have it replaced where it comes again.",
        "`npu-smi info -t ecc -i N` 查看错误计数；重启该卡，反复出现则更换。",
    ),
    "cuda_oom": (
        "The GPU's memory is full (this is a log of the CUDA side).",
        "GPU 显存已满（这是 CUDA 侧的日志）。",
        "Smaller batch or activation checkpointing; keep the same setting on the NPU, or the comparison is not fair.",
        "减小 batch 或启用重计算；NPU 侧保持同样设置，否则对比不公平。",
    ),
    "device_memory_207001": (
        "The driver had no memory left, outside of PyTorch's share: other processes, HCCL buffers, or the host's "
        "own memory.",
        "驱动无法分配内存（在 PyTorch 占用之外）：其他进程、HCCL 缓冲区，或主机内存不足。",
        "`npu-smi info` for other processes, `free -g` and `df -h /dev/shm` for the host; then as for out of memory.",
        "用 `npu-smi info` 查其他进程，`free -g` 与 `df -h /dev/shm` 查主机；其余同显存不足。",
    ),
    "streams_207008": (
        "Too many streams, or too many captured graphs.",
        "stream 过多，或捕获的图过多。",
        "Fewer graph sizes or communicators; start a new process.",
        "减少图的尺寸种类或通信域；重启进程。",
    ),
    "host_memory": (
        "The host's memory ran out while allocating.",
        "主机内存在分配时耗尽。",
        "Fewer DataLoader workers, smaller prefetch, pin_memory=False; `free -g`; in a container look at its limit.",
        "减少 DataLoader worker 与 prefetch、pin_memory=False；`free -g`；容器中查看内存限制。",
    ),
    "killed_by_signal": (
        "The system ended a process with SIGKILL: almost always host memory (the container's limit counts), else "
        "somebody stopped it.",
        "系统用 SIGKILL 结束了进程：几乎都是主机内存不足（含容器限制），否则是人为停止。",
        "`dmesg | grep -i oom`; the container's memory limit; fewer DataLoader workers, checkpoint shards loaded "
        "one by one.",
        "`dmesg | grep -i oom`；查看容器内存限制；减少 DataLoader worker，分片逐个加载 checkpoint。",
    ),
    "shm_bus_error": (
        "/dev/shm is full: a container has 64 MB by default.",
        "/dev/shm 已满：容器默认只有 64 MB。",
        "docker run --shm-size=16g (or --ipc=host); or num_workers=0, or the sharing strategy file_system.",
        "docker run --shm-size=16g（或 --ipc=host）；或 num_workers=0，或使用 file_system 共享策略。",
    ),
    "segfault": (
        "A library crashed the process; Python could not say where.",
        "某个动态库使进程崩溃，Python 无法给出位置。",
        "Run with PYTHONFAULTHANDLER=1 for the Python line; compare versions with `ascend-workbook check`; try "
        "without custom operators.",
        "用 PYTHONFAULTHANDLER=1 运行以得到 Python 行号；用 `ascend-workbook check` 核对版本；去掉自定义算子再试。",
    ),
}

_FILES = {
    "kernel_meta_permission": (
        "CANN writes kernel_meta into the working directory, which cannot be written.",
        "CANN 要在当前目录写 kernel_meta，但目录不可写。",
        "Start from a writable folder, or set ASCEND_WORK_PATH (and ASCEND_CACHE_PATH) to one.",
        "从可写目录启动，或把 ASCEND_WORK_PATH（及 ASCEND_CACHE_PATH）设为可写目录。",
    ),
    "gedebugdir": (
        "The working directory is a folder of the system that cannot be written.",
        "当前目录是不可写的系统目录。",
        "Start from a writable folder.",
        "从可写目录启动。",
    ),
    "owner_mismatch": (
        "CANN was installed by another user; a security remark.",
        "CANN 由其他用户安装；仅为安全提示。",
        "Harmless.",
        "无害。",
    ),
    "disk_full": (
        "The disk is full: checkpoints, profiles, dumps or CANN's logs.",
        "磁盘已满：checkpoint、性能数据、dump 或 CANN 日志。",
        "`df -h . /tmp ~` and `du -sh ~/ascend/log`; write to a larger disk (ModelArts: /cache).",
        "`df -h . /tmp ~` 与 `du -sh ~/ascend/log`；写到更大的磁盘（ModelArts：/cache）。",
    ),
    "too_many_files": (
        "The limit of open files is reached: many DataLoader workers or ranks.",
        "打开文件数达到上限：DataLoader worker 或 rank 较多。",
        "`ulimit -n 65536` before the start, or torch.multiprocessing.set_sharing_strategy('file_system').",
        "启动前执行 `ulimit -n 65536`，或 torch.multiprocessing.set_sharing_strategy('file_system')。",
    ),
}

_SIMULATOR = {
    "sim_lacks": (
        "The simulated NPU has no such operator, function or setting; a real NPU may have it.",
        "模拟 NPU 没有该算子、函数或设置；真实 NPU 可能有。",
        "Nothing is wrong with the script by this alone: run this part on a real NPU, or on the CPU.",
        "这并不说明脚本有错：请在真实 NPU 或 CPU 上运行这一部分。",
    ),
    "sim_refuses": (
        "A real NPU refuses this call too, by its documentation, so the simulated one does; the line names the "
        "operator.",
        "按文档真实 NPU 也会拒绝该调用，因此模拟 NPU 同样拒绝；该行给出了算子。",
        "Cast as the line says, give the operator what it takes, or compute this part on the CPU.",
        "按提示转换类型，改用算子支持的参数，或把这部分放到 CPU 计算。",
    ),
    "sim_fault": (
        "A fault that was asked for (ASCEND_WORKBOOK_SIM_FAULT): the simulated NPU did this on purpose.",
        "这是按要求注入的故障（ASCEND_WORKBOOK_SIM_FAULT）：模拟 NPU 有意为之。",
        "Unset ASCEND_WORKBOOK_SIM_FAULT for an honest run.",
        "取消 ASCEND_WORKBOOK_SIM_FAULT 即可正常运行。",
    ),
    "sim_switch": (
        "A switch of the simulated NPU (ASCEND_WORKBOOK_SIM_...) has a value it does not take; the line says which.",
        "模拟 NPU 的某个开关（ASCEND_WORKBOOK_SIM_...）取值不被接受；该行给出了是哪一个。",
        "Correct or unset the variable; docs/simulated_npu.md lists what each takes.",
        "请改正或取消该变量；docs/simulated_npu.md 列出了各开关的取值。",
    ),
    "sim_stale": (
        "The simulator was built for another torch or torch_npu than this process has.",
        "模拟器是为其他版本的 torch 或 torch_npu 构建的。",
        "`ascend-workbook simulator build` builds it anew.",
        "执行 `ascend-workbook simulator build` 重新构建。",
    ),
    "sim_memory": (
        "The simulated NPU's memory is full: its size is set by ASCEND_WORKBOOK_SIM_MEMORY_MIB, else a share of "
        "the host's.",
        "模拟 NPU 的显存已满：大小由 ASCEND_WORKBOOK_SIM_MEMORY_MIB 设定，否则为主机内存的一部分。",
        "Set ASCEND_WORKBOOK_SIM_MEMORY_MIB higher where the host has room, or use a smaller batch.",
        "主机有余量时调大 ASCEND_WORKBOOK_SIM_MEMORY_MIB，或减小 batch。",
    ),
}

_GENERIC = {
    "err_suffix": (
        "torch_npu's own suffix: which of its parts failed, and how.",
        "torch_npu 自己的后缀：说明哪个部分出错以及类别。",
        "Look at the ACL number and the E-code of the same block.",
        "查看同一段中的 ACL 错误码与 E 错误码。",
    ),
    "inner_error_above": (
        "The device reported an error for work queued earlier; the operator named was the one at hand, not always "
        "the guilty one.",
        "设备为先前下发的任务报错；文中的算子是当时正在执行的算子，不一定是出错的算子。",
        "Read the ACL number, E-codes and errcode around this line; run again with ASCEND_LAUNCH_BLOCKING=1.",
        "查看此行前后的 ACL 错误码、E 错误码与 errcode；用 ASCEND_LAUNCH_BLOCKING=1 重新运行。",
    ),
    "acl_code": (
        "A call of CANN's runtime failed; its number says of what kind.",
        "CANN 运行时接口调用失败；错误码说明类别。",
        "Read the number's meaning below, together with the E-code of the same block.",
        "结合下方该错误码的含义与同一段中的 E 错误码判断。",
    ),
    "inner_error": (
        "An internal error of CANN (x9999): the useful text is in the TraceBack lines below it.",
        "CANN 内部错误（x9999）：有用的信息在其下方的 TraceBack 行。",
        "Read those lines first; where none is known, collect the plog (~/ascend/log) and the versions for a ticket.",
        "先看这些行；若都不认识，请收集 plog（~/ascend/log）与版本信息提单。",
    ),
    "cann_code": (
        "A component of CANN reports an error; the code below says which component and what.",
        "CANN 的某个组件报错；下方的错误码说明是哪个组件及原因。",
        "The text behind the code names the value; its meaning stands in the rows below.",
        "错误码后面的文字给出了具体取值；含义见下方各行。",
    ),
    "aicore_errcode": (
        "The AI core's error register; the rows below name its bits.",
        "AI Core 错误寄存器；下方各行给出其置位的含义。",
        "The operator stands in the lines above (kernel name, fault kernel_name); run with ASCEND_LAUNCH_BLOCKING=1.",
        "算子名在上方几行（kernel name、fault kernel_name）；用 ASCEND_LAUNCH_BLOCKING=1 重新运行。",
    ),
    "overflow_status": (
        "Overflow detection caught an operator whose result left its number type; the rows below name the bits of "
        "its status.",
        "溢出检测发现某算子的结果超出了数据类型范围；下方各行给出状态字各位的含义。",
        "Look at this operator's inputs (msprobe dump): scale them, lower the loss scale, or compute it in float32.",
        "查看该算子的输入（msprobe dump）：缩放数值、降低 loss scale，或改用 float32 计算。",
    ),
}

_ALL = {**_OPERATOR, **_MEMORY, **_FILES, **_SIMULATOR, **_GENERIC}
WORDS: dict[str, Words] = {f"known.{name}": Words(*texts) for name, texts in _ALL.items()}
