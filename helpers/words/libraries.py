"""Parts of other sentences: what to take instead of a library, what an entry rests on, why a file was not read."""

from helpers.words import Words

_USES = {
    "apex": (
        "Ascend/apex built from source, or torch.amp with torch_npu.optim.NpuFused* optimisers "
        "(PyPI's apex is another project)",
        "从源码构建 Ascend/apex，或用 torch.amp 配合 torch_npu.optim.NpuFused* 优化器（PyPI 上的 apex 是另一个项目）",
    ),
    "api_profiler": (
        "torch_npu.profiler.profile, or msprobe.pytorch.PrecisionDebugger for tensors",
        "torch_npu.profiler.profile；采集张量用 msprobe.pytorch.PrecisionDebugger",
    ),
    "attention": (
        "torch.nn.functional.scaled_dot_product_attention, torch_npu.npu_fusion_attention, "
        "or flash-attn-npu (CANN >= 8.5)",
        "torch.nn.functional.scaled_dot_product_attention、torch_npu.npu_fusion_attention，"
        "或 flash-attn-npu（CANN >= 8.5）",
    ),
    "backend": (
        "build with an NPU backend, or another quantiser",
        "带 NPU 后端的构建，或改用其他量化方案",
    ),
    "bitsandbytes": (
        "a build of bitsandbytes with NPU kernels (NF4 only), or no 8-bit optimiser",
        "带 NPU 内核的 bitsandbytes（仅 NF4），或不用 8 位优化器",
    ),
    "config_json": (
        "nothing: msprobe is an installed package and reads its config.json",
        "无需设置：msprobe 是已安装的包，读取自己的 config.json",
    ),
    "dali": (
        "a torchvision pipeline on the CPU",
        "在 CPU 上用 torchvision 做数据预处理",
    ),
    "debugger": (
        "msprobe.pytorch.PrecisionDebugger (pip install mindstudio-probe)",
        "msprobe.pytorch.PrecisionDebugger（以 pip install mindstudio-probe 安装）",
    ),
    "deepspeed": (
        "works: DeepSpeed >= 0.10 has an NPU accelerator",
        "可用：DeepSpeed >= 0.10 自带 NPU 后端",
    ),
    "deepspeed_itself": (
        "DeepSpeed >= 0.10 itself: it has an NPU accelerator",
        "DeepSpeed >= 0.10 本身：已自带 NPU 后端",
    ),
    "detectron2": (
        "the port in Ascend ModelZoo-PyTorch",
        "昇腾 ModelZoo-PyTorch 中的移植版",
    ),
    "device": (
        "torch.device('npu'); transfer_to_npu itself has no functions to call",
        "torch.device('npu')；transfer_to_npu 本身没有可调用的函数",
    ),
    "dgl": (
        "PyTorch Geometric's layers in plain PyTorch, or the graph on the CPU: DGL has kernels for CPU and CUDA only",
        "PyTorch Geometric 的纯 PyTorch 层，或把图留在 CPU 上：DGL 只有 CPU 与 CUDA 内核",
    ),
    "experimental": (
        "torch_npu.profiler._ExperimentalConfig",
        "torch_npu.profiler._ExperimentalConfig",
    ),
    "horovod": (
        "torch.distributed with HCCL and DistributedDataParallel",
        "torch.distributed（HCCL）与 DistributedDataParallel",
    ),
    "hub_kernel": (
        "torch.nn.functional.scaled_dot_product_attention or torch_npu's fused operators: a kernel of the hub is a "
        "compiled binary, and flash attention's are compiled for CUDA",
        "torch.nn.functional.scaled_dot_product_attention 或 torch_npu 的融合算子：hub 上的内核是编译好的二进制，"
        "其中的 flash attention 为 CUDA 编译",
    ),
    "inference": (
        "Ascend's ATC and .om models, or torch_npu for inference",
        "昇腾 ATC 与 .om 模型，或用 torch_npu 推理",
    ),
    "kernel": (
        "plain PyTorch for the kernel, or an Ascend C operator",
        "用 PyTorch 实现该内核，或编写 Ascend C 算子",
    ),
    "megatron": (
        "MindSpeed: `import mindspeed.megatron_adaptor` before megatron",
        "MindSpeed：在 megatron 之前 `import mindspeed.megatron_adaptor`",
    ),
    "mmcv": (
        "mmcv built from source with MMCV_WITH_OPS=1 FORCE_NPU=1",
        "以 MMCV_WITH_OPS=1 FORCE_NPU=1 从源码构建 mmcv",
    ),
    "msprobe": (
        "msprobe (pip install mindstudio-probe)",
        "msprobe（以 pip install mindstudio-probe 安装）",
    ),
    "mx_driving": (
        "mx-driving has NPU versions of some of these operators",
        "mx-driving 提供其中部分算子的 NPU 版本",
    ),
    "npu_smi": (
        "npu-smi or torch_npu.npu memory functions",
        "npu-smi，或 torch_npu.npu 的显存查询接口",
    ),
    "numpy": (
        "numpy, or the same in torch",
        "numpy，或用 torch 实现同样的计算",
    ),
    "nvtx": (
        "torch_npu.npu.mstx",
        "torch_npu.npu.mstx",
    ),
    "operators": (
        "torch_npu's own operators: torch_npu.npu_*",
        "torch_npu 自带的算子：torch_npu.npu_*",
    ),
    "profile": (
        "torch_npu.profiler.profile",
        "torch_npu.profiler.profile",
    ),
    "scatter": (
        "torch.scatter_reduce and friends; the CUDA builds of these wheels do not run on an NPU",
        "torch.scatter_reduce 等接口；这些库的 CUDA 构建不能在 NPU 上运行",
    ),
    "transformer_engine": (
        "TransformerEngineNPU, or plain PyTorch layers",
        "TransformerEngineNPU，或普通 PyTorch 层",
    ),
    "triton": (
        "triton-ascend with every kernel reviewed, or a branch in plain PyTorch",
        "triton-ascend（逐个审查内核），或走纯 PyTorch 分支",
    ),
    "vllm": (
        "vllm-ascend",
        "vllm-ascend",
    ),
    "xformers": (
        "torch.nn.functional.scaled_dot_product_attention or torch_npu.npu_fusion_attention",
        "torch.nn.functional.scaled_dot_product_attention 或 torch_npu.npu_fusion_attention",
    ),
}

_WITHOUT = {
    "kernels": ("no page says so: the package is made of CUDA kernels", "没有页面可引：该包由 CUDA 内核构成"),
    "wheels": ("no page says so: its wheels are built per CUDA version", "没有页面可引：其安装包按 CUDA 版本构建"),
    "datasheet": (
        "no page says so: the number is that of an NVIDIA data sheet", "没有页面可引：该数值出自 NVIDIA 数据手册"
    ),
    "cluster": (
        "no page for every cluster: its device plugin names the resource", "没有通用页面：资源名由集群的设备插件决定"
    ),
    "key": ("no page says so: whoever reads the key decides", "没有页面可引：由读取该键的程序决定"),
    "no_build": ("no page says so: no NPU build was found on PyPI", "没有页面可引：PyPI 上未找到 NPU 构建"),
}

WORDS: dict[str, Words] = {
    **{f"migration.use.{name}": Words(en, zh) for name, (en, zh) in _USES.items()},
    **{f"migration.without.{name}": Words(en, zh) for name, (en, zh) in _WITHOUT.items()},
    "migration.step_done": Words("{side}: step {step}/{steps}", "{side}：第 {step}/{steps} 步"),
    "notebook.left_to_rewrite": Words("left to rewrite: {count}", "剩余需改写之处：{count}"),
    "notebook.changed_again": Words(
        "changed by a second rewrite: {count} file(s)", "第二次改写改动的文件数：{count}"
    ),
    "notebook.verdict": Words("verdict: {said}", "结论：{said}"),
    "migration.step": Words("{side}: step {step}/{steps}, loss {loss}", "{side}：第 {step}/{steps} 步，损失 {loss}"),
    "migration.unread.no_notebook": Words(
        "no notebook: no JSON with a list of cells", "不是笔记本：不是含单元格列表的 JSON"
    ),
    "migration.unread.language": Words("a notebook of {language}", "{language} 语言的笔记本"),
    "migration.versions_of.entry": Words("as the entry says", "见该条说明"),
    "migration.versions_of.any": Words("any", "任意版本"),
    "migration.versions_of.today": Words(
        "today's names: MindStudio 8, torch_npu 2.13.0", "现行名称：MindStudio 8、torch_npu 2.13.0"
    ),
}
