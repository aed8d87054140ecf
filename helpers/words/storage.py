"""Words of storage: folders, object storage, transfers."""

from helpers.words import Words

_HEADINGS = {
    "storage": ("Storage", "存储"),
    "list": ("List", "列表"),
    "upload": ("Upload", "上传"),
    "download": ("Download", "下载"),
    "bytes": ("Size", "大小"),
    "sha256": ("SHA-256", "SHA-256"),
    "why": ("Wrong", "不符之处"),
}
_WHY = {
    "storage.why.scheme": ("it does not begin with obs://", "不以 obs:// 开头"),
    "storage.why.bucket": (
        "a bucket's name has 3 to 63 small letters, digits, - and .",
        "桶名由 3 至 63 个小写字母、数字、- 和 . 组成",
    ),
    "storage.why.path": (
        "it is empty, absolute, or has an empty part, . or ..",
        "名称为空、是绝对路径，或含有空段、. 或 ..",
    ),
    "storage.why.letters": ("it has characters that cannot be shown", "含有不可显示的字符"),
    "storage.why.long": ("it, or a part of it, is too long for a file", "名称或其中一段超过文件名长度上限"),
    "storage.behind": ("behind", "慢"),
    "storage.ahead": ("ahead", "快"),
    "storage.wrong.missing": ("it is not there", "对象不存在"),
    "storage.wrong.size": ("it has {found} bytes, expected {bytes}", "有 {found} 字节，应为 {bytes} 字节"),
    "storage.wrong.sum": ("its SHA-256 is another one", "SHA-256 不符"),
    "storage.sending": (
        "sent: {done} of {files} files; {moved} MiB in this start, {bytes} MiB in all",
        "已上传 {done}/{files} 个文件；本次 {moved} MiB，共 {bytes} MiB",
    ),
    "storage.receiving": (
        "fetched: {done} of {files} files; {moved} MiB in this start, {bytes} MiB in all",
        "已下载 {done}/{files} 个文件；本次 {moved} MiB，共 {bytes} MiB",
    ),
}
WORDS: dict[str, Words] = {
    **{f"name.{name}": Words(en, zh) for name, (en, zh) in _HEADINGS.items()},
    **{key: Words(en, zh) for key, (en, zh) in _WHY.items()},
    "storage.outside": Words(
        "the name {name} leaves the folder {root}",
        "名称 {name} 超出了目录 {root}",
        "Give a relative path below the folder.",
        "请给出该目录之下的相对路径。",
    ),
    "storage.local_only": Words(
        "{path} is an address, and this is written to a local file or folder only",
        "{path} 是存储地址，而此项只能写到本地文件或目录",
        "Give a local path, and send it with `ascend-workbook storage upload`.",
        "请给出本地路径，再用 `ascend-workbook storage upload` 上传。",
    ),
    "storage.scheme": Words(
        "{place}: storage of the kind {scheme}:// is not supported yet",
        "{place}：尚不支持 {scheme}:// 存储",
        "Give a local folder or an address obs://bucket/prefix.",
        "请使用本地目录，或地址 obs://桶/前缀。",
    ),
    "storage.address": Words(
        "{place} is no address of object storage: {why}",
        "{place} 不是对象存储地址：{why}",
        "Give obs://bucket/prefix.",
        "请使用 obs://桶/前缀。",
    ),
    "storage.key": Words(
        "{place}: the name {name} is refused: {why}",
        "{place}：拒绝名称 {name}：{why}",
        "Rename it, or give an address below which there is no such name.",
        "请改名，或给出不含该名称的地址。",
    ),
    "storage.both": Words(
        "{place}: {name} is a file and, by {inner}, a folder too",
        "{place}：{name} 既是文件，又因 {inner} 而是目录",
        "Rename one of the two.",
        "请更改其中一个的名称。",
    ),
    "storage.case": Words(
        "{place}: {first} and {second} are one file here, where capitals are not told from small letters",
        "{place}：此文件系统不区分大小写，{first} 与 {second} 会成为同一文件",
        "Fetch to a file system that tells them apart, or rename one.",
        "请下载到区分大小写的文件系统，或更改其中一个的名称。",
    ),
    "storage.no_sdk": Words(
        "object storage needs the package {package} ({error})",
        "对象存储需要软件包 {package}（{error}）",
        "Install it: `{command}`.",
        "请安装：`{command}`。",
    ),
    "storage.no_credentials": Words(
        "no keys for object storage: {names} is neither in the environment nor in {file}",
        "缺少对象存储密钥：环境变量和 {file} 中都没有 {names}",
        "Export them, or write lines NAME=VALUE into {file} and `chmod 600 {file}`. Never give them as a parameter.",
        "请导出这些变量，或在 {file} 中写入 NAME=VALUE 行并 `chmod 600 {file}`。切勿作为参数传递。",
    ),
    "storage.no_server": Words(
        "the server of object storage is not known: none of {names} is set",
        "不知道对象存储的服务器：{names} 均未设置",
        "Export OBS_SERVER=https://obs.REGION.myhuaweicloud.com, or write that line into {file} (mode 600).",
        "请导出 OBS_SERVER=https://obs.区域.myhuaweicloud.com，或将该行写入 {file}（权限 600）。",
    ),
    "storage.server": Words(
        "{names}: expected https://HOST or https://HOST:PORT, without user, path or query",
        "{names}：应为 https://主机 或 https://主机:端口，不含用户、路径和查询",
        "Give the region's server alone, as https://obs.REGION.myhuaweicloud.com; the bucket stands in the address.",
        "只给出区域的服务器，如 https://obs.区域.myhuaweicloud.com；桶名写在地址里。",
    ),
    "storage.open_file": Words(
        "{file} holds keys and has mode {mode}, or is not your own file: it was not read",
        "{file} 存有密钥，但权限为 {mode}，或不是您自己的文件：未读取",
        "`chmod 600 {file}`",
        "`chmod 600 {file}`",
    ),
    "storage.config_unread": Words(
        "{file}: {error}",
        "{file}：{error}",
        "It must be a file of your own and no link, of mode 600: `chmod 600 {file}`.",
        "必须是您自己的文件而非链接，权限 600：`chmod 600 {file}`。",
    ),
    "storage.config": Words(
        "{file}, line {line}: expected NAME=VALUE with one of {names}",
        "{file} 第 {line} 行：应为 NAME=VALUE，名称为 {names} 之一",
        "Mend that line; others begin with #.",
        "请修改该行；其他行以 # 开头。",
    ),
    "storage.skew": Words(
        "{place}: refused because this machine's clock is {seconds} s {which}",
        "{place}：因本机时钟{which}了 {seconds} 秒而被拒绝",
        "Set the clock (`timedatectl set-ntp true`, or the host's where this is a container), then start again.",
        "请校准时钟（`timedatectl set-ntp true`；容器中请校准宿主机），然后重新运行。",
    ),
    "storage.keys_refused": Words(
        "{server} refuses the keys ({code})",
        "{server} 拒绝了密钥（{code}）",
        "Check OBS_ACCESS_KEY_ID and OBS_SECRET_ACCESS_KEY; temporary keys need their OBS_SECURITY_TOKEN and expire.",
        "请检查 OBS_ACCESS_KEY_ID 和 OBS_SECRET_ACCESS_KEY；临时密钥还需要 OBS_SECURITY_TOKEN，且会过期。",
    ),
    "storage.denied": Words(
        "{place}: not allowed ({code})",
        "{place}：没有权限（{code}）",
        "The keys need to list, read and write objects of the bucket, delete them, and list multipart uploads.",
        "密钥需要该桶的列举、读、写、删除对象以及列举多段上传任务的权限。",
    ),
    "storage.no_bucket": Words(
        "{place}: there is no such bucket on {server}",
        "{place}：{server} 上没有该桶",
        "Check the bucket's name and its region: OBS_SERVER must be that region's.",
        "请检查桶名和区域：OBS_SERVER 必须是该桶所在的区域。",
    ),
    "storage.refused": Words(
        "{place}: refused with {status} {error}",
        "{place}：被拒绝，{status} {error}",
        "Look the code up in the service's list of error codes; its log names the request too.",
        "请在服务的错误码列表中查找该代码；服务侧日志也记录了该请求。",
    ),
    "storage.listing": Words(
        "{place}: {server} lists without an end: {error}",
        "{place}：{server} 的列举不会结束：{error}",
        "Is there a proxy or a gateway between? Ask the service itself: OBS_SERVER is its address.",
        "中间是否有代理或网关？请让 OBS_SERVER 直接指向服务地址。",
    ),
    "storage.certificate": Words(
        "the certificate of {server} is not trusted: {error}",
        "{server} 的证书不受信任：{error}",
        "Give its authority with SSL_CERT_FILE=/path/ca.pem; certificates are never left unchecked.",
        "请用 SSL_CERT_FILE=/路径/ca.pem 指定其证书机构；证书总会校验。",
    ),
    "storage.no_answer": Words(
        "{place}: no good answer from {server} in {attempts} attempts, the last: {error}",
        "{place}：{server} 在 {attempts} 次尝试中均未正常应答，最后一次：{error}",
        "Is OBS_SERVER (or OBS_ENDPOINT) right? Start again when it answers: what has arrived is kept.",
        "请核对 OBS_SERVER（或 OBS_ENDPOINT）；服务应答后请重新运行：已传输的部分会保留。",
    ),
    "storage.changed_there": Words(
        "{place} was written to while it was fetched",
        "{place} 在下载期间被改写",
        "Start again when its writer has ended.",
        "请在写入结束后重新运行。",
    ),
    "storage.changed_here": Words(
        "{path} was written to while it was sent",
        "{path} 在上传期间被改写",
        "Start again when its writer has ended; no manifest was written.",
        "请在写入结束后重新运行；清单未写入。",
    ),
    "storage.not_as_sent": Words(
        "{path}: what lies under {name} is not what was sent",
        "{path}：{name} 的内容与所上传的不一致",
        "Is somebody else writing to this address? Start again when nobody is.",
        "是否有其他人在写同一地址？请在无人写入时重新运行。",
    ),
    "storage.no_file": Words(
        "{path} is no regular file of the folder: a link out of it, a pipe or a socket",
        "{path} 不是目录中的普通文件：是指向目录外的链接、管道或套接字",
        "Take it out of the folder.",
        "请将其移出该目录。",
    ),
    "storage.manifest": Words(
        "{place}: no good manifest: {error}",
        "{place}：清单无效：{error}",
        "Upload the folder again.",
        "请重新上传该目录。",
    ),
    "storage.incomplete": Words(
        "{place}: its transfer has not ended: {files} files, but no {name}",
        "{place}：上传尚未完成：有 {files} 个文件，但没有 {name}",
        "Start its upload again; for what was sent by other means:"
        " `ascend-workbook storage download --unverified {place} FOLDER`.",
        "请重新运行其上传；若用其他方式上传：`ascend-workbook storage download --unverified {place} FOLDER`。",
    ),
    "storage.incomplete_here": Words(
        "{place}: nothing to check it by: {files} files, but no {name}",
        "{place}：没有可供核对的依据：有 {files} 个文件，但没有 {name}",
        "`ascend-workbook storage download` writes it when all has arrived: start it again,"
        " or verify the obs:// address.",
        "`ascend-workbook storage download` 全部完成后会写入该文件：请重新下载，或核对 obs:// 地址。",
    ),
    "storage.option": Words(
        "{option} {value}: expected 1 to {most}",
        "{option} {value}：应为 1 至 {most}",
    ),
    "STO501.listed": Words(
        "{count} files, {mib} MiB below {place}, with their manifest",
        "{place} 下有 {count} 个文件，{mib} MiB，附有清单",
    ),
    "STO501.listed_bare": Words(
        "{count} files, {mib} MiB below {place}; no manifest of their own: not sent as one folder, or not wholly",
        "{place} 下有 {count} 个文件，{mib} MiB；没有自己的清单：不是作为一个目录上传，或尚未上传完",
    ),
    "STO501.listed_nothing": Words("nothing is below {place}", "{place} 下没有任何对象"),
    "STO501.uploaded": Words(
        "{count} files, {mib} MiB are at {place}: {kept} were there already, {moved} MiB were sent now",
        "{count} 个文件（{mib} MiB）已在 {place}：其中 {kept} 个原已存在，本次上传 {moved} MiB",
    ),
    "STO501.downloaded": Words(
        "{count} files of {place} ({mib} MiB in all) are at {path}: {kept} were there already, {moved} MiB were"
        " fetched now",
        "{place} 的 {count} 个文件（共 {mib} MiB）已在 {path}：其中 {kept} 个原已存在，本次下载 {moved} MiB",
    ),
    "STO501.verified": Words(
        "{place}: all {count} files ({mib} MiB) were read and are what was sent",
        "{place}：全部 {count} 个文件（{mib} MiB）已读取，与上传时一致",
    ),
    "STO502.left": Words(
        "below this address are {count} unfinished uploads of files that the folder has not; they were left: {names}",
        "该地址下有 {count} 个未完成的上传任务，其文件不在该目录中，未作改动：{names}",
        "They may be another machine's that still sends. If none does, delete them as fragments of the bucket"
        " in the OBS console: they take paid space.",
        "可能是其他机器仍在上传。若确认没有，请在 OBS 控制台的桶“碎片”中删除：碎片占用存储空间并计费。",
    ),
    "STO502.beside": Words(
        "{count} files are there that the manifest does not tell, such as {first}",
        "有 {count} 个文件不在清单中，例如 {first}",
    ),
    "STO503.wrong": Words(
        "{name}: {why}",
        "{name}：{why}",
        "Upload the folder again, then fetch it again.",
        "请重新上传该目录，再重新下载。",
    ),
    "STO504.unchecked": Words(
        "{count} files had no SHA-256 to be checked by",
        "{count} 个文件没有可供校验的 SHA-256",
        "Send them with `ascend-workbook storage upload`, which records one.",
        "请用 `ascend-workbook storage upload` 上传，它会记录 SHA-256。",
    ),
    "STO504.sizes": Words(
        "{place}: the sizes of all {count} files ({mib} MiB) are right; their contents were not read",
        "{place}：全部 {count} 个文件（{mib} MiB）大小正确；未读取内容",
        "Without --quick every byte is read.",
        "去掉 --quick 会读取全部内容。",
    ),
    "RUN402.sent": Words("sent to {place}", "已上传到 {place}"),
    "RUN402.not_sent": Words(
        "not all of the run was sent to {place}: {error}",
        "运行结果未能全部上传到 {place}：{error}",
        "It is whole here; send it with `ascend-workbook storage upload`, or run again: what is good is reused.",
        "本机上的结果是完整的；可用 `ascend-workbook storage upload` 上传，或重新运行：合格的部分会被沿用。",
    ),
    "storage.followed": Words(
        "{place}: what lies in object storage cannot be followed while it is written",
        "{place}：对象存储中的日志无法在写入时跟踪",
        "Leave --follow away, or follow the log where it is written.",
        "请去掉 --follow，或在写入日志的机器上跟踪。",
    ),
    "storage.nothing": Words(
        "{place}: nothing is there",
        "{place}：没有任何对象",
        "`ascend-workbook storage list` of the address above it shows what there is.",
        "用 `ascend-workbook storage list` 列出上一级地址，查看有什么。",
    ),
    "storage.nothing_here": Words(
        "{place}: no such folder, or an empty one",
        "{place}：没有该文件夹，或文件夹为空",
        "Give the folder that was fetched, or its address (obs://bucket/prefix).",
        "请给出已下载的文件夹，或其地址（obs://桶/前缀）。",
    ),
    "storage.no_space": Words(
        "{path}: {needed} MiB are needed, {free} MiB are free",
        "{path}：需要 {needed} MiB，可用 {free} MiB",
        "Make room or give another folder; what has arrived is kept.",
        "请腾出空间或换一个目录；已下载的部分会保留。",
    ),
    "storage.wrong": Words(
        "{place}: {count} files are not what was sent, the first: {name}: {why}",
        "{place}：{count} 个文件与上传时不一致，首个：{name}：{why}",
        "Upload the folder again.",
        "请重新上传该目录。",
    ),
}
