"""Known failures before the first step: installation, import, initialisation, driver. Sentence: cause, then cure.

The patterns, excerpts and sources are in helpers/diagnosis/data/known_errors.json.
"""

from __future__ import annotations

from helpers.words import Words

_IMPORT = {
    "autoload_failed": (
        "torch imports every installed backend by itself, and torch_npu's CANN libraries cannot be loaded; so "
        "even a plain `import torch` ends. The exception above this line says which library.",
        "torch 会自动导入已安装的后端，而 torch_npu 所需的 CANN 库无法加载，因此连 `import torch` 都会失败；具体缺"
        "哪个库，见此行上方的异常。",
        "No NPU here: start Python with TORCH_DEVICE_BACKEND_AUTOLOAD=0, or remove torch_npu. With an NPU: source "
        "CANN's set_env.sh in bash and start a new process or kernel.",
        "本机没有 NPU：启动 Python 前设置 TORCH_DEVICE_BACKEND_AUTOLOAD=0，或卸载 torch_npu。有 NPU：在 bash 中 "
        "source CANN 的 set_env.sh，然后启动新进程或新内核。",
    ),
    "libhccl_missing": (
        "A library of CANN is not found: CANN is not installed, or set_env.sh was not sourced before this process "
        "began (LD_LIBRARY_PATH is read once, at the start).",
        "找不到 CANN 的动态库：未安装 CANN，或进程启动前没有 source set_env.sh（LD_LIBRARY_PATH 只在启动时读取一次）。",
        "In bash: source /usr/local/Ascend/cann/set_env.sh (CANN 8.5 and later) or ascend-toolkit/set_env.sh "
        "(earlier), then start a new process or kernel; os.environ inside a notebook comes too late.",
        "在 bash 中 source /usr/local/Ascend/cann/set_env.sh（CANN 8.5 及以后）或 ascend-toolkit/set_env.sh（更早"
        "版本），再启动新进程或新内核；在 notebook 里改 os.environ 已经太迟。",
    ),
    "libascend_hal_missing": (
        "The driver's libraries are not visible: no driver on the host, not mounted into the container, or not in "
        "LD_LIBRARY_PATH.",
        "看不到驱动的动态库：宿主机未安装驱动，或没有挂载进容器，或不在 LD_LIBRARY_PATH 中。",
        "On the host look at /usr/local/Ascend/driver/version.info; into a container mount the whole "
        "/usr/local/Ascend/driver; then source set_env.sh again.",
        "在宿主机上查看 /usr/local/Ascend/driver/version.info；容器需挂载整个 /usr/local/Ascend/driver；然后重新 "
        "source set_env.sh。",
    ),
    "libatb_missing": (
        "NNAL (the ATB operators) is not installed, or its own set_env.sh was not sourced.",
        "未安装 NNAL（ATB 算子），或没有 source 它自己的 set_env.sh。",
        "Install Ascend-cann-nnal of CANN's version, then source /usr/local/Ascend/nnal/atb/set_env.sh after CANN's.",
        "安装与 CANN 同版本的 Ascend-cann-nnal，并在 CANN 之后 source /usr/local/Ascend/nnal/atb/set_env.sh。",
    ),
    "atb_undefined_symbol": (
        "NNAL/ATB is of another version than CANN or torch_npu, or of the other C++ ABI.",
        "NNAL/ATB 与 CANN 或 torch_npu 版本不一致，或 C++ ABI 不同。",
        "Install NNAL of the same version; source nnal/atb/set_env.sh with the ABI that "
        "torch.compiled_with_cxx11_abi() reports.",
        "安装同版本的 NNAL；按 torch.compiled_with_cxx11_abi() 的结果选择 ABI 来 source nnal/atb/set_env.sh。",
    ),
    "torch_npu_undefined_symbol": (
        "The versions do not belong together: torch and torch_npu differ (symbols of c10, torch, at), or "
        "torch_npu and CANN do (Msprof..., aclrt...). Often some `pip install` replaced torch.",
        "版本不配套：torch 与 torch_npu 不一致（c10、torch、at 的符号），或 torch_npu 与 CANN 不一致（Msprof…、"
        "aclrt…）；常见原因是某次 `pip install` 换掉了 torch。",
        "Install torch and torch_npu of one row of the compatibility table and pin torch in a constraints file; "
        "`ascend-workbook check` names the right pair.",
        "按配套表同一行安装 torch 与 torch_npu，并用 constraints 文件固定 torch；`ascend-workbook check` 会给出正"
        "确的配套。",
    ),
    "static_tls": (
        "On aarch64 libgomp was loaded too late: glibc has no room left for its thread-local data.",
        "aarch64 上 libgomp 加载过晚，glibc 已没有空间存放它的线程局部数据。",
        "Start Python with LD_PRELOAD=<the libgomp path of this message>, or import torch and torch_npu before "
        "sklearn, cv2 and others; in Jupyter put LD_PRELOAD into kernel.json.",
        "用 LD_PRELOAD=<报错中的 libgomp 路径> 启动 Python，或在 sklearn、cv2 等之前导入 torch 与 torch_npu；"
        "Jupyter 中把 LD_PRELOAD 写进 kernel.json。",
    ),
    "torch_npu_c_missing": (
        "A folder called torch_npu in the working directory hides the installed package.",
        "当前目录下名为 torch_npu 的文件夹遮蔽了已安装的包。",
        "Start from another folder. set_env.sh leaves a `:` at the end of PYTHONPATH, which puts the working "
        "directory on sys.path even for scripts.",
        "换个目录启动。set_env.sh 会在 PYTHONPATH 末尾留下 `:`，使当前目录即使运行脚本时也在 sys.path 中。",
    ),
    "no_module_torch_npu": (
        "torch_npu is not in this Python: another conda environment or notebook kernel, or not installed.",
        "当前 Python 中没有 torch_npu：用错了 conda 环境或 notebook 内核，或未安装。",
        "Compare sys.executable with the Python you installed into; `ascend-workbook setup` prints the pip "
        "commands for this one that keep its torch.",
        "核对 sys.executable 与安装时用的 Python；`ascend-workbook setup` 会给出适用于当前 Python、且不替换已有 torch "
        "的 pip 命令。",
    ),
    "npu_device_string": (
        "torch_npu was not imported in this process: torch before 2.5 does not do so by itself, and "
        "TORCH_DEVICE_BACKEND_AUTOLOAD=0 switches it off.",
        "本进程没有导入 torch_npu：torch 2.5 之前不会自动导入，TORCH_DEVICE_BACKEND_AUTOLOAD=0 也会关闭自动导入。",
        "`import torch_npu` after torch; see that the process does not inherit TORCH_DEVICE_BACKEND_AUTOLOAD=0.",
        "在 torch 之后 `import torch_npu`；并确认进程没有继承 TORCH_DEVICE_BACKEND_AUTOLOAD=0。",
    ),
    "two_accelerators": (
        "A CUDA build of torch that sees a GPU is installed together with torch_npu.",
        "同时安装了能看到 GPU 的 CUDA 版 torch 与 torch_npu。",
        "Install the CPU build of the same torch version (on x86_64 from https://download.pytorch.org/whl/cpu).",
        "安装同版本的 CPU 版 torch（x86_64 用 https://download.pytorch.org/whl/cpu）。",
    ),
    "wheel_not_supported": (
        "The wheel was built for another Python, processor or glibc (torch_npu from 2.7.1 on needs glibc 2.28).",
        "该 wheel 面向其他 Python 版本、处理器或 glibc（torch_npu 2.7.1 起需要 glibc 2.28）。",
        "`python -m pip debug --verbose` lists what fits; on an older glibc use torch_npu up to 2.5.1 or a newer "
        "container.",
        "`python -m pip debug --verbose` 会列出可用标签；glibc 较旧时用 torch_npu 2.5.1 及以前，或换较新的容器。",
    ),
    "glibc_too_old": (
        "The system's C library is older than the wheel was built for.",
        "系统的 C 库比该 wheel 构建时所用的旧。",
        "Use a container with a newer system (Ubuntu 20.04, openEuler 22.03 or later); never upgrade glibc in place.",
        "使用系统较新的容器（Ubuntu 20.04、openEuler 22.03 或更新）；切勿原地升级 glibc。",
    ),
    "glibcxx_missing": (
        "An old libstdc++ (the system's or conda's) is found first.",
        "先找到的是旧的 libstdc++（系统自带或 conda 的）。",
        "`conda install -c conda-forge libstdcxx-ng`, or put the folder of the newer one first in LD_LIBRARY_PATH.",
        "`conda install -c conda-forge libstdcxx-ng`，或把较新版本所在目录放在 LD_LIBRARY_PATH 最前面。",
    ),
    "libgl_missing": (
        "opencv-python needs libraries of a desktop that this container lacks.",
        "opencv-python 依赖桌面环境的库，而容器里没有。",
        "`pip uninstall opencv-python && pip install opencv-python-headless`.",
        "改装无界面版本：`pip uninstall opencv-python && pip install opencv-python-headless`。",
    ),
    "autoload_attr": (
        "An old torch_npu, or a folder of that name in the working directory, was picked up instead of the paired one.",
        "加载到的是旧版 torch_npu，或当前目录下同名的文件夹。",
        "In another folder look at importlib.util.find_spec('torch_npu').origin; install the torch_npu that pairs "
        "with torch.",
        "换个目录查看 importlib.util.find_spec('torch_npu').origin；安装与 torch 配套的 torch_npu。",
    ),
    "nvidia_driver": (
        'A CUDA call is left in the code: .cuda(), device="cuda", or .to(<number>) with torch before 2.5.1.',
        '代码里还有 CUDA 调用：.cuda()、device="cuda"，或 torch 2.5.1 之前的 .to(<整数>)。',
        "`ascend-workbook scan SCRIPT` lists every place and `rewrite` mends it; or import "
        "torch_npu.contrib.transfer_to_npu before the call.",
        "`ascend-workbook scan 脚本` 会列出每一处，`rewrite` 会改好；或在调用之前导入 "
        "torch_npu.contrib.transfer_to_npu。",
    ),
    "python_module_missing": (
        "A Python package is not in this interpreter.",
        "当前 Python 解释器中缺少某个包。",
        "`python -m pip install` it with the same Python that runs the script. Packages built for CUDA "
        "(flash_attn, apex, xformers, bitsandbytes) have replacements: `ascend-workbook scan SCRIPT` names them.",
        "用运行脚本的同一个 Python 执行 `python -m pip install`。面向 CUDA 的包（flash_attn、apex、xformers、"
        "bitsandbytes）有替代方案：`ascend-workbook scan 脚本` 会指出。",
    ),
    "numpy2_old_cann": (
        "numpy 2 with a CANN before 9.0, or a package compiled for numpy 1.",
        "numpy 2 搭配了 9.0 之前的 CANN，或某个包是按 numpy 1 编译的。",
        '`pip install "numpy<2"` and start a new process; from CANN 9.0 on numpy 2 is allowed.',
        '`pip install "numpy<2"` 后启动新进程；CANN 9.0 起可以使用 numpy 2。',
    ),
}

_INIT = {
    "aclsetcompileopt_500001": (
        "CANN's operator compiler does not start: numpy 2 with CANN up to 8.5, a missing Python package "
        "(decorator, attrs, scipy, psutil, cffi, sympy, protobuf, absl-py), a wrong PYTHONPATH, or unreadable "
        "platform files.",
        "CANN 的算子编译器无法启动：CANN 8.5 及以前搭配 numpy 2、缺少 Python 依赖（decorator、attrs、scipy、psutil、"
        "cffi、sympy、protobuf、absl-py）、PYTHONPATH 不对，或平台文件不可读。",
        '`python -c "import tbe, te"` says which; install the packages into this Python, `pip install '
        '"numpy<2"` for CANN up to 8.5, source set_env.sh; the E-codes under this line name the rest.',
        '`python -c "import tbe, te"` 会指出原因；把缺少的包装进当前 Python，CANN 8.5 及以前执行 `pip install '
        '"numpy<2"`，再 source set_env.sh；其余见此行下方的 E 错误码。',
    ),
    "tbe_import": (
        "CANN's Python modules are not on PYTHONPATH, or their own requirements are not in this Python.",
        "PYTHONPATH 中没有 CANN 的 Python 模块，或当前 Python 缺少它们的依赖。",
        "Source set_env.sh in bash and start a new process; add to PYTHONPATH, never replace it.",
        "在 bash 中 source set_env.sh 后启动新进程；PYTHONPATH 只能追加，不能覆盖。",
    ),
    "tbe_subprocess": (
        "A follow-up: the compiler's workers notice that the main process has ended.",
        "后续现象：编译子进程发现主进程已经退出。",
        "Leave it; the first error stands above, or in the plog.",
        "忽略即可；首个错误在上文，或在 plog 中。",
    ),
    "invalid_device_107001": (
        "The device number is not among the visible ones: more processes than devices, ids in "
        "ASCEND_RT_VISIBLE_DEVICES that do not exist (they are dropped without a word), or npu-smi's physical ids "
        "in place of logical ones.",
        "设备号不在可见范围内：进程数多于设备数、ASCEND_RT_VISIBLE_DEVICES 含有不存在的编号（会被静默丢弃），或把 "
        "npu-smi 的物理编号当成了逻辑编号。",
        "Print torch.npu.device_count() and count from 0; make --nproc_per_node equal to it; correct or unset "
        "ASCEND_RT_VISIBLE_DEVICES.",
        "打印 torch.npu.device_count()，从 0 开始编号；让 --nproc_per_node 与之相等；更正或取消 "
        "ASCEND_RT_VISIBLE_DEVICES。",
    ),
    "visible_device_ee1001": (
        "ASCEND_RT_VISIBLE_DEVICES leaves fewer devices than the process asks for; this line names the value.",
        "ASCEND_RT_VISIBLE_DEVICES 留下的设备少于进程所需；此行给出了取值。",
        "Give existing logical ids, as many as there are processes, or unset the variable.",
        "填写存在的逻辑编号，数量与进程数一致，或取消该变量。",
    ),
    "setdevice_507033": (
        "The device did not start: another container or process holds it, ASCEND_RT_VISIBLE_DEVICES changed after "
        "the start, the operator package is damaged, device files are missing, or driver and CANN do not pair.",
        "设备未能启动：被其他容器或进程占用、启动后改动了 ASCEND_RT_VISIBLE_DEVICES、算子包损坏、缺少设备文件，或"
        "驱动与 CANN 不配套。",
        "`npu-smi info` shows who holds it: end what is left over; set the variable before the first import; "
        "`ascend-workbook check` judges device files and pairing; an EL or E3 line below decides.",
        "`npu-smi info` 可看到占用者：结束残留进程；在首次导入前设置该变量；`ascend-workbook check` 检查设备文件与"
        "配套关系；下方若有 EL 或 E3 错误码，以其为准。",
    ),
    "opp_e30006": (
        "The operator package does not fit this device or is damaged; also seen where the driver is much older "
        "than CANN.",
        "算子包与设备不匹配或已损坏；驱动比 CANN 旧很多时也会出现。",
        "Install the kernels/ops package of CANN's version for this chip again; compare the driver with CANN's table.",
        "重新安装与 CANN 同版本、对应该芯片的 kernels/ops 包；并按配套表核对驱动版本。",
    ),
    "repeat_init_100002": (
        "aclInit was called twice in one process: pyACL or another framework beside an old torch_npu.",
        "同一进程中两次调用了 aclInit：旧版 torch_npu 与 pyACL 或其他框架同时使用。",
        "Run the two in processes of their own, or upgrade torch_npu.",
        "把两者放到不同进程，或升级 torch_npu。",
    ),
    "context_empty_107002": (
        "This thread or process has chosen no device: a new thread, a DataLoader worker, a callback.",
        "当前线程或进程没有选定设备：新线程、DataLoader 子进程或回调线程。",
        "torch.npu.set_device(local_rank) at the start of each process and thread; keep NPU tensors out of "
        "DataLoader workers.",
        "在每个进程和线程开头调用 torch.npu.set_device(local_rank)；不要在 DataLoader 子进程中使用 NPU 张量。",
    ),
    "param_107000": (
        "A runtime call was refused for its arguments: often torch_npu newer than CANN, or a chip that lacks the "
        "function.",
        "运行时接口因参数被拒绝：常见于 torch_npu 比 CANN 新，或芯片不支持该功能。",
        "Read the EE or EH line that names the parameter; check the versions with `ascend-workbook check`.",
        "查看指出参数名的 EE 或 EH 行；用 `ascend-workbook check` 核对版本。",
    ),
    "drv_platform": (
        "The driver refused the call: device files or permissions are missing in the container, or the user is "
        "not in the group HwHiAiUser.",
        "驱动拒绝了调用：容器缺少设备文件或权限，或用户不在 HwHiAiUser 组。",
        "Look at `ls -l /dev/davinci*`, `id`, and the container's --device list.",
        "检查 `ls -l /dev/davinci*`、`id` 以及容器的 --device 列表。",
    ),
    "driver_too_old_ee1015": (
        "The driver is older than this CANN asks for.",
        "驱动版本低于当前 CANN 的要求。",
        "Upgrade driver and firmware to CANN's row (the host's administrator), or take an image with an older CANN.",
        "由宿主机管理员把驱动与固件升级到 CANN 对应的版本，或改用 CANN 较旧的镜像。",
    ),
    "expandable_driver": (
        "Driver or CANN is too old for expandable segments; memory fragments sooner.",
        "驱动或 CANN 过旧，不支持 expandable segments；显存会更早碎片化。",
        "Harmless otherwise; an update of the driver brings it.",
        "除此之外无害；升级驱动后即可使用。",
    ),
    "fork_reinit": (
        "A process was forked after the NPU had been used (in a notebook: after any cell that touched it).",
        "在使用过 NPU 之后又 fork 了进程（notebook 中：任何单元格用过 NPU 之后）。",
        "Use the start method spawn (DataLoader: multiprocessing_context='spawn'), or keep the parent off the NPU "
        "and start training as a child with torchrun.",
        "使用 spawn 启动方式（DataLoader：multiprocessing_context='spawn'），或让父进程不碰 NPU，用 torchrun 以子"
        "进程训练。",
    ),
    "interactive_task_queue": (
        "torch_npu sees an interactive Python and sets TASK_QUEUE_ENABLE=0 in its environment; children inherit "
        "it and run slower.",
        "torch_npu 检测到交互式 Python，把环境变量 TASK_QUEUE_ENABLE 设为 0；子进程会继承并变慢。",
        "Never time or profile in the kernel: start a child with the variable set (the workbook's verbs do).",
        "不要在内核里计时或做性能分析：用设置好该变量的子进程（本手册的命令即如此）。",
    ),
    "dcmi_8005": (
        "npu-smi does not reach the driver: another container holds the card, device files or the driver folder "
        "are not mounted, or only root may ask. torch_npu may work all the same.",
        "npu-smi 连不上驱动：卡被其他容器占用、未挂载设备文件或驱动目录，或仅 root 可用。torch_npu 仍可能正常。",
        "Map davinciN, davinci_manager, devmm_svm and hisi_hdc, mount the driver and the npu-smi file; on the "
        "host `fuser -v /dev/davinci*` shows who holds it.",
        "映射 davinciN、davinci_manager、devmm_svm、hisi_hdc，挂载驱动目录与 npu-smi 文件；在宿主机用 `fuser -v "
        "/dev/davinci*` 查看占用者。",
    ),
    "dcmi_8020": (
        "Another container holds the device for itself.",
        "设备被其他容器独占。",
        "Find and stop that container, or map another card.",
        "找到并停止该容器，或映射其他卡。",
    ),
    "no_npu_found": (
        "torch_npu loads but sees no device: no device file in the container, or the visible devices leave none.",
        "torch_npu 可以加载但看不到设备：容器中没有设备文件，或可见设备为空。",
        "`ls /dev/davinci*`, `npu-smi info`, `echo $ASCEND_RT_VISIBLE_DEVICES`; `ascend-workbook check` judges "
        "all three.",
        "检查 `ls /dev/davinci*`、`npu-smi info`、`echo $ASCEND_RT_VISIBLE_DEVICES`；`ascend-workbook check` 会逐"
        "项判断。",
    ),
}

WORDS: dict[str, Words] = {f"known.{name}": Words(*texts) for name, texts in {**_IMPORT, **_INIT}.items()}
