# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown] lang="zh"
# # 课程 6：综合课题
#
# | 时间 | 硬件 | 需要先学过 |
# |---|---|---|
# | 约 90 分钟；四个阶段都作答后，全部运行约 3 分钟 | 任意机器；没有 NPU 时使用模拟 NPU | 课程 0 到 5 |
#
# 一个你没有见过的 GPU 训练脚本，从检查环境到验收，走完四个阶段。这里没有步骤说明，只有问题：每个阶段由你作出决定，
# 写进 TODO 单元，再运行检查。检查的依据是各阶段真实的报告，不是答案的文字：你的修改会真的被扫描、运行、比对和测量。
#
# TODO 未填时检查显示“未完成”，不会报错，因此任何时候都可以全部运行。后面的阶段使用你在阶段 2 修改过的脚本。

# %% [markdown] lang="en"
# # Course 6: the capstone
#
# | time | hardware | known before |
# |---|---|---|
# | about 90 minutes; with all four stages answered all runs in about 3 | any machine; without an NPU the simulated one | courses 0 to 5 |
#
# A GPU training script that you have not seen, through all four stages from the environment to acceptance. There are no
# steps here, only questions. In each stage you decide, write the TODO cell, and run the cell that checks. It goes by
# the stages' real reports, not by the wording: what you change is truly scanned, run, compared and measured.
#
# Where the TODO stands the check says "not yet" and raises nothing, so that all cells can be run at any time. Later
# stages take the script as you left it in stage 2.

# %% tags=["parameters"]
lang: str = "en"  # language of reports / 报告语言: en | zh
device: str = "auto"  # auto | npu | npu-simulated | cuda | cpu; the checks take the NPU here / 检查使用本机的 NPU
run_dir: str = "runs/notebook"  # folder of this run / 本次运行的目录

# %%
from course.exercises.capstone import SCRIPT, check_stage, handed_in
from helpers.notebook import begin

run = begin("course_capstone", lang, run_dir, device)
script = run.path(f"notebooks/course/scripts/{SCRIPT}")

# %% [markdown] lang="zh"
# ## 脚本
#
# 混合精度、数据加载、断点续训、可选的多卡。读完之后先写下：你预计哪几行要改？哪一部分最慢？

# %% [markdown] lang="en"
# ## The script
#
# Mixed precision, a data loader, checkpoints, several cards if wanted. Read it, then write down first: which lines will
# have to change, and which part is slowest?

# %%
print(script.read_text(encoding="utf-8"))

# %% [markdown] lang="zh"
# ## 失败的运行
#
# 不作任何修改，经 `transfer_to_npu` 在 NPU 上运行两步。它会失败；报错的只是需要决定的地方之一。

# %% [markdown] lang="en"
# ## The failing run
#
# Unchanged, two steps on the NPU through `transfer_to_npu`. It fails; what is reported is only one of the places that
# need a decision.

# %%
from helpers import dry_run

first = dry_run(script, ["--seed", "0"], device, 2, out=run.folder / "as_given")
print("the dry run says:", first.status.word(lang))

# %%
print((run.folder / "as_given" / "target" / "output.log").read_text(encoding="utf-8").strip().splitlines()[-1])

# %% [markdown] lang="zh"
# ## 阶段 1：去哪里运行
#
# 这里有哪种 NPU？它能以哪种 16 位格式计算，而不需要损失缩放？用 `check` 与 `compute_check` 查看，然后决定。

# %% [markdown] lang="en"
# ## Stage 1: where it goes
#
# Which kind of NPU is here? In which 16-bit format can it compute that needs no loss scale? Look with `check` and
# `compute_check`, then decide.


# %% tags=["task-environment"]
def where():
    # TODO: {"device": "npu" or "npu-simulated", "dtype": "..."}
    raise NotImplementedError


# %%
check_stage("environment", where, run)

# %% [markdown] lang="zh"
# ## 阶段 2：必须由人修改的地方
#
# `transfer_to_npu` 会处理大多数 CUDA 用法，剩下的要由人决定。用 `scan` 找出它们，作最小的修改：旧文本与新文本的列表，
# 每段旧文本在脚本中恰好出现一次。检查时扫描修改后的脚本，再在两侧各训练四步，比较损失。

# %% [markdown] lang="en"
# ## Stage 2: what a person must change
#
# `transfer_to_npu` handles most uses of CUDA; a person decides the rest. Find them with `scan` and change as little as
# will do: a list of old and new texts, each old one found exactly once in the script. The check scans the changed
# script, then trains four steps on either side and compares the losses.


# %% tags=["task-migration"]
def script_changes():
    # TODO: [("old text", "new text"), ...]
    raise NotImplementedError


# %%
check_stage("migration", script_changes, run)

# %% [markdown] lang="zh"
# ## 阶段 3：两侧是否一致
#
# 设计一次有结论的比对：脚本用什么参数（`arguments`），采集三步中的哪几步（`dump_steps`，从 0 数起），
# 以及你读完报告之后的结论（`aligned`：两侧是否一致）。参数选得不好，差异就没有意义。

# %% [markdown] lang="en"
# ## Stage 3: do the two agree
#
# Design a comparison that has an answer: the script's arguments (`arguments`), which of three steps to capture
# (`dump_steps`, counted from 0), and your verdict once you have read the report (`aligned`: do the two agree). With ill
# chosen arguments a difference means nothing.


# %% tags=["task-precision"]
def experiment():
    # TODO: {"arguments": ["--...", "..."], "dump_steps": [...], "aligned": True or False}
    raise NotImplementedError


# %%
check_stage("precision", experiment, run)

# %% [markdown] lang="zh"
# ## 阶段 4：主机的时间花在哪里
#
# 用 `profile` 和 `analyse` 测量（`device="cpu"`：两个毛病都在主机上）。再作修改，格式同阶段 2，作用于阶段 2 的结果：
# 每步等待数据的时间至少减半，每步取回的数明显减少，而损失不变。

# %% [markdown] lang="en"
# ## Stage 4: what costs the host time
#
# Measure with `profile` and `analyse` (`device="cpu"`: both troubles lie on the host). Then change it, in the form of
# stage 2 and on top of what stage 2 left: half the waiting for data in a step or less, far fewer numbers fetched in a
# step, and the same losses.


# %% tags=["task-profiling"]
def loop_changes():
    # TODO: [("old text", "new text"), ...]
    raise NotImplementedError


# %%
check_stage("profiling", loop_changes, run)

# %% [markdown] lang="zh"
# ## 交付
#
# 四个阶段合为一份报告，并由 `accept` 逐项验收。模拟 NPU 上看到的不算数，没有看过的也不算通过：
# 完成全部阶段之后，结论仍会是“尚不能验收”。请读出它还缺什么，这正是在真实 NPU 上要做的事。

# %% [markdown] lang="en"
# ## Handing in
#
# The four stages as one report, and the checklist of `accept`. What was seen on the simulated NPU only does not count,
# and what was not looked at is no pass: with all stages done the verdict still says "not yet". Read what is missing;
# that is what a real NPU is needed for.

# %%
report = run.save(handed_in(run, lang), "capstone")
for found in report.findings:
    if found.rule == "CAP400":
        print(found.message(lang))

# %% tags=["nbval-ignore-output"]
print(report.verdict(lang))
for part in report.parts:
    print(f"{part.status.word(lang)} {part.title(lang)}")
