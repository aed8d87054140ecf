"""Words of the environment part: one entry a rule and outcome; the hint is the next step."""

from helpers.words import Words

_HEADINGS = {
    "environment_group": ("Part", "部分"),
    "machine_check": ("This machine", "本机检查"),
    "compute_check": ("Computation against the CPU", "计算结果与 CPU 对比"),
    "environment_check": ("Environment", "环境检查"),
    "case": ("Case", "用例"),
    "max_error": ("Largest error", "最大误差"),
    "allowed_error": ("Allowed", "允许误差"),
    "compute_rate": ("Rate", "计算速度"),
    "bandwidth": ("Bandwidth", "带宽"),
}

_GROUPS = {
    "host": ("host", "主机"),
    "device": ("device", "设备"),
    "driver": ("driver", "驱动"),
    "cann": ("CANN", "CANN"),
    "python": ("Python", "Python"),
    "process": ("process", "进程"),
    "simulator": ("simulator", "模拟器"),
    "baseline": ("baseline", "基线"),
    "platform": ("platform", "平台"),
}

_RULES = {
    "ENV001": ("device in use", "使用的设备"),
    "ENV010": ("operating system", "操作系统"),
    "ENV011": ("C library", "C 库"),
    "ENV012": ("CPUs", "CPU"),
    "ENV013": ("memory", "内存"),
    "ENV014": ("disk of the runs", "运行目录磁盘"),
    "ENV015": ("/dev/shm", "/dev/shm"),
    "ENV016": ("open files", "打开文件数"),
    "ENV020": ("PCI bus", "PCI 总线"),
    "ENV021": ("device files", "设备文件"),
    "ENV022": ("npu-smi", "npu-smi"),
    "ENV023": ("chip generation", "芯片代次"),
    "ENV024": ("device count", "设备数量"),
    "ENV025": ("other processes", "其他进程"),
    "ENV026": ("visible devices", "可见设备"),
    "ENV030": ("driver", "驱动"),
    "ENV031": ("firmware", "固件"),
    "ENV040": ("CANN", "CANN"),
    "ENV041": ("set_env.sh", "set_env.sh"),
    "ENV042": ("search paths", "搜索路径"),
    "ENV043": ("operator binaries", "算子二进制包"),
    "ENV050": ("Python", "Python"),
    "ENV051": ("import torch", "import torch"),
    "ENV052": ("torch_npu", "torch_npu"),
    "ENV053": ("torch and torch_npu", "torch 与 torch_npu"),
    "ENV054": ("torch_npu and CANN", "torch_npu 与 CANN"),
    "ENV055": ("numpy", "numpy"),
    "ENV056": ("CANN's Python modules", "CANN 的 Python 依赖"),
    "ENV057": ("shadowed packages", "同名遮蔽"),
    "ENV058": ("torchvision", "torchvision"),
    "ENV060": ("TASK_QUEUE_ENABLE", "TASK_QUEUE_ENABLE"),
    "ENV061": ("LD_LIBRARY_PATH", "LD_LIBRARY_PATH"),
    "ENV062": ("rank variables", "Rank 变量"),
    "ENV070": ("simulated NPU", "模拟 NPU"),
    "ENV080": ("GPU baseline", "GPU 基线"),
    "ENV090": ("container", "容器"),
    "ENV091": ("ModelArts", "ModelArts"),
}

_UNTOLD = {
    "untold.file": Words("could not tell: {path}: {error}", "无法判断：{path}：{error}"),
    "untold.unreadable": Words(
        "could not tell: {path} holds no line of the expected form", "无法判断：{path} 中没有预期格式的内容"
    ),
    "untold.no_tool": Words("could not tell: {tool} is not on PATH", "无法判断：PATH 中没有 {tool}"),
    "untold.tool": Words("could not tell: {tool} failed: {error}", "无法判断：{tool} 执行失败：{error}"),
    "untold.timeout": Words(
        "could not tell: {tool} gave no answer within {seconds} s",
        "无法判断：{tool} 在 {seconds} 秒内没有响应",
        "Run it in a terminal; if it hangs there too, the driver hangs: `dmesg | tail` and a restart of the host.",
        "请在终端中执行；若同样无响应，说明驱动卡死：查看 `dmesg | tail`，并重启主机。",
    ),
    "untold.glibc": Words("could not tell: the C library is not glibc", "无法判断：C 库不是 glibc"),
    "untold.no_pci": Words("could not tell: {path} is not here", "无法判断：没有 {path}"),
    "untold.npu_smi_cut": Words(
        "could not tell: npu-smi printed {lines} lines and no whole chip",
        "无法判断：npu-smi 输出了 {lines} 行，但没有完整的芯片信息",
        "Run `npu-smi info` in a terminal and compare.",
        "请在终端执行 `npu-smi info` 并对照。",
    ),
    "untold.version": Words("could not tell: {text} is not a version", "无法判断：{text} 不是版本号"),
    "untold.cann_version": Words(
        "could not tell: no version could be read in {path}", "无法判断：在 {path} 中读不到版本"
    ),
}

_VERDICT = {
    "ENV000.blocked": Words("blocked, {count} failed: {first}", "不可用，{count} 项失败：{first}"),
    "ENV000.npu": Words(
        "ready: {count} x {name}, torch {torch}; {rest}", "就绪：{count} 个 {name}，torch {torch}；{rest}"
    ),
    "ENV000.npu_simulated": Words(
        "ready on the simulated NPU ({count} x {name}, torch {torch}); {rest}",
        "可在模拟 NPU 上运行（{count} 个 {name}，torch {torch}）；{rest}",
    ),
    "ENV000.cuda": Words(
        "ready on CUDA only ({count} x {name}, torch {torch}), no NPU; {rest}",
        "仅可在 CUDA 上运行（{count} 个 {name}，torch {torch}），没有 NPU；{rest}",
    ),
    "ENV000.cpu": Words(
        "ready on the CPU only (torch {torch}), no NPU; {rest}", "仅可在 CPU 上运行（torch {torch}），没有 NPU；{rest}"
    ),
    "ENV000.clean": Words("no warning", "无警告"),
    "ENV000.rest": Words("{WARN} warned, {SKIPPED} could not be told", "{WARN} 项警告，{SKIPPED} 项无法判断"),
    "ENV001.ok": Words("{tier}: {count} x {name}", "{tier}：{count} 个 {name}"),
    "ENV001.ok_others": Words("{tier}: {count} x {name} ({others})", "{tier}：{count} 个 {name}（{others}）"),
    "ENV001.other": Words("{tier}: {why}", "{tier}：{why}"),
    "ENV001.absent": Words(
        "device {wanted} is not here: {why}",
        "没有设备 {wanted}：{why}",
        "The lines below say what is missing. With device auto the best that is here is used.",
        "以下各行说明缺少什么。使用 device auto 可选用现有的最佳设备。",
    ),
    "ENV001.unusable": Words(
        "this machine has {count} NPU(s) but torch cannot use them: {why}",
        "本机有 {count} 个 NPU，但 torch 无法使用：{why}",
        "Work down the failed lines below. To use {tier} on purpose, ask for device {tier}.",
        "请逐条处理以下失败项。若有意使用 {tier}，请指定 device {tier}。",
    ),
}

_HOST = {
    "ENV010.ok": Words("{name}, kernel {kernel}, {arch}", "{name}，内核 {kernel}，{arch}"),
    "ENV010.other": Words(
        "{name} on {arch}: torch_npu is published for Linux on x86_64 and aarch64 only",
        "{name}（{arch}）：torch_npu 只发布 Linux x86_64 与 aarch64 版本",
        "Use a Linux machine, a container or WSL 2 on one of the two.",
        "请使用上述架构的 Linux 主机、容器或 WSL 2。",
    ),
    "ENV011.ok": Words("glibc {glibc}", "glibc {glibc}"),
    "ENV011.enough": Words(
        "glibc {glibc}; torch_npu {torch_npu} needs {needed}", "glibc {glibc}；torch_npu {torch_npu} 需要 {needed}"
    ),
    "ENV011.old": Words(
        "glibc {glibc} is older than the {needed} that torch_npu {torch_npu} needs",
        "glibc {glibc} 低于 torch_npu {torch_npu} 所需的 {needed}",
        "Use an image of a newer distribution (`ldd --version` tells). For this C library: {command}",
        "请换用较新发行版的镜像（`ldd --version` 可查看）。对于此 C 库：{command}",
    ),
    "ENV012.ok": Words("{usable} CPUs", "{usable} 个 CPU"),
    "ENV012.cut": Words(
        "{usable} of {cpus} CPUs may be used here",
        "此处可用 {usable} 个 CPU（共 {cpus} 个）",
        "Set num_workers of the DataLoader and OMP_NUM_THREADS by the smaller number.",
        "请按较小的数目设置 DataLoader 的 num_workers 和 OMP_NUM_THREADS。",
    ),
    "ENV012.few": Words(
        "{usable} of {cpus} CPUs may be used, for {cards} NPU(s)",
        "可用 {usable} 个 CPU（共 {cpus} 个），对应 {cards} 个 NPU",
        "Raise the container's CPU limit: launching operators needs about two CPUs a card.",
        "请提高容器的 CPU 限额：每张卡下发算子约需两个 CPU。",
    ),
    "ENV013.ok": Words("{free_gib} GiB free of {total_gib} GiB", "可用 {free_gib} GiB，共 {total_gib} GiB"),
    "ENV013.low": Words(
        "{free_gib} GiB free of {total_gib} GiB: less than {needed_gib} GiB",
        "可用 {free_gib} GiB，共 {total_gib} GiB：少于 {needed_gib} GiB",
        "Close other programs or raise the container's memory limit; out of memory ends a child without a message.",
        "请关闭其他程序或提高容器内存限额；内存不足会使子进程无提示地终止。",
    ),
    "ENV014.ok": Words("{free_gib} GiB free in {folder}", "{folder} 可用 {free_gib} GiB"),
    "ENV014.full": Words(
        "{free_gib} GiB free in {folder}: less than {needed_gib} GiB",
        "{folder} 可用 {free_gib} GiB：少于 {needed_gib} GiB",
        "Free space or write the runs elsewhere: tensor dumps and profiles are large.",
        "请清理空间或更换运行目录：张量转储和性能数据体积较大。",
    ),
    "ENV014.closed": Words(
        "{folder} cannot be written to",
        "{folder} 不可写",
        "Choose another folder for the runs, or change the owner of this one.",
        "请更换运行目录，或修改该目录的属主。",
    ),
    "ENV015.ok": Words("{size_gib} GiB free", "可用 {size_gib} GiB"),
    "ENV015.small": Words(
        "{size_gib} GiB free: DataLoader workers end with \"Bus error\" when it is full",
        "可用 {size_gib} GiB：写满后 DataLoader 的工作进程会以 “Bus error” 终止",
        "Start the container with --shm-size={needed_gib}g or more, or set num_workers=0.",
        "启动容器时加 --shm-size={needed_gib}g 或更大，或设置 num_workers=0。",
    ),
    "ENV016.ok": Words("limit {limit}", "上限 {limit}"),
    "ENV016.low": Words(
        "limit {limit}: below {needed}", "上限 {limit}：低于 {needed}", "`ulimit -n 65535` before the start.",
        "启动前执行 `ulimit -n 65535`。",
    ),
}  # fmt: skip

_DEVICE = {
    "ENV020.ok": Words("{names}", "{names}"),
    "ENV020.none": Words("no Ascend chip on the PCI bus", "PCI 总线上没有昇腾芯片"),
    "ENV020.absent": Words(
        "no Ascend chip on the PCI bus",
        "PCI 总线上没有昇腾芯片",
        "Move to a machine with an NPU; in a virtual machine, have it passed through. `lspci -d 19e5:` must show it.",
        "请换到有 NPU 的机器；虚拟机需直通该设备。`lspci -d 19e5:` 应有输出。",
    ),
    "ENV020.hidden": Words(
        "no Ascend chip on the PCI bus, though {count} are seen otherwise (a board's RC mode, or a virtual machine)",
        "PCI 总线上没有昇腾芯片，但从别处看到 {count} 个（RC 模式的板卡或虚拟机）",
    ),
    "ENV021.ok": Words("{count} device files, all may be opened", "{count} 个设备文件，均可打开"),
    "ENV021.none": Words(
        "no /dev/davinci*: the driver is not loaded",
        "没有 /dev/davinci*：驱动未加载",
        "Install the driver, or load it and restart the host; `lsmod | grep drv_davinci` must show it.",
        "请安装驱动，或加载驱动后重启主机；`lsmod | grep drv_davinci` 应有输出。",
    ),
    "ENV021.container": Words(
        "no /dev/davinci* in this container ({container})",
        "此容器（{container}）中没有 /dev/davinci*",
        "Start it with --device=/dev/davinci0 --device=/dev/davinci_manager --device=/dev/devmm_svm "
        "--device=/dev/hisi_hdc, or with Ascend Docker Runtime and ASCEND_VISIBLE_DEVICES.",
        "启动时加 --device=/dev/davinci0 --device=/dev/davinci_manager --device=/dev/devmm_svm "
        "--device=/dev/hisi_hdc，或使用 Ascend Docker Runtime 并设置 ASCEND_VISIBLE_DEVICES。",
    ),
    "ENV021.closed": Words(
        "this user may not open {paths} (groups: {groups})",
        "当前用户无权打开 {paths}（所属组：{groups}）",
        "`sudo usermod -aG HwHiAiUser $USER`, then log in again.",
        "执行 `sudo usermod -aG HwHiAiUser $USER` 后重新登录。",
    ),
    "ENV021.missing": Words(
        "{paths} missing beside /dev/davinci*",
        "有 /dev/davinci*，但缺少 {paths}",
        "In a container pass them with --device; on the host load the whole driver.",
        "容器中用 --device 传入；主机上请完整加载驱动。",
    ),
    "ENV022.ok": Words("{count} chips OK (npu-smi {version})", "{count} 个芯片正常（npu-smi {version}）"),
    "ENV022.absent": Words(
        "npu-smi is not on PATH: health was not looked at",
        "PATH 中没有 npu-smi：未检查健康状态",
        "It comes with the driver (/usr/local/bin/npu-smi); in a container mount it as a file.",
        "它随驱动安装（/usr/local/bin/npu-smi）；容器中请以文件形式挂载。",
    ),
    "ENV022.ill": Words(
        "NPU {npu} chip {chip} ({name}): {health}",
        "NPU {npu} 芯片 {chip}（{name}）：{health}",
        "`npu-smi info -t health -i {npu} -c {chip}` names the fault; ASCEND_RT_VISIBLE_DEVICES can leave it out.",
        "`npu-smi info -t health -i {npu} -c {chip}` 可查看故障；可用 ASCEND_RT_VISIBLE_DEVICES 排除该 NPU。",
    ),
    "ENV022.error": Words(
        "npu-smi: error {code}",
        "npu-smi：错误 {code}",
        "Run `npu-smi info` as root and read the driver's log in /var/log/npu.",
        "请以 root 执行 `npu-smi info`，并查看 /var/log/npu 中的驱动日志。",
    ),
    "ENV022.error_8005": Words(
        "npu-smi: error -8005, it cannot reach the driver",
        "npu-smi：错误 -8005，无法连接驱动",
        "In a container pass /usr/local/Ascend/driver, /usr/local/dcmi and the /dev files; torch may work even so.",
        "容器中请传入 /usr/local/Ascend/driver、/usr/local/dcmi 与 /dev 下的设备文件；torch 可能仍可使用。",
    ),
    "ENV022.error_8020": Words(
        "npu-smi: error -8020, another container or process holds the device",
        "npu-smi：错误 -8020，设备被其他容器或进程占用",
        "Stop the other container, or pass different devices to this one.",
        "请停止另一容器，或为此容器传入其他设备。",
    ),
    "ENV022.unread": Words(
        "{lines} lines of npu-smi were not understood, first: {first}",
        "npu-smi 有 {lines} 行无法识别，首行：{first}",
        "Compare with `npu-smi info` in a terminal; please report the table with its version.",
        "请与终端中的 `npu-smi info` 对照；欢迎附版本反馈该表格。",
    ),
    "ENV023.first": Words(
        "{names}: first generation 910, no bfloat16 (A2 prints 910B1 to 910B4)",
        "{names}：第一代 910，不支持 bfloat16（A2 显示为 910B1 至 910B4）",
        "Train in float16 with a GradScaler; take the packages for Ascend 910, not 910B.",
        "请使用 float16 与 GradScaler 训练；软件包选 Ascend 910，而非 910B。",
    ),
    "ENV023.inference": Words(
        "{names}: made for inference, no bfloat16",
        "{names}：推理芯片，不支持 bfloat16",
        "Training needs an Ascend 910 (A2 or A3).",
        "训练需要 Ascend 910（A2 或 A3）。",
    ),
    "ENV024.ok": Words("all agree: {counts}", "数量一致：{counts}"),
    "ENV024.differ": Words(
        "the counts differ: {counts}",
        "数量不一致：{counts}",
        "A chip that only PCI shows has no driver; one that only torch lacks is hidden or held by another process.",
        "仅在 PCI 上可见的芯片缺驱动；仅 torch 看不到的芯片被隐藏或被占用。",
    ),
    "ENV025.ok": Words("no process on the NPUs", "NPU 上没有进程"),
    "ENV025.busy": Words(
        "{count} processes hold {used_mib} MiB of NPU memory: {names}",
        "{count} 个进程占用 {used_mib} MiB NPU 内存：{names}",
        "Stop them or choose free NPUs with ASCEND_RT_VISIBLE_DEVICES; times measured now mean nothing.",
        "请停止它们，或用 ASCEND_RT_VISIBLE_DEVICES 选择空闲 NPU；此时测得的时间没有意义。",
    ),
    "ENV026.ok": Words("ASCEND_RT_VISIBLE_DEVICES={value}", "ASCEND_RT_VISIBLE_DEVICES={value}"),
    "ENV026.malformed": Words(
        "ASCEND_RT_VISIBLE_DEVICES={value} is not a list of numbers",
        "ASCEND_RT_VISIBLE_DEVICES={value} 不是数字列表",
        "Write logical ids with commas, such as 0,1.",
        "请写以逗号分隔的逻辑编号，例如 0,1。",
    ),
    "ENV026.wrong": Words(
        "ASCEND_RT_VISIBLE_DEVICES={value}: {wrong} unusable among {count} chips",
        "ASCEND_RT_VISIBLE_DEVICES={value}：共 {count} 个芯片，{wrong} 不可用",
        "CANN drops such ids in silence. Ids count from 0 and may stand once.",
        "CANN 会静默丢弃这些编号。编号从 0 开始，且不得重复。",
    ),
    "ENV030.none": Words(
        "no driver: /usr/local/Ascend/driver/version.info is missing",
        "没有驱动：缺少 /usr/local/Ascend/driver/version.info",
        "Install the driver and the firmware (HDK) that CANN's release notes name, then restart.",
        "请安装 CANN 发布说明所列的驱动与固件（HDK），然后重启。",
    ),
    "ENV030.container": Words(
        "no driver files in this container",
        "此容器中没有驱动文件",
        "Mount the host's: -v /usr/local/Ascend/driver:/usr/local/Ascend/driver:ro.",
        "请挂载主机的驱动：-v /usr/local/Ascend/driver:/usr/local/Ascend/driver:ro。",
    ),
    "ENV030.recommended": Words(
        "driver {driver}: paired with CANN {cann}", "驱动 {driver}：与 CANN {cann} 配套"
    ),
    "ENV030.compatible": Words(
        "driver {driver}: listed as compatible with CANN {cann}", "驱动 {driver}：与 CANN {cann} 兼容（在列）"
    ),
    "ENV030.not_listed": Words(
        "driver {driver}: no published list for CANN {cann}", "驱动 {driver}：没有查到 CANN {cann} 的配套表"
    ),
    "ENV030.outside": Words(
        "driver {driver} is not among those listed for CANN {cann}: {listed}",
        "驱动 {driver} 不在 CANN {cann} 的配套列表中：{listed}",
        "Change the driver, or take the CANN that belongs to it.",
        "请更换驱动，或使用与其配套的 CANN。",
    ),
    "ENV031.ok": Words("firmware {firmware}", "固件 {firmware}"),
    "ENV031.none": Words("the firmware's version file is not here", "没有固件版本文件"),
}  # fmt: skip

_CANN = {
    "ENV040.ok": Words("CANN {version} in {path}", "CANN {version}，位于 {path}"),
    "ENV040.none": Words(
        "no CANN is installed",
        "未安装 CANN",
        "On a machine with an NPU install toolkit and kernels; without one the simulated NPU stands in.",
        "有 NPU 的机器请安装 toolkit 与 kernels；没有 NPU 时由模拟 NPU 代替。",
    ),
    "ENV040.unreadable": Words(
        "CANN in {path}: its version could not be read",
        "{path} 中的 CANN：读不到版本",
        "Look at {path}/version.cfg and {path}/*-linux/ascend_*_install.info: the install may be cut short.",
        "请查看 {path}/version.cfg 与 {path}/*-linux/ascend_*_install.info：安装可能不完整。",
    ),
    "ENV041.ok": Words("the environment points to {path}", "环境变量指向 {path}"),
    "ENV041.not_sourced": Words(
        "{path} is installed but not in the environment",
        "{path} 已安装，但未加入环境变量",
        "`source {script}` in bash before Python or Jupyter starts. Children of this workbook get it by themselves.",
        "请在 bash 中、启动 Python 或 Jupyter 之前 `source {script}`。本工作簿的子进程会自动加载。",
    ),
    "ENV041.relative": Words(
        "ASCEND_HOME_PATH is {path}: set_env.sh was sourced by sh, not by bash",
        "ASCEND_HOME_PATH 为 {path}：set_env.sh 是由 sh 而非 bash 加载的",
        "Source {script} in bash (`bash -c 'source {script} && …'`); `!source` and os.system use sh.",
        "请在 bash 中加载 {script}（`bash -c 'source {script} && …'`）；`!source` 和 os.system 使用 sh。",
    ),
    "ENV041.missing": Words(
        "ASCEND_HOME_PATH points to {path}, which does not exist",
        "ASCEND_HOME_PATH 指向不存在的 {path}",
        "An uninstalled version is still in ~/.bashrc or in the image: source {script} anew.",
        "~/.bashrc 或镜像中仍是已卸载的版本：请重新 source {script}。",
    ),
    "ENV042.ok": Words("one CANN only: {path}", "只有一套 CANN：{path}"),
    "ENV042.mixed": Words(
        "{name} mixes CANN installs: {roots}",
        "{name} 混用了多套 CANN：{roots}",
        "Open a fresh shell and source one set_env.sh only.",
        "请打开新的终端，只 source 一个 set_env.sh。",
    ),
    "ENV043.ok": Words("operator binaries for {folder} are installed", "已安装 {folder} 的算子二进制包"),
    "ENV043.missing": Words(
        "no operator binaries for {folder} in {path} (found: {found})",
        "{path} 中没有 {folder} 的算子二进制包（现有：{found}）",
        "Install the kernels package (from CANN 8.5: ops) of the same version for this chip.",
        "请安装同版本、对应此芯片的 kernels 包（CANN 8.5 起为 ops 包）。",
    ),
    "ENV043.unknown": Words(
        "chip kind {kind}: the name of its operator folder is not known here", "芯片类型 {kind}：未知其算子目录名"
    ),
    "ENV054.recommended": Words(
        "torch_npu {torch_npu} with CANN {cann}: the recommended pair", "torch_npu {torch_npu} 与 CANN {cann}：推荐配套"
    ),
    "ENV054.compatible": Words(
        "torch_npu {torch_npu} with CANN {cann}: within the published ranges",
        "torch_npu {torch_npu} 与 CANN {cann}：在发布的兼容范围内",
    ),
    "ENV054.not_listed": Words(
        "torch_npu {torch_npu} with CANN {cann}: no published pair (that is not the same as wrong)",
        "torch_npu {torch_npu} 与 CANN {cann}：没有公布的配套（不等于错误）",
        "Published today: {recommended}. For CANN {cann}: torch_npu {wanted_npu}.",
        "目前公布的推荐：{recommended}。CANN {cann} 对应 torch_npu {wanted_npu}。",
    ),
    "ENV054.outside": Words(
        "torch_npu {torch_npu} is published for CANN {wanted_cann}, not for {cann}",
        "torch_npu {torch_npu} 对应 CANN {wanted_cann}，而非 {cann}",
        "Install CANN {wanted_cann}. Or, for CANN {cann}: {command}",
        "请安装 CANN {wanted_cann}。或对于 CANN {cann}：{command}",
    ),
    "ENV054.later": Words(
        "on a real NPU torch_npu {torch_npu} goes with CANN {wanted_cann}",
        "在真实 NPU 上 torch_npu {torch_npu} 对应 CANN {wanted_cann}",
    ),
    "ENV054.later_not_listed": Words(
        "for torch_npu {torch_npu} no CANN has been published yet; today's recommendation: {recommended}",
        "torch_npu {torch_npu} 尚未公布对应的 CANN；目前的推荐：{recommended}",
    ),
}

_PYTHON = {
    "ENV050.ok": Words("Python {python} ({executable})", "Python {python}（{executable}）"),
    "ENV050.no_wheel": Words(
        "Python {python}: torch_npu {torch_npu} is published for {listed}",
        "Python {python}：torch_npu {torch_npu} 只发布了 {listed} 的版本",
        "Make an environment with one of these Python versions. For this one: {command}",
        "请用其中一个 Python 版本新建环境。对于当前 Python：{command}",
    ),
    "ENV051.ok": Words("torch {torch} imports", "torch {torch} 可导入"),
    "ENV051.switched_off": Words(
        "torch {torch} imports; TORCH_DEVICE_BACKEND_AUTOLOAD=0 keeps torch_npu out of plain scripts",
        "torch {torch} 可导入；TORCH_DEVICE_BACKEND_AUTOLOAD=0 使普通脚本不加载 torch_npu",
        "Scripts that are to use the NPU need `import torch_npu`, or the variable unset.",
        "要使用 NPU 的脚本需 `import torch_npu`，或取消该变量。",
    ),
    "ENV051.not_installed": Words(
        "torch is not installed in this Python",
        "此 Python 未安装 torch",
        "Install the pair of requirements-torch.txt, or start Jupyter from the environment that has torch.",
        "请安装 requirements-torch.txt 中的配对，或从装有 torch 的环境启动 Jupyter。",
    ),
    "ENV051.no_cann": Words(
        "`import torch` fails: torch_npu in {folder} loads by itself and CANN's {library} is not found",
        "`import torch` 失败：{folder} 中的 torch_npu 会自动加载，但找不到 CANN 的 {library}",
        "Without an NPU: `export TORCH_DEVICE_BACKEND_AUTOLOAD=0` before Python starts, or `source set_env.sh` of the "
        "simulator (see `ascend-workbook simulator env`), or uninstall torch_npu here. With an NPU: install CANN.",
        "没有 NPU：在启动 Python 之前 `export TORCH_DEVICE_BACKEND_AUTOLOAD=0`，或对模拟器 "
        "`source set_env.sh`（见 `ascend-workbook simulator env`），或在此环境卸载 torch_npu。有 NPU：请安装 CANN。",
    ),
    "ENV051.not_sourced": Words(
        "`import torch` fails: torch_npu loads by itself and {library} is not found, CANN is not in the environment",
        "`import torch` 失败：torch_npu 会自动加载但找不到 {library}，CANN 未加入环境变量",
        "`source {script}` in bash, then start Python or the kernel anew: os.environ comes too late for libraries.",
        "请在 bash 中 `source {script}`，再重新启动 Python 或内核：在 os.environ 中设置对动态库为时已晚。",
    ),
    "ENV051.no_driver": Words(
        "`import torch` fails: {library} is not found, the driver's libraries are not visible",
        "`import torch` 失败：找不到 {library}，驱动库不可见",
        "Host: install the driver. Container: mount /usr/local/Ascend/driver and source set_env.sh.",
        "主机：安装驱动。容器：挂载 /usr/local/Ascend/driver 并 source set_env.sh。",
    ),
    "ENV051.symbol": Words(
        "`import torch` fails: {error}: torch, torch_npu and CANN do not belong together",
        "`import torch` 失败：{error}：torch、torch_npu 与 CANN 版本不配套",
        "Compare the lines on pairs below; reinstall torch_npu for this torch.",
        "请对照下方的配套检查；为当前 torch 重新安装 torch_npu。",
    ),
    "ENV051.autoload": Words(
        "`import torch` fails while loading torch_npu: {error}",
        "`import torch` 在加载 torch_npu 时失败：{error}",
        "`export TORCH_DEVICE_BACKEND_AUTOLOAD=0` lets torch import; then `import torch_npu` shows the whole error.",
        "`export TORCH_DEVICE_BACKEND_AUTOLOAD=0` 可使 torch 单独导入；再执行 `import torch_npu` 查看完整错误。",
    ),
    "ENV051.broken": Words(
        "`import torch` fails: {error}",
        "`import torch` 失败：{error}",
        "Run `python -c 'import torch'` in a terminal; a damaged install is mended by installing torch anew.",
        "请在终端执行 `python -c 'import torch'`；安装损坏时重新安装 torch 即可。",
    ),
    "ENV052.ok": Words("torch_npu {torch_npu} in {folder}", "torch_npu {torch_npu}，位于 {folder}"),
    "ENV052.aside": Words(
        "torch_npu {torch_npu}, kept off site-packages: plain `import torch` does not load it",
        "torch_npu {torch_npu}，不在 site-packages 中：普通 `import torch` 不会加载它",
    ),
    "ENV052.none": Words(
        "torch_npu is not installed",
        "未安装 torch_npu",
        "On a machine with CANN: `ascend-workbook setup` prints the command for its torch.",
        "在装有 CANN 的机器上：`ascend-workbook setup` 会给出适合其 torch 的命令。",
    ),
    "ENV052.without_cann": Words(
        "torch_npu {torch_npu} lies in {folder} but no CANN is here: every plain `import torch` tries to load it",
        "torch_npu {torch_npu} 位于 {folder}，但没有 CANN：每次 `import torch` 都会尝试加载它",
        "`export TORCH_DEVICE_BACKEND_AUTOLOAD=0`, or move it to a folder that only the simulator's set_env.sh adds.",
        "请 `export TORCH_DEVICE_BACKEND_AUTOLOAD=0`，或把它移到只有模拟器 set_env.sh 才会加入的目录。",
    ),
    "ENV053.matches": Words(
        "torch {torch} and torch_npu {torch_npu} belong together", "torch {torch} 与 torch_npu {torch_npu} 配套"
    ),
    "ENV053.wrong": Words(
        "torch {torch} with torch_npu {torch_npu}: it requires torch {wanted}",
        "torch {torch} 与 torch_npu {torch_npu} 不配套：后者需要 torch {wanted}",
        "{command} To keep torch_npu instead, take torch {wanted} in a new environment.",
        "{command}若要保留 torch_npu，请在新环境中使用 torch {wanted}。",
    ),
    "ENV055.ok": Words("numpy {numpy}", "numpy {numpy}"),
    "ENV055.none": Words("numpy is not installed", "未安装 numpy", "`pip install numpy`.", "`pip install numpy`。"),
    "ENV055.too_new": Words(
        "numpy {numpy}: CANN {cann} takes numpy below {below}",
        "numpy {numpy}：CANN {cann} 要求 numpy 低于 {below}",
        "`pip install 'numpy<{below}'`.",
        "`pip install 'numpy<{below}'`。",
    ),
    "ENV056.ok": Words("all {count} modules are here", "{count} 个模块齐全"),
    "ENV056.missing": Words(
        "CANN's operator compiler lacks {missing} in {python}",
        "{python} 缺少 CANN 算子编译器所需的 {missing}",
        "Run `{python} -m pip install {install}`.",
        "请执行 `{python} -m pip install {install}`。",
    ),
    "ENV057.ok": Words("nothing in the working folder hides a package", "工作目录中没有遮蔽同名包的内容"),
    "ENV057.shadow": Words(
        "the working folder holds {names}, imported in place of the package",
        "工作目录含有 {names}，会代替同名包被导入",
        "Rename it or start from another folder.",
        "请重命名，或从其他目录启动。",
    ),
    "ENV058.ok": Words("torchvision {torchvision}", "torchvision {torchvision}"),
    "ENV058.other": Words(
        "torchvision {torchvision} belongs to another torch than {torch} (expected {wanted})",
        "torchvision {torchvision} 与 torch {torch} 不配套（应为 {wanted}）",
        "Run `pip install 'torchvision=={wanted}.*' --no-deps`.",
        "请执行 `pip install 'torchvision=={wanted}.*' --no-deps`。",
    ),
}

_PROCESS = {
    "ENV060.ok": Words("{now}", "{now}"),
    "ENV060.unset": Words("not set: torch_npu's default", "未设置：使用 torch_npu 的默认值"),
    "ENV060.overwritten": Words(
        "changed from {before} to {now} since the start: torch_npu does that in interactive Python",
        "启动后由 {before} 变为 {now}：交互式 Python 中 torch_npu 会改写它",
        "Children of this workbook start without it. Time training in scripts, not in cells.",
        "本工作簿启动的子进程不带该变量。请在脚本而非单元格中计时。",
    ),
    "ENV060.off": Words(
        "0: operators are launched one by one, training is slower",
        "0：算子逐个下发，训练变慢",
        "Unset it, or set 1 or 2, unless you search for an error.",
        "除非正在定位错误，否则请取消设置，或设为 1 或 2。",
    ),
    "ENV060.unknown": Words(
        "{now}: expected 0, 1 or 2",
        "{now}：应为 0、1 或 2",
        "Unset TASK_QUEUE_ENABLE.",
        "请取消设置 TASK_QUEUE_ENABLE。",
    ),
    "ENV061.ok": Words("as at the start of this process", "与进程启动时一致"),
    "ENV061.late": Words(
        "changed since the start: this process does not see the change, its children do",
        "启动后被修改：本进程不会生效，子进程会生效",
        "{where}",
        "{where}",
    ),
    "ENV061.kernel": Words(
        "Put it as an absolute value under \"env\" in the kernel's kernel.json and restart the kernel.",
        "请在内核的 kernel.json 的 \"env\" 中写入绝对路径并重启内核。",
    ),
    "ENV061.script": Words("Set it in the shell before Python starts.", "请在启动 Python 之前于终端中设置。"),
    "ENV062.left": Words(
        "{names} are set, though no launcher runs: HCCL would believe them",
        "设置了 {names}，但并未由启动器启动：HCCL 会采信它们",
        "`unset {unset}` for single-process runs and for torchrun.",
        "单进程运行或使用 torchrun 时请先 `unset {unset}`。",
    ),
    "ENV070.in_use": Words(
        "in use: {count} simulated devices named {name}; values are the CPU's, times are not an NPU's",
        "正在使用：{count} 个模拟设备 {name}；数值来自 CPU，时间不代表 NPU",
    ),
    "ENV070.forced": Words(
        "in use by force although a real CANN is in {cann}: values are the CPU's, times are not an NPU's",
        "强制使用中，而本机在 {cann} 有真实 CANN：数值来自 CPU，时间不代表 NPU",
        "Unset ASCEND_WORKBOOK_SIM_FORCE to use the real one.",
        "取消 ASCEND_WORKBOOK_SIM_FORCE 即可使用真实 CANN。",
    ),
    "ENV070.npu_smi": Words(
        "npu-smi on PATH is the simulator's: its {count} SIMULATED NPUs are no hardware",
        "PATH 中的 npu-smi 属于模拟器：其 {count} 个 SIMULATED NPU 不是硬件",
    ),
    "ENV070.sourced": Words(
        "the environment points to the simulator in {folder}; device npu means a real one",
        "环境变量指向 {folder} 中的模拟器；device npu 表示真实 NPU",
        "Use device npu-simulated, or start from a shell that did not source it.",
        "请使用 device npu-simulated，或从未加载模拟器的终端启动。",
    ),
    "ENV070.built": Words("built in {folder}, not in use", "已构建于 {folder}，未使用"),
    "ENV070.none": Words(
        "not built",
        "尚未构建",
        "`make setup` builds it where there is no CANN.",
        "没有 CANN 时 `make setup` 会构建它。",
    ),
    "ENV080.ok": Words("{count} x {name} (CUDA {build})", "{count} 个 {name}（CUDA {build}）"),
    "ENV080.no_device": Words(
        "torch {torch} is built for CUDA {build} but sees no device: the CPU stands in as the baseline",
        "torch {torch} 为 CUDA {build} 版本但看不到设备：由 CPU 充当基线",
    ),
    "ENV080.cpu": Words(
        "torch {torch} is a build without CUDA: the CPU stands in as the baseline",
        "torch {torch} 不带 CUDA：由 CPU 充当基线",
    ),
    "ENV090.ok": Words("runs in a container ({kind})", "在容器（{kind}）中运行"),
    "ENV090.no_driver": Words(
        "container ({kind}) without the host's driver",
        "容器（{kind}）中没有主机的驱动",
        "Start it with -v /usr/local/Ascend/driver:/usr/local/Ascend/driver:ro "
        "-v /usr/local/bin/npu-smi:/usr/local/bin/npu-smi:ro.",
        "启动时加 -v /usr/local/Ascend/driver:/usr/local/Ascend/driver:ro "
        "-v /usr/local/bin/npu-smi:/usr/local/bin/npu-smi:ro。",
    ),
    "ENV091.notebook": Words("a ModelArts notebook or development instance", "ModelArts Notebook 或开发环境"),
    "ENV091.job": Words(
        "a ModelArts job: {hosts} hosts, {cards} cards each, run method {method}",
        "ModelArts 训练作业：{hosts} 个节点，每节点 {cards} 卡，启动方式 {method}",
    ),
    "ENV091.rtf": Words(
        "a ModelArts job of the preset engine: the boot file is started once per card ({cards})",
        "ModelArts 预置引擎作业：启动文件按卡各启动一次（{cards}）",
        "Do not call torchrun in it, or set MA_RUN_METHOD=torchrun for the job.",
        "不要在其中再调用 torchrun；或将作业的 MA_RUN_METHOD 设为 torchrun。",
    ),
}

_COMPUTE = {
    "ENV100.ok": Words(
        "{compared} results on {devices} device(s) agree with exact values",
        "{devices} 个设备上的 {compared} 个结果与精确值一致",
    ),
    "ENV100.reduced": Words(
        "{compared} results on {devices} device(s): float32 products are computed with reduced precision",
        "{devices} 个设备上的 {compared} 个结果：float32 矩阵乘以降低的精度计算",
    ),
    "ENV100.nothing": Words("nothing was compared", "没有比较任何结果"),
    "ENV100.wrong": Words("{count} wrong: {first}", "{count} 项错误：{first}"),
    "ENV100.died": Words(
        "the child that computes ended early after {rows} measurements: {how}",
        "计算子进程在 {rows} 次测量后提前结束：{how}",
        "Run `ascend-workbook check --no-compute` for what is installed, and read the device's log (~/ascend/log).",
        "请执行 `ascend-workbook check --no-compute` 查看已安装内容，并查看设备日志（~/ascend/log）。",
    ),
    "ENV100.how_timeout": Words("no end within {seconds} s", "{seconds} 秒内未结束"),
    "ENV100.how_signal": Words("signal {signal}", "信号 {signal}"),
    "ENV100.how_error": Words("{error}", "{error}"),
    "ENV101.ok": Words(
        "{case}: largest error {error}, allowed {allowed}",
        "{case}：最大误差 {error}，允许 {allowed}",
    ),
    "ENV101.wrong": Words(
        "{case}: error {error} at {place} (got {got}, exact {exact}), allowed {allowed}",
        "{case}：误差 {error}，位于 {place}（得到 {got}，精确值 {exact}），允许 {allowed}",
        "Do not train on this device: check its health with npu-smi, then the versions of driver, CANN and torch_npu.",
        "请勿在此设备上训练：先用 npu-smi 检查健康状态，再核对驱动、CANN 与 torch_npu 的版本。",
    ),
    "ENV101.not_finite": Words(
        "{case}: {not_finite} elements are not finite, one at {place} (exact {exact})",
        "{case}：{not_finite} 个元素不是有限值，其一位于 {place}（精确值 {exact}）",
        "Do not train on this device: check its health with npu-smi, then the versions of driver, CANN and torch_npu.",
        "请勿在此设备上训练：先用 npu-smi 检查健康状态，再核对驱动、CANN 与 torch_npu 的版本。",
    ),
    "ENV101.reduced": Words(
        "{case}: error {error} looks like TF32 or HF32 (10-bit inputs)",
        "{case}：误差 {error} 像是 TF32 或 HF32（输入为 10 位尾数）",
        "For exact comparison: torch.npu.matmul.allow_hf32 = False, or torch.backends.cuda.matmul.allow_tf32 = False.",
        "精确对比时：torch.npu.matmul.allow_hf32 = False，或 torch.backends.cuda.matmul.allow_tf32 = False。",
    ),
    "ENV101.structure": Words(
        "{case}: the result is {got}", "{case}：结果为 {got}"
    ),
    "ENV101.error": Words(
        "{case}: {error}", "{case}：{error}"
    ),
    "ENV102.timed": Words("{case}: {time}", "{case}：{time}"),
    "environment.case": Words("{device} {operation} {dtype}", "{device} {operation} {dtype}"),
    "environment.copy_to_device": Words("copy to the device", "拷贝到设备"),
    "environment.copy_to_host": Words("copy to the host", "拷贝回主机"),
}

_FINDINGS = {**_UNTOLD, **_VERDICT, **_HOST, **_DEVICE, **_CANN, **_PYTHON, **_PROCESS, **_COMPUTE}

WORDS: dict[str, Words] = {
    **{f"name.{name}": Words(en, zh) for name, (en, zh) in _HEADINGS.items()},
    **{f"environment.group.{name}": Words(en, zh) for name, (en, zh) in _GROUPS.items()},
    **{f"environment.rule.{name}": Words(en, zh) for name, (en, zh) in _RULES.items()},
    **_FINDINGS,
    # the next step as a sentence of its own: a table's cell shows it
    **{
        f"environment.fix.{key.replace('.', '_')}": Words(words.hint_en, words.hint_zh)
        for key, words in _FINDINGS.items()
        if words.hint_en
    },
}
