"""Words of the assessment: effort, versions, risks, libraries, plan."""

from helpers.words import Words

_HEADINGS = {
    "assess": ("Assessment of the migration", "迁移评估"),
    "assess_effort": ("How the hours come about", "工时是如何得出的"),
    "assess_risks": ("Risks, the gravest first", "风险（由重到轻）"),
    "assess_libraries": ("Third-party libraries", "第三方库"),
    "assess_versions": ("Versions to migrate to", "建议的版本"),
    "assess_plan": ("Plan, baselines and acceptance", "计划、基线与验收"),
    "repair_kinds": ("Kinds", "种类数"),
    "effort": ("Effort", "工作量"),
    "effort_low": ("At least", "最少"),
    "effort_high": ("At most", "最多"),
    "effort_first": ("First of a kind", "每种首处"),
    "effort_repeats": ("Further places", "其余处数"),
    "effort_repeat": ("Each further one", "其余每处"),
    "effort_assumed": ("Assumed", "估算依据"),
    "risk": ("Risk", "风险"),
    "risk_weight": ("Weight", "程度"),
    "risk_first": ("First place", "首个位置"),
    "link": ("Read on", "参考"),
    "library": ("Library", "库"),
    "library_use": ("On an NPU", "在 NPU 上"),
    "plan_step": ("Step", "步骤"),
    "plan_work": ("What to do", "工作内容"),
    "plan_target": ("Done when", "完成标准"),
    "versions_for": ("For", "适用于"),
    "versions_torch": ("torch", "torch"),
    "versions_torch_npu": ("torch_npu", "torch_npu"),
    "versions_cann": ("CANN", "CANN"),
    "versions_driver": ("Driver", "驱动"),
    "versions_python": ("Python", "Python"),
    "versions_state": ("Support", "维护状态"),
    "versions_advice": ("Advice", "建议"),
}

_ASSUMED = {
    "auto": ("nothing to do", "无需处理"),
    "rewrite": ("review of the edit and a run", "核对修改并运行"),
    "manual": ("understand the place, change it, run it", "理解该处、修改并运行"),
    "unsupported": ("find an alternative and try it; a repeat only applies it", "寻找替代方案并验证；其余各处只需套用"),
    "advice": ("read and decide", "阅读并决定"),
    "rules": ("what these rules say of themselves: {rules}", "按规则自身的估计：{rules}"),
    "testing": (
        "{share} of the {hours} h of repairs, at least {least} h: baseline, dry run, comparison of losses and tensors; "
        "machine time and tuning for speed are not in it",
        "修改工时 {hours} 小时的 {share}，且不少于 {least} 小时：采集基线、试运行、比较损失与张量；不含机时与性能调优",
    ),
    "total": ("all rows above; from {low} to {high} h", "以上各行之和；范围 {low} 至 {high} 小时"),
}

_WEIGHTS = {
    "high": ("high", "高"),
    "medium": ("medium", "中"),
    "low": ("low", "低"),
}

_LINES = {
    "development": ("developed; maintenance only from {until}", "开发中；自 {until} 起仅维护"),
    "maintenance": ("maintenance only; ends on {until}", "仅维护；{until} 停止支持"),
    "end_of_life": ("no longer supported since {until}", "自 {until} 起已停止支持"),
    "unreleased": ("not released yet{until}", "尚未发布{until}"),
    "not_listed": ("in no list{until}", "不在列表中{until}"),
}

_VERSIONS = {
    "new": ("a migration that starts today", "现在开始的迁移"),
    "recommended": (
        "the set that the vendor recommends; the rules of this report were tried with {tried}, for which no CANN is "
        "published yet",
        "官方推荐的配套版本；本报告的规则以 {tried} 验证，该版本尚无配套的 CANN 发布",
    ),
    "fits": ("the newest supported set that these admit", "所列要求允许的最新受支持版本"),
    "old": (
        "all that is admitted is out of support: move to the recommended set, or stay here at your own risk",
        "所允许的版本均已停止支持：请升级到推荐版本，或自担风险使用此版本",
    ),
    "early": (
        "torch_npu is published for it, but no CANN is paired with it yet: wait for that, or take the recommended set",
        "已发布对应的 torch_npu，但尚无配套的 CANN：请等待其发布，或改用推荐版本",
    ),
    "none": (
        "no torch_npu was published for it: this is the nearest one; the code has to run with its torch first",
        "没有为其发布的 torch_npu：此为最接近的版本；代码须先能在该 torch 上运行",
    ),
    "set": (
        "torch {torch}, torch_npu {torch_npu}, CANN {cann}, driver {driver}, Python {python}",
        "torch {torch}、torch_npu {torch_npu}、CANN {cann}、驱动 {driver}、Python {python}",
    ),
}

#: What to do, and when it is done. The figures are starting points for an agreement, not measurements.
_PLAN = {
    "baseline": (
        ("collect the GPU's baseline: versions, loss of each step with a fixed seed, samples/s after warm-up, "
         "peak memory, final metric",
         "采集 GPU 基线：版本、固定种子下每步损失、预热后的吞吐、峰值内存、最终指标"),
        ("two runs with one seed agree; loss of at least 1,000 steps is saved",
         "同一种子的两次运行一致；已保存至少 1000 步的损失"),
    ),
    "versions": (
        ("set up versions that belong together: {versions}", "安装相互配套的版本：{versions}"),
        ("`check` is green on the target machine", "目标机器上 `check` 通过"),
    ),
    "unsupported": (
        ("decide on each of the {count} unsupported place(s), the gravest risk above first: alternative, port or "
         "leave out",
         "逐项决定 {count} 处不支持之处，从上面最重的风险开始：替代、移植或去掉"),
        ("no unsupported place stands on the path that training takes", "训练路径上没有不支持之处"),
    ),
    "pins": (
        ("change {pins} and run the script on the GPU with torch {torch}",
         "修改 {pins}，并在 GPU 上用 torch {torch} 运行脚本"),
        ("it trains on the GPU as before", "在 GPU 上训练结果与之前一致"),
    ),
    "early": (
        ("{pins}: torch_npu is published, but no CANN is paired with it yet. Go down to torch {torch} and run the "
         "script on the GPU with it, or wait for that CANN",
         "{pins}：torch_npu 已发布，但尚无配套的 CANN。请降到 torch {torch} 并在 GPU 上用它运行脚本，"
         "或等待该 CANN 发布"),
        ("it trains on the GPU as before, with a torch that a CANN is paired with",
         "在 GPU 上训练结果与之前一致，且所用 torch 有配套的 CANN"),
    ),
    "rewrite": (
        ("`rewrite`, then the manual places", "执行 `rewrite`，再处理手工项"),
        ("a scan of the result finds nothing to rewrite", "对结果再扫描，没有待改写项"),
    ),
    "dry_run": (
        ("`dry-run` on the simulated NPU, then on a real one", "先在模拟 NPU 上 `dry-run`，再在真实 NPU 上运行"),
        ("20 steps run; each operator that falls back to the CPU is known", "能运行 20 步；已知回退到 CPU 的算子"),
    ),
    "precision": (
        ("compare losses and tensors with the baseline (notebook 03)", "与基线比较损失与张量（笔记本 03）"),
        ("relative loss error of the first step at most 1e-4 (float32) or 1e-2 (half precision), mean over 1,000 "
         "steps at most 1 %, final metric within the spread of the baseline's seeds",
         "首步损失相对误差不超过 1e-4（float32）或 1e-2（半精度），1000 步平均不超过 1%，"
         "最终指标在基线不同种子的波动范围内"),
    ),
    "performance": (
        ("profile a few steps, mend the largest cause, measure again (notebook 04)",
         "采集若干步性能数据，处理最大的瓶颈后再测（笔记本 04）"),
        ("samples/s reach the share of the baseline that was agreed on; less than 10 % of a step is idle",
         "吞吐达到与基线约定的比例；每步空闲时间低于 10%"),
    ),
    "long_run": (
        ("train to the end on the planned number of cards", "按计划的卡数完成整个训练"),
        ("final metric within the baseline's spread, no growth of memory, a restart from a checkpoint continues",
         "最终指标在基线波动范围内，内存不增长，可从检查点继续"),
    ),
}  # fmt: skip


_SENTENCES: dict[str, Words] = {
    "migration.class.testing": Words("testing", "测试与验收"),
    "migration.class.total": Words("in all", "合计"),
    "migration.meaning.testing": Words(
        "baseline, dry run and comparison; see the calculation", "基线、试运行与精度比较；见工时明细"
    ),
    "MIG160.estimate": Words(
        "{grave}about {hours} person-hours ({low} to {high}), testing included, for {files}: {unsupported} place(s) "
        "unsupported, {manual} by hand, {rewrite} that `rewrite` edits{unread}",
        "{grave}{files}约需 {hours} 人时（{low} 至 {high}，含测试）：不支持 {unsupported} 处，手工 {manual} 处，"
        "由 `rewrite` 改写 {rewrite} 处{unread}",
    ),
    "MIG160.nothing": Words(
        "nothing to migrate in {files}: no CUDA use was found{unread}", "{files}无需迁移：没有 CUDA 用法{unread}"
    ),
    "MIG160.assumed": Words(
        "an estimate: kinds × hours of the first + further places × hours of each; a further place costs {share} of "
        "the first, at most {most} h. The range: unsupported × {unsupported}, the others × {others}",
        "估算：种类数 × 首处工时 + 其余处数 × 每处工时；其余每处按首处的 {share} 计，最多 {most} 小时。"
        "范围：不支持 × {unsupported}，其他 × {others}",
    ),
    "MIG160.risks": Words("{shown} of {all} risk(s)", "共 {all} 项风险，列出 {shown} 项"),
    "MIG160.no_risk": Words("nothing unsupported, nothing to do by hand", "没有不支持或须手工处理之处"),
    "MIG160.libraries": Words("{count} librar(y/ies) with GPU code of their own", "{count} 个自带 GPU 代码的第三方库"),
    "MIG160.plan": Words("first: {first}", "首先：{first}"),
    "MIG161.recommended": Words("take {versions}", "建议 {versions}"),
    "MIG161.pinned": Words(
        "no supported torch_npu belongs to {pins}",
        "没有受支持的 torch_npu 与 {pins} 配套",
        "Change the pin and run the script on the GPU with that torch first: "
        "then the migration changes one thing only.",
        "请先修改该版本限制，并在 GPU 上用新的 torch 运行脚本：这样迁移时只改变一个因素。",
    ),
}

WORDS: dict[str, Words] = {
    **{f"name.{name}": Words(en, zh) for name, (en, zh) in _HEADINGS.items()},
    **{f"migration.assumed.{name}": Words(en, zh) for name, (en, zh) in _ASSUMED.items()},
    **{f"migration.weight.{name}": Words(en, zh) for name, (en, zh) in _WEIGHTS.items()},
    **{f"migration.line.{name}": Words(en, zh) for name, (en, zh) in _LINES.items()},
    **{f"migration.versions.{name}": Words(en, zh) for name, (en, zh) in _VERSIONS.items()},
    **{f"migration.plan.{name}": Words(*work) for name, (work, _) in _PLAN.items()},
    **{f"migration.target.{name}": Words(*target) for name, (_, target) in _PLAN.items()},
    **_SENTENCES,
}
