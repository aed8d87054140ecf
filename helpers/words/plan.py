"""Words of plans: many runs of the notebooks side by side."""

from helpers.words import Words

WORDS: dict[str, Words] = {
    "name.planned_run": Words("Run", "运行"),
    "plan.unreadable": Words(
        "the plan {path} cannot be read: {error}",
        "无法读取计划 {path}：{error}",
        "Write it as the example of `ascend-workbook run --help` shows.",
        "请参照 `ascend-workbook run --help` 中的示例编写。",
    ),
    "plan.shape": Words(
        "the plan {path}: {place} is {found}, expected {wanted}",
        "计划 {path}：{place} 为 {found}，应为 {wanted}",
        "Write it as the example of `ascend-workbook run --help` shows.",
        "请参照 `ascend-workbook run --help` 中的示例编写。",
    ),
    "plan.unknown": Words(
        "the plan {path}: {place} has {name!r}, which is not known",
        "计划 {path}：{place} 中的 {name!r} 不是已知项",
        "Known: {known}.",
        "可用项：{known}。",
    ),
    "plan.empty": Words(
        "the plan {path} has no run",
        "计划 {path} 中没有任何运行",
        "Give `matrix:` or `runs:`.",
        "请给出 `matrix:` 或 `runs:`。",
    ),
    "plan.run": Words("run {run}: {error}", "运行 {run}：{error}"),
    "plan.died": Words(
        "its process died (exit code {code})",
        "进程异常退出（退出码 {code}）",
        "Its log.txt has what it said last.",
        "最后的输出见其 log.txt。",
    ),
    "plan.run_ended": Words(
        "[{number}/{of}] {run}: {state}, {seconds} s", "[{number}/{of}] {run}：{state}，用时 {seconds} s"
    ),
    "plan.state.good": Words("good", "通过"),
    "plan.state.red": Words("red", "未通过"),
    "plan.state.died": Words("died", "异常退出"),
    "plan.state.stopped": Words("stopped", "已中止"),
    "plan.state.timed_out": Words("timed out", "超时"),
    "plan.state.out_of_memory": Words("out of memory", "内存不足"),
    "plan.state.disk_full": Words("disk full", "磁盘已满"),
    "plan.state.not_run": Words("not run yet", "尚未运行"),
    "plan.state.expected": Words("expected failure", "预期失败"),
    "plan.state.left_out": Words("left out", "未纳入本次"),
    "RUN410.run": Words("{run}: {verdict}", "{run}：{verdict}"),
    "RUN410.total": Words(
        "{runs} runs: {red} red, {waiting} not run yet", "共 {runs} 个运行：{red} 个未通过，{waiting} 个尚未运行"
    ),
}
