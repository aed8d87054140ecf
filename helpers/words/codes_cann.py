"""What CANN's six-character codes and torch_npu's suffixes mean, in short and in words of our own.

Which codes there are: error code references of CANN 9 (https://www.hiascend.com/document, "Error Codes"; modules
in troubleshooting_0225), HCCL's code list, torch_npu's troubleshooting guide.
"""

from __future__ import annotations

from helpers.words import Words

_NULL = ("an argument is an empty pointer", "参数为空指针")
_VALUE = ("an argument has a value that is not allowed; the text names it", "参数取值非法，文本中会指出")
_ORDER = ("functions were called in a wrong order", "接口调用顺序错误")
_HOST_MEMORY = ("the host has no memory left", "主机内存不足")
_HOST_RESOURCE = ("the host has no threads, locks or semaphores left", "主机线程、锁或信号量资源不足")
_NOT_SUPPORTED = ("this system or device does not support the function", "当前系统或设备不支持该功能")
_VARIABLE = ("an environment variable has a value that is not allowed", "环境变量取值非法")
_CONFIG = ("an entry of a configuration file is not allowed", "配置文件中的配置项非法")
_OPEN = (
    "a file could not be opened: absent, no permission, or a damaged installation",
    "文件无法打开：不存在、无权限或安装损坏",
)
_PARSE = ("a file could not be parsed", "文件解析失败")
_LIBC = ("a function of the system's C library failed; the text gives its errno", "系统 C 库函数失败，文本给出 errno")

_CODES = {
    "EH0001": _VALUE,
    "EH0002": _NULL,
    "EH0003": ("a path does not exist or cannot be read", "路径不存在或不可读"),
    "EH0004": ("a file's content is not what is expected", "文件内容不符合要求"),
    "EH0005": ("an AIPP argument is not allowed", "AIPP 参数非法"),
    "EH0006": _NOT_SUPPORTED,
    "EH0007": _VALUE,
    "EH0008": _NULL,
    "EH0009": _VALUE,
    "EH0010": _HOST_MEMORY,
    "EH0011": _NOT_SUPPORTED,
    "EH0012": _VALUE,
    "EH0013": _LIBC,
    "EH0014": _NULL,
    "EP0001": _CONFIG,
    "EP0002": _CONFIG,
    "EP0003": _CONFIG,
    "EP0004": _PARSE,
    "EP0005": ("two entries of a dump configuration exclude each other", "dump 配置项互相冲突"),
    "EP0006": _VALUE,
    "EP0007": _NULL,
    "EP0008": _ORDER,
    "EZ2001": (
        "an AI core stopped; the text gives chip, core and error register",
        "AI Core 停止，文本给出芯片、核与错误寄存器",
    ),
    "EZ1001": ("an operator refused an argument's dtype, shape or format", "算子不支持参数的 dtype、shape 或格式"),
    "E20001": ("an operator did not compile", "算子编译失败"),
    "E20002": _VARIABLE,
    "E20003": _CONFIG,
    "E20007": ("a graph fusion pass failed", "图融合 pass 执行失败"),
    "E20101": _VALUE,
    "E20103": _VALUE,
    "E21001": _OPEN,
    "E21002": _PARSE,
    "E22001": ("a compiler process crashed: an operator's result never came", "编译进程崩溃，未得到算子编译结果"),
    "E30006": ("the operator package does not fit the device or is damaged", "算子包与设备不符或已损坏"),
    "EK0001": _VALUE,
    "EK0002": _ORDER,
    "EK0003": ("a profiling option is not allowed, or its folder cannot be written", "性能采集选项非法或目录不可写"),
    "EK0004": _NOT_SUPPORTED,
    "EK0005": ("a profiling option is not supported here", "不支持该性能采集选项"),
    "EK0006": _NULL,
    "EK0007": (
        "profiling runs already in another way (msprof beside the API)",
        "已用其他方式启动性能采集（如 msprof 与 API 并用）",
    ),
    "EK0201": _HOST_MEMORY,
    "EK0202": _HOST_MEMORY,
    "EK0203": _HOST_RESOURCE,
    "EK0204": ("the disk is too full for profiling data", "磁盘空间不足以写性能数据"),
    "EE1001": ("a runtime argument is not allowed; a device number most often", "Runtime 参数非法，最常见是设备号"),
    "EE1002": (
        "waiting for a stream took too long: a task hangs, or a rank did not come",
        "等待 stream 超时：任务挂起或有 rank 未到达",
    ),
    "EE1003": _VALUE,
    "EE1004": _NULL,
    "EE1005": _NOT_SUPPORTED,
    "EE1006": _NOT_SUPPORTED,
    "EE1007": ("a stream is bound already", "stream 已被绑定"),
    "EE1009": ("a captured graph could not run", "图模型无法执行"),
    "EE1010": (
        "a stream, event or memory belongs to another device or context",
        "stream、event 或内存不属于当前 context",
    ),
    "EE1011": _VALUE,
    "EE1012": _VALUE,
    "EE1013": _HOST_MEMORY,
    "EE1014": ("an operator's binary is damaged", "算子二进制文件损坏"),
    "EE1015": ("the driver is too old for this call", "驱动版本过旧，缺少该接口"),
    "EE1016": ("not allowed while a graph is being captured", "图捕获期间不允许该操作"),
    "EE1017": _VALUE,
    "EE1018": _ORDER,
    "EE1019": ("too many tasks wait in one stream", "同一 stream 中等待的任务过多"),
    "EE1020": _LIBC,
    "EE1021": _HOST_RESOURCE,
    "EE1022": _VALUE,
    "EE1023": ("a resource of the runtime cannot grow further", "Runtime 资源无法继续扩容"),
    "EE2002": (
        "an environment variable such as ASCEND_RT_VISIBLE_DEVICES is not allowed",
        "环境变量（如 ASCEND_RT_VISIBLE_DEVICES）取值非法",
    ),
    "EE4001": ("a stream is bound to another model", "stream 已绑定到其他模型"),
    "EE4002": ("a stream is not bound to this model, or the model runs", "stream 未绑定到该模型，或模型正在运行"),
    "EE4004": ("profiling is switched on already", "性能采集已开启"),
    "WE0001": (
        "this mode is not supported (saturation and INF/NaN mode, for one)",
        "不支持该模式（如饱和与 INF/NaN 模式）",
    ),
    "E40001": _VARIABLE,
    "E40002": ("this Python is too old for CANN's compiler", "Python 版本过旧，CANN 编译器不支持"),
    "E40003": _OPEN,
    "E40020": (
        "a Python module of CANN, or one that it needs, cannot be imported",
        "无法导入 CANN 的 Python 模块或其依赖",
    ),
    "E40021": ("an operator did not compile; the plog holds the Python traceback", "算子编译失败，Python 堆栈见 plog"),
    "E40022": _VALUE,
    "E40023": ("a folder given for debugging does not exist or cannot be written", "调试目录不存在或不可写"),
    "E40024": (
        "a Python function of CANN failed: mixed versions or a missing package",
        "CANN 的 Python 函数失败：版本混用或缺包",
    ),
    "E60108": ("the operator takes no dynamic shape", "算子不支持动态 shape"),
    "W40010": _VARIABLE,
    "W40011": ("the folder of the kernel cache cannot be made", "无法创建算子缓存目录"),
    "W40012": ("a setting is out of its range and was replaced by the default", "配置超出范围，已使用默认值"),
    "EI0001": ("an HCCL variable is out of its range", "HCCL 环境变量超出范围"),
    "EI0002": ("a rank waited for another until time ran out", "等待其他 rank 超时"),
    "EI0003": ("an argument of a collective is not allowed", "集合通信参数非法"),
    "EI0004": ("the rank table cannot be used", "rank table 无法使用"),
    "EI0005": ("the ranks called different collectives, counts or dtypes", "各 rank 的集合通信参数不一致"),
    "EI0006": ("a rank did not connect in time", "建链超时"),
    "EI0007": ("a resource of the device (memory, notify, stream) ran out", "设备资源（内存、notify、stream）不足"),
    "EI0008": ("the ranks run different CANN versions", "各 rank 的 CANN 版本不一致"),
    "EI0009": ("the link to one rank could not be made", "与某个 rank 建链失败"),
    "EI0010": ("two cards of one host cannot reach each other's memory", "同机两卡无法互访内存（P2P）"),
    "EI0011": ("the device has no memory left for HCCL", "设备内存不足以供 HCCL 使用"),
    "EI0012": ("a copy between cards failed (SDMA)", "卡间拷贝失败（SDMA）"),
    "EI0013": ("a transfer between hosts failed (RoCE)", "节点间传输失败（RoCE）"),
    "EI0014": ("the rank table cannot be used", "rank table 无法使用"),
    "EI0015": ("the ranks did not find one another in time", "各 rank 未能在限定时间内互相发现"),
    "EI0016": ("an HCCL setting is not allowed", "HCCL 配置非法"),
    "EI0017": ("the rank table cannot be used", "rank table 无法使用"),
    "EI0018": ("a transfer over UB failed", "UB 传输失败"),
    "EI0019": ("an address or port could not be bound", "无法绑定 IP 或端口"),
    "EI0020": ("an address or port could not be bound", "无法绑定 IP 或端口"),
    "EJ0001": (
        "the network process of the NPU did not start: the job before still holds it",
        "NPU 网络进程未能启动：上一任务尚未释放",
    ),
    "EJ0003": ("a port of HCCL is taken", "HCCL 端口被占用"),
    "EL0004": ("the driver had no memory left", "驱动内存申请失败"),
    "EL0009": ("the driver has no streams left", "驱动 stream 资源不足"),
}

_MODULES = {
    "1": ("graph engine (GE)", "图引擎（GE）"),
    "2": ("fusion engine (FE)", "融合引擎（FE）"),
    "3": ("AI CPU", "AI CPU"),
    "4": ("operator compilation (TE Fusion)", "算子编译（TE Fusion）"),
    "5": ("operators of the AI core", "AI Core 算子"),
    "6": ("operators of the AI core", "AI Core 算子"),
    "7": ("vector operator plug-ins", "Vector 算子插件"),
    "8": ("vector operators", "Vector 算子"),
    "9": ("operator compiler (TBE)", "算子编译器（TBE）"),
    "A": ("operator compiler (TBE)", "算子编译器（TBE）"),
    "B": ("operator compiler passes (TBE)", "算子编译器 pass（TBE）"),
    "C": ("automatic tuning", "Auto Tune"),
    "D": ("automatic tuning (RL Tune)", "自动调优（RL Tune）"),
    "E": ("runtime", "Runtime"),
    "F": ("LxFusion", "LxFusion"),
    "G": ("tuning engine (AOE)", "调优引擎（AOE）"),
    "H": ("ACL", "ACL"),
    "I": ("HCCL, communication between ranks", "HCCL，rank 间通信"),
    "J": ("HCCP, the NPU's network process", "HCCP，NPU 网络进程"),
    "K": ("profiling", "性能采集"),
    "L": ("driver", "驱动"),
    "M": ("queue scheduling", "队列调度"),
    "N": ("DVPP", "DVPP"),
    "O": ("AMCT", "AMCT"),
    "P": ("dump", "dump"),
    "Z": ("operators and aclnn", "算子与 aclnn"),
}

_ERR_MODULES = {
    "00": ("torch_npu itself (PTA)", "torch_npu 本体（PTA）"),
    "01": ("operators (OPS)", "算子（OPS）"),
    "02": ("distributed (DIST)", "分布式（DIST）"),
    "03": ("graphs (GRAPH)", "图（GRAPH）"),
    "04": ("profiling (PROF)", "性能采集（PROF）"),
}

_ERR_KINDS = {
    "001": ("an argument is not valid", "参数无效"),
    "002": ("a type is not valid", "类型无效"),
    "003": ("a value is not valid", "取值无效"),
    "004": ("an empty pointer", "空指针"),
    "005": ("internal error", "内部错误"),
    "006": ("memory", "内存"),
    "007": ("not supported", "不支持"),
    "008": ("not found", "未找到"),
    "009": ("not available", "不可用"),
    "010": ("a system call failed", "系统调用失败"),
    "011": ("took too long", "超时"),
    "012": ("no permission", "权限不足"),
    "100": ("a call of ACL failed", "ACL 调用失败"),
    "200": ("a call of HCCL failed", "HCCL 调用失败"),
    "300": ("a call of GE failed", "GE 调用失败"),
    "999": ("the script's own error", "脚本自身错误"),
}

WORDS: dict[str, Words] = {
    "code.cann.internal": Words(
        "{module}: internal error; the lines below it say more", "{module}：内部错误；详情见其下方各行"
    ),
    "code.cann.listed": Words("{module}: {meaning}", "{module}：{meaning}"),
    "code.cann.unlisted": Words("{module}: the text behind the code says what", "{module}：含义见错误码后的文字"),
    "code.err.is": Words("{module}: {kind}", "{module}：{kind}"),
    "code.err.unknown": Words("no kind of this number is documented", "文档中没有该编号"),
    "code.unknown": Words("this number is in no list of ours", "我们的列表中没有该错误码"),
    **{f"code.cann.{code}": Words(en, zh) for code, (en, zh) in _CODES.items()},
    **{f"code.module.{code}": Words(en, zh) for code, (en, zh) in _MODULES.items()},
    **{f"code.err.module.{code}": Words(en, zh) for code, (en, zh) in _ERR_MODULES.items()},
    **{f"code.err.kind.{code}": Words(en, zh) for code, (en, zh) in _ERR_KINDS.items()},
}
