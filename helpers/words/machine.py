"""Words of the environment's rules on what lies around torch: limits, NUMA, mounts, HCCL, kernels, NVIDIA's side."""

from helpers.words import Words

_RULES = {
    "ENV017": ("processes, locked memory", "进程数、锁定内存"),
    "ENV018": ("NUMA", "NUMA"),
    "ENV027": ("NPU memory", "NPU 内存"),
    "ENV032": ("libascend_hal.so", "libascend_hal.so"),
    "ENV044": ("NNAL (ATB)", "NNAL（ATB）"),
    "ENV045": ("set_env.sh, compared", "set_env.sh 对照"),
    "ENV046": ("CANN's packages", "CANN 各组件"),
    "ENV059": ("conflicting packages", "冲突的包"),
    "ENV063": ("NPU network", "NPU 网络"),
    "ENV064": ("rank table", "rank table"),
    "ENV065": ("HCCL variables", "HCCL 变量"),
    "ENV066": ("Jupyter kernels", "Jupyter 内核"),
    "ENV081": ("NVIDIA driver", "NVIDIA 驱动"),
    "ENV092": ("mounts", "挂载"),
}

_FINDINGS = {
    "untold.no_script": Words(
        "could not tell: no set_env.sh beside {path}",
        "无法判断：{path} 旁没有 set_env.sh",
        "The install may be cut short: install the toolkit anew.",
        "安装可能不完整：请重新安装 toolkit。",
    ),
    "untold.script": Words(
        "could not tell: bash could not source {path}",
        "无法判断：bash 无法 source {path}",
        "Run `bash -c 'source {path}; env | grep ASCEND'` in a terminal.",
        "请在终端执行 `bash -c 'source {path}; env | grep ASCEND'`。",
    ),
    "environment.nearest": Words(
        "{pair} fits; `ascend-workbook setup` prints the exact commands.",
        "合适的是 {pair}；`ascend-workbook setup` 会给出确切命令。",
    ),
    "environment.nearest_cann": Words(
        "no published pair; the nearest is CANN {cann} with {pair}; `ascend-workbook setup` prints the exact commands.",
        "没有公布的配套；最接近的是 CANN {cann} 配 {pair}；`ascend-workbook setup` 会给出确切命令。",
    ),
    "environment.nearest_none": Words("no published pair fits.", "没有合适的已公布配套。"),
    "ENV014.entries": Words(
        "{folder}: {free_gib} GiB free, but only {entries} more files may be made (inodes)",
        "{folder}：可用 {free_gib} GiB，但只能再新建 {entries} 个文件（inode）",
        "`df -i` shows it: delete many small files (kernel_meta, old dumps), or write the runs elsewhere.",
        "`df -i` 可查看：请删除大量小文件（kernel_meta、旧转储），或更换运行目录。",
    ),
    "ENV017.ok": Words(
        "{processes} processes, {locked} MiB of locked memory", "进程数上限 {processes}，锁定内存 {locked} MiB"
    ),
    "ENV017.unlimited": Words("unlimited", "不限"),
    "ENV017.low": Words(
        "at most {processes} processes and threads: below {needed}",
        "进程与线程上限 {processes}：低于 {needed}",
        "`ulimit -u unlimited` before the start, or docker run --pids-limit=-1: else workers end with \"Resource "
        "temporarily unavailable\".",
        "启动前执行 `ulimit -u unlimited`，或 docker run 加 --pids-limit=-1：否则工作进程会以 “Resource temporarily "
        "unavailable” 终止。",
    ),
    "ENV017.locked": Words(
        "{locked} MiB of locked memory: NCCL over RDMA cannot register its buffers",
        "锁定内存上限 {locked} MiB：基于 RDMA 的 NCCL 无法注册缓冲区",
        "docker run --ulimit memlock=-1, or raise memlock in /etc/security/limits.conf.",
        "docker run 加 --ulimit memlock=-1，或在 /etc/security/limits.conf 中提高 memlock。",
    ),
    "ENV018.ok": Words("{nodes} nodes, this process may use {allowed}", "{nodes} 个节点，本进程可用 {allowed}"),
    "ENV018.near": Words("{nodes} nodes, the NPUs are near {near}", "{nodes} 个节点，NPU 靠近 {near}"),
    "ENV018.far": Words(
        "NPUs are near NUMA node {far}, this process may only use {allowed}",
        "NPU 靠近 NUMA 节点 {far}，本进程只能使用 {allowed}",
        "Widen the container's --cpuset-cpus or numactl's nodes, or choose NPUs near these CPUs; copies and launches "
        "are slower across sockets.",
        "请放宽容器的 --cpuset-cpus 或 numactl 节点，或选用靠近这些 CPU 的 NPU；跨插槽的拷贝与下发更慢。",
    ),
    "ENV027.ok": Words(
        "at least {least_gib} GiB free of {total_gib}", "至少可用 {least_gib} GiB，每芯片 {total_gib} GiB"
    ),
    "ENV027.held": Words(
        "memory in use without a process to be seen: {names}; least free {least_gib} GiB of {total_gib}",
        "内存被占用但看不到进程：{names}；最少可用 {least_gib} GiB，每芯片 {total_gib} GiB",
        "Another container holds it: run `npu-smi info` on the host, or choose other NPUs with "
        "ASCEND_RT_VISIBLE_DEVICES.",
        "由其他容器占用：请在主机上执行 `npu-smi info`，或用 ASCEND_RT_VISIBLE_DEVICES 选择其他 NPU。",
    ),
    "ENV032.ok": Words("{path}", "{path}"),
    "ENV032.stub": Words(
        "{path} is found before the driver's: a stub without any function",
        "{path} 排在驱动之前：它是没有实际功能的桩",
        "Put /usr/local/Ascend/driver/lib64/driver and …/driver/lib64/common first in LD_LIBRARY_PATH (source "
        "/usr/local/Ascend/driver/bin/setenv.bash last, or set_env.sh anew), then start Python again.",
        "请让 /usr/local/Ascend/driver/lib64/driver 与 …/driver/lib64/common 排在 LD_LIBRARY_PATH 最前（最后 source "
        "/usr/local/Ascend/driver/bin/setenv.bash，或重新 source set_env.sh），再重新启动 Python。",
    ),
    "ENV032.stub_only": Words(
        "{path}: CANN's stub; torch_npu imports with it, and no device works",
        "{path}：CANN 的桩；torch_npu 可借此导入，但没有设备可用",
    ),
    "ENV044.ok": Words("NNAL {version} in {path}", "NNAL {version}，位于 {path}"),
    "ENV044.none": Words(
        "NNAL is not installed: fused operators of ATB are missing",
        "未安装 NNAL：缺少 ATB 的融合算子",
        "Install Ascend-cann-nnal of CANN's version where libatb.so is asked for.",
        "提示缺少 libatb.so 时，请安装与 CANN 同版本的 Ascend-cann-nnal。",
    ),
    "ENV044.not_sourced": Words(
        "NNAL {version} in {path} is installed, ATB_HOME_PATH is not set",
        "NNAL {version} 已安装于 {path}，未设置 ATB_HOME_PATH",
        "`source /usr/local/Ascend/nnal/atb/set_env.sh` after CANN's, where libatb.so is asked for.",
        "提示缺少 libatb.so 时，在 CANN 之后 `source /usr/local/Ascend/nnal/atb/set_env.sh`。",
    ),
    "ENV044.gone": Words(
        "ATB_HOME_PATH points to {told}, which does not exist",
        "ATB_HOME_PATH 指向不存在的 {told}",
        "`source /usr/local/Ascend/nnal/atb/set_env.sh` anew, or `unset ATB_HOME_PATH`.",
        "请重新 `source /usr/local/Ascend/nnal/atb/set_env.sh`，或 `unset ATB_HOME_PATH`。",
    ),
    "ENV044.differs": Words(
        "NNAL {version} beside CANN {cann}",
        "NNAL {version} 与 CANN {cann} 版本不同",
        "Install NNAL {cann}: its libatb.so is built for that CANN.",
        "请安装 NNAL {cann}：其 libatb.so 为该 CANN 构建。",
    ),
    "ENV045.ok": Words("as set_env.sh makes it", "与 set_env.sh 的结果一致"),
    "ENV045.differs": Words(
        "{count} things that {script} sets are not here: {names}",
        "{script} 设置的 {count} 项在此缺失：{names}",
        "`source {script}` in bash before Python or Jupyter starts, in place of variables set by hand.",
        "请在 bash 中、启动 Python 或 Jupyter 之前 `source {script}`，不要手工设置变量。",
    ),
    "ENV046.ok": Words("{count} packages of one version", "{count} 个组件版本一致"),
    "ENV046.differ": Words(
        "the packages of this CANN are of different versions: {parts}",
        "此 CANN 的组件版本不一致：{parts}",
        "Install the kernels package (from CANN 8.5: ops) of {version}, the toolkit's version.",
        "请安装与 toolkit 相同的 {version} 版 kernels 包（CANN 8.5 起为 ops 包）。",
    ),
    "ENV059.triton": Words(
        "triton {triton} and triton-ascend {ascend} install the same module",
        "triton {triton} 与 triton-ascend {ascend} 安装同一个模块",
        "`pip uninstall -y triton triton-ascend && pip install triton-ascend=={ascend}`.",
        "请执行 `pip uninstall -y triton triton-ascend && pip install triton-ascend=={ascend}`。",
    ),
    "ENV059.old": Words(
        "torch_npu {torch_npu} is no longer maintained", "torch_npu {torch_npu} 已停止维护"
    ),
    "ENV059.early": Words(
        "torch_npu {torch_npu} is an early version: on PyPI, not yet in the vendor's table",
        "torch_npu {torch_npu} 是早期版本：已在 PyPI，尚未进入官方配套表",
    ),
    "ENV063.ok": Words("hccn.conf gives {count} NPUs an address", "hccn.conf 为 {count} 个 NPU 设置了地址"),
    "ENV063.none": Words(
        "no /etc/hccn.conf: collectives stay within this host",
        "没有 /etc/hccn.conf：集合通信限于本机",
        "For several hosts: `hccn_tool -i 0 -ip -s address … netmask …` for each NPU; in a container mount the file.",
        "多机训练：为每个 NPU 执行 `hccn_tool -i 0 -ip -s address … netmask …`；容器中请挂载该文件。",
    ),
    "ENV063.twice": Words(
        "hccn.conf gives {twice} to more than one NPU",
        "hccn.conf 将 {twice} 分配给了多个 NPU",
        "Give each NPU an address of its own with `hccn_tool -i <N> -ip -s address … netmask …`.",
        "请用 `hccn_tool -i <N> -ip -s address … netmask …` 为每个 NPU 设置不同地址。",
    ),
    "ENV063.missing": Words(
        "hccn.conf has no address for NPU {missing}",
        "hccn.conf 中没有 NPU {missing} 的地址",
        "`hccn_tool -i <N> -ip -s address … netmask …` for each of them; a single host trains without.",
        "请为它们分别执行 `hccn_tool -i <N> -ip -s address … netmask …`；单机训练可以不配置。",
    ),
    "ENV064.ok": Words("{ranks} ranks on {servers} servers", "{servers} 个 server 上 {ranks} 个 rank"),
    "ENV064.unfit": Words(
        "{path}: {why}",
        "{path}：{why}",
        "Let the platform write it anew, or `unset RANK_TABLE_FILE RANK_ID RANK_SIZE` and start with torchrun.",
        "请让平台重新生成，或 `unset RANK_TABLE_FILE RANK_ID RANK_SIZE` 后用 torchrun 启动。",
    ),
    "ENV064.size": Words(
        "{path} holds {ranks} ranks, RANK_SIZE is {size}",
        "{path} 中有 {ranks} 个 rank，RANK_SIZE 为 {size}",
        "They belong to different jobs: `unset RANK_TABLE_FILE RANK_ID RANK_SIZE` and start with torchrun.",
        "二者属于不同作业：`unset RANK_TABLE_FILE RANK_ID RANK_SIZE` 后用 torchrun 启动。",
    ),
    "ENV065.ok": Words("{names} in range", "{names} 取值有效"),
    "ENV065.range": Words(
        "{name}={value}: HCCL takes {low} to {high}",
        "{name}={value}：HCCL 接受 {low} 至 {high}",
        "`unset {name}`, or a number of that range; HCCL ends with EI0001 otherwise.",
        "请 `unset {name}` 或设为该范围内的数值；否则 HCCL 报 EI0001。",
    ),
    "ENV065.interface": Words(
        "HCCL_SOCKET_IFNAME={value} fits none of this host's interfaces: {found}",
        "HCCL_SOCKET_IFNAME={value} 与本机网卡均不匹配：{found}",
        "Name the one that reaches the other hosts (`ip -br addr`), or `unset HCCL_SOCKET_IFNAME`.",
        "请填写通往其他主机的网卡（`ip -br addr`），或 `unset HCCL_SOCKET_IFNAME`。",
    ),
    "ENV066.ok": Words("{count} Python kernel(s), values absolute", "{count} 个 Python 内核，取值均为绝对值"),
    "ENV066.without": Words(
        "{count} Python kernel(s), none carries CANN's environment",
        "{count} 个 Python 内核，均未带有 CANN 的环境变量",
        "Start Jupyter from a shell that sourced {script}, or `ascend-workbook setup --kernelspec ascend-npu`.",
        "请在 source 过 {script} 的终端中启动 Jupyter，或执行 `ascend-workbook setup --kernelspec ascend-npu`。",
    ),
    "ENV066.literal": Words(
        "kernel {name}: {names} in {path}/kernel.json hold a $ that may not be filled in",
        "内核 {name}：{path}/kernel.json 中的 {names} 含有可能不会展开的 $",
        "`ascend-workbook setup --kernelspec ascend-npu` writes a kernel with the whole values.",
        "`ascend-workbook setup --kernelspec ascend-npu` 会写出取值完整的内核。",
    ),
    "ENV066.gone": Words(
        "kernel {name} starts {python}, which does not exist",
        "内核 {name} 使用的 {python} 不存在",
        "`jupyter kernelspec remove {name}`, then `python -m ipykernel install --user` from the right environment.",
        "`jupyter kernelspec remove {name}`，再在正确的环境中执行 `python -m ipykernel install --user`。",
    ),
    "ENV081.ok": Words("driver {driver}, {gpus} GPU(s)", "驱动 {driver}，{gpus} 个 GPU"),
    "ENV081.no_driver": Words(
        "{gpus} NVIDIA GPU(s) on the PCI bus, no driver loaded",
        "PCI 总线上有 {gpus} 个 NVIDIA GPU，未加载驱动",
        "Install NVIDIA's driver, or `modprobe nvidia`; a container needs --gpus all.",
        "请安装 NVIDIA 驱动，或执行 `modprobe nvidia`；容器需加 --gpus all。",
    ),
    "ENV081.no_cuda": Words(
        "driver {driver}, but torch is a build without CUDA: the GPU baseline cannot be taken",
        "驱动 {driver}，但 torch 不带 CUDA：无法采集 GPU 基线",
        "For the baseline: an environment with torch from https://download.pytorch.org/whl/cu126.",
        "采集基线请另建环境，安装 https://download.pytorch.org/whl/cu126 的 torch。",
    ),
    "ENV081.old": Words(
        "driver {driver} is older than the {needed} that CUDA {build} needs",
        "驱动 {driver} 低于 CUDA {build} 所需的 {needed}",
        "Update the driver, or install a torch for an older CUDA.",
        "请升级驱动，或安装对应较低 CUDA 的 torch。",
    ),
    "ENV081.unseen": Words(
        "driver {driver} and torch for CUDA {build}, but torch sees no GPU",
        "驱动 {driver} 与 CUDA {build} 的 torch 均在，但 torch 看不到 GPU",
        "Look at CUDA_VISIBLE_DEVICES, and run `nvidia-smi`; a container needs --gpus all.",
        "请检查 CUDA_VISIBLE_DEVICES 并执行 `nvidia-smi`；容器需加 --gpus all。",
    ),
    "ENV092.driver": Words(
        "{driver} is an empty folder: the mount's source does not exist on the host",
        "{driver} 是空目录：主机上不存在挂载源",
        "Install the driver on the host, or correct the left side of -v; then start the container anew.",
        "请在主机上安装驱动，或更正 -v 左侧路径，然后重新启动容器。",
    ),
    "ENV092.npu_smi": Words(
        "{npu_smi} is a folder: the mount's source does not exist on the host",
        "{npu_smi} 是目录：主机上不存在挂载源",
        "Find it on the host (`which npu-smi`, often /usr/local/sbin/npu-smi) and correct the left side of -v.",
        "请在主机上查找（`which npu-smi`，常为 /usr/local/sbin/npu-smi），并更正 -v 左侧路径。",
    ),
}  # fmt: skip

WORDS: dict[str, Words] = {
    "environment.group.hccl": Words("HCCL", "HCCL"),
    **{f"environment.rule.{name}": Words(en, zh) for name, (en, zh) in _RULES.items()},
    **_FINDINGS,
    **{
        f"environment.fix.{key.replace('.', '_')}": Words(words.hint_en, words.hint_zh)
        for key, words in _FINDINGS.items()
        if words.hint_en
    },
}
