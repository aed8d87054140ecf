"""Words of plans: many runs of the notebooks side by side."""

from helpers.words import Words

WORDS: dict[str, Words] = {
    "name.planned_run": Words("Run", "运行"),
    "plan.unreadable": Words(
        "the plan {path} cannot be read: {error}",
        "无法读取计划 {path}：{error}",
        "A plan is a YAML file; `ascend-workbook run --help` shows one that says everything.",
        "计划是 YAML 文件；`ascend-workbook run --help` 中有完整示例。",
    ),
    "plan.line": Words(
        "line {line}, column {column}: {what} (the parser says: {error})",
        "第 {line} 行第 {column} 列：{what}（解析器原文：{error}）",
    ),
    "plan.yaml.mapping": Words(
        "a second `:` in one line; a text that has one needs quotes", "同一行出现第二个 `:`；含冒号的文本需加引号"
    ),
    "plan.yaml.letter": Words(
        "a tab, or a character that no value may begin with; indent with spaces, and put the value in quotes",
        "此处是制表符，或不能作为值开头的字符；请用空格缩进，并给值加引号",
    ),
    "plan.yaml.open": Words("a [ or {{ that is not closed, or a missing comma", "[ 或 {{ 未闭合，或缺少逗号"),
    "plan.yaml.quote": Words("a quote that is not closed", "引号未闭合"),
    "plan.yaml.alias": Words("an alias (*name) that nothing defines (&name)", "别名（*名称）没有对应的定义（&名称）"),
    "plan.yaml.indent": Words(
        "the indentation does not fit, or a `:` or `-` is missing", "缩进不一致，或缺少 `:` 或 `-`"
    ),
    "plan.yaml.second": Words("a second document (`---`); a plan is one", "出现第二个文档（`---`）；计划只能有一个"),
    "plan.yaml.other": Words("this is no valid YAML", "不是合法的 YAML"),
    "plan.yaml.control": Words(
        "it has a character that YAML does not allow: {error}", "含有 YAML 不允许的字符：{error}"
    ),
    "plan.yaml.encoding": Words("it is no UTF-8 text: byte {at}", "不是 UTF-8 文本：第 {at} 字节"),
    "plan.too_large": Words(
        "the plan {path}, line {line}: larger than a plan may be ({limit})",
        "计划 {path} 第 {line} 行：超出计划允许的大小（{limit}）",
        "Split it into several plans; an alias (*name) counts each time it is used.",
        "请拆分为多个计划；别名（*名称）每次使用都会计数。",
    ),
    "plan.limit": Words(
        "{values} values, lists and mappings {deep} deep", "最多 {values} 个值，列表与映射最多嵌套 {deep} 层"
    ),
    "plan.shape": Words(
        "the plan {path}, line {line}: {place} is {found}, expected {wanted}",
        "计划 {path} 第 {line} 行（{place}）：应为{wanted}，实际为：{found}",
        "Write it as the example of `ascend-workbook run --help` shows.",
        "请参照 `ascend-workbook run --help` 中的示例编写。",
    ),
    "plan.a_list": Words("a list", "列表"),
    "plan.a_mapping": Words("a mapping", "映射"),
    "plan.nothing": Words("empty", "空值"),
    "plan.want.mapping": Words("a mapping (`name: value`)", "映射（`名称: 值`）"),
    "plan.want.list": Words("a list with at least one entry (`[a, b]`)", "至少有一项的列表（`[a, b]`）"),
    "plan.want.text": Words("a text (a number or true/false in quotes)", "文本（数字或 true/false 需加引号）"),
    "plan.want.plain": Words(
        "one plain value; a list may stand in `matrix:` alone", "单个值；列表只能写在 `matrix:` 中"
    ),
    "plan.want.number": Words("a whole number from {least} to {most}", "{least} 到 {most} 的整数"),
    "plan.want.time": Words(
        "a time such as 90s, 30m or 2h, or whole seconds; at most 30 days", "时间，如 90s、30m、2h 或整数秒，最长 30 天"
    ),
    "plan.want.size": Words("a size with its unit, such as 512MiB or 4GB", "带单位的大小，如 512MiB、4GB"),
    "plan.want.share": Words(
        "a number from zero up such as 0.01, or a share such as 1%", "不小于零的数（如 0.01）或百分比（如 1%）"
    ),
    "plan.want.day": Words("a day such as 2026-12-31", "日期，如 2026-12-31"),
    "plan.want.name": Words(
        "a plain folder name of at most 180 bytes, without any of / \\ < > : \" | ? * and not the name of a file "
        "of the workbook's own",
        "普通目录名：最长 180 字节，不含 / \\ < > : \" | ? *，且不与本工具自身的文件重名",
    ),
    "plan.key": Words(
        "the plan {path}, line {line}: a name in {place} is itself a list or a mapping",
        "计划 {path} 第 {line} 行（{place}）：名称本身是列表或映射",
        "Write `name: value`.",
        "请写成 `名称: 值`。",
    ),
    "plan.twice": Words(
        "the plan {path}, line {line}: {name!r} is there twice, already in line {before}",
        "计划 {path} 第 {line} 行：{name!r} 重复，第 {before} 行已有",
        "Keep one of them.",
        "请只保留一处。",
    ),
    "plan.expects_anything": Words(
        "the plan {path}, line {line}: {place} expects any failure, also one that nobody knows of yet",
        "计划 {path} 第 {line} 行：{place} 会把任何失败都当作预期，包括尚不为人知的失败",
        "Bind it to the failure that is known: `stage: precision`, `state: timed_out` or "
        "`says: \"a text of its error\"`.",
        "请限定为已知的失败：`stage: precision`、`state: timed_out` 或 `says: \"错误信息中的文字\"`。",
    ),
    "plan.expects.stage": Words("at {stage}", "{stage}阶段"),
    "plan.expects.red": Words("a red verdict", "结论为未通过"),
    "plan.expects.cell_failed": Words("a cell that raises", "单元格报错"),
    "plan.expects.died": Words("a process that dies", "进程异常退出"),
    "plan.expects.timed_out": Words("out of time", "超时"),
    "plan.expects.out_of_memory": Words("out of memory", "内存不足"),
    "plan.expects.differs": Words("another result than the reference", "与参考不一致"),
    "plan.expects.says": Words("with the text \"{text}\"", "信息含“{text}”"),
    "plan.expects.failed": Words("{run} {at}: {said}", "{run} {at}：{said}"),
    "plan.again": Words(
        "the plan {path}, line {line}: {place} has {name} a second time",
        "计划 {path} 第 {line} 行：{place} 的 {name} 重复",
        "Keep one of them.",
        "请只保留一处。",
    ),
    "plan.tag": Words(
        "the plan {path}, line {line}: {place} has the tag {tag}; only plain values are read",
        "计划 {path} 第 {line} 行：{place} 带有标签 {tag}，只允许普通值",
        "Write the value without a tag.",
        "请去掉标签，直接写值。",
    ),
    "plan.unknown": Words(
        "the plan {path}, line {line}: {place} has {name!r}, which is not known",
        "计划 {path} 第 {line} 行（{place}）：{name!r} 不是已知项",
        "Did you mean {close}? Known: {known}.",
        "是否想用 {close}？可用项：{known}。",
    ),
    "plan.strange": Words(
        "the plan {path}, line {line}: {place} has {name!r}, which is not known",
        "计划 {path} 第 {line} 行（{place}）：{name!r} 不是已知项",
        "Known: {known}.",
        "可用项：{known}。",
    ),
    "plan.top": Words("the top level", "顶层"),
    "plan.missing": Words(
        "the plan {path}, line {line}: {place} has no {name!r}",
        "计划 {path} 第 {line} 行：{place} 缺少 {name!r}",
        "Needed: {known}.",
        "必需项：{known}。",
    ),
    "plan.not_on_axis": Words(
        "the plan {path}, line {line}: {place} excludes {name} {value}, which the matrix does not have",
        "计划 {path} 第 {line} 行：{place} 要排除 {name} {value}，但矩阵中没有该值",
        "Values of this axis: {known}.",
        "该轴的值：{known}。",
    ),
    "plan.too_many": Words(
        "the plan {path}, line {line}: {place} makes {count} runs ({sizes}), more than {most}",
        "计划 {path} 第 {line} 行：{place} 将产生 {count} 个运行（{sizes}），超过上限 {most}",
        "Shorten an axis, or split the plan.",
        "请缩短某个轴，或拆分计划。",
    ),
    "plan.same_name": Words(
        "the plan {path}, line {line}: two runs would share the folder {name} (the other: {other})",
        "计划 {path} 第 {line} 行：两个运行会共用目录 {name}（另一个：{other}）",
        "Give one of them a `name:` of its own; upper and lower case do not tell folders apart everywhere.",
        "请为其中一个写上自己的 `name:`；并非所有系统都区分目录名大小写。",
    ),
    "plan.no_path": Words(
        "the plan {path}, line {line}: {place} is {given}, which is not there",
        "计划 {path} 第 {line} 行：{place} 为 {given}，但不存在",
        "Paths are relative to the plan's folder, then to the project; looked for in {looked}.",
        "路径先相对于计划所在目录，再相对于项目目录；已查找 {looked}。",
    ),
    "plan.matches_nothing": Words(
        "the plan {path}, line {line}: {place} is {pattern!r}, which no run of the plan matches",
        "计划 {path} 第 {line} 行：{place} 为 {pattern!r}，没有运行与之匹配",
        "Nearest: {close}; `--list` shows all names.",
        "最接近：{close}；`--list` 可列出全部名称。",
    ),
    "plan.parameter": Words(
        "the plan {path}, line {line}: no notebook of run {run} ({stages}) has a parameter {name}",
        "计划 {path} 第 {line} 行：运行 {run}（{stages}）的笔记本都没有参数 {name}",
        "Did you mean {close}?",
        "是否想用 {close}？",
    ),
    "plan.no_parameter": Words(
        "the plan {path}, line {line}: no notebook of run {run} ({stages}) has a parameter {name}",
        "计划 {path} 第 {line} 行：运行 {run}（{stages}）的笔记本都没有参数 {name}",
        "What they declare: {known}. Other stages (`stages:`) declare others.",
        "它们声明的参数：{known}。其他阶段（`stages:`）有其他参数。",
    ),
    "plan.type": Words(
        "the plan {path}, line {line}: {place} is {found}, expected {kind} (run {run})",
        "计划 {path} 第 {line} 行：{place} 为 {found}，应为{kind}（运行 {run}）",
        "A text that looks like a number, true or false needs quotes; a number must have none.",
        "形似数字、true 或 false 的文本需加引号；数字不能加引号。",
    ),
    "plan.kind.int": Words("a whole number", "整数"),
    "plan.kind.float": Words("a number", "数字"),
    "plan.kind.bool": Words("true or false", "true 或 false"),
    "plan.kind.str": Words("a text", "文本"),
    "plan.interrupted": Words(
        "interrupted: what has ended is kept, and the same command goes on from there; {page}",
        "已中断：已结束的运行会保留，用同一命令可继续；{page}",
    ),
    "plan.empty": Words(
        "the plan {path} has no run",
        "计划 {path} 中没有任何运行",
        "Give `matrix:` or `runs:`, and do not exclude everything.",
        "请给出 `matrix:` 或 `runs:`，且不要排除全部。",
    ),
    "plan.shard": Words(
        "--shard {text}: expected I/N with I from 1 to N",
        "--shard {text}：应为 I/N，且 I 在 1 到 N 之间",
        "Write --shard 1/4 for the first of four parts.",
        "四份中的第一份请写 --shard 1/4。",
    ),
    "plan.says_itself": Words(
        "{options} cannot be given beside a plan, which says it itself",
        "{options} 不能与计划同时给出，应写在计划中",
        "Write it into the plan (`name:`, `stages:`, `defaults:`, `parameters:`), or leave the plan out.",
        "请写入计划（`name:`、`stages:`、`defaults:`、`parameters:`），或不使用计划。",
    ),
    "plan.no_option": Words(
        "a plan is given without --plan",
        "计划无需 --plan 选项",
        "Write `ascend-workbook run {plan}`.",
        "请写成 `ascend-workbook run {plan}`。",
    ),
    "plan.needed": Words(
        "an option was given that is about the runs of a plan, and no plan",
        "给出了只用于计划的选项，但没有给出计划",
        "Write `ascend-workbook run plan.yaml ...`.",
        "请写成 `ascend-workbook run plan.yaml ...`。",
    ),
    "plan.no_tag": Words(
        "no run of the plan has the tag {tag}",
        "计划中没有带标签 {tag} 的运行",
        "Nearest: {close}; `--list` shows all tags.",
        "最接近：{close}；`--list` 可列出全部标签。",
    ),
    "plan.no_run": Words(
        "no run of the plan matches {pattern}",
        "计划中没有运行匹配 {pattern}",
        "Nearest: {close}; `--list` shows all names.",
        "最接近：{close}；`--list` 可列出全部名称。",
    ),
    "plan.none_left": Words(
        "none of the {runs} runs of the plan is left: {why}",
        "计划的 {runs} 个运行全部被排除：{why}",
        "Choose otherwise; `--list` shows the names and tags.",
        "请调整选择；`--list` 可列出名称与标签。",
    ),
    "plan.join_alone": Words(
        "--join makes a page of shards that ran already, and takes no plan and no option that is about running",
        "--join 只汇总已运行的分片，不能与计划或运行选项同时给出",
        "Write `ascend-workbook run --join runs/NAME`; --root, --against and --lang may stand beside it.",
        "请写成 `ascend-workbook run --join runs/名称`；可同时给出 --root、--against 和 --lang。",
    ),
    "plan.join_none": Words(
        "{place} holds no shard of a plan",
        "{place} 中没有计划的分片",
        "Give the folders shard-I-of-N that `run PLAN --shard I/N` made, or the one that holds them.",
        "请给出 `run 计划 --shard I/N` 生成的 shard-I-of-N 目录，或其上级目录。",
    ),
    "plan.join_unreadable": Words(
        "shard.json in {place} cannot be read: {error}",
        "无法读取 {place} 中的 shard.json：{error}",
        "Run the shard again with this version of the workbook.",
        "请用此版本重新运行该分片。",
    ),
    "plan.join_other_plan": Words(
        "{first} and {other} are no shards of one plan: the file, or the choice of runs (--tag, --only, --skip), "
        "differs",
        "{first} 与 {other} 不是同一计划的分片：计划文件或运行筛选（--tag、--only、--skip）不同",
        "Start all shards with the same file and options, and remove the folders of earlier ones.",
        "请用相同的计划文件和选项启动全部分片，并删除以前的分片目录。",
    ),
    "plan.join_other_count": Words(
        "{first} and {other} are of different divisions of the plan: into {counts} shards",
        "{first} 与 {other} 的划分方式不同：分片数为 {counts}",
        "Give the folders of one division, or remove those of the other.",
        "请只给出一种划分的目录，或删除另一种的目录。",
    ),
    "plan.join_twice": Words(
        "run {run} is in two shards: {first} and {other}",
        "运行 {run} 同时出现在两个分片中：{first} 与 {other}",
        "Give each shard once.",
        "每个分片只能给出一次。",
    ),
    "plan.shard_missing": Words(
        "shard {part} of {count}, which has it, is not there", "其所在的第 {part}/{count} 个分片缺失"
    ),
    "plan.shard_lacks": Words(
        "shard {part} of {count} should have it, and has not", "第 {part}/{count} 个分片应包含它，但没有"
    ),
    "plan.heading.shards": Words("Shards", "分片"),
    "plan.heading.storage": Words("Object storage", "对象存储"),
    "RUN415.joined": Words(
        "{there} of {count} shards are joined: {places}", "已汇总 {count} 个分片中的 {there} 个：{places}"
    ),
    "RUN415.missing": Words(
        "{missing} of {count} shards are not there: {parts}; nobody looked at their runs",
        "{count} 个分片中缺少 {missing} 个：{parts}；其中的运行未作检查",
        "Look at the machines that should have run them, run them with --shard, and join again.",
        "请检查应运行它们的机器，用 --shard 补跑后重新汇总。",
    ),
    "RUN415.unfinished": Words(
        "shard {part} of {count} has not ended: it wrote last at {when} ({place})",
        "第 {part}/{count} 个分片尚未结束，最后写入于 {when}（{place}）",
        "Wait for it, or, where it was killed, give its command again; then join again.",
        "请等待其结束；若已被终止，请再次执行其命令，然后重新汇总。",
    ),
    "RUN415.stopped": Words(
        "shard {part} of {count} was stopped before all its runs had ended, at {when} ({place})",
        "第 {part}/{count} 个分片在全部运行结束前被中止，时间为 {when}（{place}）",
        "Give its command again, then join again.",
        "请再次执行其命令，然后重新汇总。",
    ),
    "RUN415.earlier": Words(
        "shard {part} of {count} is of an earlier time: it ended at {when}, and another began more than {hours} "
        "hours later ({place})",
        "第 {part}/{count} 个分片属于更早的一次：它结束于 {when}，{hours} 小时之后才有其他分片启动（{place}）",
        "Run it again, then join again.",
        "请重新运行该分片，然后重新汇总。",
    ),
    "RUN415.versions": Words(
        "the {count} shards were run by different versions of the workbook",
        "这 {count} 个分片由不同版本的工作簿运行",
        "Install one version on all machines.",
        "请在所有机器上安装同一版本。",
    ),
    "RUN416.clock": Words(
        "this machine's clock says {now} UTC, but {path} was written at {then} UTC: it was set back, or was ahead "
        "then. Expected failures are judged by the later day; times and what is slower may be wrong",
        "本机时钟为 {now} UTC，但 {path} 写于 {then} UTC：时钟被调回过，或当时偏快。"
        "预期失败按较晚的日期判断；时间和耗时比较可能不准",
        "Set the clock (`timedatectl set-ntp true`); if it was ahead then, delete that file.",
        "请校准时钟（`timedatectl set-ntp true`）；若当时时钟偏快，请删除该文件。",
    ),
    "plan.left.tag": Words("has none of the tags {tags}", "没有标签 {tags}"),
    "plan.left.skip_tag": Words("has the tag {tag}", "带有标签 {tag}"),
    "plan.left.only": Words("not matched by --only {patterns}", "不匹配 --only {patterns}"),
    "plan.left.skip": Words("matched by --skip {pattern}", "匹配 --skip {pattern}"),
    "plan.left.shard": Words("belongs to part {part} of {count}", "属于第 {part}/{count} 份"),
    "name.plan": Words("Plan", "计划"),
    "name.planned_stages": Words("Stages", "阶段"),
    "name.planned_parameters": Words("Parameters", "参数"),
    "name.planned_tags": Words("Tags", "标签"),
    "name.left_out": Words("Left out", "未选入"),
    "RUN420.listed": Words(
        "runs planned and checked: {runs}; nothing was started", "已检查计划的 {runs} 个运行；未启动任何运行"
    ),
    "RUN420.listed_but": Words(
        "runs planned and checked: {runs}, left out: {left}; nothing was started",
        "已检查计划的 {runs} 个运行，另有 {left} 个未选入；未启动任何运行",
    ),
    "plan.link.reference": Words("reference", "参考对照"),
    "plan.state.differs": Words("differs from its reference", "与参考不一致"),
    "plan.bless_alone": Words(
        "--bless makes references, and no folder for them is given",
        "--bless 用于生成参考，但没有给出其目录",
        "Add --reference DIR.",
        "请加上 --reference 目录。",
    ),
    "plan.bless_unreadable": Words(
        "{path} cannot become a reference: {error}",
        "{path} 不能作为参考：{error}",
        "Run it again with --force.",
        "请用 --force 重新运行。",
    ),
    "plan.bless_unrun": Words(
        "{path} cannot become a reference: {count} code cells were not run",
        "{path} 不能作为参考：有 {count} 个代码单元格未执行",
        "Run it again with --force.",
        "请用 --force 重新运行。",
    ),
    "plan.no_reference": Words(
        "the folder of references {path} is not there",
        "参考目录 {path} 不存在",
        "Make it with --bless, after a look at what the runs show.",
        "请先查看各运行的结果，再用 --bless 生成。",
    ),
    "plan.reference_value": Words("{name}: {there} there, {here} here", "{name}：参考为 {there}，本次为 {here}"),
    "plan.reference_timeout": Words("nbval took too long", "nbval 超时"),
    "plan.reference_same": Words(
        "{compared} of {outputs} outputs as in the reference", "{outputs} 个输出中的 {compared} 个与参考一致"
    ),
    "plan.blessed": Words("blessed: now the reference", "已确认为新的参考"),
    "name.reference": Words("Reference", "参考对照"),
    "name.reference_diff": Words("Differences", "差异"),
    "name.compared_outputs": Words("Outputs compared", "已比较输出"),
    "name.reference_outputs": Words("Outputs of the reference", "参考中的输出"),
    "name.differing_cells": Words("Differing cells", "不一致的单元格"),
    "RUN430.same": Words(
        "{stage}: as its reference ({compared} of {outputs} outputs compared)",
        "{stage}：与参考一致（{outputs} 个输出中比较了 {compared} 个）",
    ),
    "RUN430.differs": Words(
        "{stage}: code cells {cells} differ from the reference ({compared} of {outputs} outputs compared)",
        "{stage}：第 {cells} 个代码单元格与参考不一致（{outputs} 个输出中比较了 {compared} 个）",
        "Look at the differences; where they are meant, run again with --bless. What varies by nature goes into "
        "sanitize.cfg in the folder of references.",
        "请查看差异；若符合预期，加 --bless 重新运行。本来就会变化的内容请写入参考目录中的 sanitize.cfg。",
    ),
    "RUN430.little": Words(
        "{stage}: only {compared} of {outputs} outputs could be compared, less than half: that vouches for nothing",
        "{stage}：{outputs} 个输出中只能比较 {compared} 个，不足一半，不能作为依据",
        "Let the notebook print its facts: images and cells tagged nbval-ignore-output are not compared.",
        "请让笔记本打印结果：图片以及带 nbval-ignore-output 标签的单元格不参与比较。",
    ),
    "RUN430.absent": Words(
        "{stage}: {path} is not there, so nothing was compared",
        "{stage}：{path} 不存在，未作比较",
        "Make the reference with --bless, after a look at what the run shows.",
        "请先查看运行结果，再用 --bless 生成参考。",
    ),
    "RUN430.run_unreadable": Words(
        "{stage}: the executed notebook {path} cannot be read: {error}",
        "{stage}：无法读取已执行的笔记本 {path}：{error}",
        "Run it again with --force.",
        "请用 --force 重新运行。",
    ),
    "RUN430.unreadable": Words(
        "{stage}: the reference {path} cannot be read: {error}",
        "{stage}：无法读取参考 {path}：{error}",
        "Make it again with --bless.",
        "请用 --bless 重新生成。",
    ),
    "RUN430.parameters": Words(
        "{stage}: the reference was made with other parameters: {values}",
        "{stage}：参考所用的参数不同：{values}",
        "Run with those, or make it again with --bless.",
        "请使用相同参数，或用 --bless 重新生成。",
    ),
    "RUN430.code": Words(
        "{stage}: the reference is of another notebook: code cell {cell} differs",
        "{stage}：参考来自不同的笔记本：第 {cell} 个代码单元格不同",
        "Make it again with --bless.",
        "请用 --bless 重新生成。",
    ),
    "RUN430.unrun": Words(
        "{stage}: {count} code cells of the reference have no execution count, and nbval would pass them unseen",
        "{stage}：参考中有 {count} 个代码单元格没有执行序号，nbval 会不作比较就放行",
        "Make it again with --bless.",
        "请用 --bless 重新生成。",
    ),
    "RUN430.failed": Words(
        "{stage}: nbval could not compare: {error}",
        "{stage}：nbval 无法比较：{error}",
        "Look at sanitize.cfg in the folder of references, and install nbval: pip install -r requirements.txt.",
        "请检查参考目录中的 sanitize.cfg，并安装 nbval：pip install -r requirements.txt。",
    ),
    "plan.run": Words("run {run}: {error}", "运行 {run}：{error}"),
    "plan.died": Words(
        "its process died (exit code {code})",
        "进程异常退出（退出码 {code}）",
        "Its log.txt has what it said last.",
        "最后的输出见其 log.txt。",
    ),
    "plan.again_for": Words("{run}: run again: {why}", "{run}：重新运行：{why}"),
    "run.stage_again": Words("run again: {why}", "重新运行：{why}"),
    "reuse.force": Words("--force was given", "给出了 --force"),
    "reuse.not_good": Words("it was not good the last time", "上次未通过"),
    "reuse.memory": Words("it held more memory than `memory` allows now", "当时占用的内存超过现在 `memory` 的上限"),
    "reuse.demands": Words("`cards`, `require` or its stages are others", "`cards`、`require` 或阶段已不同"),
    "reuse.unknown": Words("what it opened the last time is not known whole", "上次打开了哪些文件没有完整记录"),
    "reuse.parts": Words("changed: {what}", "已变化：{what}"),
    "reuse.part.notebook": Words("the notebook", "笔记本"),
    "reuse.part.parameters": Words("its parameters", "参数"),
    "reuse.part.versions": Words("the device, or versions of torch, torch_npu, CANN or the driver",
                                 "设备，或 torch、torch_npu、CANN、驱动的版本"),
    "reuse.part.settings": Words("environment variables that a result depends on", "影响结果的环境变量"),
    "reuse.part.script": Words("the script or a module that it imports", "脚本或其导入的模块"),
    "reuse.part.inputs": Words("the baseline or profile that it is given", "给定的基线或性能数据"),
    "reuse.part.code": Words("the workbook itself", "工作簿自身"),
    "reuse.part.packages": Words("the installed packages", "已安装的包"),
    "reuse.file": Words("{path}, which it opened, has changed", "它打开过的 {path} 已变化"),
    "reuse.gone": Words("{path}, which it opened, is not there now", "它打开过的 {path} 已不存在"),
    "reuse.new": Words("{path}, which it looked for, is there now", "它曾查找的 {path} 现已存在"),
    "reuse.folder": Words("{path}, which it listed, has other files", "它列出过的目录 {path} 中文件已不同"),
    "plan.run_ended": Words(
        "[{number}/{of}] {run}: {state}, {seconds} s", "[{number}/{of}] {run}：{state}，用时 {seconds} s"
    ),
    "plan.run_reused": Words(
        "[{number}/{of}] {run}: {state}, as an earlier start left it", "[{number}/{of}] {run}：{state}，沿用此前的结果"
    ),
    "plan.run_started": Words("[{number}/{of}] {run}: started", "[{number}/{of}] {run}：已启动"),
    "plan.run_started_on": Words(
        "[{number}/{of}] {run}: started on card {cards}", "[{number}/{of}] {run}：已启动，使用卡 {cards}"
    ),
    "plan.waits_for_card": Words(
        "{run}: waits until {cards} card(s) are free", "{run}：等待 {cards} 张卡空闲"
    ),
    "plan.waits_for_memory": Words(
        "{run}: waits for memory: {free_mb} MiB free, {needed_mb} MiB needed",
        "{run}：等待内存：空闲 {free_mb} MiB，需要 {needed_mb} MiB",
    ),
    "plan.retry": Words(
        "{run}: try {number} of {of} ended ({state}: {why}); it is tried again",
        "{run}：第 {number} 次（共 {of} 次）尝试结束（{state}：{why}），将重试",
    ),
    "plan.tried": Words("try {number} ended ({state}): {verdict}", "第 {number} 次尝试结束（{state}）：{verdict}"),
    "plan.tried_before": Words(
        "an earlier try on {where} ended ({state})", "此前在 {where} 上的一次尝试已结束（{state}）"
    ),
    "plan.lost": Words(
        "a try on {where} was lost: its process was killed from outside",
        "在 {where} 上的一次尝试丢失：其进程被外部终止",
    ),
    "plan.status": Words("{done}/{of} done; {going}", "已完成 {done}/{of}；{going}"),
    "plan.linked": Words(
        "the folder of a run, {path}, is a link to {target}: nothing is written through it",
        "运行目录 {path} 是指向 {target} 的链接：不会通过它写入任何内容",
        "Remove the link; the plan's folder itself, or --root, may be one.",
        "请删除该链接；计划目录本身或 --root 可以是链接。",
    ),
    "plan.locked": Words(
        "another process runs the plan in {folder}: {who}",
        "另一个进程正在运行 {folder} 中的计划：{who}",
        "Wait for it or end it; give another --root for a second one beside it.",
        "请等待或结束该进程；若需并行运行，请用 --root 指定其他目录。",
    ),
    "plan.too_few_cards": Words(
        "run {run} needs {wanted} cards, {found} can be given out",
        "运行 {run} 需要 {wanted} 张卡，只有 {found} 张可分配",
        "Look at `cards:` of the plan and at ASCEND_RT_VISIBLE_DEVICES or CUDA_VISIBLE_DEVICES.",
        "请检查计划中的 `cards:` 以及 ASCEND_RT_VISIBLE_DEVICES 或 CUDA_VISIBLE_DEVICES。",
    ),
    "plan.cards_by_name": Words(
        "{name}={value} names cards otherwise than by number, so that runs could not be told which card is theirs",
        "{name}={value} 没有用编号指定卡，无法确定各个运行该用哪张卡",
        "Write numbers, such as {name}=0,1, or name the cards in the plan: cards: [0, 1].",
        "请改用编号，如 {name}=0,1；或在计划中写明 cards: [0, 1]。",
    ),
    "plan.lower_tier": Words(
        "it ran on {tier}, {required} is required",
        "设备为 {tier}，要求 {required}",
        "Run it where {required} is: `ascend-workbook doctor` says why it is not here.",
        "请在具备 {required} 的机器上运行；`ascend-workbook doctor` 会说明此处为何没有。",
    ),
    "plan.beyond_memory": Words(
        "its processes held {peak_mb} MiB together, {limit_mb} MiB are allowed: it was ended",
        "其进程共占用 {peak_mb} MiB，上限为 {limit_mb} MiB：已终止",
        "Raise memory_mb, or take a smaller batch.",
        "请提高 memory_mb，或减小批大小。",
    ),
    "plan.oom_killed": Words(
        "the system killed {kills} process(es) of this machine for want of memory while it ran; it held {peak_mb} MiB",
        "运行期间系统因内存不足终止了 {kills} 个进程；该运行占用 {peak_mb} MiB",
        "Run fewer side by side (--workers), give runs a bound (memory_mb), or take a larger machine.",
        "请减少并行数（--workers），为运行设置上限（memory_mb），或使用内存更大的机器。",
    ),
    "plan.out_of_time": Words(
        "it was ended after {seconds} s: its time, or the plan's, was over",
        "运行 {seconds} s 后终止：该运行或计划的时间已到",
        "Give more time, or fewer steps; the next start goes on from here.",
        "请增加时限或减少步数；下次启动会从此处继续。",
    ),
    "plan.no_time": Words("the plan's time was over before it started", "在其启动之前计划的时间已到"),
    "plan.machines_lost": Words(
        "the cluster lost a machine at each try: {error}",
        "集群在每次尝试时都丢失了机器：{error}",
        "Often the run takes all its memory: give it a bound (memory_mb).",
        "多为该运行耗尽内存：请为其设置上限（memory_mb）。",
    ),
    "plan.not_shared": Words(
        "{where} does not see the plan's folder {folder}",
        "{where} 无法访问计划的目录 {folder}",
        "Give --root a folder that all machines of the cluster have under the same path.",
        "请用 --root 指定集群所有机器都能以相同路径访问的目录。",
    ),
    "plan.beyond_disk": Words(
        "the plan's folder is beyond its bound on disk, and no dump of a good run is left to drop",
        "计划目录已超过磁盘上限，且没有可清除的已通过运行的转储数据",
        "Raise `disk:` of the plan or remove what is not needed; the next start goes on from here.",
        "请提高计划中的 `disk:`，或删除不需要的文件；下次启动会从此处继续。",
    ),
    "plan.dumps_dropped": Words(
        "its dumps and traces were dropped to keep the plan's bound on disk: {mib} MiB",
        "为不超过计划的磁盘上限，已清除其转储与性能数据：{mib} MiB",
    ),
    "plan.dropped": Words(
        "{run}: its dumps and traces are dropped, the plan's folder may take {limit_mb} MiB",
        "{run}：清除其转储与性能数据，计划目录上限为 {limit_mb} MiB",
    ),
    "plan.disk_full": Words(
        "the disk of {path} is full",
        "{path} 所在磁盘已满",
        "Make room, or give the plan a bound (`disk: 20GB`); the next start goes on from here.",
        "请腾出空间，或为计划设置上限（`disk: 20GB`）；下次启动会从此处继续。",
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
    "plan.against": Words(
        "--against {path}: no summary.json could be read there: {error}",
        "--against {path}：无法读取 summary.json：{error}",
        "Give `last`, a summary.json of an earlier time, or the folder that holds one.",
        "请给出 `last`、此前的 summary.json，或其所在目录。",
    ),
    "name.change": Words("Against last", "与上次相比"),
    "name.tries": Words("Tries", "尝试次数"),
    "name.tags": Words("Tags", "标签"),
    "plan.change.newly_red": Words("newly red", "新增未通过"),
    "plan.change.still_red": Words("still red", "仍未通过"),
    "plan.change.fixed": Words("fixed", "已修复"),
    "plan.change.slower": Words("slower", "变慢"),
    "plan.change.lower_tier": Words("good on a lower tier", "在较低档位的设备上通过"),
    "plan.change.new": Words("new", "新增"),
    "plan.heading.changes": Words("What changed", "变化"),
    "plan.heading.reasons": Words("Why runs are red", "未通过的原因"),
    "plan.heading.expected": Words("Expected failures", "预期失败"),
    "plan.heading.runs": Words("All runs", "全部运行"),
    "plan.first_red": Words("Begin here:", "从这里开始："),
    "plan.same_cause": Words("{count} runs, same cause:", "{count} 个运行，原因相同："),
    "plan.more_causes": Words("{count} more causes", "另有 {count} 种原因"),
    "plan.more_runs": Words("{count} more runs with this cause", "另有 {count} 个运行属于此原因"),
    "plan.count.runs": Words("runs", "个运行"),
    "plan.count.reused": Words("reused from an earlier start", "沿用此前结果"),
    "plan.link.log": Words("log", "日志"),
    "plan.link.notebook": Words("nb", "笔记本"),
    "plan.link.acceptance": Words("acceptance", "验收"),
    "plan.reused": Words("reused", "沿用"),
    "plan.simulated": Words("simulated", "模拟"),
    "plan.expected_until": Words("expected failure up to {until}: {reason}", "截至 {until} 的预期失败：{reason}"),
    "plan.more.newly_red": Words("{count} newly", "新增 {count} 个"),
    "plan.more.fixed": Words("{count} fixed", "已修复 {count} 个"),
    "plan.more.slower": Words("{count} slower", "变慢 {count} 个"),
    "plan.more.expected": Words("{count} failed as expected", "预期失败 {count} 个"),
    "plan.more.left_out": Words("{count} left out", "未纳入本次 {count} 个"),
    "plan.more.warned": Words("{count} with warnings", "有警告 {count} 个"),
    "plan.more.unseen": Words("{count} that could not look at everything", "未能检查全部内容 {count} 个"),
    "plan.more.simulated": Words("{count} on the simulated NPU", "模拟 NPU 上 {count} 个"),
    "plan.simulated_of": Words(
        "{count} of {runs} runs were made on the simulated NPU; the table says which. Of these:",
        "{runs} 个运行中有 {count} 个在模拟 NPU 上进行，表中逐一标明。对这些运行：",
    ),
    "plan.more.first_time": Words("no earlier complete time to compare with", "没有可供对比的完整历史结果"),
    "RUN410.red": Words(
        "{red} of {runs} runs are red ({more}); first {run}: {why}",
        "{runs} 个运行中 {red} 个未通过（{more}）；首个为 {run}：{why}",
    ),
    "RUN410.red_plain": Words(
        "{red} of {runs} runs are red; first {run}: {why}", "{runs} 个运行中 {red} 个未通过；首个为 {run}：{why}"
    ),
    "RUN410.red_so_far": Words(
        "{red} red so far, {ended} of {runs} runs ended; first {run}: {why}",
        "已有 {red} 个未通过，{runs} 个运行中 {ended} 个已结束；首个为 {run}：{why}",
    ),
    "RUN410.good": Words("{runs} of {runs} runs good ({more})", "全部 {runs} 个运行通过（{more}）"),
    "RUN410.none_red": Words(
        "{good} of {runs} runs are good, none is red ({more})", "{runs} 个运行中 {good} 个通过，无未通过（{more}）"
    ),
    "RUN410.good_plain": Words("{runs} of {runs} runs good", "全部 {runs} 个运行通过"),
    "RUN410.waiting": Words(
        "{ended} of {runs} runs ended, none of them red", "{runs} 个运行中 {ended} 个已结束，均无未通过"
    ),
    "RUN410.by_user": Words(
        "stopped by the user: {ended} of {runs} runs ended by themselves, {red} of them red",
        "已由用户中止：{runs} 个运行中 {ended} 个自行结束，其中 {red} 个未通过",
        "The same command goes on from there.",
        "用同一命令可从此处继续。",
    ),
    "RUN410.none": Words(
        "no run was asked for ({more})",
        "本次没有要执行的运行（{more}）",
        "That is no fault where the shard is one of a small plan; the other shards have the runs.",
        "若计划较小、该分片恰好没有运行，则属正常；运行都在其他分片中。",
    ),
    "plan.no_stage_results": Words(
        "what its notebooks found is not there to be read", "找不到其各笔记本的结果，无法读取"
    ),
    "RUN411.same": Words(
        "of {count} runs compared with {then} none is newly red, fixed, slower or on a lower tier",
        "与 {then} 对比的 {count} 个运行中：没有新增未通过、已修复、变慢或设备降档",
    ),
    "RUN411.newly_red": Words(
        "newly red since {then}: {runs} ({count})", "自 {then} 以来新增未通过：{runs}（{count} 个）"
    ),
    "RUN411.still_red": Words("red as at {then}: {runs} ({count})", "与 {then} 相同，仍未通过：{runs}（{count} 个）"),
    "RUN411.fixed": Words("fixed since {then}: {runs} ({count})", "自 {then} 以来已修复：{runs}（{count} 个）"),
    "RUN411.slower": Words(
        "slower than at {then}: {runs} ({count}); told from {ratio} times and {seconds} s on",
        "比 {then} 慢：{runs}（{count} 个）；达到 {ratio} 倍且多出 {seconds} s 才提示",
    ),
    "RUN411.lower_tier": Words(
        "good, but on a lower tier of device than at {then}: {runs} ({count})",
        "通过，但设备档位低于 {then} 时：{runs}（{count} 个）",
        "Give the run `require:` if it must not be so.",
        "若不允许降档，请为该运行设置 `require:`。",
    ),
    "RUN411.new": Words("not in the plan at {then}: {runs} ({count})", "{then} 时的计划中没有：{runs}（{count} 个）"),
    "RUN411.gone": Words(
        "in the plan at {then}, gone now: {runs} ({count})",
        "{then} 时的计划中有、现已移除：{runs}（{count} 个）",
    ),
    "RUN411.uncompared": Words(
        "not compared, for they did not run at {then}: {runs} ({count})",
        "{then} 时未执行，无法对比：{runs}（{count} 个）",
    ),
    "RUN412.expected": Words(
        "{count} runs failed as expected up to {until} ({what}; {reason}): {runs}",
        "{count} 个运行如预期失败，有效期至 {until}（{what}；{reason}）：{runs}",
    ),
    "RUN412.expired": Words(
        "the failure of {runs} was expected up to {until} ({what}; {reason}); the date is over, they count as red",
        "{runs} 的预期失败有效期至 {until}（{what}；{reason}）；现已过期，按未通过计",
        "Mend them, or give `expect:` a later date with its reason.",
        "请修复，或在 `expect:` 中给出新的日期和理由。",
    ),
    "RUN412.passes": Words(
        "unexpectedly green: {run} was expected to fail up to {until} ({what}; {reason}), and is good: {runs}",
        "意外通过：{run} 预期失败至 {until}（{what}；{reason}），实际已通过：{runs}",
        "Take it out of `expect:`; left there it would hide the failure when it comes back.",
        "请从 `expect:` 中删除；留着它，失败再次出现时会被掩盖。",
    ),
    "RUN412.elsewhere": Words(
        "{runs}: failed otherwise than expected ({what}; {reason}); they count as red. They failed so: {how}",
        "{runs}：失败情形与预期（{what}；{reason}）不同，按未通过计。实际失败情形：{how}",
        "Look at them as at any red.",
        "请按普通失败处理。",
    ),
    "RUN412.nothing": Words(
        "no run of the plan has a name like {run}, which is expected to fail up to {until}",
        "计划中没有名称匹配 {run} 的运行，而它被列为截至 {until} 的预期失败",
        "Mend the pattern, or remove it from `expect:`.",
        "请修正匹配模式，或从 `expect:` 中删除。",
    ),
    "RUN413.run": Words("{run}: {verdict}", "{run}：{verdict}"),
}
