"""What the bits of an AI core's registers mean: the error register's (unit and kind) and the overflow status."""

from __future__ import annotations

from helpers.words import Words

_UNITS = {
    "bus": ("bus interface", "总线接口"),
    "scalar": ("scalar unit", "标量单元"),
    "cube": ("matrix unit", "矩阵单元（Cube）"),
    "fetch": ("instruction fetch", "取指单元"),
    "mover": ("data mover (MTE)", "数据搬运单元（MTE）"),
    "vector": ("vector unit", "向量单元"),
    "fixpipe": ("output pipe (FixPipe)", "输出单元（FixPipe）"),
    "core": ("whole core", "整核"),
}

_KINDS = {
    "trap": ("it stopped itself, or took too long", "主动停止或超时"),
    "out_of_range": ("an address outside of its buffer", "地址超出缓冲区范围"),
    "device_memory": ("device memory that is not allocated was read or written", "读写了未分配的设备内存"),
    "call_depth": ("calls nested too deeply", "调用层次过深"),
    "divide_by_zero": ("a division by zero", "除数为零"),
    "illegal_instruction": (
        "an instruction it cannot carry out (often an address out of line)",
        "非法指令（常因地址未对齐）",
    ),
    "loop": ("a loop count that is not allowed", "循环次数非法"),
    "domain": ("a root or logarithm of a negative number", "对负数开方或取对数"),
    "ecc": (
        "a memory bit flipped (ECC): hardware; replace or isolate the card where it comes again",
        "内存比特翻转（ECC）：硬件问题，反复出现应隔离或更换该卡",
    ),
    "parity": ("a parity check failed: hardware", "奇偶校验失败：硬件问题"),
    "illegal_config": (
        "a setting of an instruction that is not allowed (sizes, strides, padding, mask)",
        "指令参数非法（尺寸、步长、填充、掩码）",
    ),
    "conflict": ("two accesses to the same buffer at once", "同时访问同一缓冲区"),
    "bus": ("a reply of the bus failed", "总线返回错误"),
    "exception_elsewhere": ("it received bad data from another unit", "收到其他单元的异常数据"),
    "inf_nan": ("an infinite value or NaN where none is allowed", "出现不允许的 INF 或 NaN"),
    "misaligned": ("an address that is not aligned", "地址未对齐"),
    "synchronisation": ("the order between units is broken", "单元间同步错误"),
    "timeout": ("no answer in time", "超时无响应"),
    "mismatch": ("the numbers of loads, stores and operations do not fit", "加载、存储与运算次数不匹配"),
}

_OVERFLOW = {
    "3": ("the smallest signed integer was negated", "对有符号最小整数取负时溢出"),
    "4": ("an integer addition, subtraction, multiplication or multiply-add overflowed", "整数加、减、乘或乘加溢出"),
    "5": ("a floating-point result overflowed", "浮点计算溢出"),
    "7": ("a negative number was converted to an unsigned one", "负浮点数转换为无符号数"),
    "8": ("float32 or int32 did not fit into float16", "float32 或 int32 转 float16 时溢出"),
    "10": ("the sum of a matrix product overflowed", "Cube 累加溢出"),
}

WORDS: dict[str, Words] = {
    "code.bit": Words("{name}: {unit}: {kind}", "{name}：{unit}：{kind}"),
    "code.bit.none": Words("no bit is set in the register", "寄存器没有置位"),
    "code.bit.unknown": Words("bit without a documented name", "没有公开名称的位"),
    **{f"code.unit.{name}": Words(en, zh) for name, (en, zh) in _UNITS.items()},
    **{f"code.kind.{name}": Words(en, zh) for name, (en, zh) in _KINDS.items()},
    **{f"code.overflow.{bit}": Words(en, zh) for bit, (en, zh) in _OVERFLOW.items()},
}
