"""Known failures between ranks: rendezvous, HCCL, torchrun. Sentence: cause, then cure.

The patterns, excerpts and sources are in helpers/diagnosis/data/known_errors.json.
"""

from __future__ import annotations

from helpers.words import Words

_HCCL = {
    "hccl_get_socket_ei0006": (
        "A rank did not connect in time (HCCL_CONNECT_TIMEOUT, 120 s by default): it died, is still loading or "
        "compiling, or the NPU network, its TLS switch or a firewall is in the way.",
        "有 rank 没有按时建立连接（HCCL_CONNECT_TIMEOUT，默认 120 秒）：已退出、仍在加载或编译，或 NPU 网络、TLS "
        "开关、防火墙有问题。",
        "Find the rank that died first (its own log). `hccn_tool -i N -link -g`, `-ip -g`, `-tls -g` on both "
        "hosts; a slow start: HCCL_CONNECT_TIMEOUT=1200 on every rank.",
        "先找最早退出的 rank（看它自己的日志）。在两端执行 `hccn_tool -i N -link -g`、`-ip -g`、`-tls -g`；启动慢"
        "则所有 rank 设 HCCL_CONNECT_TIMEOUT=1200。",
    ),
    "hccl_notify_ei0002": (
        "Only some ranks entered a collective within HCCL_EXEC_TIMEOUT: one crashed, has fewer batches, or is far "
        "slower.",
        "只有部分 rank 在 HCCL_EXEC_TIMEOUT 内进入集合通信：有 rank 崩溃、batch 数更少，或慢很多。",
        '"Cluster Exception Location" names the culprit: read its log first; the same number of steps on every '
        "rank (drop_last); raise HCCL_EXEC_TIMEOUT only where slowness is right.",
        "“Cluster Exception Location”会指出问题 rank：先看它的日志；保证各 rank 步数一致（drop_last）；确属正常缓"
        "慢时再调大 HCCL_EXEC_TIMEOUT。",
    ),
    "hccl_env_ei0001": (
        "An HCCL_* variable has a value out of its range (HCCL_CONNECT_TIMEOUT 120 to 7200, for one).",
        "某个 HCCL_* 环境变量超出取值范围（如 HCCL_CONNECT_TIMEOUT 为 120 到 7200）。",
        "Correct or unset it on every rank.",
        "在所有 rank 上更正或取消该变量。",
    ),
    "hccl_ranktable": (
        "RANK_TABLE_FILE is set and does not fit this job; ModelArts sets it even in notebooks, and HCCL has no "
        "way round it.",
        "RANK_TABLE_FILE 已设置但与本任务不符；ModelArts 在 notebook 中也会设置，HCCL 不会绕过它。",
        "With torchrun unset RANK_TABLE_FILE, RANK_ID and RANK_SIZE; else make the table for this job (no "
        "symbolic link).",
        "使用 torchrun 时取消 RANK_TABLE_FILE、RANK_ID、RANK_SIZE；否则为本任务生成 rank table（不能是软链接）。",
    ),
    "hccl_inner_ranktable": (
        "A collective failed on the device: another rank failed or never came. With a rank table the ranks link "
        "without agreeing first, and can run out of time.",
        "集合通信在设备上失败：有其他 rank 出错或没有到达。使用 rank table 时各 rank 建链不做协商，也可能超时。",
        "Read the other ranks' logs first; with RANK_TABLE_FILE raise HCCL_CONNECT_TIMEOUT by 30 (150, for example).",
        "先看其他 rank 的日志；使用 RANK_TABLE_FILE 时把 HCCL_CONNECT_TIMEOUT 增加 30（例如 150）。",
    ),
    "hccl_params_ei0005": (
        "The ranks called different collectives, counts or dtypes.",
        "各 rank 调用的集合通信、数据量或 dtype 不一致。",
        "Make the control flow the same on every rank; TORCH_HCCL_DESYNC_DEBUG=1 names who is where.",
        "让各 rank 的控制流一致；TORCH_HCCL_DESYNC_DEBUG=1 会指出各 rank 的位置。",
    ),
    "hccl_version_ei0008": (
        "The hosts run different versions of CANN.",
        "各节点的 CANN 版本不同。",
        "Use one image everywhere; compare `ascend-workbook check --json` of all hosts.",
        "所有节点使用同一镜像；比较各节点 `ascend-workbook check --json` 的结果。",
    ),
    "hccp_ej0001": (
        "The job before has not released the NPU's network process yet.",
        "上一个任务还没有释放 NPU 的网络进程。",
        "Wait about ten seconds; end Python processes left on the cards (`npu-smi info`).",
        "等待约十秒；结束卡上残留的 Python 进程（`npu-smi info`）。",
    ),
    "hccl_port_ej0003": (
        "An HCCL port (16666 on the device, from 60000 on the host) is taken: two jobs share a card or a host.",
        "HCCL 端口被占用（设备侧 16666，主机侧 60000 起）：两个任务共用一张卡或一台主机。",
        "One job a card; else HCCL_NPU_SOCKET_PORT_RANGE=auto and HCCL_HOST_SOCKET_PORT_RANGE=auto on every rank.",
        "每卡一个任务；否则在所有 rank 上设置 HCCL_NPU_SOCKET_PORT_RANGE=auto 与 HCCL_HOST_SOCKET_PORT_RANGE=auto。",
    ),
    "port_29500": (
        "MASTER_PORT is taken by another job or by a torchrun that was left over.",
        "MASTER_PORT 被其他任务或残留的 torchrun 占用。",
        "Choose another --master_port (or --standalone on one host), or end the old process.",
        "换一个 --master_port（单机可用 --standalone），或结束旧进程。",
    ),
    "store_timeout": (
        "Rank 0 did not answer under MASTER_ADDR:MASTER_PORT: it has ended, is slow, or is not reachable.",
        "rank 0 没有在 MASTER_ADDR:MASTER_PORT 应答：已退出、较慢或不可达。",
        "Read rank 0's log first; `getent hosts $MASTER_ADDR`; GLOO_SOCKET_IFNAME and HCCL_SOCKET_IFNAME; a "
        "longer timeout in init_process_group.",
        "先看 rank 0 的日志；`getent hosts $MASTER_ADDR`；检查 GLOO_SOCKET_IFNAME 与 HCCL_SOCKET_IFNAME；加大 "
        "init_process_group 的 timeout。",
    ),
    "hccl_watchdog": (
        "A collective did not end within its time: another rank never entered it, crashed, or is far slower.",
        "集合通信没有按时完成：有 rank 没有进入、崩溃或慢很多。",
        "Read the other ranks' logs first; TORCH_HCCL_DESYNC_DEBUG=1 names the rank that lags; the same number of "
        "steps on every rank.",
        "先看其他 rank 的日志；TORCH_HCCL_DESYNC_DEBUG=1 会指出落后的 rank；保证各 rank 步数一致。",
    ),
    "peer_gone": (
        "Another rank's process has ended, and this one noticed.",
        "另一个 rank 的进程已退出，本 rank 随后察觉。",
        "Look for the first error in the log of the rank that ended.",
        "请在先退出的那个 rank 的日志中查找首个错误。",
    ),
    "elastic_child": (
        "torchrun's summary: a worker failed; the reason is that worker's own error.",
        "torchrun 的汇总：某个 worker 失败；原因是该 worker 自己的错误。",
        "Read that rank's output: torchrun --log-dir logs --redirects 3 keeps it, and the decorator @record keeps "
        "the traceback.",
        "查看该 rank 的输出：torchrun --log-dir logs --redirects 3 可以保存，@record 装饰器可保留堆栈。",
    ),
    "terminated": (
        "This process was ended by torchrun or the platform, because another one had failed or the job was stopped.",
        "本进程被 torchrun 或平台结束，因为其他进程已失败或任务被停止。",
        "Look for the first error of the other ranks.",
        "请查找其他 rank 的首个错误。",
    ),
    "not_contiguous": (
        "A collective was given a tensor that is not contiguous.",
        "传给集合通信的张量不连续。",
        "tensor.contiguous() before the call.",
        "调用前先 tensor.contiguous()。",
    ),
    "backend_nccl": (
        "init_process_group still asks for nccl.",
        "init_process_group 仍在使用 nccl。",
        'backend="hccl" (or "cpu:gloo,npu:hccl"); `ascend-workbook rewrite` does it.',
        'backend="hccl"（或 "cpu:gloo,npu:hccl"）；`ascend-workbook rewrite` 会改好。',
    ),
    "ddp_unused": (
        "DDP waited for gradients of parameters that the last forward did not use.",
        "DDP 在等待上一次 forward 没有用到的参数的梯度。",
        "find_unused_parameters=True, or let every parameter take part in the loss; the same holds on CUDA.",
        "设置 find_unused_parameters=True，或让所有参数都参与 loss；CUDA 上同样如此。",
    ),
    "hccl_function_error": (
        "A call of HCCL failed; its number gives the class, the EI or EJ line below the reason.",
        "HCCL 接口调用失败；错误码给出类别，下方的 EI 或 EJ 行给出原因。",
        "Read the EI or EJ line, then the log of the rank that it names.",
        "查看 EI 或 EJ 行，再看它所指的 rank 的日志。",
    ),
    "hccl_transport_ei0009": (
        "The link to one rank could not be made: it failed first, or two ranks use the same card.",
        "无法与某个 rank 建链：对方先失败，或两个 rank 用了同一张卡。",
        "Look at the rank named in dst_rank first; torch.npu.set_device(local_rank) gives each rank its own card.",
        "先看 dst_rank 所指的 rank；用 torch.npu.set_device(local_rank) 让每个 rank 独占一张卡。",
    ),
    "p2p_refused": (
        "Two cards of this host cannot reach each other's memory: not all are mapped into the container, or "
        "virtual machines divide them.",
        "本机两张卡无法互访显存：容器没有映射全部卡，或被虚拟机分隔。",
        "Map all cards of the job into one container; `npu-smi info -t topo` shows which reach one another.",
        "把任务用到的卡都映射进同一容器；`npu-smi info -t topo` 可查看互联关系。",
    ),
    "link_fault": (
        "A link between cards or hosts is faulty, or the card at the other end.",
        "卡间或节点间链路故障，或对端的卡故障。",
        "`hccn_tool -i N -link -g` and `-optical -g` on both ends; take the host out of the job.",
        "在两端执行 `hccn_tool -i N -link -g` 与 `-optical -g`；把该节点移出任务。",
    ),
    "sim_same_device": (
        "Two ranks use the same device; HCCL needs one each.",
        "两个 rank 使用了同一个设备；HCCL 要求各用一个。",
        'torch.npu.set_device(int(os.environ["LOCAL_RANK"])) before init_process_group.',
        '在 init_process_group 之前执行 torch.npu.set_device(int(os.environ["LOCAL_RANK"]))。',
    ),
}

WORDS: dict[str, Words] = {f"known.{name}": Words(*texts) for name, texts in _HCCL.items()}
