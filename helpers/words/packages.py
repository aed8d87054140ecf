"""Words of the packages that a notebook adds to its kernel."""

from helpers.words import Words

_KERNEL_EN = "Choose the kernel PyTorch-2.x in the notebook's upper right corner, then run all cells again."
_BESIDE_EN = (
    "In a terminal: `make setup` in the workbook's folder makes an environment beside the image's that sees its torch, "
    "and a kernel for it."
)
_BESIDE_ZH = "请在终端中进入本手册目录执行 `make setup`：它在镜像环境旁另建一个可见其 torch 的环境，并生成对应内核。"

WORDS: dict[str, Words] = {
    "packages.adds": Words(
        "adding {names} to {python}; nothing that is installed there is changed",
        "正在向 {python} 补装 {names}；其中已安装的内容均不改动",
    ),
    "packages.older": Words(
        "older than the workbook asks for, and kept: {names}",
        "低于本手册要求的版本，但予以保留：{names}",
    ),
    "packages.added": Words("added: {names}", "已补装：{names}"),
    "packages.never": Words(
        "{names} are missing in {python}, and ASCEND_WORKBOOK_INSTALL=never forbids to install them",
        "{python} 缺少 {names}，而 ASCEND_WORKBOOK_INSTALL=never 禁止安装",
        "Install them yourself, or take that variable away.",
        "请自行安装，或取消该变量。",
    ),
    "packages.no_torch": Words(
        "{python} has no torch, so nothing is installed there ({names} are missing): it is the wrong kernel",
        "{python} 中没有 torch，因此不在其中安装任何内容（缺少 {names}）：内核选错了",
        _KERNEL_EN + " On a machine without torch: `make setup` in a terminal, then the kernel of `.venv`.",
        "请在 Notebook 右上角选择内核 PyTorch-2.x，再重新运行全部单元。机器上没有 torch 时：在终端执行 `make setup`，"
        "再选择 `.venv` 的内核。",
    ),
    "packages.no_room": Words(
        "{path} has {free} MiB free, and the packages need {least}",
        "{path} 仅剩 {free} MiB，而安装这些软件包需要 {least} MiB",
        "Make room (`pip cache purge`, old runs in `runs/`), or set TMPDIR to a folder on a disk with room.",
        "请清理空间（`pip cache purge`、`runs/` 中的旧结果），或把 TMPDIR 设为空间充足的磁盘上的目录。",
    ),
    "packages.mirror": Words(
        "the mirror cannot be used: {said}",
        "无法使用该镜像源：{said}",
        "Correct or take away ASCEND_WORKBOOK_MIRROR.",
        "请更正或取消 ASCEND_WORKBOOK_MIRROR。",
    ),
    "packages.pip": Words(
        "pip could not add the packages while all that is installed stays: {said}",
        "在保留全部已安装内容的前提下，pip 无法补装软件包：{said}",
        "Out of reach: set http_proxy and https_proxy, or ASCEND_WORKBOOK_MIRROR. Versions that cannot meet: "
        + _BESIDE_EN[0].lower() + _BESIDE_EN[1:],
        "若为网络不通：请设置 http_proxy 与 https_proxy，或 ASCEND_WORKBOOK_MIRROR。若为版本冲突：" + _BESIDE_ZH,
    ),
    "packages.wheels": Words(
        "pip could not add the packages from {path} while all that is installed stays: {said}",
        "在保留全部已安装内容的前提下，pip 无法用 {path} 中的 wheel 补装软件包：{said}",
        "Make the archive anew for this Python and processor and with --installed, a list of what is installed here; "
        "where there is a network, remove that folder or set ASCEND_WORKBOOK_MIRROR.",
        "请按本机的 Python 与处理器重新制作归档，并用 --installed 给出此处已安装内容的列表；若有网络，可删除该目录或"
        "设置 ASCEND_WORKBOOK_MIRROR。",
    ),
    "packages.would_change": Words(
        "refused: pip would change what is installed ({changes})",
        "已拒绝：pip 会改动已安装的内容（{changes}）",
        _BESIDE_EN,
        _BESIDE_ZH,
    ),
    "packages.changed": Words(
        "{names} are no longer what they were before pip ran",
        "pip 运行之后，{names} 与之前不同了",
        "Restart the instance or take a fresh image, and report it: this must not happen.",
        "请重启实例或使用全新的镜像，并反馈此问题：这本不应发生。",
    ),
}  # fmt: skip
