"""Words of the launch facts."""

from helpers.words import Words

_HEADINGS = {
    "launch_facts": ("Distributed launch", "分布式启动"),
    "launching_fact": ("Fact", "项目"),
    "launching_source": ("Said by", "来源"),
    "launching_line": ("Launch line", "启动命令"),
}

_FIELDS = {
    "starter": ("who starts the processes", "由谁启动进程"),
    "host_count": ("hosts", "节点数"),
    "hosts": ("their names", "节点名称"),
    "host_rank": ("rank of this host", "本节点序号"),
    "per_host": ("ranks per host", "每节点 rank 数"),
    "cards": ("cards per host", "每节点卡数"),
    "world_size": ("ranks in all (world size)", "rank 总数（world size）"),
    "master": ("master address", "主节点地址"),
    "port": ("master port", "主节点端口"),
    "rank": ("rank of this process", "本进程的 rank"),
    "local_rank": ("local rank of this process", "本进程的 local rank"),
    "unknown": ("could not tell", "无法判断"),
    "form.file": ("it is no regular file", "不是普通文件"),
    "form.json": ("it is no JSON, or cut short", "不是 JSON，或内容不完整"),
    "form.missing": ("`{name}` is missing", "缺少 `{name}`"),
    "form.other": ("a value of it has another form", "其中某个值的格式不符"),
    "starter.worker": ("a launcher: this is one of its workers", "启动器：当前就是其中一个工作进程"),
    "starter.rtf": (
        "ModelArts' preset engine: the boot file runs once per card",
        "ModelArts 预置引擎：启动文件按卡各执行一次",
    ),
    "starter.platform": ("ModelArts, through torchrun or msrun", "ModelArts，通过 torchrun 或 msrun"),
    "starter.tasks": ("srun: one task per card", "srun：每卡一个任务"),
    "starter.notebook": (
        "nobody: ModelArts outside a job, as in a notebook",
        "无：在 ModelArts 作业之外（如 Notebook）",
    ),
    "starter.you": ("your command, once on each host", "您的命令，在每个节点上执行一次"),
    "platform.modelarts_job": ("ModelArts", "ModelArts"),
    "platform.modelarts_notebook": ("ModelArts, outside a job", "ModelArts（作业之外）"),
    "platform.slurm": ("SLURM", "SLURM"),
    "platform.none": ("the environment", "环境变量"),
}

WORDS: dict[str, Words] = {
    **{f"name.{name}": Words(en, zh) for name, (en, zh) in _HEADINGS.items()},
    **{f"launching.{name}": Words(en, zh) for name, (en, zh) in _FIELDS.items()},
    "ENV110.job": Words(
        "{where} describes {hosts} host(s) with {per_host} ranks each, {world} in all",
        "{where} 描述了 {hosts} 个节点，每节点 {per_host} 个 rank，共 {world} 个",
    ),
    "ENV110.single": Words(
        "no platform, scheduler or launcher describes a distributed job: one host with {per_host} rank(s)",
        "没有平台、调度器或启动器描述分布式作业：单节点，{per_host} 个 rank",
    ),
    "ENV110.unknown": Words(
        "could not tell enough for a launch line: {hosts} host(s), {per_host} ranks each",
        "信息不足，无法给出启动命令：{hosts} 个节点，每节点 {per_host} 个 rank",
        "Set what the table could not tell (torchrun: --nnodes, --node_rank, --nproc_per_node, --master_addr).",
        "请补充表中“无法判断”的项（torchrun 的 --nnodes、--node_rank、--nproc_per_node、--master_addr）。",
    ),
    "ENV110.contradiction": Words(
        "{count} contradiction(s); the first: {first}",
        "有 {count} 处矛盾；首先是：{first}",
        "Mend it, then ask again for the launch line: ranks that disagree wait for each other until HCCL's timeout.",
        "请先消除矛盾，再重新获取启动命令：信息不一致的 rank 会互相等待直至 HCCL 超时。",
    ),
    "ENV111.differ": Words(
        "{what}: {first}, but {second}",
        "{what}：{first}，但 {second}",
        "One of them is left over from another job or set by hand: unset the wrong one.",
        "其中之一来自其他作业或为手工设置：请取消错误的那个。",
    ),
    "ENV112.table_relative": Words(
        "RANK_TABLE_FILE is no absolute path",
        "RANK_TABLE_FILE 不是绝对路径",
        "Give the whole path, or `unset RANK_TABLE_FILE RANK_ID RANK_SIZE`.",
        "请给出完整路径，或执行 `unset RANK_TABLE_FILE RANK_ID RANK_SIZE`。",
    ),
    "ENV112.table_link": Words(
        "RANK_TABLE_FILE is a symbolic link, which HCCL refuses",
        "RANK_TABLE_FILE 是符号链接，HCCL 不接受",
        "Point it to the file itself.",
        "请指向文件本身。",
    ),
    "ENV112.table_absent": Words(
        "RANK_TABLE_FILE cannot be read: {error}",
        "无法读取 RANK_TABLE_FILE：{error}",
        "HCCL believes the variable: `unset RANK_TABLE_FILE RANK_ID RANK_SIZE`, or wait until the platform wrote it.",
        "HCCL 会采信该变量：执行 `unset RANK_TABLE_FILE RANK_ID RANK_SIZE`，或等待平台写出该文件。",
    ),
    "ENV112.table_form": Words(
        "RANK_TABLE_FILE is no rank table of a known form ({error})",
        "RANK_TABLE_FILE 不是已知格式的 rank table（{error}）",
        "Known are server_list (version 1.0 or 1.2) and group_list: generate it anew, or unset the variable.",
        "已知格式为 server_list（版本 1.0 或 1.2）与 group_list：请重新生成，或取消该变量。",
    ),
    "ENV112.table_status": Words(
        "the rank table's status is {status}, not completed",
        "rank table 的状态是 {status}，不是 completed",
        "Wait until the platform has filled it in.",
        "请等待平台填写完成。",
    ),
    "ENV112.table_empty": Words(
        "the rank table lists no device",
        "rank table 中没有任何设备",
        "Generate it anew for this job, or `unset RANK_TABLE_FILE RANK_ID RANK_SIZE`.",
        "请为本作业重新生成，或执行 `unset RANK_TABLE_FILE RANK_ID RANK_SIZE`。",
    ),
    "ENV112.table_count": Words(
        "the rank table counts {said} servers and lists {found}",
        "rank table 声明 {said} 个 server，实际列出 {found} 个",
        "Generate it anew for this job.",
        "请为本作业重新生成。",
    ),
    "ENV112.table_ranks": Words(
        "the rank table's {count} ranks are not 0, 1, 2, …: {ranks}",
        "rank table 的 {count} 个 rank 不是 0、1、2……：{ranks}",
        "Number them from 0, each once over all servers.",
        "请在所有 server 上从 0 起各编号一次。",
    ),
    "ENV112.table_devices": Words(
        "the rank table lists devices {devices} twice on server {server}",
        "rank table 在 server {server} 上重复列出设备 {devices}",
        "Each device once per server.",
        "每个设备在一个 server 上只能出现一次。",
    ),
    "ENV112.table_uneven": Words(
        "the rank table's servers have different numbers of ranks: {counts}",
        "rank table 中各 server 的 rank 数不同：{counts}",
        "torchrun starts the same number everywhere: use as many cards on each host.",
        "torchrun 在各节点启动相同数量的进程：请在每个节点使用相同卡数。",
    ),
    "ENV112.table_ips": Words(
        "the rank table gives several devices the same device_ip: {ips}",
        "rank table 中多个设备的 device_ip 相同：{ips}",
        "Read each card's address with `hccn_tool -i N -ip -g` and write it in.",
        "请用 `hccn_tool -i N -ip -g` 读取每张卡的地址并填入。",
    ),
    "ENV113.broken": Words(
        "{name} is set to something that cannot be its value (not shown here)",
        "{name} 的值不合法（此处不显示）",
        "Print it yourself, then correct or unset it.",
        "请自行查看后改正或取消该变量。",
    ),
    "ENV113.twice": Words(
        "{name} lists hosts twice: {hosts}",
        "{name} 重复列出节点：{hosts}",
        "Each host once.",
        "每个节点只能出现一次。",
    ),
    "ENV113.outside": Words(
        "{left} does not lie below {right}",
        "{left} 不小于 {right}",
        "Ranks count from 0: the highest is the number less 1.",
        "序号从 0 开始：最大值应比总数小 1。",
    ),
    "ENV113.product": Words(
        "{world} is not {hosts} host(s) times {per_host}",
        "{world} 不等于 {hosts} 个节点乘以 {per_host}",
        "Correct the number that is wrong; HCCL waits for ranks that never come.",
        "请改正错误的数值；HCCL 会一直等待不存在的 rank。",
    ),
    "ENV113.cards": Words(
        "{ranks} ranks on this host ({source}), but fewer cards: {visible}",
        "本节点有 {ranks} 个 rank（{source}），但卡数不足：{visible}",
        "Start as many ranks as there are cards, or make the missing cards visible (mounts, visible devices).",
        "请按卡数启动 rank，或使缺少的卡可见（挂载、可见设备变量）。",
    ),
    "ENV113.local": Words(
        "{hosts} hosts, but the master address is {master}: every host would wait for itself",
        "有 {hosts} 个节点，但主节点地址为 {master}：每个节点都会等待自己",
        "Give the first host's name or address, the same on every host.",
        "请在所有节点上给出第一个节点的名称或地址。",
    ),
    "ENV113.port": Words(
        "the master port {port} is above 65535",
        "主节点端口 {port} 超过 65535",
        "Choose a free port, 29500 for example.",
        "请选择空闲端口，例如 29500。",
    ),
    "ENV113.hccl_port": Words(
        "the master port {port} lies in HCCL's own range {first} to {last}",
        "主节点端口 {port} 落在 HCCL 自用的范围 {first} 至 {last} 内",
        "Choose another port, 29500 for example, or move HCCL with HCCL_IF_BASE_PORT.",
        "请换一个端口（例如 29500），或用 HCCL_IF_BASE_PORT 移动 HCCL 的端口。",
    ),
    "ENV114.rtf": Words(
        "the preset engine (RTF) has started the boot file {cards} times, once per card: torchrun in it would start"
        " {cards} times as many processes, on the same port",
        "预置引擎（RTF）已按卡把启动文件执行了 {cards} 次：在其中再调用 torchrun 会启动 {cards} 倍的进程并争用端口",
        "Best: set MA_RUN_METHOD=torchrun for the job, then ModelArts calls torchrun itself. Else let one of them go"
        " on, as the line below does.",
        "推荐：将作业的 MA_RUN_METHOD 设为 torchrun，由 ModelArts 调用它；否则只让其中一个继续执行，见下方命令。",
    ),
    "ENV114.tasks": Words(
        "srun has started {tasks} tasks on each host, one per card: torchrun in each would start that many times more",
        "srun 已在每个节点启动 {tasks} 个任务（每卡一个）：若在其中再调用 torchrun，进程数会成倍增加",
        "Give each task its rank, as the line below does; or use `srun --ntasks-per-node=1 torchrun …`.",
        "请按下方命令为每个任务指定 rank；或使用 `srun --ntasks-per-node=1 torchrun …`。",
    ),
    "ENV114.worker": Words(
        "this process is worker {rank} of {world}: do not start torchrun again in it",
        "当前是 {world} 个工作进程中的第 {rank} 个：不要在其中再次启动 torchrun",
    ),
    "ENV114.platform": Words(
        "ModelArts starts the boot file itself (MA_RUN_METHOD={method}): it needs no torchrun of its own",
        "ModelArts 自行启动启动文件（MA_RUN_METHOD={method}）：其中无需再调用 torchrun",
    ),
    "ENV114.notebook": Words(
        "{names} are set in this notebook, though no job runs: HCCL would believe them",
        "本 Notebook 中设置了 {names}，但并没有作业：HCCL 会采信它们",
        "The line below leaves them out; in a shell: `unset {unset}`.",
        "下方命令已去除它们；在终端中执行 `unset {unset}`。",
    ),
    "ENV114.host_rank": Words(
        "could not tell which of the {hosts} hosts this is",
        "无法判断当前是 {hosts} 个节点中的哪一个",
        "Give torchrun --node_rank: 0 on the master, then 1, 2, …",
        "请给 torchrun 指定 --node_rank：主节点为 0，其余为 1、2……",
    ),
    "ENV114.master": Words(
        "could not tell which of the {hosts} hosts is the master",
        "无法判断 {hosts} 个节点中哪个是主节点",
        "Set MASTER_ADDR to the first host's name or address.",
        "请将 MASTER_ADDR 设为第一个节点的名称或地址。",
    ),
    "ENV114.cards": Words(
        "could not tell how many cards this host has",
        "无法判断本节点有多少张卡",
        "Run it on the host that trains, or give torchrun --nproc_per_node.",
        "请在训练所用的节点上执行，或给 torchrun 指定 --nproc_per_node。",
    ),
}
