# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown] lang="zh"
# # 5 规划
#
# 全尺寸的训练放得下吗？要几张卡、多久、花多少、先改什么？不需要 NPU。

# %% [markdown] lang="en"
# # 5 Planning
#
# Will the full-size training fit, on how many cards, how long, at what price, what to change first? No NPU is needed.

# %% jupyter={"source_hidden": true} tags=["parameters"]
# Parameters: papermill and `ascend-workbook run -p` set them / 参数：papermill 与 `ascend-workbook run -p` 由此传入
lang: str = "en"  # language of reports / 报告语言: en | zh
device: str = "npu-simulated"  # always: shapes alone are run / 只能是它：只按形状运行
run_dir: str = "runs/notebook"  # where results go / 结果目录
script: str = "notebooks/scripts/llama_train.py"  # any training script / 任意训练脚本
script_args: str = "--size 7b --seq-length 2048 --parallel fsdp --recompute"  # its arguments / 脚本参数
model: str = "llama-7b"  # for the plan: a known name, a config.json, a script / 用于方案：已知名称、config.json 或脚本
cards: int = 8  # cards of the job / 任务的卡数
chip: str = "910B3"  # which chip / 芯片
memory: str = "64GB"  # of a card: as it is sold; 60GiB: as PyTorch sees it / 单卡内存：标称；60GiB 为 PyTorch 所见
ranks: str = "0"  # distinct | all | 0,37
assume: str = ""  # values that nobody computes, as `--assume` has them / 未计算的值，写法同 --assume，以逗号分隔
tokens: float = 1e9  # tokens of the whole training / 整个训练的 token 数

# %% jupyter={"source_hidden": true}
# Form: change values here, then run the cells below / 表单：在此修改，再运行下面的单元格
from helpers.boxes import form_box

form_box(globals(), "script", "script_args", "cards", "chip", "memory", "tokens")

# %% jupyter={"source_hidden": true} tags=["nbval-ignore-output"]
# Start: verbs, the folder of results, the place of the verdict / 开始：导入、结果目录、结论的位置
import shlex

from helpers.notebook import begin
from helpers.planning import join, plan, rehearse

run = begin("planning", lang, run_dir, device)
run.place_card()

# %% [markdown] lang="zh"
# 脚本原样在模拟 NPU 的“只保留形状”模式下运行：不计算任何数值，大块结果只占位而不写入，内存由 torch_npu 自己的缓存分配器
# 给出。脚本读取而未计算的值会连同行号列出。时间是依据真实 NPU 公开性能数据的估计值，以区间给出。

# %% [markdown] lang="en"
# The script runs unchanged on the simulated NPU in its shapes-only mode: no value is computed, large results are
# reserved and never written, and torch_npu's own caching allocator tells the memory. Values that the script reads and
# nobody computed are listed with their lines. Times are estimates from public profiles of real NPUs, given as ranges.

# %% [markdown] lang="zh"
# ## 放得下吗
#
# `ranks` 中的每个 rank 单独运行。内存不足时再在不限容量的卡上运行一次，给出所需总量，并从代价最小的开始尝试各种办法。

# %% [markdown] lang="en"
# ## Will it fit
#
# Each rank of `ranks` runs alone. Where memory runs out, it runs again on a card without a limit to tell how much it
# would take, and with changes, the cheapest first.

# %%
options = {"cards": cards, "chip": chip, "memory": memory}
more = {"ranks": ranks, "assume": assume.split(","), "out": run.folder / "rehearsal"}
with run.bar() as bar:
    told = {"on_progress": lambda _, step: bar(step)}
    rehearsed = rehearse(run.path(script), shlex.split(script_args), **options, **more, **told)
rehearsed

# %% [markdown] lang="zh"
# 峰值时内存由什么占用。

# %% [markdown] lang="en"
# What holds the memory at the peak.

# %%
parts = {part.verb: part for part in rehearsed.parts}
run.picture(parts["memory_kinds"])

# %% [markdown] lang="zh"
# 随运行的变化，按种类；横轴是分配次数，因为形状没有时间。

# %% [markdown] lang="en"
# Over the run, by kind; the axis counts allocations, since shapes have no time.

# %%
run.picture(parts["rehearsed_memory"])

# %% [markdown] lang="zh"
# 一步的算子，按估计的耗时；以及脚本读取而未计算的值。

# %% [markdown] lang="en"
# The kernels of a step by estimated time; and the values that the script read and nobody computed.

# %%
parts["estimated_kernels"]

# %%
run.note(assumed=[row[0] for row in parts["assumed"].table.rows] if "assumed" in parts else [])

# %% [markdown] lang="zh"
# ## 用什么并行方式、多久、多少钱
#
# 所有可能的并行方式，内存按公式计算，每步时间与费用以区间给出；区间重叠的并列。价格写在一个可以修改的文件里。

# %% [markdown] lang="en"
# ## Which strategy, how long, at what price
#
# All strategies that may be: memory by formula, the time of a step and the price as ranges; those whose ranges overlap
# are ranked equal. Prices stand in a file that you can edit.

# %%
planned = plan(run.place(model) if "." in model else model, tokens=tokens, rehearse=True, **options)
planned

# %% [markdown] lang="zh"
# ## 结论
#
# 两份报告合为一份，以 JSON 写入运行目录，运行页面 `index.html` 随之更新。
# 若结论为“待修”，最后一行会报错，批量运行随之待修。

# %% [markdown] lang="en"
# ## Verdict
#
# The reports joined, written into the run's folder as JSON; its page, `index.html`, is drawn anew. Where the verdict is
# Fix the last line raises, so that a batch stops there.

# %%
report = run.save(join(rehearsed, planned))
run.conclude(report)
