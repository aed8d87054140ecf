"""Words of the dry run beside its losses: memory, warnings, ranks, launch commands."""

from helpers.words import Words

WORDS: dict[str, Words] = {
    "name.beside": Words("Beside the verdict, and what was not shown", "结论之外的信息，以及未能说明的内容"),
    "MIG147.beside": Words("{count} remarks", "{count} 条说明"),
    "MIG140.not_finite": Words(
        "{steps} step(s) ran, but no loss is finite (NaN or inf) on either side: nothing was compared",
        "运行了 {steps} 步，但两侧的损失都不是有限值（NaN 或 inf）：没有可比较的数据",
        "The baseline has them too, so the migration is not their cause: `ascend-workbook explain --symptom nan`.",
        "基线同样如此，因此不是迁移造成的：请执行 `ascend-workbook explain --symptom nan`。",
    ),
    "MIG140.partly_finite": Words(
        "the verdict is on {compared} of {steps} steps: from step {first} on the loss is NaN or inf on both sides",
        "结论只针对 {steps} 步中的 {compared} 步：从第 {first} 步起两侧的损失为 NaN 或 inf",
        "The baseline has them too: `ascend-workbook explain --symptom nan`.",
        "基线同样如此：请执行 `ascend-workbook explain --symptom nan`。",
    ),
    "MIG140.partly_seen": Words(
        "the verdict is on {compared} of {steps} steps: in the others no loss was seen",
        "结论只针对 {steps} 步中的 {compared} 步：其余步没有得到损失",
    ),
    "MIG140.ranks": Words(
        "{ranks} ranks: the largest relative loss error is {worst} on rank {rank} at step {step}, allowed {tolerance}",
        "{ranks} 个 rank：损失的最大相对误差为 {worst}（rank {rank}，第 {step} 步），允许 {tolerance}",
    ),
    "MIG140.ranks_differ": Words(
        "{baseline} rank(s) trained on the baseline, {target} in the migrated run",
        "基线有 {baseline} 个 rank 参与训练，迁移后有 {target} 个",
    ),
    "MIG142.not_shown_ranks": Words(
        "not shown by {ranks} ranks on one machine: several machines, HCCL over the network, its speed and timeouts",
        "单机 {ranks} 个 rank 不能说明：多机、经网络的 HCCL、其速度与超时行为",
    ),
    "MIG143.new": Words(
        "warnings: {baseline} on the baseline, {target} in the migrated run; {new} kind(s) only there, listed below",
        "警告：基线 {baseline} 条，迁移后 {target} 条；其中 {new} 种仅在迁移后出现，见下表",
    ),
    "MIG143.listed": Words("{count} kind(s)", "{count} 种"),
    "name.new_warnings": Words("Warnings that only the migrated script prints", "仅迁移后的脚本输出的警告"),
    "name.warning": Words("Warning", "警告"),
    "name.whole_warning": Words("Whole text", "全文"),
    "name.baseline_count": Words("Baseline", "基线"),
    "name.target_count": Words("Migrated", "迁移后"),
    "MIG143.same": Words(
        "warnings: {baseline} on the baseline, {target} in the migrated run, none of a kind that is new",
        "警告：基线 {baseline} 条，迁移后 {target} 条，没有新的种类",
    ),
    "MIG144.peaks": Words(
        "peak memory of all ranks: baseline {baseline_host} on the host, {baseline_device} on the device; "
        "migrated {target_host} on the host, {target_device} on the device",
        "内存峰值（全部 rank）：基线主机 {baseline_host}、设备 {baseline_device}；"
        "迁移后主机 {target_host}、设备 {target_device}",
    ),
    "MIG144.grows": Words(
        "{side}: memory on the {where} grows by {each} MiB at every step ({first} to {last} MiB)",
        "{side}：{where}内存每步增长 {each} MiB（从 {first} 到 {last} MiB）",
        "Something keeps tensors alive: a list of losses with their graphs (append `loss.item()` or `loss.detach()`), "
        "outputs kept for a metric, retain_graph=True.",
        "有张量一直未释放：如把带计算图的 loss 放入列表（请改为 `loss.item()` 或 `loss.detach()`）、"
        "为指标保留输出、retain_graph=True。",
    ),
    "migration.memory.host": Words("host", "主机"),
    "migration.memory.device": Words("device", "设备"),
    "MIG145.too_large": Words(
        "the {side} needs more memory than there is: {why}. Smaller by its own options: {changes}",
        "{side}所需内存超过可用内存：{why}。可用脚本自身的选项缩小：{changes}",
        "Run: {command} (options found in {places}). It proves the code, not the full model's memory, speed or "
        "convergence. Or without values: {meta}",
        "请运行：{command}（选项位于 {places}）。它验证代码，不验证完整模型的内存、速度或收敛。"
        "或进行无数值试运行：{meta}",
    ),
    "MIG145.no_option": Words(
        "the {side} needs more memory than there is: {why}. No option of the script was found that makes it smaller",
        "{side}所需内存超过可用内存：{why}。未找到可缩小模型的脚本选项",
        "Run without values: {meta}. Or make batch size, layers or width smaller in the source.",
        "请进行无数值试运行：{meta}。或在源码中减小批大小、层数或宽度。",
    ),
    "MIG145.limit": Words(
        "it held {held} MiB and was ended at the limit of {limit} MiB for a process, before the machine ran out",
        "已占用 {held} MiB，达到单进程上限 {limit} MiB，在耗尽整机内存前被终止",
    ),
    "MIG145.refused": Words("{error}", "{error}"),
    "MIG145.killed": Words(
        "it was killed by SIGKILL, as the system does where memory runs out",
        "进程被 SIGKILL 终止，系统内存耗尽时即如此",
    ),
    "command_line.no_script": Words(
        "no script in: {command}",
        "命令中没有脚本：{command}",
        "Give the script behind the launcher's options: torchrun --nproc_per_node=2 train.py.",
        "请在启动器选项之后给出脚本：torchrun --nproc_per_node=2 train.py。",
    ),
    "command_line.machines": Words(
        "{count} machines: here there is one",
        "需要 {count} 台机器：此处只有一台",
        "Leave --nnodes out; ranks of one machine are what can be shown here.",
        "请去掉 --nnodes；此处只能验证单机多 rank。",
    ),
    "command_line.processes": Words(
        "processes per machine: {given} is no number",
        "每机进程数：{given} 不是数字",
        "Give a number, such as --nproc_per_node=2.",
        "请给出数字，例如 --nproc_per_node=2。",
    ),
    "command_line.module": Words(
        "-m {module}: a module cannot be run in a mirror of its folder",
        "-m {module}：模块无法在目录镜像中运行",
        "Give the path of the module's file.",
        "请给出该模块的文件路径。",
    ),
}
