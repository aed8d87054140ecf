# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown] lang="zh"
# # 2 迁移
#
# 一个为 NVIDIA GPU 编写的训练脚本，在昇腾 NPU 上每一处 CUDA 用法会怎样？

# %% [markdown] lang="en"
# # 2 Migration
#
# What becomes of every CUDA use in a GPU training script on an Ascend NPU?

# %% jupyter={"source_hidden": true} tags=["parameters"]
# Parameters: papermill and `ascend-workbook run -p` set them / 参数：papermill 与 `ascend-workbook run -p` 由此传入
lang: str = "en"  # language of reports / 报告语言: en | zh
device: str = "auto"  # auto | npu | npu-simulated | cuda | cpu; npu means a real one / npu 指真实 NPU
run_dir: str = "runs/notebook"  # folder of this run / 本次运行的目录
script: str = "notebooks/scripts/resnet_digits.py"  # the GPU training script / GPU 训练脚本
script_args: str = "auto"  # its arguments; auto: the sample's, none for other scripts / 脚本参数，auto 仅为示例脚本设值
steps: int = 5  # optimizer steps of each run / 每次运行的优化步数
repository: str = ""  # folder to assess; empty: the script's / 要评估的目录，留空则为脚本所在目录
rewrite_mode: str = "inject"  # inject: transfer_to_npu; explicit: the source says npu / 源码直接写 npu
rounds: int = 0  # runs of `migrate`, which mends what a run fails at; 0: none / `migrate` 的运行次数，0 为不运行
skip_cures: str = ""  # its cures not to apply, by name, between commas / 不应用的修复名称，以逗号分隔
look_at: str = ""  # class whose places are shown with their code / 显示代码的类别: manual | unsupported | rewrite ...

# %% jupyter={"source_hidden": true}
# Form: change values here, then run the cells below / 表单：在此修改，再运行下面的单元格
from helpers.boxes import form_box

form_box(globals(), "script", "script_args", "device", "steps", "repository", "rewrite_mode")

# %% jupyter={"source_hidden": true} tags=["nbval-ignore-output"]
# Start: verbs, the folder of results, the place of the verdict / 开始：导入、结果目录、结论的位置
from helpers import assess, dry_run, migrate, operators, rewrite, scan
from helpers.boxes import findings_box
from helpers.migration import join, set_aside, show_rounds
from helpers.notebook import begin
from helpers.words import say

run = begin("migration", lang, run_dir, device)
path = run.path(script)
arguments = run.arguments(path, script_args, "--epochs 1")
run.place_card()

# %% [markdown] lang="zh"
# 本笔记本评估整个仓库的工作量，扫描脚本并给出迁移后的脚本（diff），列出一个训练步中的每个算子在 NPU 上如何执行，
# 再把原脚本与迁移后的脚本各运行几步，逐步比较损失。原文件与其目录不会被改动。

# %% [markdown] lang="en"
# This notebook estimates the work for the repository, scans the script and shows the migrated one as a diff, lists how
# an NPU runs each operator of a training step, then runs both scripts for a few steps and compares their losses. The
# original and its folder are not written to.

# %% [markdown] lang="zh"
# ## 评估
#
# 动手之前：整个目录按类别估计的人时、按严重程度排列的风险、第三方库，以及从采集 GPU 基线到验收的步骤。人时只是估计，
# 假设写在表中；`ascend-workbook assess DIR --html` 生成可交给负责人的页面，`--fail-on unsupported` 供 CI 把关。

# %% [markdown] lang="en"
# ## Assessment
#
# Before any work: person-hours by class for the whole folder, risks by their gravity, third-party libraries, and the
# steps from the GPU's baseline to acceptance. Hours are estimates whose assumptions stand in the table;
# `ascend-workbook assess DIR --html` makes a page for whoever decides, `--fail-on unsupported` a gate for CI.

# %%
assessed = run.save(assess(run.path(repository) if repository else path.parent), "assessment")
assessed

# %% [markdown] lang="zh"
# ## 扫描
#
# 每行是一处 CUDA 用法及其位置、类别和处理办法。名称按导入关系解析，因此别名也能认出，注释和字符串里的字样不会误报。
# “自动”由 torch_npu 的 transfer_to_npu 在运行时处理；“改写”须改源码，下一步会完成；“手工”和“不支持”要先看。

# %% [markdown] lang="en"
# ## Scan
#
# A row a CUDA use: its place, class and what to do. Names are resolved through imports, so that aliases are seen and
# words in comments and messages are not. *auto* is handled at run time by torch_npu's transfer_to_npu; *rewrite*
# must change in the source, which the next step does; look at *by hand* and *unsupported* first.

# %%
found = scan(path, imports=True)
found

# %% [markdown] lang="zh"
# 按类别计数。要由人修改代码的只有“手工”和“不支持”：这两条越短，迁移越快。“建议”要看一眼；
# 测试与验收总是需要，工时见上面的评估。

# %% [markdown] lang="en"
# Counted by class. Only *by hand* and *unsupported* need code changed by a person: the shorter these two bars, the
# quicker the migration. *advice* wants a look; tests and acceptance are always needed, their hours stand in the
# assessment above.

# %%
run.picture(found.parts[0])

# %% [markdown] lang="zh"
# 逐处查看：左边是各处用法，右边是标出这些位置的整份代码，下面是原因和办法。可换一个脚本，按类别、规则和文字筛选。控件
# 下方（没有控件时仅有这部分）是 `look_at` 类别的前几处，最需要人处理的在前。

# %% [markdown] lang="en"
# One by one: the places on the left, the whole code with each of them marked on the right, why and what to do below.
# Pick another script, filter by class, rule and text. Under the box, and alone where there is none, stand the first of
# class `look_at`, those first that need a person.

# %% tags=["nbval-ignore-output"]
findings_box(found, lang, look_at)

# %% [markdown] lang="zh"
# ## 迁移后的脚本
#
# `inject` 在首次使用 torch 之前导入 `torch_npu` 与 `transfer_to_npu`，再加上“改写”类的修改；`explicit` 则让源码直接写
# npu。修改以字符区间进行，其余每个字节保持不变。若扫描之后文件已被改动，改写会拒绝执行。

# %% [markdown] lang="en"
# ## The migrated script
#
# `inject` imports `torch_npu` and `transfer_to_npu` before torch is first used and makes the edits of class *rewrite*;
# `explicit` makes the source say npu. Edits are spans of the text: every other byte stays. A file that has changed
# since the scan is refused.

# %%
migrated = set_aside(run.folder / "migrated", path)  # another script's result stays, as migrated.1
changed = rewrite(path, migrated, mode=rewrite_mode, expect=found.facts["sha256"], imports=True)
changed

# %% [markdown] lang="zh"
# 再次扫描并改写结果：不应再有需要改写之处，第二次改写也不应再改动任何内容。

# %% [markdown] lang="en"
# The result scanned and rewritten again: nothing is left to rewrite, and a second rewrite changes nothing.

# %%
again = scan(migrated / path.name)
print(say("notebook.left_to_rewrite", lang, count=again.facts["counts"]["rewrite"]))
twice = rewrite(migrated / path.name, mode=rewrite_mode)
print(say("notebook.changed_again", lang, count=len(twice.facts["sha256"])))

# %% [markdown] lang="zh"
# ## 算子支持
#
# 运行迁移后脚本的一个训练步，记录每个 aten 算子：torch_npu 有 NPU 内核（native）、由其他算子组成、回落到 CPU，还是
# 不支持；每步调用几次，源码哪一行首先调用。依据是已安装 torch_npu 的分发表；官方 API 清单与之不一致时并列给出。

# %% [markdown] lang="en"
# ## Operator support
#
# One training step of the migrated script, each aten operator of it: has torch_npu an NPU kernel (native), is it made
# of others, does it fall back to the CPU, is it unsupported; how often a step, and which line calls it first. Read from
# the installed torch_npu's dispatcher; where the official list of APIs says otherwise both are shown.

# %%
traced = operators(path, arguments, device, out=run.folder / "operators")
run.save(traced, "operators")

# %% [markdown] lang="zh"
# ## 试运行
#
# 左边是原脚本：有 CUDA 时在 CUDA 上，否则由 CPU 代替；右边是迁移后的脚本，在 NPU（真实或模拟）上运行。种子固定。
# 看最后一列：float32 的相对误差应在 1e-5 以内；使用混合精度时允许值更宽，结论中会写明。

# %% [markdown] lang="en"
# ## Dry run
#
# On the left the original, on CUDA where there is one, else on the CPU standing in for it; on the right the migrated
# script on the NPU, real or simulated. Seeds are fixed. Look at the last column: in float32 the relative error should
# stay within 1e-5; with mixed precision more is allowed, and the verdict says how much.

# %%
with run.bar() as bar:
    ran = dry_run(path, arguments, device, steps, mode=rewrite_mode, out=run.folder / "dry_run", on_progress=bar)
ran

# %% [markdown] lang="zh"
# 两条损失曲线。重合表示两次训练走的是同一条路；逐步分开说明从某处起就有差异，请用 03 精度笔记本定位。

# %% [markdown] lang="en"
# Both loss curves. One on top of the other means that both trainings go the same way; curves that part mean a
# difference somewhere: notebook 03 finds where.

# %%
run.picture(ran)

# %% [markdown] lang="zh"
# 没有 NPU 内核的算子会在 CPU 上运行（正确但很慢）。模拟 NPU 不能说明真实 NPU 的数值、数据类型支持、内存和速度。

# %% [markdown] lang="en"
# Operators without an NPU kernel run on the CPU: right, but slow. A simulated NPU does not show a real one's numerics,
# dtype support, memory or speed.

# %%
run.note(findings=[(finding.key, finding.status.json) for finding in ran.findings])

# %% [markdown] lang="zh"
# ## 按轮次迁移
#
# 设置 `rounds` 后，`migrate` 会复制并改写脚本所在的整个目录，反复试运行：每次失败都查明原因、打补丁、提交，再运行，
# 直到损失一致，或需要人来决定。下面每轮一张卡片，附原因、依据与 diff；用 `skip_cures` 拒绝某个修复，再次运行即可继续。

# %% [markdown] lang="en"
# ## Migration in rounds
#
# With `rounds` set, `migrate` copies and rewrites the script's whole folder and runs it again and again: each failure
# gets its cause named, mended and committed, until losses agree or a person has to decide. Below a card per round, with
# cause, source and diff. `skip_cures` refuses a cure; running the cell again goes on from where it ended.

# %%
ported = None
if rounds:
    options = {"root": path.parent, "rounds": rounds, "skip": skip_cures.split(","), "mode": rewrite_mode}
    with run.bar() as bar:
        ported = migrate(path, arguments, out=run.folder / "project", device=device, on_progress=bar, **options)
    run.save(ported, "migrate")
show_rounds(ported, lang)

# %% [markdown] lang="zh"
# ## 结论
#
# 各份报告合为一份，以 JSON 写入运行目录，运行页面 `index.html` 随之更新。
# 若结论为“待修”，最后一行会报错，批量运行随之待修。

# %% [markdown] lang="en"
# ## Verdict
#
# The reports joined, written into the run's folder as JSON; its page, `index.html`, is drawn anew. Where the verdict is
# Fix the last line raises, so that a batch stops there.

# %%
if ported is None:
    report = run.save(join(found, changed, ran, assessed, traced))
else:
    report = run.save(join(found, changed, ported, assessed, *ported.parts[-1:]))
run.conclude(report)
