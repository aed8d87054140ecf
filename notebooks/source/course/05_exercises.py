# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown] lang="zh"
# # 课程 5：六个练习
#
# | 时间 | 硬件 | 需要先会 |
# |---|---|---|
# | 每题 15 至 40 分钟；全部运行约 2 分钟，写完答案后约 4 分钟 | 任意机器；没有 NPU 时使用模拟 NPU | 课程 0 至 4 |
#
# 每题都从真正坏掉的东西开始：先运行它，看它怎样失败；再改写 TODO 单元；最后运行检查单元。检查只看结果，不看写法：
# 脚本会真的运行，换一个种子，与原来的训练比较损失。它会说哪些对、还缺什么，并给一个提示；第二次给的提示更具体。
#
# TODO 还在时显示“未完成 / not yet”，不会报错，所以随时可以运行全部单元。请把参数 `student` 改成你的学号：题 A 和题 C
# 因人而异。结果写入运行目录的 `course.json`。

# %% [markdown] lang="en"
# # Course 5: six exercises
#
# | time | hardware | known before |
# |---|---|---|
# | 15 to 40 minutes each; all runs in about 2 minutes, with your answers in about 4 | any machine; without an NPU the simulated one | courses 0 to 4 |
#
# Each begins with something that is really broken: run it and see how it fails, write the TODO cell, run the cell that
# checks. Results are checked, not wording: scripts are run, with another seed, and their losses are held against the
# training as it was. You are told what is right and what is missing, with a hint; the second time the hint is closer.
#
# Where the TODO stands it says "not yet" and raises nothing, so that all cells can be run at any time. Set the
# parameter `student` to your number: A and C differ between students. What came of it is kept in `course.json` in the
# run's folder.

# %% tags=["parameters"]
lang: str = "en"  # language of reports / 报告语言: en | zh
device: str = "auto"  # auto | npu | npu-simulated | cuda | cpu; exercises take the NPU here / 练习使用本机的 NPU
run_dir: str = "runs/notebook"  # folder of this run / 本次运行的目录
student: str = ""  # your number or name / 你的学号或姓名
wait_s: int = 10  # seconds after which a script is taken to hang, in E / 题 E 中等待多少秒后视为挂起

# %%
from course import check_task
from course.exercises.editing import original
from course.exercises.listing import exercises
from course.tasks import env, fault, half, loop, ranks, script
from helpers import curves
from helpers.notebook import begin
from helpers.report import Status

run = begin("course", lang, run_dir, device)
mine = {"run_dir": run.folder.parent, "student": student}

# %% [markdown] lang="zh"
# ## A. 版本配对
#
# 一台 Atlas A2 服务器，CANN 8.5.0，昨天有人执行了 `pip install torch_npu`。今天 `import torch` 失败。服务器上的 torch
# 还有别人在用，不能换。下面是 `check` 的失败项。

# %% [markdown] lang="en"
# ## A. The pair that belongs together
#
# An Atlas A2 server with CANN 8.5.0. Yesterday somebody ran `pip install torch_npu`; today `import torch` fails. Others
# use the torch on this server, so that one has to stay. These are the findings of `check` that fail.

# %%
machine = env.machine(student)
for found in env.broken(student).findings:
    if found.status is Status.FIX and found.rule != "ENV000":
        print(found.rule, found.message(lang))

# %%
installed = machine.python.packages
print("torch", installed["torch"], "| torch_npu", installed["torch_npu"], "| CANN", machine.real_cann.version)
print("Python", machine.python.version, machine.host.arch, "| numpy", installed["numpy"])

# %% [markdown] lang="zh"
# **作答**：应有的 torch 与 torch_npu 版本，以及让服务器变成这样的一条 `pip` 命令。检查时，命令的结果会代入这台机器，
# 再用 `check` 的全部规则判断。版本对照可查
# [torch_npu 的说明](https://github.com/Ascend/pytorch)，或 `ascend_workbook.machine.versions`。

# %% [markdown] lang="en"
# **Your answer**: the versions of torch and torch_npu that belong there, and the one `pip` command that gets the server
# there. What the command leaves is put into this machine, and all rules of `check` judge it. Versions that belong
# together are listed [beside torch_npu](https://github.com/Ascend/pytorch), and in `ascend_workbook.machine.versions`.


# %% tags=["task-env"]
def pair():
    # TODO: {"torch": "...", "torch_npu": "...", "command": "pip install ..."}
    raise NotImplementedError


# %%
check_task("env", pair, **mine)

# %% [markdown] lang="zh"
# ## B. 有陷阱的脚本
#
# 一个 GPU 脚本，经 `transfer_to_npu` 在 NPU 上运行。它会报错，但报错的只是陷阱中的一个。

# %% [markdown] lang="en"
# ## B. A script with traps
#
# A GPU script, run on the NPU through `transfer_to_npu`. It fails; but what fails is only one of its traps.

# %%
print(original("traps.py"))

# %%
given = script.broken(run.folder)
print("outcome:", given.outcome, "| steps:", len(given.steps))
print(given.error.type, given.error.message, "at line", given.error.line)

# %% [markdown] lang="zh"
# **作答**：若干对（旧文本，新文本），旧文本须恰好出现一次；也可以返回整个脚本的文本。改好后它应当在 NPU 上训练出与 GPU
# 相同的损失，第 3 步显存不足时照样挺过去，结尾的输出和保存的权重不变，`scan` 不再发现遗留问题。

# %% [markdown] lang="en"
# **Your answer**: pairs of (old text, new text), each old text occurring exactly once; or the whole script's text. It
# shall train on the NPU with the GPU's losses, get over step 3 where memory runs out, print and keep at the end what it
# did, and leave nothing open to `scan`.


# %% tags=["task-script"]
def script_changes():
    # TODO: [("old text", "new text"), ...]
    raise NotImplementedError


# %%
check_task("script", script_changes, **mine)

# %% [markdown] lang="zh"
# ## C. 谁最先分开？
#
# 同一个训练，两个 rank，四步：`baseline` 是健康的，`target` 在 NPU 上，某个算子在某一步、某个 rank 上算错了 1 %。
# 错在哪里由 `student` 抽取。先看损失曲线。

# %% [markdown] lang="en"
# ## C. Who parts first?
#
# One training, two ranks, four steps: `baseline` is healthy, `target` ran on the NPU, where one operator was wrong by
# 1 % in one step on one rank. Which, is drawn from `student`. The curves of the losses first.

# %%
baseline, target = fault.evidence(run.folder / "fault", student)
print(curves(baseline, target).verdict(lang))

# %% [markdown] lang="zh"
# 曲线说明不了什么。**作答**：算子、步（从 1 数起）、rank。检查只说三项中对了几项，不说是哪几项：逐个去猜并不比去看更快。

# %% [markdown] lang="en"
# The curves do not tell. **Your answer**: operator, step (from 1), rank. You are told how many of the three are right,
# not which: guessing is no shorter than looking.


# %% tags=["task-fault"]
def culprit():
    # TODO: look at `baseline` and `target`, then {"operator": "...", "step": 0, "rank": 0}
    raise NotImplementedError


# %%
check_task("fault", culprit, **mine)

# %% [markdown] lang="zh"
# ## D. 慢循环
#
# 网络很小，一步却要很久。**先预测**：时间花在网络上，还是花在别处？

# %% [markdown] lang="en"
# ## D. A slow loop
#
# The network is small, and a step takes long. **Predict first**: does the time go to the network, or elsewhere?

# %%
print(original("slow_steps.py"))

# %% tags=["nbval-ignore-output"]
slow = loop.measured(run.folder)
print(f"{loop.seconds(slow):.2f} s of CPU time for {len(slow.steps)} steps")

# %% [markdown] lang="zh"
# **作答**：改到至少快一倍，损失和输出都不变。检查时原脚本与改后的脚本同时运行数轮，比较 CPU 时间的中位数，
# 因此别人占用机器不会影响结论；把活儿移到别的进程也不算减少。

# %% [markdown] lang="en"
# **Your answer**: at least twice as fast, with the same losses and the same output. Both scripts run side by side for
# some turns and the median of their CPU times counts, so that others on the machine do not matter, nor does it help to
# move work to other processes.


# %% tags=["task-loop"]
def loop_changes():
    # TODO: [("old text", "new text"), ...]
    raise NotImplementedError


# %%
check_task("loop", loop_changes, **mine)

# %% [markdown] lang="zh"
# ## E. 两个 rank 各行其是
#
# 单卡正确的脚本，用两个 rank 启动后没有反应。下面等待 `wait_s` 秒后结束它。

# %% [markdown] lang="en"
# ## E. Two ranks that do not train together
#
# A script that is right on one card, started on two ranks: nothing happens. It is ended after `wait_s` seconds.

# %%
print(original("two_cards.py"))

# %%
given = ranks.broken(run.folder, timeout_s=wait_s)
print("outcome:", given.outcome, "| steps:", len(given.steps))

# %% [markdown] lang="zh"
# **作答**：让两个 rank 在每一步合起来训练单卡所训练的样本。检查以单卡运行为准：两个 rank 的损失平均值等于单卡的损失，
# 梯度相同，样本不同。脚本原来的端口在检查时已被占用，正如多人共用一台服务器时那样。

# %% [markdown] lang="en"
# **Your answer**: in each step the two ranks shall train together what one card trains. It is held against one card: the
# mean of both ranks' losses is its loss, their gradients are equal, their samples are not. The port that the script was
# written for is taken meanwhile, as on a server that many share.


# %% tags=["task-ranks"]
def ranks_changes():
    # TODO: [("old text", "new text"), ...]
    raise NotImplementedError


# %%
check_task("ranks", ranks_changes, **mine)

# %% [markdown] lang="zh"
# ## F. float16 中的 NaN
#
# 一块没有 bfloat16 的卡，整个模型转成了 float16。第二步起损失就是 NaN。下面打印的是反向所用的损失，即 `SHARE * loss`。

# %% [markdown] lang="en"
# ## F. NaN in float16
#
# A card without bfloat16, and a model turned to float16 as a whole. From the second step on the loss is NaN. What is
# printed below is the loss that backward began from, `SHARE * loss`.

# %%
print(original("half.py"))

# %%
given = half.broken(run.folder)
print("losses of the first steps:", [f"{loss:.3g}" for loss in given.losses[:4]])

# %% [markdown] lang="zh"
# **作答**：让它学起来，同时线性层仍以 float16 计算，权重以 float32 保存。检查时与 float32 的同一训练比较起点和终点；
# 消除 NaN 还不等于在学习。

# %% [markdown] lang="en"
# **Your answer**: make it learn, with linear layers that still compute in float16 and weights kept in float32. Its
# beginning and end are held against the same training in float32: a loss without NaN need not be one that learns.


# %% tags=["task-half"]
def half_changes():
    # TODO: [("old text", "new text"), ...]
    raise NotImplementedError


# %%
check_task("half", half_changes, **mine)

# %% [markdown] lang="zh"
# ## 做到哪里了
#
# 从 `course.json` 读出的一览。重新运行检查单元后再运行此单元即可更新。

# %% [markdown] lang="en"
# ## How far you are
#
# As `course.json` has it. Run this cell again after a check.

# %%
exercises(mine["run_dir"])
