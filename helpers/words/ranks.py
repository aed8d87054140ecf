"""Words of many ranks at once."""

from helpers.words import Words

_HEADINGS = {
    "rank_stage": ("Stage", "流水线阶段"),
    "rank_wait": ("Waits in collectives", "集合通信中等待"),
    "rank_bubble": ("Pipeline bubble", "流水线空泡"),
    "rank_waits_for": ("Longest for rank", "等得最久的 rank"),
    "rank_read": ("Read from", "读取自"),
    "rank_steps": ("Steps looked at", "所看的步"),
    "collectives": ("Collectives", "集合通信"),
    "collective_kind": ("Collective", "集合通信"),
    "group_members": ("Members seen", "可见成员"),
    "transmission": ("Transmission a step", "每步传输"),
    "collective_time": ("Time a step", "每步耗时"),
    "collective_wait": ("Waiting a step", "每步等待"),
    "last_rank": ("Most often last", "最常最后到达"),
    "links": ("Links", "链路"),
    "packets": ("Packets by size", "各大小的报文"),
    "packet_size": ("Size of a packet", "报文大小"),
    "packet_count": ("Packets", "报文数"),
    "collective_size": ("Data a step", "每步数据量"),
    "collective_speed": ("Data per transmission", "数据量/传输耗时"),
    "rank_link": ("Link", "链路"),
    "transport": ("Transport", "传输方式"),
    "link_size": ("Sent", "传输量"),
    "link_time": ("Transit time", "传输耗时"),
    "link_speed": ("Bandwidth", "带宽"),
    "link_usual": ("Median of its kind", "同类中位数"),
}

_PARTS = {
    "ranks.part.computing": ("computing", "计算"),
    "ranks.part.copy": ("copies", "拷贝"),
    "ranks.part.loading": ("waiting for data", "等待数据"),
    "ranks.part.free": ("free time (its host)", "空闲时间（主机侧）"),
    "ranks.todo.computing": (
        "compare its operators with another rank's (same shapes? npu-smi info: frequency, temperature), and the work it"
        " is given (length of samples, experts)",
        "将其算子与其他 rank 对比（形状是否相同？用 npu-smi info 查看频率、温度），并检查分给它的工作量（"
        "样本长度、专家负载）",
    ),
    "ranks.todo.copy": (
        "look at what it copies and from where: pinned memory, the NUMA node its process is bound to",
        "检查它拷贝了什么、从哪里拷贝：锁页内存、进程绑定的 NUMA 节点",
    ),
    "ranks.todo.loading": (
        "look at its DataLoader: workers, its share of the samples, the disk it reads from",
        "检查它的 DataLoader：worker 数、分到的样本、所读磁盘",
    ),
    "ranks.todo.free": (
        "look at its host: what only this rank does in a step (logging, saving, evaluating, sleeping), other processes "
        "on its cores, CPU binding",
        "检查其主机侧：只有该 rank 在步内做的事（日志、保存、评估、休眠）、占用其核心的其他进程、CPU 绑核",
    ),
    "ranks.rank": ("rank {number}", "rank {number}"),
    "ranks.nobody": ("a rank that is not named", "未指明的 rank"),
    "ranks.of_its_group": ("member {number} of its group", "组内第 {number} 号成员"),
    "ranks.tables": ("tables", "汇总表"),
    "ranks.trace": ("trace", "时间线"),
}

_FOUND = {
    "PRF350.missing": Words(
        "profiles of {ranks} of {world} ranks are here; missing: {missing}",
        "共 {world} 个 rank，此处只有 {ranks} 个的性能数据；缺少：{missing}",
        "What these ranks did is known only as far as the others waited for them; copy their profiles here too.",
        "只能从其他 rank 的等待中得知这些 rank 的情况；请把它们的性能数据也复制到这里。",
    ),
    "PRF350.twice": Words(
        "rank {rank} has {count} profiles; {used} was used, the newest",
        "rank {rank} 有 {count} 份性能数据；使用了最新的 {used}",
        "Keep one run in a folder: profiles of two runs must not be held against each other.",
        "一个目录只保留一次运行：不同运行的数据不能相互比较。",
    ),
    "PRF350.untold": Words(
        "{path} does not tell its rank and was left out",
        "{path} 没有指明 rank，未参与分析",
        "Name it like rank3.pt.trace.json; torch_npu's folders tell it in profiler_info_<rank>.json.",
        "请命名为 rank3.pt.trace.json 这样的形式；torch_npu 的目录用 profiler_info_<rank>.json 指明。",
    ),
    "PRF350.other_run": Words(
        "ranks {others} are of another run than ranks {kept} and were left out",
        "rank {others} 与 rank {kept} 不是同一次运行，未参与分析",
        "Other numbers of ranks, or collectives that do not end together; put each run into a folder of its own.",
        "rank 总数不同，或集合通信的结束时刻对不上；请把每次运行放在各自的目录中。",
    ),
    "PRF350.tables": Words(
        "of ranks {ranks} only the profiler's tables are here, no timeline: their times are those of "
        "step_trace_time.csv"
        " and communication.json",
        "rank {ranks} 只有汇总表、没有时间线：其耗时取自 step_trace_time.csv 与 communication.json",
    ),
    "PRF350.not_asked": Words("there is no profile of rank {ranks} in {path}", "{path} 中没有 rank {ranks} 的性能数据",
                              "Ranks that are here: {here}", "已有的 rank：{here}"),
    "ranks.process_lost": Words(
        "the process that read rank {rank} was ended: {error}", "读取 rank {rank} 的进程被终止：{error}",
        "Most often its memory was not enough (`dmesg`, `free -m`): read fewer ranks at once with --ranks.",
        "多数情况是内存不足（`dmesg`、`free -m`）：请用 --ranks 分批读取。",
    ),
    "ranks.machine_lost": Words(
        "the machine that read rank {rank} was lost: {error}", "读取 rank {rank} 的机器已丢失：{error}",
        "See the log of the cluster's worker: most often its memory was not enough.",
        "请查看集群工作进程的日志：多数情况是内存不足。",
    ),
}  # fmt: skip

_JUDGED = {
    "PRF351.agree": Words(
        "the clocks of {ranks} ranks agree within {most_us} us, by the ends of their collectives",
        "按集合通信的结束时刻，{ranks} 个 rank 的时钟相差不超过 {most_us} us",
    ),
    "PRF351.apart": Words(
        "the clock of rank {rank} is {ahead_ms} ms ahead of rank {of}'s and was set right by the ends of {shared} "
        "collectives, good to {spread_us} us",
        "rank {rank} 的时钟比 rank {of} 快 {ahead_ms} ms，已按 {shared} 次集合通信的结束时刻校正，误差约 "
        "{spread_us} us",
        "Keep the hosts' clocks together (chrony, NTP).",
        "请同步各主机时钟（chrony、NTP）。",
    ),
    "PRF352.none": Words("no collectives were recorded", "没有采集到集合通信"),
    "PRF352.alone": Words(
        "waiting in collectives not looked at: the profile of one rank tells it only on an NPU, from Level1 on",
        "未检查集合通信中的等待：单个 rank 的数据只有在 NPU 上采集级别为 Level1 及以上时才能说明",
        "Give the folder with the profiles of all ranks.",
        "请给出包含全部 rank 性能数据的目录。",
    ),
    "PRF352.unmatched": Words(
        "waiting in collectives not looked at: the ranks share no collective",
        "未检查集合通信中的等待：各 rank 没有共同的集合通信",
        "Record the same steps on every rank.",
        "请在每个 rank 上采集相同的步。",
    ),
    "PRF352.unseen_members": Words(
        "{rest_ms} ms a step in collectives could be transmission or waiting for ranks that are not here: not "
        "told apart",
        "集合通信中每步有 {rest_ms} ms 可能是传输，也可能是等待此处没有的 rank：未能区分",
        "Give the profiles of all ranks, or record an NPU at Level1: it tells each rank's own waits.",
        "请给出全部 rank 的性能数据，或在 NPU 上以 Level1 采集：其中有各 rank 自己的等待。",
    ),
    "PRF352.unread": Words("waiting in collectives not looked at: {error}", "未检查集合通信中的等待：{error}"),
    "PRF352.short_in_stage": Words(
        "no rank waits long for one of its own pipeline stage: at most {wait_ms} ms a step; what the stages "
        "wait for each"
        " other is the pipeline's",
        "没有 rank 因同一流水线阶段的他人晚到而久等：每步最多 {wait_ms} ms；阶段之间的等待属于流水线",
    ),
    "PRF352.short": Words(
        "no rank waits long for one that comes late: at most {wait_ms} ms a step",
        "没有 rank 因他人晚到而久等：每步最多 {wait_ms} ms",
    ),
    "PRF352.seen": Words(
        "rank {rank} waits {wait_ms} of {whole_ms} ms a step in collectives for {waited}, the last to "
        "come in {times}"
        " of {calls}: this is waiting and not transmission; were it as early as the next, at most {gain_ms} ms "
        "are saved"
        " ({share} %)",
        "rank {rank} 每步集合通信 {whole_ms} ms，其中 {wait_ms} ms 在等 {waited}（{calls} 次中有 {times} "
        "次最后到达）："
        "是等待而非传输；若它与次晚者同时到达，每步最多可省 {gain_ms} ms（{share} %）",
        "Look at what {waited} does before the collective, not at the network.",
        "请检查 {waited} 在该集合通信之前做了什么，而不是网络。",
    ),
    "PRF352.unseen": Words(
        "rank {rank} waits {wait_ms} of {whole_ms} ms a step in collectives for {waited}, in {times} of "
        "{calls}: this "
        "is waiting and not transmission. None of the profiles given is of that rank; were it as early as the "
        "next, at most"
        " {gain_ms} ms are saved ({share} %)",
        "rank {rank} 每步集合通信 {whole_ms} ms，其中 {wait_ms} ms 在等 {waited}（{calls} 次中的 {times} "
        "次）：是等待而非"
        "传输。给出的数据中没有该 rank；若它与次晚者同时到达，每步最多可省 {gain_ms} ms（{share} %）",
        "Profile {waited} too and look at what it does before the collective, not at the network.",
        "请同时采集 {waited}，检查它在该集合通信之前做了什么，而不是网络。",
    ),
    "PRF352.unnamed": Words(
        "rank {rank} waits {wait_ms} of {whole_ms} ms a step in collectives, in {times} of {calls}, for "
        "{waited}: this is "
        "waiting and not transmission; at most {gain_ms} ms are saved ({share} %)",
        "rank {rank} 每步集合通信 {whole_ms} ms，其中 {wait_ms} ms（{calls} 次中的 {times} 次）在等{waited}："
        "是等待而非传输；"
        "每步最多可省 {gain_ms} ms（{share} %）",
        "Give the profiles of all ranks: they tell which one comes last.",
        "请给出全部 rank 的性能数据，由此可知谁最后到达。",
    ),
    "PRF352.in_turn": Words(
        "rank {rank} waits {wait_ms} of {whole_ms} ms a step in collectives for {waited}, in {times} of {calls}, but "
        "about as long or longer for others, or they for it: they are late in turn, and no rank is clearly the cause; "
        "at most {gain_ms} ms are saved ({share} %)",
        "rank {rank} 每步集合通信 {whole_ms} ms，其中 {wait_ms} ms（{calls} 次中的 {times} 次）在等 {waited}，"
        "但等其他 rank 或被等的时间相近或更长：各 rank 轮流晚到，没有明确的原因 rank；"
        "每步最多可省 {gain_ms} ms（{share} %）",
        "Look at what differs from step to step on each rank: length of samples, loading, other processes.",
        "请检查每个 rank 上各步之间的差异：样本长度、数据读取、其他进程。",
    ),
    "PRF353.one": Words(
        "slow ranks not looked at: there is one rank", "未检查慢 rank：只有一个 rank",
    ),
    "PRF353.no_peers": Words(
        "slow ranks not looked at: no two ranks do the same work", "未检查慢 rank：没有两个 rank 做相同的工作",
    ),
    "PRF353.alike": Words(
        "no rank is slow among those that do the same work: {least_ms} to {most_ms} ms a step of their own",
        "做相同工作的 rank 中没有慢者：每步自身耗时 {least_ms} 到 {most_ms} ms",
    ),
    "PRF353.alike_in_stages": Words(
        "no rank is slow among those of its stage: those of stage {stage} differ most, {least_ms} to {most_ms} ms a "
        "step of their own",
        "各流水级内没有慢 rank：差别最大的是第 {stage} 级，每步自身耗时 {least_ms} 到 {most_ms} ms",
    ),
    "PRF353.slow": Words(
        "rank {rank} is slow: {own_ms} ms a step of its own, its peers {others_ms} ms; {part_ms} ms more in "
        "{part}. As fast "
        "as their median, at most {gain_ms} ms are saved ({share} %), as the fastest {fastest_ms} ms",
        "rank {rank} 慢：每步自身耗时 {own_ms} ms，同类 rank 为 {others_ms} ms；多出的 {part_ms} ms 在{part}。"
        "达到中位数最多可省 "
        "{gain_ms} ms（{share} %），达到最快者可省 {fastest_ms} ms",
        "On rank {rank}: {todo}.",
        "在 rank {rank} 上：{todo}。",
    ),
    "PRF354.even": Words(
        "the pipeline's stages compute alike: {least_ms} to {most_ms} ms a step",
        "流水线各阶段计算量相近：每步 {least_ms} 到 {most_ms} ms",
    ),
    "PRF354.uneven": Words(
        "stage {stage} (ranks {ranks}) computes {most_ms} ms a step, {times} times stage {fastest} ({least_ms} "
        "ms); with "
        "{mean_ms} ms in every stage at most {gain_ms} ms are saved ({share} %)",
        "阶段 {stage}（rank {ranks}）每步计算 {most_ms} ms，是阶段 {fastest}（{least_ms} ms）的 {times} 倍；"
        "若各阶段均为 "
        "{mean_ms} ms，最多可省 {gain_ms} ms（{share} %）",
        "Move layers from stage {stage} to stage {fastest}; the output layer and the loss count as layers of the last.",
        "请把阶段 {stage} 的部分层移到阶段 {fastest}；输出层与损失也要算作最后阶段的层。",
    ),
    "PRF355.short": Words(
        "pipeline stages wait little for each other: {mean_ms} ms a step ({share} %) of {stages} stages",
        "{stages} 个流水线阶段互相等待很少：每步 {mean_ms} ms（{share} %）",
    ),
    "PRF355.bubbles": Words(
        "the pipeline's {stages} stages wait {mean_ms} ms a step for each other ({share} %); longest rank "
        "{rank}: {longest_ms}"
        " ms ({longest_share} %)",
        "流水线的 {stages} 个阶段每步互相等待 {mean_ms} ms（{share} %）；最久的是 rank {rank}：{longest_ms} ms"
        "（{longest_share} %）",
        "Balance the stages first; then more micro-batches a step, or an interleaved schedule.",
        "先均衡各阶段；再增加每步的 micro-batch 数，或采用交错调度。",
    ),
    "PRF356.alike": Words(
        "{links} links are as fast as others of their kind", "{links} 条链路与同类速度相当",
    ),
    "PRF356.no_others": Words(
        "links not looked at: {links} links, none with two others of its kind to be held against",
        "未检查链路：共 {links} 条，没有一条有两条以上的同类链路可供对比",
        "Give the folder with the profiles of all ranks, or record a run of more ranks.",
        "请给出包含全部 rank 性能数据的目录，或采集更多 rank 的运行。",
    ),
    "PRF356.slow": Words(
        "the link from rank {source} to {target} ({transport}, {operation}) reaches {gb_per_s} GB/s, the median of the "
        "{links} others of its kind is {usual}; as fast as these at most {gain_ms} ms are saved ({share} %)",
        "rank {source} 到 {target} 的链路（{transport}，{operation}）为 {gb_per_s} GB/s，其余 {links} 条同类"
        "链路的中位数为 {usual}；达到后最多可省 {gain_ms} ms（{share} %）",
        "Check this link: npu-smi info -t topo, hccn_tool for its errors, the cable or the switch port of its host.",
        "请检查该链路：npu-smi info -t topo、hccn_tool 查看误码，以及所在主机的线缆或交换机端口。",
    ),
    "PRF357.fine": Words(
        "packets are large enough: {gb_per_s} GB/s over {transport}, the best {best} GB/s",
        "报文足够大：{transport} 上 {gb_per_s} GB/s，最好为 {best} GB/s",
    ),
    "PRF357.small": Words(
        "rank {rank} sends in packets of {typical_mb} MB over {transport}, {gb_per_s} GB/s; those of {best_mb} "
        "MB reach "
        "{best} GB/s: with these at most {gain_ms} ms are saved ({share} %)",
        "rank {rank} 在 {transport} 上多以 {typical_mb} MB 的报文发送，{gb_per_s} GB/s；{best_mb} MB 的可达 "
        "{best} GB/s："
        "最多可省 {gain_ms} ms（{share} %）",
        "Larger buckets: DistributedDataParallel(bucket_cap_mb=...), fewer and larger collectives; HCCL_BUFFSIZE.",
        "加大通信桶：DistributedDataParallel(bucket_cap_mb=...)，减少并合并集合通信；HCCL_BUFFSIZE。",
    ),
    "PRF358.some": Words(
        "looked at steps {first} to {last} of {steps} of rank {ranks}: all times on this page are theirs",
        "rank {ranks} 只看了 {steps} 步中的第 {first} 至 {last} 步：本页的耗时都是这些步的",
        "`--steps all` looks at all, and at links and packets, whose tables tell nothing of some steps.",
        "`--steps all` 看全部步，也看链路与报文：其数据不分步，只看部分步时无法给出。",
    ),
    "PRF358.behind": Words(
        "the device of rank {ranks} is far behind the host: kernels of other steps may count in those looked at, and "
        "theirs be left out",
        "rank {ranks} 的设备远远落后于主机：其他步的计算核可能计入所看的步，而这些步自己的可能被漏掉",
        "Look at all steps: `--steps all`.",
        "请查看全部步：`--steps all`。",
    ),
    "PRF310.ranks_saving": Words(
        "{read} of {ranks} ranks were read: {what}", "已读取 {read}/{ranks} 个 rank：{what}",
    ),
}  # fmt: skip

WORDS = (
    {f"name.{key}": Words(en, zh) for key, (en, zh) in _HEADINGS.items()}
    | {key: Words(en, zh) for key, (en, zh) in _PARTS.items()}
    | _FOUND
    | _JUDGED
)
