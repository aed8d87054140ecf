"""Words of ModelArts as a batch platform: the job's description, the boot file, the rehearsal."""

from helpers.words import Words

_HEADINGS = {
    "modelarts_job": ("ModelArts training job", "ModelArts 训练作业"),
    "modelarts_rehearsal": ("ModelArts rehearsal", "ModelArts 预演"),
    "modelarts_links": ("ModelArts launch links", "ModelArts 启动链接"),
    "modelarts_notebook": ("Notebook", "笔记本"),
    "modelarts_link": ("Link", "链接"),
    "modelarts_field": ("Field", "字段"),
    "modelarts_body": ("Request", "请求体"),
    "modelarts_case": ("Started by", "启动方式"),
    "modelarts_host": ("Host", "节点"),
    "modelarts_card": ("Card", "卡"),
    "modelarts_role": ("Role", "角色"),
    "modelarts_code": ("Exit code", "退出码"),
    "modelarts_what": ("What it would do, or said last", "将执行的内容，或最后输出"),
}

_PARTS = {
    "way.rtf": ("preset engine, once per card", "预置引擎，每卡一次"),
    "way.torchrun": ("MA_RUN_METHOD=torchrun, once per card", "MA_RUN_METHOD=torchrun，每卡一次"),
    "way.custom": ("an image of your own, once per host", "自定义镜像，每节点一次"),
    "way.notebook": ("a notebook's terminal", "Notebook 终端"),
    "way.work": ("preset engine, the work really done", "预置引擎，真正执行"),
    "role.lead": ("does the work", "执行任务"),
    "role.rank": ("one rank of the training", "训练的一个 rank"),
    "role.leave": ("leaves it to another", "交给其他进程"),
    "lead": ("this process does the work (host {host} of {hosts})", "由本进程执行任务（节点 {host}，共 {hosts} 个）"),
    "rank": ("rank {rank} of {world}, started by the platform", "平台启动的第 {rank} 个 rank，共 {world} 个"),
    "leave_card": (
        "started for card {card}: the process of card 0 does the work of this host",
        "本进程对应卡 {card}：本节点的任务由卡 0 的进程执行",
    ),
    "leave_host": (
        "started on host {host}: the workbook runs once in the job, on host 0",
        "本进程在节点 {host}：手册在整个作业中只执行一次，由节点 0 执行",
    ),
    "leave_rank": (
        "rank {rank} of {world}: the workbook runs once in the job, in rank 0",
        "第 {rank} 个 rank，共 {world} 个：手册在整个作业中只执行一次，由 rank 0 执行",
    ),
    "leaves": ("leaves it to another process, and ends well", "任务由其他进程执行，本进程正常结束"),
    "scratch_is": ("writes to {path} ({source}, {free} MiB free)", "写入 {path}（{source}，剩余 {free} MiB）"),
    "left": (
        "{path} had {names} of an earlier job: data were removed, results were put aside as out-…",
        "{path} 中有先前作业的 {names}：数据已删除，结果已改名为 out-…",
    ),
    "shm": (
        "/dev/shm has {mib} MiB: a loader with workers needs more (num_workers=0 needs none)",
        "/dev/shm 只有 {mib} MiB：带工作进程的数据加载器需要更多（num_workers=0 不需要）",
    ),
    "starts": ("starts: {command}", "启动：{command}"),
    "ended": ("ended with {code}", "结束，退出码 {code}"),
    "sent": ("{count} files taken to {place}", "已将 {count} 个文件送至 {place}"),
    "not_kept": (
        "no train_url: the results stay in {path} and go with the host",
        "未给出 train_url：结果留在 {path}，会随节点一起消失",
    ),
    "installs": (
        "packages are missing in the image ({names}): they go into an environment beside it, torch stays",
        "镜像缺少软件包（{names}）：将装入旁边的环境，torch 保持不变",
    ),
    "others": ("parameters that are not ours, left alone: {names}", "不属于本程序的参数，未使用：{names}"),
    "table_unused": ("the rank table is of no use, and not needed: {why}", "rank table 无法使用，但也不需要：{why}"),
}

WORDS: dict[str, Words] = {
    **{f"name.{name}": Words(en, zh) for name, (en, zh) in _HEADINGS.items()},
    **{f"modelarts.{name}": Words(en, zh) for name, (en, zh) in _PARTS.items()},
    "RUN410.job": Words(
        "a job of {nodes} host(s) that starts {boot}; nothing was sent",
        "作业共 {nodes} 个节点，启动文件为 {boot}；尚未提交任何内容",
    ),
    "RUN411.good": Words(
        "{ways} ways to start the job rehearsed with {processes} processes: the right ones do the work, all end well",
        "预演了 {ways} 种启动方式、{processes} 个进程：执行任务的进程正确，全部正常结束",
    ),
    "RUN411.fails": Words(
        "the rehearsed job would fail ({ways} ways to start it, {processes} processes)",
        "预演表明作业会失败（{ways} 种启动方式，{processes} 个进程）",
        "The first line below that says FAIL names the way and why.",
        "下方首个 FAIL 说明了启动方式与原因。",
    ),
    "RUN412.good": Words(
        "{way}: {leads} of {count} processes would work, the others end with 0",
        "{way}：{count} 个进程中有 {leads} 个执行任务，其余以 0 结束",
    ),
    "RUN412.code": Words(
        "{way}: a process ends with {code}: {said}",
        "{way}：有进程以 {code} 结束：{said}",
        "What it said names the next step; the same would happen on the platform.",
        "其输出给出了下一步；在平台上也会如此。",
    ),
    "RUN412.leads": Words(
        "{way}: {found} processes would do the work, {wanted} should",
        "{way}：将有 {found} 个进程执行任务，应为 {wanted} 个",
        "Compare the variables in the job's log with docs/modelarts-job.md.",
        "请将作业日志中的变量与 docs/modelarts-job.zh-CN.md 对照。",
    ),
    "RUN412.lacking": Words(
        "{way}: an image without {names} would install them into an environment beside its own",
        "{way}：若镜像缺少 {names}，会将其装入旁边的环境",
    ),
    "RUN413.worked": Words(
        "`{command}` was really run by one of {count} processes, the others left it to that one",
        "`{command}` 由 {count} 个进程之一真正执行，其余交给该进程",
    ),
    "RUN413.failed": Words(
        "`{command}` was really run and ended with {code}: {said}",
        "真正执行 `{command}`，以 {code} 结束：{said}",
        "The boot file does not work here; on the platform it would not either.",
        "启动文件在此处无法工作，在平台上同样如此。",
    ),
    "RUN414.user": Words(
        "all ran as user {user}, ma-user's number, without sudo, in an environment that it cannot write",
        "全部以用户 {user}（ma-user 的编号）运行，不使用 sudo，环境目录不可写",
    ),
    "RUN414.own_user": Words(
        "all ran as the present user: becoming ma-user takes root, and a Python that others may read",
        "全部以当前用户运行：切换为 ma-user 需要 root，且该 Python 允许其他用户读取",
    ),
    "RUN414.shm": Words("all ran with a /dev/shm of {size}", "全部在 {size} 的 /dev/shm 下运行"),
    "RUN414.no_shm": Words(
        "a small /dev/shm was not played: it takes root, unshare and setpriv",
        "未模拟小的 /dev/shm：需要 root、unshare 与 setpriv",
    ),
    "RUN414.sudo": Words(
        "something called sudo, which the image does not allow",
        "有进程调用了 sudo，而镜像不允许",
        "Give what needs root another place, or leave it out.",
        "请为需要 root 的内容另选位置，或去除它。",
    ),
    "RUN414.not_played": Words(
        "not played: OBS, the agency, NPUs, the network between hosts, the image's own packages",
        "未模拟：OBS、委托、NPU、节点间网络、镜像自带的软件包",
    ),
    "RUN460.links": Words(
        "{count} launch link(s) for the region cn-north-4, unverified: the form is that of public \"Run in ModelArts\""
        " buttons, none was opened",
        "已生成 {count} 个启动链接（区域 cn-north-4），未经验证：其形式取自公开的“Run in ModelArts”按钮，从未打开过",
    ),
    "modelarts.body_written": Words("written: {path}", "已写入：{path}"),
    "modelarts.not_hosted": Words(
        "it is not known where the notebooks are hosted",
        "尚不知道 Notebook 托管在何处",
        "Give a notebook's public https address, or set NOTEBOOKS in helpers/hosting.py.",
        "请给出某个笔记本的公开 https 地址，或在 helpers/hosting.py 中设置 NOTEBOOKS。",
    ),
    "modelarts.notebook_address": Words(
        "{url} is no public address of a notebook",
        "{url} 不是笔记本的公开地址",
        "It begins with https://, ends with .ipynb, has no user, password or query: a signed one holds an access key.",
        "地址应以 https:// 开头、以 .ipynb 结尾，且不含用户名、密码与查询参数：带签名的地址含有访问密钥。",
    ),
    "modelarts.image_id": Words(
        "{image} is no image's number",
        "{image} 不是镜像 ID",
        "It is a UUID, as the console's list of images shows it.",
        "它是一个 UUID，可在控制台的镜像列表中查看。",
    ),
    "modelarts.stopped": Words("modelarts: stopped: {message}", "modelarts：已停止：{message}"),
    "modelarts.contradiction": Words(
        "the job's variables contradict each other ({count}); the first: {first}",
        "作业的变量互相矛盾（{count} 处）；首先是：{first}",
        "Take your own variables out of the job; `ascend-workbook launch-facts` in it lists all of them.",
        "请去除作业中自设的变量；在作业中执行 `ascend-workbook launch-facts` 可列出全部矛盾。",
    ),
    "modelarts.which_host": Words(
        "could not tell which of the {hosts} hosts this is: no VC_TASK_INDEX, and its name is not in VC_WORKER_HOSTS",
        "无法判断当前是 {hosts} 个节点中的哪一个：没有 VC_TASK_INDEX，其名称也不在 VC_WORKER_HOSTS 中",
        "Set VC_TASK_INDEX (0 on the first host), or use one host.",
        "请设置 VC_TASK_INDEX（第一个节点为 0），或使用单节点。",
    ),
    "modelarts.card": Words(
        "the preset engine has started this process, but ASCEND_DEVICE_ID is no card's number",
        "本进程由预置引擎启动，但 ASCEND_DEVICE_ID 不是卡号",
        "Set MA_RUN_METHOD=torchrun for the job, or take your own ASCEND_DEVICE_ID out of it.",
        "请为作业设置 MA_RUN_METHOD=torchrun，或去除自设的 ASCEND_DEVICE_ID。",
    ),
    "modelarts.cards": Words(
        "could not tell how many cards this host has: no MA_NUM_GPUS, no /dev/davinci<N>",
        "无法判断本节点有多少张卡：没有 MA_NUM_GPUS，也没有 /dev/davinci<N>",
        "Choose a flavor with NPUs, or run a verb of the workbook with --command.",
        "请选择带 NPU 的规格，或用 --command 执行手册的命令。",
    ),
    "modelarts.no_lead": Words(
        "no process of this host has begun the work within {seconds} s (that of ASCEND_DEVICE_ID=0 should)",
        "{seconds} 秒内本节点没有进程开始执行任务（应由 ASCEND_DEVICE_ID=0 的进程执行）",
        "Look into the log of the host's first process; leaving now would make a job green that did nothing.",
        "请查看本节点第一个进程的日志；若此时正常结束，会得到一个什么都没做却显示成功的作业。",
    ),
    "modelarts.scratch": Words(
        "none of {places} can be written",
        "{places} 均不可写",
        "Give --scratch a folder that can.",
        "请用 --scratch 指定可写目录。",
    ),
    "modelarts.taken": Words(
        "another job works in {path}",
        "另一个作业正在使用 {path}",
        "Wait until it has ended, or give each job a folder of its own with --scratch.",
        "请等待其结束，或用 --scratch 为每个作业指定各自的目录。",
    ),
    "modelarts.no_data": Words(
        "there is no data at {place}",
        "{place} 处没有数据",
        "Correct data_url; it ends with the folder, and its files must not be archived.",
        "请改正 data_url；它以目录结尾，且其中的文件不能是归档存储。",
    ),
    "modelarts.not_sent": Words(
        "{count} of {of} result files are not at {place} after they were sent; the first: {first}",
        "发送后，{of} 个结果文件中有 {count} 个不在 {place}；首先是：{first}",
        "Look whether the job's agency may write to the bucket.",
        "请检查作业的委托是否可写该桶。",
    ),
    "modelarts.words": Words(
        "`{text}` cannot be taken apart into words: {error}",
        "无法将 `{text}` 拆分为命令行参数：{error}",
        "Close the quotes.",
        "请补全引号。",
    ),
    "modelarts.two_works": Words(
        "both --command and --script are given",
        "同时给出了 --command 与 --script",
        "One of them: a verb of the workbook, or a training script.",
        "只给其中之一：手册的命令，或训练脚本。",
    ),
    "modelarts.lacking": Words(
        "packages are missing ({names}), and --setup=never forbids to install them",
        "缺少软件包（{names}），而 --setup=never 禁止安装",
        "Leave --setup out, or use an image that has them.",
        "请去掉 --setup，或使用已包含它们的镜像。",
    ),
    "modelarts.set_up": Words(
        "the packages could not be installed (exit code {code})",
        "无法安装软件包（退出码 {code}）",
        "The lines above say why; ASCEND_WORKBOOK_MIRROR chooses a mirror, an offline archive needs no network.",
        "上方输出说明了原因；ASCEND_WORKBOOK_MIRROR 可选择镜像源，离线归档则无需网络。",
    ),
    "modelarts.torch_changed": Words(
        "the new environment sees another {names} than the image has: it is not used",
        "新环境中的 {names} 与镜像的不同：不予使用",
        "Report it: set-up must hold the image's pair.",
        "请反馈：安装过程必须保留镜像的配套版本。",
    ),
    "modelarts.name": Words(
        "{name} is no name for a job",
        "{name} 不能作为作业名称",
        "Letters, digits, dashes and underscores, up to 64.",
        "只能使用字母、数字、短横线与下划线，最多 64 个字符。",
    ),
    "modelarts.address": Words(
        "{place} is no address of a folder in OBS",
        "{place} 不是 OBS 目录地址",
        "Write obs://bucket/folder.",
        "请写成 obs://桶/目录。",
    ),
    "modelarts.image": Words(
        "a job has either an image of your own or a preset engine",
        "作业要么使用自定义镜像，要么使用预置引擎",
        "Give one of --image and --engine-id.",
        "请给出 --image 与 --engine-id 之一。",
    ),
    "modelarts.nodes": Words(
        "{nodes} hosts are none", "节点数 {nodes} 无效", "Give --nodes 1 or more.", "请给出 --nodes 1 或更多。"
    ),
    "modelarts.variable": Words(
        "{name} cannot be a variable of the job",
        "{name} 不能作为作业的环境变量",
        "Names begin with a letter and not with MA_, which is the platform's (but MA_RUN_METHOD); at most {most}.",
        "名称以字母开头，且不能以平台专用的 MA_ 开头（MA_RUN_METHOD 除外）；最多 {most} 个。",
    ),
    "modelarts.secret": Words(
        "{name} names a secret, and a job's variables can be read by all who see the job",
        "{name} 看起来是机密，而能看到作业的人都能读取其变量",
        "Give the job an agency (委托) that may read and write the buckets.",
        "请为作业配置可读写相应桶的委托。",
    ),
    "modelarts.env_form": Words(
        "variable {text}: expected NAME=VALUE",
        "变量 {text}：应为“名称=值”",
        "Write --env NAME=VALUE.",
        "请写成 --env 名称=值。",
    ),
    "modelarts.cards_range": Words(
        "{cards} cards: a host has 1 to {most}",
        "卡数 {cards}：每个节点为 1 至 {most}",
        "Correct --cards.",
        "请改正 --cards。",
    ),
    "modelarts.no_script": Words(
        "the script {path} is neither here nor in the project",
        "脚本 {path} 既不在当前目录，也不在项目中",
        "Give its path; for the job it must lie in the code directory.",
        "请给出其路径；提交作业时它必须位于代码目录中。",
    ),
    "modelarts.script_place": Words(
        "the script {path} is given by no path in the code directory",
        "脚本 {path} 不是代码目录中的路径",
        "Copy it into the project and give its path from there: the job has the code directory alone.",
        "请将其复制到项目中，并给出从项目根目录起的路径：作业中只有代码目录。",
    ),
    "modelarts.no_boot": Words(
        "the boot file {path} is not beside the package",
        "启动文件 {path} 不在软件包旁",
        "Use a checkout of the project: its root is the job's code directory.",
        "请使用项目的检出目录：其根目录即作业的代码目录。",
    ),
}  # fmt: skip
