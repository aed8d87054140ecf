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
# 一个为 NVIDIA GPU 编写的训练脚本，在昇腾 NPU 上每一处 CUDA 用法会怎样？本笔记本扫描脚本、给出迁移后的脚本（diff），
# 再把原脚本与迁移后的脚本各运行几步，逐步比较损失。原文件与其目录不会被改动。

# %% [markdown] lang="en"
# # 2 Migration
#
# What becomes of every CUDA use in a GPU training script on an Ascend NPU? This notebook scans the script, shows the
# migrated one as a diff, then runs both for a few steps and compares their losses. The original and its folder are
# not written to.

# %% tags=["parameters"]
lang: str = "en"  # language of reports / 报告语言: en | zh
device: str = "auto"  # auto | npu | npu-simulated | cuda | cpu; npu means a real one / npu 指真实 NPU
run_dir: str = "runs/notebook"  # folder of this run / 本次运行的目录
script: str = "notebooks/scripts/resnet_digits.py"  # the GPU training script / GPU 训练脚本
script_args: str = "--epochs 1"  # its own arguments / 脚本自己的参数
steps: int = 5  # optimizer steps of each run / 每次运行的优化步数

# %%
import shlex

from helpers import dry_run, rewrite, scan
from helpers.migration.stage import join
from helpers.notebook import begin

run = begin("migration", lang, run_dir, device)
path = run.path(script)

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
found = scan(path)
found

# %% [markdown] lang="zh"
# 按类别计数。只有“手工”和“不支持”需要工作量；这两条越短，迁移越快。

# %% [markdown] lang="en"
# Counted by class. Only *by hand* and *unsupported* cost work: the shorter these two bars, the quicker the migration.

# %%
run.picture(found.parts[0])

# %% [markdown] lang="zh"
# ## 迁移后的脚本
#
# 在首次使用 torch 之前导入 `torch_npu` 与 `transfer_to_npu`，再加上“改写”类的修改。修改以字符区间进行，其余每个字节
# 保持不变。若扫描之后文件已被改动，改写会拒绝执行。

# %% [markdown] lang="en"
# ## The migrated script
#
# `torch_npu` and `transfer_to_npu` are imported before torch is first used, and the edits of class *rewrite* are made.
# Edits are spans of the text: every other byte stays. A file that has changed since the scan is refused.

# %%
changed = rewrite(path, run.folder / "migrated", expect=found.facts["sha256"])
changed

# %% [markdown] lang="zh"
# 再次扫描并改写结果：不应再有需要改写之处，第二次改写也不应再改动任何内容。

# %% [markdown] lang="en"
# The result scanned and rewritten again: nothing is left to rewrite, and a second rewrite changes nothing.

# %%
again = scan(run.folder / "migrated" / path.name)
print("left to rewrite:", again.facts["counts"]["rewrite"])
print("changed by a second rewrite:", len(rewrite(run.folder / "migrated" / path.name).facts["sha256"]), "file(s)")

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
ran = dry_run(
    path,
    shlex.split(script_args),
    device,
    steps,
    out=run.folder / "dry_run",
    on_progress=lambda side, told: run.progress(f"{side}: step {told.step}/{told.steps}"),
)
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
for finding in ran.findings:
    print(finding.status.name, finding.message(lang))

# %% [markdown] lang="zh"
# ## 结论
#
# 三份报告合为一份，写入运行目录（JSON 与可离线打开的 HTML）。若结论为 FAIL，最后一行会报错，批量运行随之变红。

# %% [markdown] lang="en"
# ## Verdict
#
# The three reports joined, written into the run's folder (JSON, and HTML that opens offline). Where the verdict is
# FAIL the last line raises, so that a batch turns red.

# %%
report = run.save(join(found, changed, ran))
print("verdict:", report.or_raise().verdict(lang))
