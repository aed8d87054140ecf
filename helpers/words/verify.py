"""Words of `verify`: two models on many inputs."""

from helpers.words import Words

_HEADINGS = {
    "verify": ("Models verified", "模型验证"),
    "layer": ("Module", "模块"),
    "max_absolute": ("Max abs error", "最大绝对误差"),
    "cosine": ("Cosine", "余弦相似度"),
    "ulp": ("ULP", "ULP"),
    "passed": ("Passed", "通过"),
    "worst_input": ("Worst input", "最差输入"),
    "baseline_truth": ("Baseline to float64", "基线与 float64 之差"),
    "target_truth": ("Target to float64", "目标与 float64 之差"),
}
_PARTS = {
    "side_baseline": ("baseline", "基线"),
    "side_target": ("target", "目标"),
    "side_reference": ("float64 reference", "float64 参考"),
    "mode_train": ("training mode", "训练模式"),
    "mode_eval": ("evaluation mode", "评估模式"),
    "agrees": ("agrees", "一致"),
    "apart": ("apart", "超出允许误差"),
    "shape": ("other shape", "形状不同"),
    "structure": ("other outputs", "输出结构不同"),
    "nonfinite": ("NaN or infinity in other places", "NaN 或无穷出现的位置不同"),
    "nothing": ("no tensors: not compared", "没有张量：未比对"),
    "only_a": ("only in baseline: not compared", "仅基线侧有：未比对"),
    "only_b": ("only in target: not compared", "仅目标侧有：未比对"),
}
_AGAIN = (
    "Run it again alone with `--only {input}` (only=[{input}]); with --reference the float64 run tells which side is "
    "off.",
    "可用 `--only {input}`（only=[{input}]）单独重跑该输入；加上 --reference 由 float64 结果判断哪一侧有误。",
)

WORDS: dict[str, Words] = {
    **{f"name.{name}": Words(en, zh) for name, (en, zh) in _HEADINGS.items()},
    **{f"verify.{name}": Words(en, zh) for name, (en, zh) in _PARTS.items()},
    "verify.told": Words("input {index}: {passed} of {of} passed", "输入 {index}：{of} 个中 {passed} 个通过"),
    "verify.target": Words(
        "{given}: expected file.py:function, or a checkpoint ending in .pt or .pth",
        "{given}：应为 file.py:函数名，或以 .pt、.pth 结尾的检查点",
        "Write the path of a Python file, a colon and the function to call, as in net.py:build.",
        "请写 Python 文件路径、冒号和要调用的函数名，例如 net.py:build。",
    ),
    "verify.missing": Words("{path}: there is no such file", "{path}：文件不存在"),
    "verify.no_factory": Words(
        "{path} is a checkpoint, and nothing says how its model is made",
        "{path} 是检查点，但未说明如何构造其模型",
        "Give --factory file.py:function (factory=) with the function that makes the model.",
        "请用 --factory file.py:函数名（factory=）给出构造模型的函数。",
    ),
    "verify.mixed": Words(
        "models and inputs are a mix of texts and objects: found a {found}",
        "模型与输入混用了文本和对象：遇到 {found}",
        "Give objects for all three (one process), or file.py:function for all three (two processes).",
        "三者请都给对象（同一进程），或都给 file.py:函数名（两个进程）。",
    ),
    "verify.own_models": Words(
        "{option} has no effect on models of this process",
        "{option} 对本进程中的模型不起作用",
        "Call model.eval() or model.train() yourself; settings belong to a process of its own.",
        "请自行调用 model.eval() 或 model.train()；settings 只用于单独的进程。",
    ),
    "verify.no_module": Words("a model is a {found}, not a torch.nn.Module", "模型是 {found}，不是 torch.nn.Module"),
    "verify.inputs_kind": Words(
        "inputs are a {found}: expected an iterable of inputs",
        "inputs 是 {found}：应为多个输入的可迭代对象",
        "Put a single input into a list.",
        "单个输入请放入列表。",
    ),
    "verify.required": Words(
        "required {given}: expected a rate above 0 and at most 1", "required 为 {given}：应大于 0 且不超过 1"
    ),
    "verify.numbers": Words(
        "{given}: input numbers count from 0, a limit from 1", "{given}：输入编号从 0 开始，上限至少为 1"
    ),
    "verify.no_input": Words("there is no input {index}", "没有编号为 {index} 的输入"),
    "verify.empty": Words(
        "there is no input at all: nothing was verified",
        "没有任何输入：未进行验证",
        "Let the inputs' factory give at least one; a generator that was used up gives none.",
        "请确保输入工厂至少给出一个输入；已耗尽的生成器不会再给出输入。",
    ),
    "verify.cannot_start": Words(
        "the {side} could not be made from {factory}: {error}",
        "无法由 {factory} 构造{side}：{error}",
        "Call the function alone in Python; it is called without arguments in a process of its own.",
        "请在 Python 中单独调用该函数；它会在单独的进程中以无参数方式调用。",
    ),
    "verify.died": Words(
        "the process of the {side} ended with {code}: {error}",
        "{side}的进程以 {code} 退出：{error}",
        "Run that side alone; a negative number is the signal that ended it (-9: out of memory, or no answer in time).",
        "请单独运行该侧；负数是终止它的信号（-9：内存不足或超时未应答）。",
    ),
    "ACC270.passed": Words(
        "all {inputs} inputs pass (95 % interval of the pass rate {low} to {high}); the worst module is {layer} on "
        "input"
        " {input}: relative error {error}, allowed {allowed}",
        "全部 {inputs} 个输入通过（通过率的 95 % 区间为 {low} 至 {high}）；最差的模块是 {layer}，输入 {input}："
        "相对误差 {error}，允许 {allowed}",
    ),
    "ACC270.identical": Words(
        "all {inputs} inputs pass (95 % interval of the pass rate {low} to {high}): every module gives the same "
        "numbers to"
        " the last bit",
        "全部 {inputs} 个输入通过（通过率的 95 % 区间为 {low} 至 {high}）：所有模块的结果逐位相同",
    ),
    "ACC270.apart": Words(
        "{passed} of {inputs} inputs pass (95 % interval {low} to {high}); the worst module is {layer} ({kind}) on "
        "input"
        " {input}: relative error {error}, allowed {allowed}; the first module that is off is {first}",
        "{inputs} 个输入中有 {passed} 个通过（95 % 区间为 {low} 至 {high}）；最差的模块是 {layer}（{kind}），输入 "
        "{input}："
        "相对误差 {error}，允许 {allowed}；最先超出的模块是 {first}",
        *_AGAIN,
    ),
    "ACC270.shape": Words(
        "{passed} of {inputs} inputs pass (95 % interval {low} to {high}); {layer} ({kind}) gives another shape on "
        "input"
        " {input}, baseline / target: {detail}",
        "{inputs} 个输入中有 {passed} 个通过（95 % 区间为 {low} 至 {high}）；{layer}（{kind}）在输入 {input} "
        "上的形状不同"
        "（基线 / 目标）：{detail}",
        *_AGAIN,
    ),
    "ACC270.structure": Words(
        "{passed} of {inputs} inputs pass (95 % interval {low} to {high}); {layer} ({kind}) gives other outputs on "
        "input"
        " {input}, baseline / target: {detail}",
        "{inputs} 个输入中有 {passed} 个通过（95 % 区间为 {low} 至 {high}）；{layer}（{kind}）在输入 {input} "
        "上的输出结构不同"
        "（基线 / 目标）：{detail}",
        *_AGAIN,
    ),
    "ACC270.nonfinite": Words(
        "{passed} of {inputs} inputs pass (95 % interval {low} to {high}); {layer} ({kind}) has NaN or infinity on one"
        " side only on input {input} (places, first one, baseline / target): {detail}",
        "{inputs} 个输入中有 {passed} 个通过（95 % 区间为 {low} 至 {high}）；{layer}（{kind}）在输入 {input} "
        "上仅一侧出现 NaN"
        " 或无穷（个数、首个位置、基线 / 目标）：{detail}",
        *_AGAIN,
    ),
    "ACC270.raised": Words(
        "{passed} of {inputs} inputs pass (95 % interval {low} to {high}); all modules that were compared agree, the"
        " others failed for the reason told below",
        "{inputs} 个输入中有 {passed} 个通过（95 % 区间为 {low} 至 {high}）；已比对的模块均一致，"
        "其余输入失败的原因见下",
    ),
    "ACC270.nothing": Words(
        "none of {inputs} inputs pass: no module could be compared",
        "{inputs} 个输入均未通过：没有任何模块可以比对",
        "Are these two versions of one model? Modules are paired by their path (model.named_modules()).",
        "这是同一个模型的两个版本吗？模块按路径配对（model.named_modules()）。",
    ),
    "ACC271.raised": Words(
        "the {side} raised an error on {count} inputs, first on input {input} in {layer}: {error}",
        "{side}在 {count} 个输入上报错，最先是输入 {input}，位于 {layer}：{error}",
        "Run that input alone with `--only {input}`; modules before it were compared.",
        "可用 `--only {input}` 单独运行该输入；此前的模块已比对。",
    ),
    "ACC272.inputs": Words(
        "{count} inputs are not the same on both sides, first {names}: nothing was concluded from them",
        "有 {count} 个输入两侧不同，最先是 {names}：未据此得出结论",
        "Make the inputs on the CPU and by the seed alone (it is set before the factory runs), or save them to a .pt.",
        "请在 CPU 上、仅依据种子生成输入（调用工厂前已设置种子），或将输入保存为 .pt。",
    ),
    "ACC273.only": Words(
        "{count} modules ran only in the {side} and were not compared: {names}",
        "有 {count} 个模块仅在{side}侧运行，未参与比对：{names}",
        "Modules are paired by path; one that was renamed, fused or skipped has no partner. The modules after it tell.",
        "模块按路径配对；被改名、融合或跳过的模块没有对应者，请看其后的模块。",
    ),
    "ACC273.blind": Words(
        "on {count} inputs, first {input}, neither model gives a tensor or number that could be compared: none of them"
        " passes",
        "有 {count} 个输入（最先是输入 {input}）两侧模型都没有给出可比对的张量或数值：这些输入均不算通过",
        "Let the model return tensors, numbers, or containers of them.",
        "请让模型返回张量、数值或由它们组成的容器。",
    ),
    "ACC273.nothing": Words(
        "{count} modules give no tensor or number on both sides and were not compared: {names}",
        "有 {count} 个模块两侧都没有给出张量或数值，未参与比对：{names}",
    ),
    "ACC273.nan": Words(
        "{count} modules give NaN at the same places on both sides, first {layer} ({places} places); nothing is known"
        " of these places: {names}",
        "有 {count} 个模块两侧在相同位置给出 NaN，最先是 {layer}（{places} 处）；这些位置无法比对：{names}",
        "Use inputs and weights whose outputs are finite; where NaN is meant, look at the other places' numbers.",
        "请使用能得到有限输出的输入与权重；若 NaN 是预期结果，请查看其余位置的数值。",
    ),
    "ACC274.dtype": Words(
        "the baseline computes in {baseline}, the target in {target}: {count} modules are allowed what the coarser "
        "dtype"
        " rounds",
        "基线以 {baseline} 计算，目标以 {target} 计算：{count} 个模块按较粗的数据类型放宽容差",
    ),
    "ACC274.cast": Words(
        "the {side} was given its inputs in {dtype}, the only floating dtype of its parameters",
        "{side}的输入已转换为 {dtype}，即其参数唯一的浮点类型",
    ),
    "ACC275.weights": Words(
        "{count} of {all} weights differ between the two models, first {names}: their outputs differ for that alone",
        "两个模型的 {all} 个权重中有 {count} 个不同，最先是 {names}：仅此就会使输出不同",
        "Load one checkpoint into both, unless two checkpoints are what is to be compared.",
        "请让两侧加载同一个检查点；若本来就要对比两个检查点则不必。",
    ),
    "ACC278.settings": Words(
        "{count} modules are set otherwise in the two models (baseline / target): {names}",
        "两个模型中有 {count} 个模块的设置不同（基线 / 目标）：{names}",
        "Give both models the same settings, then verify again.",
        "请让两个模型的设置一致，然后重新验证。",
    ),
    "ACC275.unknown": Words(
        "whether both models have the same weights was not looked at: their dtypes differ",
        "两个模型的数据类型不同，未检查权重是否相同",
    ),
    "ACC276.modes": Words(
        "not the same experiment: the baseline is in {baseline}, the target in {target}",
        "不是同一个实验：基线处于{baseline}，目标处于{target}",
        "Call .eval() or .train() on both, or use --mode.",
        "请在两侧都调用 .eval() 或 .train()，或使用 --mode。",
    ),
    "ACC276.training": Words(
        "{count} modules are in training mode, where dropout draws and norms depend on the batch: {names}",
        "有 {count} 个模块处于训练模式（dropout 随机、归一化依赖批次）：{names}",
        "Use --mode eval (model.eval()) unless training is what is to be verified. It was not done for you.",
        "除非要验证训练行为，请使用 --mode eval（model.eval()）；本工具不会自动切换。",
    ),
    "ACC276.streams": Words(
        "random numbers were drawn on {count} inputs, first {input}: the devices' generators give other ones from one"
        " seed, so that modules after the draw differ",
        "有 {count} 个输入使用了随机数，最先是输入 {input}：相同种子在不同设备上得到不同的随机数，其后的模块因此不同",
        "Use --mode eval, set dropout to 0, or draw on the CPU and move the result to the device.",
        "请使用 --mode eval、将 dropout 设为 0，或在 CPU 上生成随机数再移到设备。",
    ),
    "ACC276.drew": Words(
        "random numbers were drawn on {count} inputs, first {input}, from the same seeds on both sides",
        "有 {count} 个输入使用了随机数，最先是输入 {input}，两侧种子相同",
    ),
    "ACC277.failed": Words(
        "the float64 reference could not be used: {error}",
        "无法使用 float64 参考：{error}",
        "A model that names float32 in its code cannot run in float64; the other checks stand.",
        "代码中写死 float32 的模型无法以 float64 运行；其他检查不受影响。",
    ),
    "ACC277.side": Words(
        "the {side} is the one that is off: at {layer} (input {input}) the baseline is {baseline} from float64, "
        "the target"
        " {target}",
        "有误的是{side}侧：在 {layer}（输入 {input}）处，基线与 float64 相差 {baseline}，目标相差 {target}",
    ),
    "ACC277.neither": Words(
        "float64 does not tell who is right: at {layer} (input {input}) the baseline is {baseline} from it, the target"
        " {target}",
        "float64 无法判断哪一侧正确：在 {layer}（输入 {input}）处，基线相差 {baseline}，目标相差 {target}",
    ),
}
