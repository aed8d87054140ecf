"""Words of ACC205: are the two runs the same experiment?"""

from helpers.words import Words

_FIX_OPTIONS = (
    "Capture both sides with the same options; no tensor is to blame before that.",
    "请用相同的选项采集两侧；在此之前无法归因于任何张量。",
)
_FIX_WEIGHTS = (
    "Fix the seeds before the model is built, or start both sides from one checkpoint.",
    "请在构建模型之前固定随机种子，或让两侧从同一个检查点开始。",
)
_FIX_DATA = (
    "Fix the data: the same files, no random augmentation, and random tensors drawn on the CPU (device generators"
    " differ).",
    "请固定数据：使用相同的文件，去掉随机增强，并在 CPU 上生成随机张量（各设备的随机数生成器不同）。",
)
_FIX_HYPER = (
    "Set it alike on both sides, in the script or its arguments, and capture again.",
    "请在脚本或其参数中将两侧设为相同，然后重新采集。",
)

WORDS: dict[str, Words] = {
    "ACC205.no_manifest": Words(
        "not looked at: whether seeds, weights, data, hyper-parameters and AMP are the same; a capture.json is not on"
        " both sides (a dump that msprobe wrote by itself has none)",
        "未检查随机种子、权重、数据、超参数和 AMP 是否相同：两侧并非都有 capture.json"
        "（msprobe 自行生成的数据没有该文件）",
        "Record both sides with `ascend-workbook capture` to have them checked.",
        "请用 `ascend-workbook capture` 采集两侧，以便检查。",
    ),
    "ACC205.not_looked": Words(
        "not looked at, since a side did not record it: {names}",
        "以下内容因有一侧未记录而未检查：{names}",
    ),
    "ACC205.script": Words(
        "the two sides ran scripts of different content (a migrated one, perhaps)",
        "两侧运行的脚本内容不同（例如其中一个已迁移）",
    ),
    "ACC205.more": Words(
        "not the same experiment: {count} further differences: {names}", "不是同一个实验：另有 {count} 处不同：{names}"
    ),
    "ACC205.option": Words(
        "not the same experiment: {name} is {baseline} in the baseline and {target} in the target",
        "不是同一个实验：{name} 在基线为 {baseline}，在目标为 {target}",
        *_FIX_OPTIONS,
    ),
    "ACC205.setting": Words(
        "not the same experiment: {name} is {baseline} in the baseline and {target} in the target ({why})",
        "不是同一个实验：{name} 在基线为 {baseline}，在目标为 {target}（{why}）",
        "Make it alike on both sides; `compare --anyway` judges tensors all the same, where this is what you compare.",
        "请将两侧设为相同；若要比较的正是这一差异，可用 `compare --anyway` 仍然比对张量。",
    ),
    "ACC205.seed": Words(
        "not the same experiment: {name} is {baseline} in the baseline and {target} in the target ({rank})",
        "不是同一个实验：{name} 在基线为 {baseline}，在目标为 {target}（{rank}）",
        "Seed both sides alike before the model is built; weights and data follow from it.",
        "请在构建模型之前在两侧设置相同的种子；权重和数据都由它决定。",
    ),
    "ACC205.random_state": Words(
        "the state of {name}'s random numbers at the first forward differs although no seed does ({rank}):"
        " one side drew more of them",
        "首次前向时 {name} 的随机数状态不同，但种子相同（{rank}）：其中一侧多取了随机数",
    ),
    "ACC205.dtype": Words(
        "not the same experiment: {count} weights have another dtype; {name} is {baseline} in the baseline"
        " and {target} in the target ({rank})",
        "不是同一个实验：{count} 个权重的数据类型不同；{name} 在基线为 {baseline}，在目标为 {target}（{rank}）",
        "Train both in one dtype; `compare --anyway` judges tensors by the coarser one's tolerance.",
        "请在两侧使用相同的数据类型；`compare --anyway` 会按较粗的精度容差比对张量。",
    ),
    "ACC205.shape": Words(
        "not the same experiment: {count} weights have another shape; {name} is {baseline} in the baseline"
        " and {target} in the target ({rank})",
        "不是同一个实验：{count} 个权重的形状不同；{name} 在基线为 {baseline}，在目标为 {target}（{rank}）",
        *_FIX_HYPER,
    ),
    "ACC205.weights": Words(
        "not the same experiment: {count} of {of} initial weights differ ({rank}), most of all {name}: {how} (norm"
        " {baseline} in the baseline, {target} in the target); first {names}",
        "不是同一个实验：{of} 个初始权重中有 {count} 个不同（{rank}），差别最大的是 {name}：{how}"
        "（范数在基线为 {baseline}，在目标为 {target}）；前几个：{names}",
        *_FIX_WEIGHTS,
    ),
    "ACC205.how_scaled": Words("the target's is the baseline's times {factor}", "目标侧等于基线侧乘以 {factor}"),
    "ACC205.how_apart": Words("they are about {apart} apart (relative)", "两者相对误差约为 {apart}"),
    "ACC205.how_unknown": Words("how far apart was not recorded", "差别大小未记录"),
    "ACC205.weights_missing": Words(
        "not the same experiment: {count} weights are on one side only ({rank}); in the baseline alone: {baseline}, in"
        " the target alone: {target}; first {name}",
        "不是同一个实验：有 {count} 个权重仅在一侧存在（{rank}）；仅基线有：{baseline}；"
        "仅目标有：{target}；最先是 {name}",
        "Build the same model on both sides, or map the checkpoint's names.",
        "请在两侧构建相同的模型，或映射检查点中的名称。",
    ),
    "ACC205.weights_renamed": Words(
        "{count} weights have another name and the same content ({rank}): {baseline} is {target} in the target",
        "有 {count} 个权重名称不同而内容相同（{rank}）：{baseline} 在目标侧为 {target}",
    ),
    "ACC205.module": Words(
        "not the same experiment: the module {name} is {baseline} in the baseline and {target} in the target ({rank})",
        "不是同一个实验：模块 {name} 在基线为 {baseline}，在目标为 {target}（{rank}）",
        *_FIX_HYPER,
    ),
    "ACC205.modules": Words(
        "{count} modules are of another class, or on one side only ({rank}); {name} is {baseline} in the baseline and"
        " {target} in the target",
        "有 {count} 个模块的类不同，或仅在一侧存在（{rank}）；{name} 在基线为 {baseline}，在目标为 {target}",
    ),
    "ACC205.loader": Words(
        "not the same experiment: the data loader's {name} is {baseline} in the baseline and {target} in the target"
        " ({rank})",
        "不是同一个实验：数据加载器的 {name} 在基线为 {baseline}，在目标为 {target}（{rank}）",
        *_FIX_HYPER,
    ),
    "ACC205.loaders": Words(
        "the baseline made {baseline} data loaders and the target {target} ({rank})",
        "基线创建了 {baseline} 个数据加载器，目标创建了 {target} 个（{rank}）",
    ),
    "ACC205.batches": Words(
        "not the same experiment: the data of {count} of {of} steps differ, first of step {name} ({rank}):"
        " {baseline} in the baseline, {target} in the target; samples were not recorded one by one",
        "不是同一个实验：{of} 步中有 {count} 步的数据不同，最先是第 {name} 步（{rank}）：基线为 {baseline}，"
        "目标为 {target}；未逐样本记录",
        *_FIX_DATA,
    ),
    "ACC205.batch_shapes": Words(
        "not the same experiment: the batches of {count} of {of} steps have another dtype or shape, first of step"
        " {name} ({rank}): {baseline} in the baseline, {target} in the target",
        "不是同一个实验：{of} 步中有 {count} 步的批次类型或形状不同，最先是第 {name} 步（{rank}）：基线为 {baseline}，"
        "目标为 {target}",
        *_FIX_HYPER,
    ),
    "ACC205.order": Words(
        "not the same experiment: the same samples in another order, {where}; {count} of {of} steps differ, first step"
        " {name} ({rank})",
        "不是同一个实验：样本相同但顺序不同（{where}）；{of} 步中有 {count} 步不同，最先是第 {name} 步（{rank}）",
        "Seed the sampler and its workers, or turn shuffling off on both sides.",
        "请为采样器及其工作进程设置种子，或在两侧关闭打乱。",
    ),
    "ACC205.order_within": Words("within the batch", "同一批次之内"),
    "ACC205.order_across": Words("across the steps", "跨步"),
    "ACC205.samples": Words(
        "not the same experiment: other samples; {count} of {of} steps differ, first step {name} ({rank}); {shared} of"
        " the {samples} samples are on both sides",
        "不是同一个实验：样本不同；{of} 步中有 {count} 步不同，最先是第 {name} 步（{rank}）；"
        "{samples} 个样本中有 {shared} 个两侧都有",
        *_FIX_DATA,
    ),
    "ACC205.batches_near": Words(
        "the floating-point inputs of {count} of {of} steps differ by rounding, or are handed on by the model,"
        " first step {name} ({rank}): taken for the same data",
        "{of} 步中有 {count} 步的浮点输入仅有舍入差别，或由模型逐步传递，最先是第 {name} 步（{rank}）：视为相同数据",
    ),
    "ACC205.optimizer": Words(
        "not the same experiment: the optimizer {name} is {baseline} in the baseline and {target} in the target"
        " ({rank})",
        "不是同一个实验：优化器 {name} 在基线为 {baseline}，在目标为 {target}（{rank}）",
        *_FIX_HYPER,
    ),
    "ACC205.optimizer_form": Words(
        "the optimizer's {name} is {baseline} in the baseline and {target} in the target ({rank}): the same update,"
        " computed in another way",
        "优化器的 {name} 在基线为 {baseline}，在目标为 {target}（{rank}）：更新相同，计算方式不同",
    ),
    "ACC205.hyper": Words(
        "not the same experiment: optimizer {name} is {baseline} in the baseline and {target} in the target at the"
        " first update ({rank})",
        "不是同一个实验：首次更新时优化器 {name} 在基线为 {baseline}，在目标为 {target}（{rank}）",
        *_FIX_HYPER,
    ),
    "ACC205.schedule": Words(
        "not the same experiment: the learning-rate schedule {name} is {baseline} in the baseline and {target} in the"
        " target ({rank})",
        "不是同一个实验：学习率调度 {name} 在基线为 {baseline}，在目标为 {target}（{rank}）",
        *_FIX_HYPER,
    ),
    "ACC205.rate": Words(
        "not the same experiment: the learning rates of step {name} are {baseline} in the baseline and {target} in the"
        " target ({rank})",
        "不是同一个实验：第 {name} 步的学习率在基线为 {baseline}，在目标为 {target}（{rank}）",
        *_FIX_HYPER,
    ),
    "ACC205.loss": Words(
        "not the same experiment: the loss is made by {baseline} in the baseline and {target} in the target ({rank})",
        "不是同一个实验：损失在基线由 {baseline} 计算，在目标由 {target} 计算（{rank}）",
        *_FIX_HYPER,
    ),
    "ACC205.autocast": Words(
        "not the same experiment: autocast computes in {baseline} in the baseline and in {target} in the target"
        " ({rank})",
        "不是同一个实验：autocast 的计算类型在基线为 {baseline}，在目标为 {target}（{rank}）",
        "Use one AMP policy on both sides; `compare --anyway` judges tensors by the coarser dtype's tolerance.",
        "请在两侧使用相同的 AMP 策略；`compare --anyway` 会按较粗的精度容差比对张量。",
    ),
    "ACC205.scaler": Words(
        "not the same experiment: the GradScaler's {name} is {baseline} in the baseline and {target} in the target"
        " ({rank})",
        "不是同一个实验：GradScaler 的 {name} 在基线为 {baseline}，在目标为 {target}（{rank}）",
        "Give GradScaler the same init_scale and factors on both sides (the defaults of platforms may differ).",
        "请在两侧为 GradScaler 设置相同的 init_scale 与系数（不同平台的默认值可能不同）。",
    ),
}
