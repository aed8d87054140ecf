"""Words of the list of suspicious operators."""

from helpers.words import Words

_HEADINGS = {
    "suspects": ("Suspicious operators, ranked", "可疑算子（按嫌疑排序）"),
    "candidate": ("Candidate", "名次"),
    "times_allowed": ("Times allowed", "与允许误差之比"),
    "replay": ("Run again", "重算结果"),
    "why_here": ("Why it stands here", "排在此处的原因"),
}
_REASONS = {
    "first": ("the first to part: everything before it agrees", "最先出现差异：在它之前的均一致"),
    "first_since": ("the first to part: step {before} agrees; steps {begin} to {end} were not captured, it may have"
                    " begun there", "最先出现差异：第 {before} 步一致；第 {begin} 至 {end} 步未采集，差异可能始于其中"),
    "maker": ("made the gradient that {receiver} was handed", "产生了传给 {receiver} 的梯度"),
    "kind": ("the same operator as {first}, with an error of its own: probably the same cause",
             "与 {first} 是同一种算子，且有自身误差：很可能是同一原因"),
    "own": ("its inputs do not explain it: another fault behind {first}", "其输入无法解释：{first} 之后的另一处错误"),
    "again": ("the same call again, on another step or rank: the same cause",
              "同一调用在其他步或 rank 上再次出现：同一原因"),
    "handed": ("what it is given is wrong already: a consequence of {first}", "其输入已经有误：{first} 的后果"),
    "amplified": ("more than its inputs explain, but not run again: may be {first} amplified",
                  "超出其输入可解释的范围，但未重算：可能是 {first} 被放大"),
    "consequence": ("its inputs explain it: a consequence of {first}", "其输入即可解释：{first} 的后果"),
}  # fmt: skip
_COUNTS = {
    "maker": ("{count} may have made it just as well", "{count} 个同样可能是来源"),
    "kind": ("{count} are the same operator again", "{count} 个是同一种算子"),
    "own": ("{count} have an error of their own", "{count} 个有自身误差"),
    "again": ("{count} are the same call on other steps or ranks", "{count} 个是同一调用（其他步或 rank）"),
    "handed": ("{count} were handed what is wrong", "{count} 个的输入已有误"),
    "amplified": ("{count} may only amplify it", "{count} 个可能只是放大"),
    "consequence": ("{count} are explained by their inputs", "{count} 个可由输入解释"),
}
_REPLAYS = {
    "replayed": ("target off by {target}, baseline by {baseline}, from float64",
                 "与 float64 相比：目标 {target}，基线 {baseline}"),
    "not_replayed": ("no: {why}", "未重算：{why}"),
    "device_again": ("wrong again on its device from the saved inputs ({own} in the run)",
                     "在其设备上用保存的输入重算仍然错误（运行中为 {own}）"),
    "device_dtype": ("wrong on its device in the saved dtype alone ({own} in the run)",
                     "在其设备上仅以保存的数据类型重算时有误（运行中为 {own}）"),
    "device_not_again": ("right on its device from the same inputs ({own} in the run)",
                         "在其设备上用相同输入重算正确（运行中为 {own}）"),
    "device_unknown": ("off by {own}; its device is not here", "误差为 {own}；其设备不在此处"),
}  # fmt: skip

WORDS = {
    **{f"name.{name}": Words(en, zh) for name, (en, zh) in _HEADINGS.items()},
    **{f"suspects.{name}": Words(en, zh) for name, (en, zh) in (_REASONS | _REPLAYS).items()},
    **{f"suspects.count_{name}": Words(en, zh) for name, (en, zh) in _COUNTS.items()},
    "ACC236.alone": Words(
        "{first} (step {step}, rank {rank}) is the only suspicious operator",
        "{first}（第 {step} 步，rank {rank}）是唯一可疑的算子",
    ),
    "ACC236.ranked": Words(
        "{count} operators are suspicious or follow from one that is, {shown} are shown; {first} (step {step}, rank"
        " {rank}) stands first; behind it: {kinds}",
        "共有 {count} 个算子可疑或受其影响，显示 {shown} 个；{first}（第 {step} 步，rank {rank}）居首；其后：{kinds}",
    ),
}
