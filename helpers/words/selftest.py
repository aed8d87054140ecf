"""Words of `selftest`: its parts, what they found, and the archive."""

from __future__ import annotations

from helpers.words import Words

_HEADINGS = {
    "selftest": ("Self-test of the device", "设备自检"),
    "selftest_check": ("Environment check", "环境检查"),
    "selftest_operators": ("Operators against the CPU", "算子与 CPU 对比"),
    "selftest_scripts": ("Bundled trainings", "内置训练脚本"),
    "selftest_profiler": ("Profiler", "性能采集"),
    "selftest_hccl": ("Collectives of two ranks", "两个 rank 的集合通信"),
    "forward_error": ("Error of the value", "正向误差"),
    "backward_error": ("Error of the gradients", "梯度误差"),
    "first_call": ("First call", "首次调用"),
    "script": ("Script", "脚本"),
}

_PARTS = {
    "check": ("environment check", "环境检查"),
    "operators": ("operators", "算子"),
    "scripts": ("bundled trainings", "内置训练脚本"),
    "profiler": ("profiler", "性能采集"),
    "hccl": ("collectives", "集合通信"),
}

WORDS: dict[str, Words] = {
    **{f"name.{name}": Words(en, zh) for name, (en, zh) in _HEADINGS.items()},
    **{f"selftest.part.{name}": Words(en, zh) for name, (en, zh) in _PARTS.items()},
    "selftest.running": Words("{part} ...", "{part} ……"),
    "selftest.bundle": Words(
        "archive to attach to a question: {path}",
        "可附在提问中的压缩包：{path}",
    ),
    "selftest.part": Words(
        "there is no part {name}; parts: {known}",
        "没有名为 {name} 的部分；可用：{known}",
        "Choose one of them.",
        "请从中选择。",
    ),
    "selftest.timeout": Words(
        "a limit of {seconds} s: expected more than 0",
        "时限 {seconds} 秒：应大于 0",
        "Give the seconds that each part may take.",
        "请给出每个部分允许的秒数。",
    ),
    "selftest.not_written": Words(
        "the archive {path} cannot be written: {error}",
        "无法写入压缩包 {path}：{error}",
        "Free some space, or give a folder on another disk with --out; no half-written archive is left.",
        "请释放空间，或用 --out 指定其他磁盘上的目录；不会留下不完整的压缩包。",
    ),
    "selftest.damaged": Words(
        "{path}: the file {name} is not what its manifest says",
        "{path}：文件 {name} 与清单不符",
        "Check the disk and run the self-test again.",
        "请检查磁盘后重新自检。",
    ),
    "selftest.leak": Words(
        "no archive was written: {name} still holds a secret of this environment after redaction",
        "未生成压缩包：脱敏后 {name} 仍含有本环境的密钥",
        "Run it in a shell without that variable; please report the case, without the secret.",
        "请在没有该变量的 shell 中运行；并请反馈此情况（不要附上密钥）。",
    ),
    "SLF001.ok": Words(
        "all {parts} parts work on {device}",
        "{device} 上全部 {parts} 个部分正常",
        "Attach the archive to a question, or keep it to compare with a later one.",
        "可将压缩包附在提问中，或留作日后对比。",
    ),
    "SLF001.bad": Words(
        "{bad} of {parts} parts do not work or could not be told on {device}; first: {first}",
        "{device} 上 {parts} 个部分中有 {bad} 个异常或未能判断；首先：{first}",
        "Attach the archive and ask in the forum (https://www.hiascend.com/forum), the issue tracker "
        "(https://github.com/Ascend/pytorch/issues), or a ticket (https://www.hiascend.com/support).",
        "请附上压缩包，在论坛（https://www.hiascend.com/forum）、问题跟踪（https://github.com/Ascend/pytorch/issues）"
        "提问，或提工单（https://www.hiascend.com/support）。",
    ),
    "SLF001.absent": Words(
        "the device is not here: {why}; {bad} of {parts} parts were not run or failed",
        "没有该设备：{why}；{parts} 个部分中有 {bad} 个未运行或失败",
        "Read the check in the archive (check.json, report.en.html): it names the cause and the fix.",
        "请查看压缩包中的检查结果（check.json、report.zh.html）：其中给出原因与处理办法。",
    ),
    "SLF002.absent": Words("not run: the device is not here ({why})", "未运行：没有该设备（{why}）"),
    "SLF003.hung": Words(
        "{part}: no end within {seconds} s",
        "{part}：{seconds} 秒内未结束",
        "See logs/ in the archive for the last line it printed; repeat it alone with --part.",
        "压缩包 logs/ 中有其最后的输出；可用 --part 单独重试。",
    ),
    "SLF003.crashed": Words(
        "{part}: ended by signal {signal}: {error}",
        "{part}：被信号 {signal} 终止：{error}",
        "See logs/ in the archive; `ascend-workbook explain` reads ~/ascend/log.",
        "请查看压缩包中的 logs/；`ascend-workbook explain` 可解读 ~/ascend/log。",
    ),
    "SLF003.crashed_after": Words(
        "{part}: after its report was written it ended by signal {signal}: {error}",
        "{part}：写出报告之后被信号 {signal} 终止：{error}",
        "See logs/ in the archive; `ascend-workbook explain` reads ~/ascend/log.",
        "请查看压缩包中的 logs/；`ascend-workbook explain` 可解读 ~/ascend/log。",
    ),
    "SLF003.broke": Words(
        "{part}: ended without a report: {error}",
        "{part}：未产生报告即结束：{error}",
        "See logs/ in the archive; repeat it alone with --part.",
        "请查看压缩包中的 logs/；可用 --part 单独重试。",
    ),
    "SLF003.could_not": Words(
        "{part}: could not be told: {error}",
        "{part}：未能判断：{error}",
        "Mend what it names and run the part again with --part.",
        "请按提示处理后用 --part 重试该部分。",
    ),
    "SLF010.ok": Words("{count} cases agree with the CPU in float64", "{count} 个用例与 CPU 的 float64 结果一致"),
    "SLF010.partly": Words("{count} of {total} cases were run", "{total} 个用例中运行了 {count} 个"),
    "SLF010.bad": Words(
        "{bad} of {count} cases are wrong (planned: {total}); first: {first}",
        "{count} 个用例中有 {bad} 个异常（计划 {total} 个）；首个：{first}",
    ),
    "SLF011.ok": Words(
        "{operator} {dtype}: error {error}, allowed {allowed}", "{operator} {dtype}：误差 {error}，允许 {allowed}"
    ),
    "SLF011.reduced": Words(
        "{operator} {dtype}: error {error} looks like HF32 or TF32 inputs (allowed else {allowed})",
        "{operator} {dtype}：误差 {error} 像是 HF32 或 TF32 输入（否则允许 {allowed}）",
        "For exact comparison: torch.npu.conv.allow_hf32 = False, torch.npu.matmul.allow_hf32 = False.",
        "精确对比时：torch.npu.conv.allow_hf32 = False、torch.npu.matmul.allow_hf32 = False。",
    ),
    "SLF011.wrong": Words(
        "{operator} {dtype}: error {error}, allowed {allowed}",
        "{operator} {dtype}：误差 {error}，允许 {allowed}",
        "Check health (`npu-smi info`) and whether driver, CANN and torch_npu fit (`ascend-workbook check`).",
        "请检查健康状态（`npu-smi info`）及驱动、CANN、torch_npu 是否配套（`ascend-workbook check`）。",
    ),
    "SLF011.not_finite": Words(
        "{operator} {dtype}: values that are not finite (error {error}, allowed {allowed})",
        "{operator} {dtype}：出现非有限值（误差 {error}，允许 {allowed}）",
        "Check health (`npu-smi info`) and whether driver, CANN and torch_npu fit (`ascend-workbook check`).",
        "请检查健康状态（`npu-smi info`）及驱动、CANN、torch_npu 是否配套（`ascend-workbook check`）。",
    ),
    "SLF011.error": Words(
        "{operator} {dtype}: {error}",
        "{operator} {dtype}：{error}",
        "`ascend-workbook explain` tells what the text means.",
        "`ascend-workbook explain` 可解读这段文字。",
    ),
    "SLF011.ended": Words(
        "{operator} {dtype} ended its process: {how}",
        "{operator} {dtype} 导致进程结束：{how}",
        "Read ~/ascend/log (`ascend-workbook explain ~/ascend/log`).",
        "请查看 ~/ascend/log（`ascend-workbook explain ~/ascend/log`）。",
    ),
    "SLF020.ok": Words(
        "{count} runs of the bundled scripts give the committed losses", "内置脚本的 {count} 次运行与已提交的损失一致"
    ),
    "SLF020.bad": Words("of {count} runs the first that is not good: {first}", "{count} 次运行中首个异常：{first}"),
    "SLF021.ok": Words(
        "{script} {dtype}: {steps} losses within {tolerance} of the committed ones (worst {error} at step {step})",
        "{script} {dtype}：{steps} 步损失与已提交值相差不超过 {tolerance}（最差 {error}，第 {step} 步）",
    ),
    "SLF021.reduced": Words(
        "{script} {dtype}: {steps} losses, worst {error} at step {step}: within HF32's rounding, beyond {tolerance}",
        "{script} {dtype}：{steps} 步损失，最差 {error}（第 {step} 步）：在 HF32 舍入范围内，超过 {tolerance}",
        "For exact comparison: torch.npu.conv.allow_hf32 = False, torch.npu.matmul.allow_hf32 = False.",
        "精确对比时：torch.npu.conv.allow_hf32 = False、torch.npu.matmul.allow_hf32 = False。",
    ),
    "SLF021.beyond": Words(
        "{script} {dtype}: of {steps} losses step {step} is off by {error}, allowed {tolerance}",
        "{script} {dtype}：{steps} 步损失中第 {step} 步相差 {error}，允许 {tolerance}",
        "Find the first operator that differs: `ascend-workbook compare` on captures of both sides.",
        "请找出首个不一致的算子：对两侧的采集结果执行 `ascend-workbook compare`。",
    ),
    "SLF021.no_loss": Words(
        "{script} {dtype}: {done} of {steps} losses came",
        "{script} {dtype}：{steps} 步损失中只得到 {done} 步",
        "Run the script by hand with `ascend-workbook dry-run`.",
        "请用 `ascend-workbook dry-run` 手动运行该脚本。",
    ),
    "SLF021.failed": Words(
        "{script} {dtype}: did not take its {steps} steps: {why}",
        "{script} {dtype}：未完成 {steps} 步：{why}",
        "Run the script by hand with `ascend-workbook dry-run`.",
        "请用 `ascend-workbook dry-run` 手动运行该脚本。",
    ),
    "SLF021.absent": Words(
        "{script} is not in {folder}: could not be told",
        "{folder} 中没有 {script}：未能判断",
        "Run the self-test from a checkout of the workbook, which holds the scripts.",
        "请在包含这些脚本的工作簿仓库中运行自检。",
    ),
    "SLF030.ok": Words(
        "read back: {steps} steps, {kernels} kernels, {operators} costliest operators",
        "已读回：{steps} 步、{kernels} 个内核、{operators} 个最耗时算子",
    ),
    "SLF030.lacks": Words(
        "read back {steps} of {wanted} steps, {kernels} kernels, {operators} operators: something is missing",
        "读回 {wanted} 步中的 {steps} 步、{kernels} 个内核、{operators} 个算子：有缺失",
        "Update torch_npu and CANN to a pair (`ascend-workbook check`).",
        "请将 torch_npu 与 CANN 更新为配套版本（`ascend-workbook check`）。",
    ),
    "SLF030.unreadable": Words(
        "the trace cannot be read back: {why}",
        "无法读回采集结果：{why}",
        "Update torch_npu and CANN to a pair (`ascend-workbook check`).",
        "请将 torch_npu 与 CANN 更新为配套版本（`ascend-workbook check`）。",
    ),
    "SLF040.ok": Words(
        "{count} collectives over {ranks} ranks are right ({backend})",
        "{ranks} 个 rank 的 {count} 种集合通信正确（{backend}）",
    ),
    "SLF040.one": Words(
        "could not be told: {count} device, two are needed",
        "未能判断：只有 {count} 个设备，需要两个",
        "Make a second device visible (ASCEND_RT_VISIBLE_DEVICES) and run `ascend-workbook selftest --part hccl`.",
        "请让第二个设备可见（ASCEND_RT_VISIBLE_DEVICES），再执行 `ascend-workbook selftest --part hccl`。",
    ),
}
