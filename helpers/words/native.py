"""Words of the compiled libraries that make the workbook faster and change no result."""

from helpers.words import Words

WORDS: dict[str, Words] = {
    "native.switched_off": Words(
        "the compiled parts are switched off ({switch}=0)",
        "编译加速部分已关闭（{switch}=0）",
        "Unset {switch} to be faster; the results are the same.",
        "取消设置 {switch} 可提速；结果相同。",
    ),
    "native.no_compiler": Words(
        "no C++ compiler: neither $CXX nor g++ nor clang++ was found",
        "未找到 C++ 编译器：$CXX、g++、clang++ 均不可用",
        "To be faster: `apt-get install g++` or `conda install gxx`; the results are the same.",
        "安装编译器（例如 `apt-get install g++` 或 `conda install gxx`）可提速；结果相同。",
    ),
    "native.compiler_failed": Words(
        "the compiler failed: {error}",
        "编译失败：{error}",
        "Set $CXX to another compiler to be faster; the results are the same.",
        "将 $CXX 设为其他编译器可提速；结果相同。",
    ),
    "native.unusable": Words(
        "the compiled part cannot be kept or loaded: {error}",
        "编译加速部分无法保存或加载：{error}",
        "Free space or set $XDG_CACHE_HOME to a folder that can be written, to be faster; the results are the same.",
        "释放空间，或将 $XDG_CACHE_HOME 设为可写目录，可提速；结果相同。",
    ),
}
