"""Words of the timeline and of the exports of a profile."""

from helpers.words import Words

_HEADINGS = {
    "timeline": ("Timeline", "时间线"),
    "flame": ("Flame graph: time by call stack", "火焰图：按调用栈的耗时"),
    "lane": ("Lane", "泳道"),
    "lane_group": ("Group", "类别"),
    "lane_events": ("Events", "事件数"),
    "lane_busy": ("Busy", "忙碌"),
}

_GROUPS = {
    "timeline.group.steps": ("steps", "步"),
    "timeline.group.host": ("host threads", "主机线程"),
    "timeline.group.python": ("Python", "Python"),
    "timeline.group.launch": ("launch", "下发"),
    "timeline.group.streams": ("device streams", "设备流"),
    "timeline.group.communication": ("communication", "通信"),
}

_KINDS = {
    "timeline.kind.compute": ("kernel", "计算核"),
    "timeline.kind.communication": ("collective", "集合通信"),
    "timeline.kind.copy": ("copy", "拷贝"),
    "timeline.kind.communication_task": ("part of a collective", "集合通信的任务"),
    "timeline.kind.device_other": ("other task of the device", "设备的其他任务"),
    "timeline.kind.host_op": ("operator", "算子"),
    "timeline.kind.runtime": ("call of the runtime", "运行时调用"),
    "timeline.kind.python": ("Python function", "Python 函数"),
    "timeline.kind.loading": ("data loading", "数据加载"),
    "timeline.kind.annotation": ("mark", "标记"),
    "timeline.kind.step": ("step", "步"),
}

_PAGE = {
    "timeline.find": ("Search a name", "按名称搜索"),
    "timeline.next": ("next", "下一个"),
    "timeline.whole": ("whole step", "整步"),
    "timeline.zoom_in": ("zoom in", "放大"),
    "timeline.zoom_out": ("zoom out", "缩小"),
    "timeline.mode": ("drag selects", "拖动为选择"),
    "timeline.help": (
        "Wheel or + − zooms, drag or ← → moves, Shift+drag selects (s: all that is shown), / searches, Enter goes to "
        "the next hit, a click or , . names one event, a click on a lane's name folds it, 0 shows the whole step, Esc "
        "clears.",
        "滚轮或 + − 缩放，拖动或 ← → 平移，Shift+拖动选择（s 选择当前范围），/ 搜索，Enter 跳到下一个命中，"
        "单击或 , . 查看单个事件，单击泳道名折叠，0 显示整步，Esc 清除。",
    ),
    "timeline.hits": ("hits", "处命中"),
    "timeline.shown": ("shown", "当前范围"),
    "timeline.selected": ("selected", "已选"),
    "timeline.nested": ("what runs inside an event counts too", "事件内部的事件也计入"),
    "timeline.name": ("name", "名称"),
    "timeline.count": ("count", "次数"),
    "timeline.sum": ("sum", "合计"),
    "timeline.longest": ("longest", "最长"),
    "timeline.shape": ("shape", "形状"),
    "timeline.launched": ("launched by", "下发者"),
    "timeline.several": ("short events in one box", "个短事件合为一块"),
    "timeline.overview": (
        "All of the profile; darker is busier. The frame is the step shown above.",
        "整份数据；颜色越深越忙。方框为上图所示的步。",
    ),
    "timeline.no_script": (
        "The picture stands in for the interactive view, which needs scripts.",
        "交互视图需要脚本；此处以静态图代替。",
    ),
    "timeline.picture": ("step {step}, {ms} ms", "第 {step} 步，{ms} ms"),
    "timeline.time": ("time in the step (ms)", "步内时间（ms）"),
    "timeline.left_out": ("{count} more lanes not drawn", "另有 {count} 条泳道未画出"),
    "flame.share": ("share of all time recorded (%)", "占全部记录时间的比例（%）"),
}

_FINDINGS = {
    "PRF340.whole": Words(
        "step {step} ({ms} ms) is shown with all its {events} events; the overview covers all {all} events",
        "显示第 {step} 步（{ms} ms）的全部 {events} 个事件；概览覆盖全部 {all} 个事件",
    ),
    "PRF340.merged": Words(
        "step {step} ({ms} ms) has {events} events: {merged} of them, shorter than {resolution_us} us, are merged with "
        "neighbours of their kind; the overview covers all {all} events",
        "第 {step} 步（{ms} ms）有 {events} 个事件：其中 {merged} 个短于 {resolution_us} us，与同类相邻事件合并显示；"
        "概览覆盖全部 {all} 个事件",
    ),
    "PRF341.drawn": Words(
        "{stacks} call stacks; {frames} frames with at least 0.1 % of the time are drawn",
        "共 {stacks} 个调用栈；画出其中占时 0.1 % 以上的 {frames} 个",
    ),
    "profiling.no_such_step": Words(
        "{path}: has no step {step}; its steps are {steps}",
        "{path}：没有第 {step} 步；已有的步为 {steps}",
        "Give one of these numbers, or none for the median step.",
        "请给出其中之一；不给则取中位数的一步。",
    ),
    "profiling.step_not_looked_at": Words(
        "{path}: step {step} is not among those that were looked at: {steps}",
        "{path}：第 {step} 步不在所看的步之中：{steps}",
        "Look at it: `--steps {step}`, or at all: `--steps all`.",
        "请用 `--steps {step}` 看该步，或用 `--steps all` 看全部步。",
    ),
    "profiling.picture_kind": Words(
        "{path}: do not know what to write there: expected a name that ends in {wanted}",
        "{path}：不知道该写成什么：文件名应以 {wanted} 结尾",
        "Change the ending of the name.",
        "请修改文件名的后缀。",
    ),
    "profiling.over_profile": Words(
        "{path}: lies over or in a profile, and nothing is written into those ({option})",
        "{path}：会覆盖性能数据或写入其目录；本工具不写入性能数据（{option}）",
        "Give a path outside of the profile's folder.",
        "请给出性能数据目录之外的路径。",
    ),
    "profiling.one_rank": Words(
        "{path}: holds {ranks} ranks; {option} takes one",
        "{path}：其中有 {ranks} 个 rank；{option} 一次只能处理一个",
        "Give the path of one rank's profile, as in {paths}; with --baseline also --ranks N.",
        "请给出某一个 rank 的性能数据路径，例如 {paths}；与 --baseline 一起也可用 --ranks N。",
    ),
}

WORDS: dict[str, Words] = {
    **{f"name.{name}": Words(en, zh) for name, (en, zh) in _HEADINGS.items()},
    **{key: Words(en, zh) for group in (_GROUPS, _KINDS, _PAGE) for key, (en, zh) in group.items()},
    **_FINDINGS,
}
