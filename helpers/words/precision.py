"""Words of the precision part."""

from helpers.words import Words

_HEADINGS = {
    "capture": ("Tensor capture", "张量采集"),
    "compare": ("Comparison by tensor", "逐张量比对"),
    "align": ("Precision alignment", "精度对齐"),
    "order": ("Order", "次序"),
    "direction": ("Direction", "方向"),
    "tensor": ("Tensor", "张量"),
    "tensors": ("Tensors", "张量数"),
    "operators": ("Operators", "算子数"),
    "size": ("Size", "大小"),
    "error_in": ("Input error", "输入误差"),
    "error_out": ("Output error", "输出误差"),
    "own_error": ("Own error", "自身误差"),
    "allowed": ("Allowed", "允许误差"),
    "relative_l2": ("Relative L2 error", "相对 L2 误差"),
    "forward": ("forward", "前向"),
    "backward": ("backward", "反向"),
    "parameters_grad": ("parameter gradients", "参数梯度"),
    "judgement": ("Judgement", "判定"),
}
#: What became of an operator or a tensor, as the comparison's table shows it.
_OUTCOMES = {
    "agrees": ("agrees", "一致"),
    "explained": ("explained by its inputs", "由输入误差引起"),
    "allowed": ("within a reduced format", "在低精度格式允许范围内"),
    "cancelled": ("a sum that cancels: what is left is rounding", "求和相互抵消，结果即舍入误差"),
    "possible": ("a reduced format may explain it", "可能由低精度格式引起"),
    "diverges": ("diverges", "发散"),
    "structure": ("other structure", "结构不同"),
    "argument": ("other arguments", "参数不同"),
    "replay_module": ("a module, whose code is not in the dump", "这是模块，其代码不在采集数据中"),
    "replay_not_saved": ("its tensors were not saved", "其张量未保存"),
    "replay_not_listed": ("not on the list of operators that depend on inputs alone", "不在仅依赖输入的算子列表中"),
    "replay_no_forward": ("its forward was not recorded with gradients", "未记录带梯度的前向"),
    "replay_argument": ("an argument was not recorded", "有参数未被记录"),
    "replay_too_large": ("its tensors are too large", "张量过大"),
    "replay_other_outputs": ("its recorded outputs are other ones", "记录的输出与重算的输出不对应"),
    "replay_random": ("it draws random numbers", "该算子使用随机数"),
    "replay_failed": ("it could not be run here", "在此处无法运行"),
    "replay_off": ("replaying was turned off", "未启用重算"),
    "replay_unclear": ("neither side agrees with the replay", "两侧均与重算结果不符"),
    "jump": ("input made elsewhere", "输入误差来自别处"),
    "not_compared": ("not compared", "未比对"),
    "drawn": ("other random numbers", "随机数不同"),
    "container": ("contains the operators above", "包含上述算子"),
    "only_target_why": ("only in target: {why}", "仅目标侧有：{why}"),
    "only_baseline_why": ("only in baseline: {why}", "仅基线侧有：{why}"),
    "why_cast": ("a cast or copy", "类型转换或复制"),
    "why_fused": ("does in one call what the other side does in several", "融合算子，对应另一侧的多个算子"),
    "why_decomposed": ("part of what the other side does in fewer calls", "拆分算子，对应另一侧较少的算子"),
    "why_stopped": (
        "the other side ends before it (an exception, an unsupported operator)",
        "另一侧在此之前已结束（异常或不支持的算子）",
    ),
    "why_cut": ("the other side's record is damaged there", "另一侧的记录在此处已损坏"),
    "why_repeated": (
        "called more often here (a loop or shape that depends on data)",
        "此侧调用次数更多（循环或形状依赖数据）",
    ),
    "why_backward": (
        "its backward was recorded here alone (no gradient there, or another autograd node)",
        "仅此侧记录了反向（另一侧无梯度，或自动求导节点不同）",
    ),
    "why_extra": (
        "the other side never calls it (another branch, or not recorded)",
        "另一侧从未调用（走了其他分支，或未被记录）",
    ),
    "alone": ("{head} ({count}: {why})", "{head}（{count} 个：{why}）"),
    "side_target": ("target", "目标"),
    "side_baseline": ("baseline", "基线"),
    "with_problem": ("{outcome}: {problem}", "{outcome}：{problem}"),
    "problem_shape": ("other shape", "形状不同"),
    "problem_dtype": ("other dtype", "数据类型不同"),
    "problem_only_target": ("only in target", "仅目标侧有"),
    "problem_only_baseline": ("only in baseline", "仅基线侧有"),
    "problem_unreadable": ("unreadable", "无法读取"),
    "problem_nonfinite": ("NaN or infinity in other places", "NaN 或无穷出现的位置不同"),
    "problem_checksum": ("differs, by how much is not known", "不同，差异大小未知"),
    "problem_no_values": ("no values recorded", "未记录数值"),
}

WORDS: dict[str, Words] = {
    **{f"name.{name}": Words(en, zh) for name, (en, zh) in _HEADINGS.items()},
    **{f"precision.{name}": Words(en, zh) for name, (en, zh) in _OUTCOMES.items()},
    "precision.no_dump": Words(
        "{path}: no tensor dump that is known here (found: {found})",
        "{path}：没有可识别的张量采集数据（发现：{found}）",
        "Give the folder that `ascend-workbook capture` wrote, msprobe's dump_path (step<N> folders with a dump.json), "
        "ptdbg_ascend's (rank<R> folders with a .pkl), or a folder of .pt and .npy files.",
        "请给出 `ascend-workbook capture` 写入的目录、msprobe 的 dump_path（其中有含 dump.json 的 step<N> 目录）、"
        "ptdbg_ascend 的目录（含 .pkl 的 rank<R> 目录），或由 .pt、.npy 文件组成的目录。",
    ),
    "precision.pkl_refused": Words(
        "{path}: not lines of JSON as ptdbg_ascend writes them; a real pickle can run code when it is read, so it was "
        "not opened",
        "{path}：不是 ptdbg_ascend 所写的逐行 JSON；真正的 pickle 在读取时可执行代码，因此未打开",
        "Save the tensors as .npy or .pt files on the machine that made it, or capture again.",
        "请在生成它的机器上将张量另存为 .npy 或 .pt 文件，或重新采集。",
    ),
    "precision.pkl_malformed": Words(
        "{path}: not a dump as ptdbg_ascend writes it: {error}",
        "{path}：不是 ptdbg_ascend 格式的采集数据：{error}",
        "Copy the .pkl and the folder of .npy files beside it again, or capture with mindstudio-probe 26.x.",
        "请重新复制 .pkl 及其旁边的 .npy 目录，或使用 mindstudio-probe 26.x 采集。",
    ),
    "precision.tree_ambiguous": Words(
        "{path}: several files of one step and rank have the same name ({error}); none of them was compared",
        "{path}：同一步、同一 rank 中有多个同名文件（{error}），均未比对",
        "Give the folder of one process, or move the files apart.",
        "请给出单个进程的目录，或将文件分开存放。",
    ),
    "precision.same_rank": Words(
        "several folders are the same step and rank, none of them was compared: {paths}",
        "有多个目录对应同一步和同一 rank，均未比对：{paths}",
        "They come from several runs into one folder, or from processes without a process group: name one of them "
        "itself, as in `compare A/step0/proc1 B/step0/proc2`.",
        "它们来自写入同一目录的多次运行，或没有进程组的多个进程：请直接给出其中一个，"
        "例如 `compare A/step0/proc1 B/step0/proc2`。",
    ),
    "precision.json_cut": Words(
        "{path}: cut short or damaged at line {line}: {error}",
        "{path}：在第 {line} 行被截断或损坏：{error}",
        "The capture was probably killed while writing; capture again.",
        "采集可能在写入时被中止；请重新采集。",
    ),
    "precision.json_salvaged": Words(
        "{path}: cut short or damaged at line {line}: {error}; the {count} entries before that were compared, what "
        "came after was not looked at",
        "{path}：在第 {line} 行被截断或损坏：{error}；此前的 {count} 个条目已比对，其后的内容未检查",
        "The capture was probably killed while writing; capture again to see the rest.",
        "采集可能在写入时被中止；如需查看其余部分请重新采集。",
    ),
    "precision.json_unreadable": Words("{path}: cannot be read: {error}", "{path}：无法读取：{error}"),
    "precision.dump_malformed": Words(
        "{path}: not a dump as msprobe 8.x or 26.x writes it: {error}",
        "{path}：不是 msprobe 8.x 或 26.x 格式的采集数据：{error}",
        "Capture again with mindstudio-probe 26.x.",
        "请使用 mindstudio-probe 26.x 重新采集。",
    ),
    "precision.tensor_unreadable": Words(
        "{path}: cannot be read as a tensor: {error}", "{path}：无法读取为张量：{error}"
    ),
    "precision.worker_died": Words(
        "{path}: the process that read it ended with {code}, twice; it printed: {said}",
        "{path}：读取该文件的进程两次以 {code} 退出；其输出：{said}",
        "-9 is what the kernel does where memory ends: free memory, or compare with --sample.",
        "-9 通常表示内存不足、被内核终止：请释放内存，或用 --sample 比对。",
    ),
    "precision.printed_nothing": Words("nothing", "无"),
    "precision.no_worker": Words(
        "no process could be started to read the tensors: {error}",
        "无法启动读取张量的进程：{error}",
        "Free processes and memory (`ulimit -u`, `free -m`), then compare again; --only and --sample read less.",
        "请释放进程数和内存（`ulimit -u`、`free -m`）后再次比对；--only 和 --sample 可减少读取量。",
    ),
    "precision.sample": Words(
        "sample {given}: expected a share above 0 and at most 1", "sample 为 {given}：应为大于 0、不超过 1 的比例"
    ),
    "precision.incomplete": Words(
        "{path}: this capture is not complete, it was stopped before its end",
        "{path}：该采集不完整，在结束之前被中止",
        "Capture again; comparing half a run would look like agreement.",
        "请重新采集；比对不完整的数据会误以为一致。",
    ),
    "precision.nothing_common": Words(
        "{baseline} and {target} have no step and rank in common",
        "{baseline} 与 {target} 没有相同的步和 rank",
        "Capture the same steps with the same number of processes on both sides.",
        "请在两侧以相同的进程数采集相同的步。",
    ),
    "precision.steps_missing": Words(
        "steps {missing} were to be captured (counted from 0), but only steps {recorded} came",
        "应采集第 {missing} 步（从 0 计），但只有第 {recorded} 步",
        "The script ended before: ask for earlier steps, or let it train longer.",
        "脚本提前结束：请采集更早的步，或让脚本训练更久。",
    ),
    "precision.rank_missing": Words(
        "{path}: ranks {ranks} wrote nothing", "{path}：rank {ranks} 没有写入任何数据"
    ),
    "precision.option": Words("{name} {value}: expected one of {known}", "{name} {value}：应为 {known} 之一"),
    "precision.fault_needs_simulator": Words(
        "faults and noise can only be injected on the simulated NPU, not on {tier}",
        "只能在模拟 NPU 上注入故障或噪声，{tier} 上不行",
        "Leave the fault empty, or choose device npu-simulated.",
        "请将故障参数留空，或选择设备 npu-simulated。",
    ),
    "precision.fault_never_struck": Words(
        "the fault never struck: {message}",
        "故障未生效：{message}",
        "Name an operator that the script calls, or an earlier call of it.",
        "请指定脚本实际调用的算子，或更早的一次调用。",
    ),
    "precision.no_room": Words(
        "{path}: the capture may write up to {limit_mib} MiB, only {free_mib} MiB are free",
        "{path}：采集最多会写入 {limit_mib} MiB，而磁盘仅剩 {free_mib} MiB",
        "Lower the limit, capture statistics instead of tensors, or free some space.",
        "请降低上限、改为采集统计量，或释放磁盘空间。",
    ),
    "precision.over_limit": Words(
        "{path}: stopped, the capture had written {wrote_mib} MiB and may write {limit_mib} MiB",
        "{path}：已中止，采集已写入 {wrote_mib} MiB，上限为 {limit_mib} MiB",
        "Raise the limit, capture fewer steps, or capture statistics first and tensors only where they part.",
        "请提高上限、减少采集步数，或先采集统计量，再只对出现差异之处采集张量。",
    ),
    "precision.capture_failed": Words(
        "the capture on {tier} failed: {trouble}",
        "在 {tier} 上采集失败：{trouble}",
        "Everything the script printed is in {path}. Where `ascend-workbook scan` lists places to rewrite, capture the "
        "NPU side with the script that `ascend-workbook rewrite` writes.",
        "脚本的全部输出见 {path}。若 `ascend-workbook scan` 列出需改写之处，NPU 一侧请采集 "
        "`ascend-workbook rewrite` 写出的脚本。",
    ),
    "precision.file_missing": Words(
        "the capture on {tier} failed: {trouble}",
        "在 {tier} 上采集失败：{trouble}",
        "The script did not find a file of its own: check its arguments, which stand behind its name, and the folder "
        "it runs in. Everything it printed is in {path}.",
        "脚本找不到它自己要读的文件：请检查写在脚本名之后的参数，以及脚本运行所在的目录。脚本的全部输出见 {path}。",
    ),
    "precision.simulator_refused": Words(
        "the simulated NPU does not take a setting: {message}",
        "模拟 NPU 不接受一项设置：{message}",
        "Correct the setting (--fault, --numerics, or the variable in your environment). A fault is "
        "OPERATOR[@WHEN]:KIND, the operator as PyTorch's dispatcher calls it: aten::convolution@3:scale=1.01",
        "请改正该项设置（--fault、--numerics，或环境中的该变量）。故障的写法为 OPERATOR[@WHEN]:KIND，"
        "算子用 PyTorch 分发器中的名称：aten::convolution@3:scale=1.01",
    ),
    "precision.taken": Words(
        "{path} holds a whole capture of {there}; this one would be of {wanted} and replace it",
        "{path} 中已有一次完整的采集：{there}；本次采集为 {wanted}，会将其覆盖",
        "Give another folder (--out), or replace it with `--force` (from Python: force=True).",
        "请换一个目录（--out），或加 `--force`（在 Python 中为 force=True）将其替换。",
    ),
    "ACC200.captured": Words(
        "captured {operators} operators of {steps} step(s) on {tier}, {size_mib} MiB",
        "在 {tier} 上采集了 {steps} 步共 {operators} 个算子，{size_mib} MiB",
    ),
    "ACC200.ended_early": Words(
        "the script ended by itself after {ran} of the {asked} steps asked for",
        "脚本在要求的 {asked} 步中只运行了 {ran} 步便自行结束",
    ),
    "ACC200.budget": Words(
        "told before it started: {would_mib} MiB; written: {wrote_mib} MiB",
        "开始之前预计写入 {would_mib} MiB；实际写入 {wrote_mib} MiB",
    ),
    "ACC200.unestimated": Words(
        "how much it would write could not be told before it started: {why}", "开始之前无法预计写入量：{why}"
    ),
    "ACC200.overhead": Words(
        "a captured step took {captured_s} s, one without msprobe's hooks {plain_s} s: {ratio} times as long",
        "采集的一步耗时 {captured_s} 秒，没有 msprobe 钩子的一步耗时 {plain_s} 秒：为其 {ratio} 倍",
    ),
    "ACC200.overhead_unknown": Words(
        "what the capture costs a step was not measured: no step ran without msprobe's hooks",
        "未测量采集给每步带来的开销：没有任何一步是在没有 msprobe 钩子的情况下运行的",
    ),
    "ACC200.hooks_out": Words(
        "msprobe's hooks are out again: {replaced} functions of torch put back, {hooks} hooks of modules removed",
        "msprobe 的钩子已移除：恢复了 torch 的 {replaced} 个函数，移除了 {hooks} 个模块钩子",
    ),
    "ACC200.hooks_left": Words(
        "{count} functions of torch were still msprobe's after the capture, until the process ended: {names}",
        "采集之后 torch 的 {count} 个函数仍为 msprobe 所替换，直到进程结束：{names}",
    ),
    "precision.debug_silent": Words(
        "level debug recorded nothing: {script} never called PrecisionDebugger.save in the steps to dump",
        "debug 级别没有记录任何数据：{script} 在要采集的步中从未调用 PrecisionDebugger.save",
        "Add `from msprobe.pytorch import PrecisionDebugger` and `PrecisionDebugger.save(tensor, 'name')` to the"
        " script, or take level L1, which needs no call.",
        "请在脚本中加入 `from msprobe.pytorch import PrecisionDebugger` 和 `PrecisionDebugger.save(tensor, 'name')`，"
        "或改用无需调用的 L1 级别。",
    ),
    "precision.debug_selects": Words(
        "level debug takes no scope, list or data_mode: it records what the script gives to PrecisionDebugger.save",
        "debug 级别不支持 scope、list 和 data_mode：它只记录脚本传给 PrecisionDebugger.save 的内容",
        "Leave them out, or take another level.",
        "请去掉这些选项，或改用其他级别。",
    ),
    "precision.scope": Words(
        "scope {scope}: expected two whole names of msprobe's at level {level}, such as Functional.conv2d.0.forward"
        " (L1) or Module.layer1.Linear.forward.0 (L0)",
        "scope {scope}：{level} 级别应为两个 msprobe 完整名称，例如 Functional.conv2d.0.forward（L1）或"
        " Module.layer1.Linear.forward.0（L0）",
        "Capture statistics first: the names are in its table and in dump.json.",
        "请先采集统计量：名称见其 dump.json。",
    ),
    "precision.selected_nothing": Words(
        "{path}: no operator was recorded, none is named by {names}",
        "{path}：没有记录任何算子，没有与 {names} 相符的名称",
        "Capture statistics of everything first and take names from there.",
        "请先采集全部统计量，再从中选取名称。",
    ),
    "precision.over_budget": Words(
        "{path}: not started, the capture would write {would_gb} GB and may write {limit_gb} GB",
        "{path}：未开始，采集将写入 {would_gb} GB，上限为 {limit_gb} GB",
        "Raise the limit, capture fewer steps or a part (--list, --scope), or let --bisect find the place first.",
        "请提高上限、减少采集步数或只采集一部分（--list、--scope），或先用 --bisect 找到位置。",
    ),
    "ACC200.fingerprints": Words(
        "recorded weights, batches, seeds and losses of {steps} step(s) on {tier}, no tensors and no statistics",
        "在 {tier} 上记录了 {steps} 步的权重、数据、种子和损失，未记录张量和统计量",
    ),
    "ACC201.changed": Words(
        "{path}: {count} file(s) are missing or not as they were written: {files}",
        "{path}：有 {count} 个文件缺失或与写入时不同：{files}",
        "Copy the capture again, or capture anew.",
        "请重新复制采集目录，或重新采集。",
    ),
    "ACC201.one_sided": Words(
        "only in the {side}: {where}",
        "仅{side}侧有：{where}",
        "Capture the same steps with the same number of processes on both sides.",
        "请在两侧以相同的进程数采集相同的步。",
    ),
    "ACC201.ranks": Words(
        "the baseline has ranks {baseline}, the target {target}: with another number of processes a rank has other"
        " batches and other parts of the model than the rank of its number on the other side",
        "基线有 rank {baseline}，目标有 rank {target}：进程数不同时，同号的 rank 处理的数据批次和模型分片并不相同",
        "Where the numbers of processes differ, differences are expected; run both sides with the same number.",
        "若进程数不同，出现差异是正常的；请在两侧使用相同的进程数。",
    ),
    "ACC201.gap": Words(
        "neither side has rank {ranks}, though higher ones are there: what they did was not looked at",
        "两侧都没有 rank {ranks}，但存在编号更大的 rank：其内容未检查",
    ),
    "ACC203.found": Words(
        "bisected: statistics of everything took {statistics_mib} MiB and pointed at {suspects}; whole tensors around"
        " it took {tensors_mib} MiB, those of all operators would have taken {whole_mib} MiB (both sides)",
        "二分采集：全部统计量占 {statistics_mib} MiB，指向 {suspects}；其周围的完整张量占 {tensors_mib} MiB，"
        "而全部算子的张量需要 {whole_mib} MiB（两侧合计）",
    ),
    "ACC203.nothing": Words(
        "bisected: statistics of everything took {statistics_mib} MiB and show no place to look at, so that no tensors"
        " were captured ({tensors_mib} MiB of {whole_mib} MiB; suspects: {suspects}); statistics do not see everything",
        "二分采集：全部统计量占 {statistics_mib} MiB，未显示可疑之处，因此未采集张量（{whole_mib} MiB 中的"
        " {tensors_mib} MiB；可疑算子：{suspects}）；统计量并不能发现所有问题",
        "`capture --task tensor` on both sides compares every value.",
        "在两侧用 `capture --task tensor` 可比对每个数值。",
    ),
    "ACC206.no_npu": Words(
        "no NPU took part: {target} was compared with {baseline}, which says nothing about an NPU",
        "没有 NPU 参与：{target} 与 {baseline} 相比，对 NPU 不说明任何问题",
        "Capture the target with --device npu, or npu-simulated where there is none.",
        "请用 --device npu 采集目标侧；没有 NPU 时用 npu-simulated。",
    ),
    "precision.tolerance": Words(
        "tolerance {given}: expected a number of at least 0", "tolerance 为 {given}：应为不小于 0 的数"
    ),
    "precision.no_log": Words(
        "there is no run log {path}",
        "没有运行记录 {path}",
        "Give a gpulog.json, or the folder of a capture, a dry run's side or a profile: each holds one.",
        "请给出 gpulog.json，或采集、试运行某一侧、性能采集的目录：其中都有一份。",
    ),
    "ACC206.off_npu": Words(
        "the target trained on {devices}, not on the NPU: the agreement says nothing about an NPU",
        "目标侧在 {devices} 上训练，没有用到 NPU：结果一致对 NPU 不说明任何问题",
        "Let the script move its model and batches to the GPU (`.cuda()`), which becomes the NPU; then capture again.",
        "请让脚本把模型和数据移到 GPU（`.cuda()`，运行时变为 NPU），然后重新采集。",
    ),
    "ACC208.seen": Words(
        "all {what} are off by what {form} makes of their inputs, though no record tells of {form}: taken for it",
        "所有{what}的误差都符合 {form} 对输入的舍入，但记录中并未说明使用 {form}：已按 {form} 处理",
        "If it was not meant: torch.npu.conv.allow_hf32 = False, torch.npu.matmul.allow_hf32 = False.",
        "如非有意使用：设置 torch.npu.conv.allow_hf32 = False、torch.npu.matmul.allow_hf32 = False。",
    ),
    "ACC208.conv": Words("convolutions", "卷积"),
    "ACC208.matmul": Words("matrix products", "矩阵乘"),
    "ACC210.only": Words(
        "{count} operators were called only in the {side} and not compared: {names}",
        "有 {count} 个算子仅在{side}侧被调用，未参与比对：{names}",
        "Often a fused or decomposed operator; compare the tensors before and after it.",
        "通常是融合或拆分的算子；请比对其前后的张量。",
    ),
    "ACC210.renamed": Words(
        "{count} operators were paired although their names differ: {names}",
        "有 {count} 个算子名称不同但已配对：{names}",
    ),
    "ACC215.unreadable": Words(
        "{count} tensors could not be read and were not compared: {first}",
        "有 {count} 个张量无法读取，未参与比对：{first}",
        "Copy the files again or capture anew.",
        "请重新复制文件或重新采集。",
    ),
    "ACC215.autograd": Words(
        "{count} backward entries are not comparable because the devices use other autograd nodes: {names};"
        " an error of theirs shows in the operator that follows",
        "有 {count} 个反向记录不可比，因为两侧设备的自动求导节点不同：{names}；它们的误差会体现在后一个算子上",
    ),
    "ACC215.adrift": Words(
        "the gradients of {count} groups of parameters differ and were not judged: nothing before them in their step"
        " was compared, so what they inherit is not known: {names}",
        "有 {count} 组参数梯度不同但未判定：同一步中在其之前没有可比对的算子，无法得知继承的误差：{names}",
        "Capture the operators of that step too, or compare without selecting operators.",
        "请同时采集该步的算子，或在比对时不要只选部分算子。",
    ),
    "ACC215.lacking": Words(
        "{count} outputs of backward entries are on one side alone and were not compared, the others of the same"
        " entries were: {names}",
        "反向记录中有 {count} 个输出仅一侧有，未参与比对，同一记录的其余输出已比对：{names}",
    ),
    "ACC215.dtype": Words(
        "{count} tensors have another dtype on each side: {names}",
        "有 {count} 个张量两侧的数据类型不同：{names}",
        "Compare the mixed precision settings of both runs.",
        "请核对两次运行的混合精度设置。",
    ),
    "ACC215.double": Words(
        "{count} tensors are float64 on one side and float32 on the other, as torch_npu computes them: {names}",
        "有 {count} 个张量一侧为 float64、另一侧为 float32（torch_npu 以 float32 计算）：{names}",
    ),
    "ACC215.statistics": Words(
        "only statistics were compared: an error that leaves norm and extremes alone is not seen, and a small one"
        " under noise is not told from it",
        "只比对了统计量：不改变范数和极值的误差无法发现，噪声之下的小误差也无法区分",
    ),
    "ACC215.order": Words(
        "files alone do not tell when they were made: the first divergence is the first by name, which need not be the"
        " first in execution",
        "仅有文件时不知道执行顺序：此处的首个差异按名称排序，不一定最先执行",
    ),
    "ACC215.checksum": Words(
        "{count} tensors have other checksums and nothing else tells how far they are apart, first: {names}",
        "有 {count} 个张量的校验和不同，且没有其他数据说明差异大小，最先是：{names}",
        "Rounding alone changes a checksum: capture these with statistics or tensors. msprobe before late 2025 sums"
        " bfloat16 in another way; use one version on both sides.",
        "仅舍入就会改变校验和：请对这些张量采集统计量或张量。"
        "2025 年末之前的 msprobe 对 bfloat16 的校验方式不同，两侧请使用同一版本。",
    ),
    "ACC215.summed": Words(
        "{count} tensors were found equal by checksum (a CRC-32, or an XOR, which does not see the order of elements)",
        "有 {count} 个张量按校验和判定为相等（CRC-32，或不反映元素顺序的 XOR）",
    ),
    "ACC215.replay": Words(
        "operators were not run again in float64: {error}",
        "未能用 float64 重算算子：{error}",
        "They were judged by how much they amplify their input error, which is less sharp.",
        "已改为按输入误差的放大倍数判断，灵敏度较低。",
    ),
    "precision.nothing_selected": Words(
        "no operator is named {names}",
        "没有名称匹配 {names} 的算子",
        "Names look like {known}; a part of a name is enough, * stands for anything.",
        "名称形如 {known}；给出名称的一部分即可，* 匹配任意内容。",
    ),
    "ACC217.selected": Words(
        "only {count} operators named {names} were compared: what lies elsewhere was not looked at",
        "只比对了名称匹配 {names} 的 {count} 个算子：其余部分未检查",
    ),
    "ACC217.sampled": Words(
        "a share of {share} of every tensor was read (seed {seed}): relative errors of {count} tensors are uncertain by"
        " up to {worst} of themselves (one standard error), largest errors and NaN are those of the sample",
        "每个张量只读取了 {share}（种子 {seed}）：{count} 个张量的相对误差的不确定度最大为其自身的 {worst}"
        "（一个标准误），最大误差与 NaN 只反映样本",
    ),
    "ACC209.slower": Words(
        "the tensors were measured by numpy, several times slower and with the same result: {reason}",
        "张量由 numpy 计算度量，速度慢数倍，结果相同：{reason}",
        "Large dumps gain by the compiled kernel: it compiles itself where g++ or clang++ is installed.",
        "大型 dump 建议使用编译内核：安装 g++ 或 clang++ 后会自动编译。",
    ),
    "ACC218.room": Words(
        "half of the {count} operators that were not run again could be off by {room} (relative) and would not have"
        " been seen: {why}",
        "未重算的 {count} 个算子中，有一半即使相对误差达到 {room} 也不会被发现：{why}",
        "Capture with task tensor at one step: operators are then run again from their own inputs in float64.",
        "请以 task tensor 采集一步：算子将用各自的输入以 float64 重算。",
    ),
    "ACC218.statistics": Words("only statistics were recorded", "只记录了统计量"),
    "ACC218.half": Words("one side computes in 16 bits", "有一侧使用 16 位计算"),
    "ACC204.one": Words("{where}: {error}", "{where}：{error}"),
    "ACC204.scaled": Words("{where}: {error}, times {factor}", "{where}：{error}，倍数 {factor}"),
    "ACC204.seed": Words(
        "the runs began differently: {count} of {total} weights and the data differ ({names}): another seed, or another"
        " experiment; no operator is to blame",
        "两次运行的起点不同：{total} 个权重中有 {count} 个不同，数据也不同（{names}）："
        "随机种子或实验不同；不是算子的问题",
        "Give both runs the same seed, weights and data; `capture` does so and records it.",
        "请让两次运行使用相同的种子、权重和数据；`capture` 会这样做并加以记录。",
    ),
    "ACC204.weights": Words(
        "the runs began with other weights: {count} of {total} differ ({names}), the data is the same; no operator is"
        " to blame",
        "两次运行的初始权重不同：{total} 个中有 {count} 个不同（{names}），数据相同；不是算子的问题",
        "Load the same checkpoint on both sides, or seed before the model is built.",
        "请在两侧加载同一个检查点，或在构建模型之前设置随机种子。",
    ),
    "ACC204.few": Words(
        "{count} of {total} weights differ at the start ({names}), the others and the data are the same; no operator is"
        " to blame",
        "{total} 个权重中有 {count} 个在起点就不同（{names}），其余权重与数据相同；不是算子的问题",
        "Look at how this weight is loaded or converted: a wrong mapping or scale of the checkpoint.",
        "请检查该权重的加载或转换方式：检查点的映射或缩放可能有误。",
    ),
    "ACC204.data": Words(
        "the runs read other data ({names}), their {total} weights are the same; no operator is to blame",
        "两次运行读取的数据不同（{names}），{total} 个权重相同；不是算子的问题",
        "Give both runs the same batches: order, shuffling seed, workers, preprocessing.",
        "请让两次运行使用相同的批次：顺序、打乱种子、工作进程、预处理。",
    ),
    "ACC230.other_start": Words(
        "operators were not judged further: the runs began with other weights or data",
        "未进一步判定算子：两次运行的初始权重或数据不同",
    ),
    "ACC230.missing": Words(
        "the target lacks {operator} (step {step}, rank {rank}), which only the baseline calls: the input of"
        " {receiver}, which comes next, differs by {error_in}; called at {place}",
        "目标侧缺少 {operator}（第 {step} 步，rank {rank}），只有基线调用了它："
        "紧随其后的 {receiver} 的输入误差为 {error_in}；调用位置 {place}",
        "Look for the branch, patch or fused operator that leaves it out.",
        "请检查遗漏该算子的分支、补丁或融合算子。",
    ),
    "ACC230.other_experiment": Words(
        "operators were not judged: the runs differ in {what} before any operator ran",
        "未对算子作出判定：两次运行在任何算子执行之前就有不同（{what}）",
    ),
    "ACC230.no_operators": Words(
        "operators were not judged: one side recorded fingerprints and losses alone",
        "未对算子作出判定：其中一侧只记录了指纹和损失",
        "Record that side with statistics or tensors.",
        "请在该侧记录统计量或张量。",
    ),
    "ACC230.replayed": Words(
        "{operator} (step {step}, rank {rank}) is the first to part: in the {side} it adds an error of {own},"
        " allowed {allowed}; it runs {kernels}, called at {place}",
        "{operator}（第 {step} 步，rank {rank}）最先出现差异：{side}侧自身引入的误差为 {own}，允许 {allowed}；"
        "对应算子 {kernels}，调用位置 {place}",
        "{next}",
        "{next}",
    ),
    "ACC230.handed_back": Words(
        "{operator} (step {step}, rank {rank}) is the first to part: in the {side} the gradient that it hands back is"
        " off by {own} from what its saved inputs and its incoming gradient give in float64, allowed {allowed}; it runs"
        " {kernels}, called at {place}",
        "{operator}（第 {step} 步，rank {rank}）最先出现差异：{side}侧由它传回的梯度，与用其保存的输入和传入梯度以"
        " float64 重算的结果相差 {own}，允许 {allowed}；对应算子 {kernels}，调用位置 {place}",
        "{next}",
        "{next}",
    ),
    "ACC230.amplified": Words(
        "{operator} (step {step}, rank {rank}) is the first to part: output error {error_out} from input error"
        " {error_in}, allowed {allowed}; it runs {kernels}, called at {place}; not run again in float64: {why}",
        "{operator}（第 {step} 步，rank {rank}）最先出现差异：输入误差 {error_in}，输出误差 {error_out}，"
        "允许 {allowed}；对应算子 {kernels}，调用位置 {place}；未用 float64 重算：{why}",
        "{next}",
        "{next}",
    ),
    "ACC230.value": Words(
        "{operator} (step {step}, rank {rank}) is the first saved value that differs: relative error {error_out},"
        " allowed {allowed}; what it was computed from is not in these files, so that no operator can be named",
        "{operator}（第 {step} 步，rank {rank}）是最先出现差异的已保存数值：相对误差 {error_out}，允许 {allowed}；"
        "这些文件中没有它的计算来源，因此无法指出是哪个算子",
        "Capture both sides with `ascend-workbook capture` (level L1): it records operators with their inputs.",
        "请用 `ascend-workbook capture`（级别 L1）采集两侧：它会记录各算子及其输入。",
    ),
    "ACC230.structure": Words(
        "{operator} (step {step}, rank {rank}) is the first to part: its outputs have another structure: {detail};"
        " it runs {kernels}, called at {place}",
        "{operator}（第 {step} 步，rank {rank}）最先出现差异：输出结构不同：{detail}；"
        "对应算子 {kernels}，调用位置 {place}",
        "Look for a branch in the script that depends on the device.",
        "请检查脚本中是否有依赖设备的分支。",
    ),
    "ACC230.argument": Words(
        "{operator} (step {step}, rank {rank}) is the first to part: it is called with other arguments, target /"
        " baseline: {detail}; it runs {kernels}, called at {place}",
        "{operator}（第 {step} 步，rank {rank}）最先出现差异：调用参数不同（目标 / 基线）：{detail}；"
        "对应算子 {kernels}，调用位置 {place}",
        "The operator itself is not to blame: look where the two scripts or configurations set this argument.",
        "问题不在算子本身：请检查两侧脚本或配置中设置该参数的位置。",
    ),
    "ACC230.handed": Words(
        "{operator} (step {step}, rank {rank}) is the first to part: the gradient it hands to {receiver} differs by"
        " {error_in}, and everything recorded before agrees; it runs {kernels}; the receiver is called at {place}",
        "{operator}（第 {step} 步，rank {rank}）最先出现差异：它传给 {receiver} 的梯度误差为 {error_in}，"
        "而此前的记录均一致；对应算子 {kernels}；接收者的调用位置 {place}",
        "msprobe records only the last autograd node of an API; capture at level mix to see its whole backward.",
        "msprobe 只记录一个 API 的最后一个自动求导节点；以 mix 级别采集可看到完整的反向。",
    ),
    "ACC230.unseen": Words(
        "the inputs of {operator} (step {step}, rank {rank}) differ by {error_in} although no recorded operator"
        " before it does; made by: {before}; called at {place}",
        "{operator}（第 {step} 步，rank {rank}）的输入误差为 {error_in}，而此前记录的算子均无此误差；"
        "来源：{before}；调用位置 {place}",
        "msprobe does not record every operator; capture at level mix, or check what happens between.",
        "msprobe 并不记录所有算子；请以 mix 级别采集，或检查两者之间的代码。",
    ),
    "ACC230.run_alone": Words(
        "Run it alone on both devices with the saved inputs; then check its dtype and the version's known issues.",
        "请用保存的输入在两种设备上单独运行该算子，再检查其数据类型以及该版本的已知问题。",
    ),
    "ACC230.run_backward": Words(
        "Run its backward alone on both devices with the saved inputs; of several that are named, one made it.",
        "请用保存的输入在两种设备上单独运行其反向；若列出多个算子，则由其中之一造成。",
    ),
    "ACC230.known_issues": Words(
        "It was run again already (ACC233): follow what that says, and check the version's known issues.",
        "该算子已重新运行过（ACC233）：请按其结论处理，并检查该版本的已知问题。",
    ),
    "ACC230.returns": Words(
        "Capture again: does it return? `{command}`", "请重新采集，观察是否再次出现：`{command}`"
    ),
    "ACC230.returns_by_hand": Words(
        "Capture step {step} of the {side} again with task tensor: does it return?",
        "请以 task tensor 重新采集{side}侧的第 {step} 步，观察是否再次出现。",
    ),
    "ACC230.save": Words(
        "No inputs were saved in the {side}: capture step {step} there with tensors, then compare: `{command}`",
        "{side}侧未保存输入：请以张量方式采集该侧的第 {step} 步后再比对：`{command}`",
    ),
    "ACC230.save_by_hand": Words(
        "No inputs were saved in the {side}: capture step {step} there with task tensor, then compare.",
        "{side}侧未保存输入：请以 task tensor 采集该侧的第 {step} 步后再比对。",
    ),
    "ACC230.start": Words(
        "the start (weights or data) or operators that are not recorded", "起始状态（权重或数据）或未被记录的算子"
    ),
    "ACC230.nothing": Words(
        "none of the {count} paired operators could be compared",
        "配对的 {count} 个算子均无法比对",
        "Capture tensors or statistics on both sides.",
        "请在两侧采集张量或统计量。",
    ),
    "ACC230.identical": Words(
        "no divergence: {count} operators give the same numbers to the last bit, {left} were not compared",
        "未发现差异：{count} 个算子的结果逐位相同，{left} 个未比对",
    ),
    "ACC230.none": Words(
        "no divergence: of {count} operators {agrees} agree within rounding and {explained} differ by what their"
        " inputs explain, {left} were not compared; the largest error an operator adds is {own} ({operator})",
        "未发现差异：{count} 个算子中，{agrees} 个在舍入误差内一致，{explained} 个的误差由输入引起，"
        "另有 {left} 个未比对；单个算子引入的最大误差为 {own}（{operator}）",
    ),
    "ACC230.drawn": Words(
        "the random numbers drawn at {place} ({operator}, step {step}) differ; {count} operators draw ({api}). No fault"
        " was found, but the {behind} operators from there on differ for that, by up to {error}, and are not judged to"
        " better than that, except {replayed} that were run again from their own inputs (they add at most {own}); the"
        " {before} others agree",
        "在 {place}（{operator}，第 {step} 步）处使用的随机数不同；共有 {count} 个算子使用随机数（{api}）。未发现错误，"
        "但从该处起的 {behind} 个算子因此存在差异（最大 {error}），判定精度不会优于该值；"
        "其中 {replayed} 个已用各自的输入重算（自身误差最大为 {own}）；其余 {before} 个一致",
        "Compare with `p=0` on both sides (`seed_all(rm_dropout=True)` of msprobe), or draw on the CPU from one seed"
        " and move: seeds do not make two devices draw alike. {source}",
        "请在两侧设 `p=0`（msprobe 的 `seed_all(rm_dropout=True)`）后再比对，或在 CPU 上以同一种子生成再移到设备："
        "设置种子不能使两种设备生成相同的随机数。{source}",
    ),
    "ACC230.possible": Words(
        "cannot tell: {count} convolutions or matrix products ({operators}) differ by up to {own}, which HF32 or TF32"
        " would explain (up to {allowed}), but no record says whether such a format was in force, and they could not be"
        " run again; everything else differs by what rounding and inputs explain",
        "无法判断：{count} 个卷积或矩阵乘（{operators}）的误差最大为 {own}，HF32 或 TF32 可以解释（上限 {allowed}），"
        "但没有记录说明是否启用了此类格式，也无法重算；其余算子的误差均可由舍入和输入解释",
        "Capture with `capture`, which records the formats, or with task tensor, so that operators can be run again.",
        "请用 `capture` 采集（会记录所用格式），或以 task tensor 采集，以便重算算子。",
    ),
    "ACC230.reduced": Words(
        "no divergence: {count} operators differ within what {form} allows, {agrees} agree within rounding,"
        " {explained} differ by what their inputs explain, {left} were not compared; the most is added by {operator}:"
        " {own}, allowed {allowed}",
        "未发现差异：{count} 个算子的误差在 {form} 允许范围内，{agrees} 个在舍入误差内一致，"
        "{explained} 个的误差由输入引起，{left} 个未比对；引入误差最大的是 {operator}：{own}，允许 {allowed}",
    ),
    "ACC232.inf": Words("infinity", "无穷大"),
    "ACC232.nan": Words("NaN", "NaN"),
    "ACC232.made": Words(
        "{operator} makes the first {kind} of the {side} (step {step}, ranks {ranks}): its inputs are finite, its"
        " {slot} is not; {dtype} holds up to {limit}, the other side's largest value there is {expected}; it runs"
        " {kernels}, called at {place}",
        "{operator} 产生了{side}侧的第一个 {kind}（第 {step} 步，rank {ranks}）：其输入均为有限值，而 {slot} 不是；"
        "{dtype} 最大可表示 {limit}，另一侧该处的最大值为 {expected}；对应算子 {kernels}，调用位置 {place}",
        "Where the other side's value is near the dtype's limit, run this operator in a wider dtype or scale its input;"
        " elsewhere look for a division by zero, a logarithm or root of what is not positive, or a wrong kernel.",
        "若另一侧的数值接近该数据类型的上限，请让该算子使用更宽的数据类型或缩放其输入；"
        "否则请检查除零、对非正数取对数或开方，或内核错误。",
    ),
    "ACC232.handed": Words(
        "{operator} hands the first {kind} of the {side} (step {step}, ranks {ranks}) back to {receiver}: everything"
        " recorded before is finite; the receiver is called at {place}",
        "{operator} 把{side}侧的第一个 {kind}（第 {step} 步，rank {ranks}）传回给 {receiver}：此前的记录均为有限值；"
        "接收者的调用位置 {place}",
        "msprobe records only the last autograd node of an API; capture at level mix to see its whole backward.",
        "msprobe 只记录一个 API 的最后一个自动求导节点；以 mix 级别采集可看到完整的反向。",
    ),
    "ACC232.came": Words(
        "the first {kind} of the {side} (step {step}, ranks {ranks}) comes in with {slot} of {receiver}, and nothing"
        " recorded before made it: weights after the update before, data, or an operator that is not recorded; called"
        " at {place}",
        "{side}侧的第一个 {kind}（第 {step} 步，rank {ranks}）随 {receiver} 的 {slot} 进入，"
        "而此前没有任何已记录的算子产生它：可能来自上一次更新后的权重、数据，或未被记录的算子；调用位置 {place}",
        "Look at the step before this one: its gradients, its loss scale and what the optimizer did with them.",
        "请查看上一步：梯度、损失缩放以及优化器的更新。",
    ),
    "ACC233.run": Words(
        "{tier}: {saved} in the dump's dtype, {single} in float32; float64 could not be run there",
        "{tier}：按采集的数据类型 {saved}，float32 {single}；该设备无法以 float64 运行",
    ),
    "ACC233.run_double": Words(
        "{tier}: {saved} in the dump's dtype, {single} in float32, {double} in float64",
        "{tier}：按采集的数据类型 {saved}，float32 {single}，float64 {double}",
    ),
    "ACC233.run_failed": Words("{tier}: {error}", "{tier}：{error}"),
    "ACC233.again": Words(
        "the operator is at fault: {operator}, run again from the saved inputs of the {side}, is wrong again, in"
        " float32 too; error against float64 ({runs}), allowed {allowed}",
        "算子本身有误：用{side}侧保存的输入重新运行 {operator}，结果仍然有误，float32 下也是如此；"
        "与 float64 相比的误差（{runs}），允许 {allowed}",
        "Report the operator with its saved inputs, which reproduce it; meanwhile use another implementation.",
        "这就是一个几行代码的复现：请附上保存的输入上报该算子，并暂时改用其他实现。",
    ),
    "ACC233.dtype": Words(
        "the dtype is too coarse, the operator is not wrong: {operator}, run again from the saved inputs of the {side},"
        " is off in the dump's dtype and right in float32; error against float64 ({runs}), allowed {allowed}",
        "是数据类型精度不足，而非算子有误：用{side}侧保存的输入重新运行 {operator}，按采集的数据类型有误差，"
        "float32 下正确；与 float64 相比的误差（{runs}），允许 {allowed}",
        "Keep this operator in float32 under AMP.",
        "请在 AMP 中让该算子保持 float32。",
    ),
    "ACC233.not_again": Words(
        "not the operator's arithmetic: {operator}, run again from the saved inputs of the {side}, is right this time,"
        " while the record is off by {own}; error against float64 ({runs}), allowed {allowed}",
        "不是算子的计算有误：用{side}侧保存的输入重新运行 {operator}，这次结果正确，而记录中的误差为 {own}；"
        "与 float64 相比的误差（{runs}），允许 {allowed}",
        "Look for what the dump does not hold: another setting or version then, an overwritten buffer, a race of"
        " streams, an argument that was not recorded, or a fault injected on purpose.",
        "请检查采集数据之外的因素：当时的设置或版本、被覆盖的缓冲区、流之间的竞争、未被记录的参数，或有意注入的故障。",
    ),
    "ACC233.unknown": Words(
        "{operator} could not be run again on the device of the {side} ({runs}): whether the operator or something else"
        " is at fault stays open",
        "无法在{side}侧的设备上重新运行 {operator}（{runs}）：是算子还是其他原因仍未可知",
        "Run compare where that device is.",
        "请在有该设备的环境中运行 compare。",
    ),
    "ACC235.parted": Words(
        "no operator parts the runs, but after the update of step {step} (rank {rank}) what {operator} reads differs by"
        " {error}, more than rounding leaves ({limit}): the optimizer, its learning rate, gradient clipping or the loss"
        " scale computes other values",
        "没有算子使两次运行产生差异，但在第 {step} 步（rank {rank}）更新之后，{operator} 读到的数据误差为 {error}，"
        "超出舍入误差（{limit}）：优化器、学习率、梯度裁剪或损失缩放的计算结果不同",
        "Compare the optimizer's settings and the gradient norms; run one update on both from the saved gradients.",
        "请比较优化器设置与梯度范数，并用保存的梯度在两种设备上各执行一次更新。",
    ),
    "ACC235.explained": Words(
        "after the update of step {step} (rank {rank}) what {operator} reads differs by {error}; the gradients of that "
        "step differ by {gradients} already, so an optimizer that is off by less is not seen",
        "在第 {step} 步（rank {rank}）更新之后，{operator} 读到的数据误差为 {error}；该步的梯度本身已相差 {gradients}，"
        "因此小于此的优化器偏差看不出来",
        "Capture both sides without reduced formats (HF32 and TF32 off) to judge the optimizer's update.",
        "请在两侧关闭降精度格式（HF32、TF32）后再次采集，以判断优化器的更新。",
    ),
    "ACC235.unseen": Words(
        "what the optimizer computes was not looked at: no step was captured together with the one after it"
        " (captured: {steps})",
        "未检查优化器的计算：没有采集相邻的两步（已采集：{steps}）",
        "Capture two steps in a row, as with --steps 2 --dump-steps 0,1.",
        "请采集相邻的两步，例如 --steps 2 --dump-steps 0,1。",
    ),
    "precision.told.room": Words(
        "{tier}: at most {limit_mib} MiB of {free_mib} MiB free",
        "{tier}：最多 {limit_mib} MiB，磁盘可用 {free_mib} MiB",
    ),
    "precision.told.size": Words(
        "{tier}: will write {gb} GB, may write {most_gb} GB", "{tier}：将写入 {gb} GB，上限 {most_gb} GB"
    ),
    "precision.told.step": Words("{tier}: step {step}/{steps}", "{tier}：第 {step}/{steps} 步"),
    "precision.told.place": Words(
        "captured whole next, with their neighbours: step {step} rank {rank}: {suspects}",
        "接下来完整采集这些算子及其相邻算子：第 {step} 步 rank {rank}：{suspects}",
    ),
    "precision.told.compare": Words("compare step {step} rank {rank}", "比对第 {step} 步 rank {rank}"),
}
