"""Words of `compute_check`'s second half: copies, memory bandwidth and the collective over all devices."""

from __future__ import annotations

from helpers.words import Words

WORDS: dict[str, Words] = {
    "name.bus_bandwidth": Words("Bus bandwidth", "总线带宽"),
    "ENV100.partly": Words(
        "{compared} results on {devices} device(s) agree with exact values; not told: {first}",
        "{devices} 个设备上的 {compared} 个结果与精确值一致；未能判断：{first}",
    ),
    "ENV103.ok": Words("{case}: {gb_per_s} GB/s ({mib} MiB)", "{case}：{gb_per_s} GB/s（每次 {mib} MiB）"),
    "ENV103.error": Words(
        "{case}: {error}",
        "{case}：{error}",
        "Explain the text with `ascend-workbook explain`, and read the device's log (~/ascend/log).",
        "用 `ascend-workbook explain` 解读这段文字，并查看设备日志（~/ascend/log）。",
    ),
    "ENV103.untold": Words(
        "{case}: could not be told: {why}",
        "{case}：未能判断：{why}",
        "Free the device's memory (`npu-smi info` shows who holds it) and check again.",
        "请释放设备内存（`npu-smi info` 可查看占用者）后重新检查。",
    ),
    "ENV103.cut_transfers": Words(
        "the bandwidth of memory and copies could not be told in full: {how}",
        "内存与拷贝带宽未能全部测得：{how}",
        "Check again when nothing else uses the device; where it stays so, read ~/ascend/log.",
        "请在设备空闲时重新检查；若仍如此，请查看 ~/ascend/log。",
    ),
    "ENV103.cut_collective": Words(
        "whether the devices can sum together could not be told: {how}",
        "未能判断各设备能否共同求和：{how}",
        "Check the links (`hccn_tool -i 0 -link -g`), HCCL_IF_IP and HCCL_SOCKET_IFNAME, then check again.",
        "请检查链路（`hccn_tool -i 0 -link -g`）、HCCL_IF_IP 与 HCCL_SOCKET_IFNAME，再重新检查。",
    ),
    "ENV104.ok": Words(
        "{case}: all of {elements} elements right, bus bandwidth {bus_gb_per_s} GB/s ({mib} MiB a rank)",
        "{case}：{elements} 个元素全部正确，总线带宽 {bus_gb_per_s} GB/s（每个 rank {mib} MiB）",
    ),
    "ENV104.wrong": Words(
        "{case}: {wrong} of {elements} elements wrong; rank {rank} at {place}: got {got}, exact {exact}",
        "{case}：{elements} 个元素中有 {wrong} 个错误；rank {rank} 位置 {place}：得到 {got}，精确值 {exact}",
        "Do not train on several devices here: check links and health (hccn_tool, npu-smi), then CANN's version.",
        "请勿在此进行多卡训练：先检查链路与健康状态（hccn_tool、npu-smi），再核对 CANN 版本。",
    ),
    "ENV104.failed": Words(
        "a collective over {ranks} devices failed: {how}",
        "{ranks} 个设备上的集合通信失败：{how}",
        "Check the links (`hccn_tool -i 0 -link -g`), HCCL_IF_IP and HCCL_SOCKET_IFNAME, then check again.",
        "请检查链路（`hccn_tool -i 0 -link -g`）、HCCL_IF_IP 与 HCCL_SOCKET_IFNAME，再重新检查。",
    ),
    "ENV104.one": Words("devices: {ranks}; a collective needs two", "设备数：{ranks}；集合通信至少需要两个"),
    "environment.copy_on_device": Words("copy on the device (memory bandwidth)", "设备内拷贝（内存带宽）"),
    "environment.copy_to_device_pinned": Words("copy to the device, pinned", "拷贝到设备（锁页内存）"),
    "environment.copy_to_host_pinned": Words("copy to the host, pinned", "拷贝回主机（锁页内存）"),
}
