"""Words of settings, Dockerfiles and launch scripts: what their lines mean on an NPU."""

from helpers.words import Words

WORDS: dict[str, Words] = {
    "MIG127.slurm": Words(
        "{command} asks SLURM for GPUs; an Ascend cluster names its cards otherwise (often --gres=npu:N): "
        "ask who runs it",
        "{command} 向 SLURM 申请 GPU；昇腾集群的资源名不同（常为 --gres=npu:N）：请咨询集群管理员",
    ),
    "MIG152.device": Words(
        "{name}: {value} stays: it becomes npu where torch takes it; a comparison with it in the code does not",
        "{name}: {value} 保留：在 torch 使用处变为 npu；但代码中与它的比较不会改变",
    ),
    "MIG152.backend": Words(
        "{name}: {value} stays: it becomes hccl where the group is made", "{name}: {value} 保留：创建进程组时变为 hccl"
    ),
    "MIG152.upper_case": Words(
        "{name}: {value}: only lower case nccl is replaced where the group is made; write nccl",
        "{name}: {value}：创建进程组时只替换小写 nccl；请改写为 nccl",
    ),
    "MIG152.one_bit": Words(
        "DeepSpeed's 1-bit optimisers take {new} on an NPU, not {value}",
        "DeepSpeed 的 1-bit 优化器在 NPU 上使用 {new}，而非 {value}",
    ),
    "MIG152.distributed_type": Words(
        "accelerate calls several NPUs {new}, not {value}", "accelerate 以 {new} 表示多个 NPU，而非 {value}"
    ),
    "MIG152.inductor": Words(
        "{name}: {value} compiles with inductor, which raises under transfer_to_npu: switch it off",
        "{name}: {value} 使用 inductor 编译，在 transfer_to_npu 下会出错：请关闭",
    ),
    "MIG152.accelerator": Words(
        "{name}: {value} names Lightning's CUDA accelerator; Lightning has none for NPUs: bring one of your own, "
        "or try it under transfer_to_npu in a dry run first",
        "{name}: {value} 指 Lightning 的 CUDA 加速器；Lightning 没有 NPU 加速器："
        "请自行提供，或先用 transfer_to_npu 试运行",
    ),
    "MIG152.fp8": Words(
        "{name}: {value} needs TransformerEngine: bf16, or TransformerEngineNPU where the card has FP8",
        "{name}: {value} 依赖 TransformerEngine：请用 bf16；若硬件支持 FP8，可用 TransformerEngineNPU",
    ),
    "MIG152.float64": Words(
        "{name}: {value}: many NPU kernels lack float64; train in float32",
        "{name}: {value}：许多 NPU 内核不支持 float64；请用 float32 训练",
    ),
    "MIG152.bitsandbytes": Words(
        "{name}: {value} needs bitsandbytes: NF4 only, in a build with NPU kernels, or do without",
        "{name}: {value} 依赖 bitsandbytes：需带 NPU 内核的构建且仅 NF4，或不使用",
    ),
    "MIG152.flash": Words(
        "{name}: {value}: transformers calls torch_npu's attention for it in newer versions; write sdpa in older ones",
        "{name}: {value}：较新的 transformers 会调用 torch_npu 的注意力算子；较旧版本请写 sdpa",
    ),
    "MIG152.no_effect": Words("{name}: {value} has no effect on an NPU", "{name}: {value} 在 NPU 上没有效果"),
    "MIG152.layout": Words(
        "{name}: {value}: torch_npu raises on channels_last; switch it off",
        "{name}: {value}：torch_npu 遇到 channels_last 会报错；请关闭",
    ),
    "MIG152.runtime": Words(
        "{name}: {value} is NVIDIA's container runtime; Ascend's is called ascend (Ascend Docker Runtime), or "
        "mount the /dev/davinci* devices",
        "{name}: {value} 是 NVIDIA 的容器运行时；昇腾的运行时名为 ascend（Ascend Docker Runtime），"
        "或挂载 /dev/davinci* 设备",
    ),
    "MIG152.image": Words(
        "{name}: {value} brings CUDA; take an image with CANN, such as quay.io/ascend/torch-npu",
        "{name}: {value} 自带 CUDA；请改用带 CANN 的镜像，如 quay.io/ascend/torch-npu",
    ),
    "MIG152.resource": Words(
        "{name} is NVIDIA's resource in Kubernetes; Ascend's device plugin has its own, such as huawei.com/Ascend910",
        "{name} 是 Kubernetes 中 NVIDIA 的资源；昇腾设备插件使用自己的资源名，如 huawei.com/Ascend910",
    ),
    "MIG152.gres": Words(
        "{name}: {value} asks SLURM for GPUs; an Ascend cluster names its cards otherwise: ask who runs it",
        "{name}: {value} 向 SLURM 申请 GPU；昇腾集群的资源名不同：请咨询集群管理员",
    ),
    "MIG152.cards": Words(
        "{name}: {value} counts or numbers cards; NPUs are counted the same way, if what reads it knows them",
        "{name}: {value} 是卡数或卡号；NPU 的计法相同，前提是读取它的程序支持 NPU",
    ),
    "MIG152.variable": Words(
        "{name} is read by NVIDIA's container runtime; Ascend's reads ASCEND_VISIBLE_DEVICES",
        "{name} 由 NVIDIA 容器运行时读取；昇腾的运行时读取 ASCEND_VISIBLE_DEVICES",
    ),
    "MIG152.untold": Words(
        "{count} file(s) of settings say CUDA in lines that were not judged, first: {first}",
        "{count} 个配置文件中有提到 CUDA 但未作判断的行，首处：{first}",
        "Only keys and values that mean one thing everywhere are judged. Read these lines by hand.",
        "只判断含义明确的键与值。请人工查看这些行。",
    ),
    "MIG153.image": Words(
        "{value} brings CUDA; build on an image with CANN, such as quay.io/ascend/torch-npu",
        "{value} 自带 CUDA；请基于带 CANN 的镜像构建，如 quay.io/ascend/torch-npu",
    ),
    "MIG153.variable": Words(
        "{name} is read by NVIDIA's container runtime; Ascend's reads ASCEND_VISIBLE_DEVICES",
        "{name} 由 NVIDIA 容器运行时读取；昇腾的运行时读取 ASCEND_VISIBLE_DEVICES",
    ),
    "MIG153.nccl": Words(
        "{name} tunes NCCL; HCCL has variables of its own (HCCL_SOCKET_IFNAME, HCCL_CONNECT_TIMEOUT, ...)",
        "{name} 用于 NCCL；HCCL 有自己的变量（HCCL_SOCKET_IFNAME、HCCL_CONNECT_TIMEOUT 等）",
    ),
    "MIG154.no_import": Words(
        "Python inside a launch script: add `import torch_npu` and `from torch_npu.contrib import transfer_to_npu` "
        "before it uses torch",
        "启动脚本中的 Python：请在使用 torch 之前加入 `import torch_npu` 与 "
        "`from torch_npu.contrib import transfer_to_npu`",
    ),
    "MIG154.unread": Words(
        "Python inside a launch script could not be read ({error}) and was not checked",
        "启动脚本中的 Python 无法读取（{error}），未检查",
        "The shell may change it first. Read it by hand.",
        "shell 可能会先替换其中的内容。请人工查看。",
    ),
}
