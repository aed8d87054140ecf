"""Words of the teacher's side of the course: grading, the students' zip, an exercise put back, the list."""

from __future__ import annotations

from helpers.words import Words

_HEADINGS = {
    "course": ("Course", "课程"),
    "course_grade": ("Grades", "成绩"),
    "course_pack": ("Zip for students", "学生包"),
    "course_reset": ("Exercise put back", "练习还原"),
    "course_list": ("Exercises", "练习"),
    "course_solve": ("Solved notebook", "参考答案"),
    "submission": ("Submission", "提交"),
    "points": ("Points", "得分"),
    "grade_done": ("Done", "完成"),
    "grade_partly": ("Partly", "部分完成"),
    "exercise": ("Exercise", "练习"),
    "title": ("Title", "题目"),
    "distributed": ("Several devices", "多卡"),
}

_GRADING = {
    "course.collected": Words("the answer is recorded and will be judged", "答案已记录，稍后评判"),
    "course.patience": Words(
        "{name}={given}: expected a number of at least 1", "{name}={given}：应为不小于 1 的数",
        "It says how many times as long to wait, 10 for a full class.", "它表示等待时间的倍数，满员的班级可设为 10。",
    ),
    "grading.progress": Words("[{number}/{of}] {name}", "[{number}/{of}] {name}"),
    "grading.no_folder": Words(
        "{path} is no folder of submissions",
        "{path} 不是存放提交的文件夹",
        "Put each student's notebook, zip or folder into one folder and name that.",
        "把每位学生的笔记本、zip 或文件夹放进同一个文件夹，再指定它。",
    ),
    "grading.empty": Words(
        "no submission is in {path}",
        "{path} 中没有提交",
        "A submission is a .ipynb, a .zip with one, or a folder with one.",
        "一份提交是一个 .ipynb、一个含笔记本的 .zip，或一个含笔记本的文件夹。",
    ),
    "grading.it": Words("it", "它"),
    "grading.inside": Words("{path} in it", "其中的 {path} "),
    "grading.and_then": Words("{why}. {step}", "{why}。{step}"),
    "grading.link": Words(
        "{path} is a link: links are not followed", "{path}是链接：不跟随链接",
        "Let the file itself be handed in, not a link to it.", "请让学生提交文件本身，而不是指向它的链接。",
    ),
    "grading.too_large": Words(
        "{path} is larger than {most} MiB", "{path}超过 {most} MiB",
        "Let the outputs be cleared (Edit, Clear Outputs of All Cells) and only the notebook be handed in.",
        "请让学生清除全部输出（编辑 > 清除所有单元格的输出），只提交笔记本。",
    ),
    "grading.members": Words(
        "there are more than {most} files in it", "其中的文件超过 {most} 个",
        "Let only the notebook be handed in, not the whole project.", "请让学生只提交笔记本，而不是整个项目。",
    ),
    "grading.bad_zip": Words(
        "it cannot be read as a zip: {error}", "它无法按 zip 读取：{error}",
        "Let it be packed and handed in anew, as a zip without a password.", "请让学生重新打包为不加密的 zip 再提交。",
    ),
    "grading.other_archive": Words(
        "it is a {kind} archive, whatever it is called; expected a zip", "它其实是 {kind} 压缩包；应为 zip",
        "Unpack it and put the notebook, or a zip with it, in its place.", "请解开它，换成笔记本或含笔记本的 zip。",
    ),
    "grading.no_notebook": Words(
        "no notebook is in it; expected one .ipynb", "其中没有笔记本；应有一个 .ipynb",
        "Let the notebook be put in; an archive inside an archive is not opened.",
        "请让学生放入笔记本；压缩包里的压缩包不会被打开。",
    ),
    "grading.several": Words(
        "there are several notebooks in it: {found}; expected one, or one called {wanted}",
        "其中有多个笔记本：{found}；应只有一个，或其中一个名为 {wanted}",
        "Leave the one that is to be graded; move the others away.", "请只留下要评分的那一个，移走其余的。",
    ),
    "grading.unread": Words(
        "it cannot be read: {error}", "无法读取：{error}",
        "See whether the file is still there and may be read, then grade again.", "请确认文件仍在且可读，再重新评分。",
    ),
    "grading.died": Words(
        "its process ended with code {code}", "其进程以退出码 {code} 结束",
        "The file run.log in its folder below the .work folder says more; the next run grades it anew.",
        "详情见 .work 文件夹中该提交的 run.log；下次运行会重新评分。",
    ),
    "grading.processes": Words(
        "ended with more than {most} processes: the limit", "进程数超过 {most} 时被终止：达到上限",
        "Look for a loop that starts processes in its notebook.", "请在其笔记本中查找不断启动进程的循环。",
    ),
    "grading.not_judged": Words(
        "the check of {task} broke, so that its status says nothing of the answer: {why}",
        "{task} 的检查未能完成，其状态不代表答案的对错：{why}",
        "If others have it too, it is this machine: look whether the user of --user may read the project and the "
        "simulated NPU. The next run grades it anew.",
        "若其他提交也如此，则是本机的问题：请确认 --user 的用户能否读取项目与模拟 NPU。下次运行会重新评分。",
    ),
    "grading.no_answers": Words(
        "the notebook ran and handed no answer to the checker", "笔记本已运行，但没有向检查器交出任何答案",
        "Look whether it is the notebook of the exercises, and whether a first cell failed.",
        "请确认它是练习笔记本，并查看开头的单元格是否出错。",
    ),
    "grading.other_name": Words(
        "worked under the name {declared}, handed in as {name}: judged by the questions of {name}",
        "以 {declared} 的名义作答，以 {name} 的名义提交：按 {name} 的题目评判",
        "If both are one person, rename the file, or give a --names file that says {declared} for it.",
        "若两者是同一人，请改文件名，或用 --names 文件为它写明 {declared}。",
    ),
    "grading.changed": Words(
        "stopped: the workbook's own files in {path} changed while {name} was graded; it has no grade",
        "已停止：给 {name} 评分期间，{path} 中工作簿自身的文件发生了变化；该提交没有成绩",
        "See with git diff what it was. If the submission did it, put the files back, take it out, and grade as root "
        "with --user.",
        "请用 git diff 查看变化。如果是该提交所为，请恢复文件、移走它，并以 root 加 --user 评分。",
    ),
    "grading.time": Words(
        "ended after {seconds} s: the time limit", "运行 {seconds} 秒后被终止：达到时间上限",
        "Cells that had run count; --timeout gives it longer.", "已运行的单元格仍计分；可用 --timeout 延长。",
    ),
    "grading.memory": Words(
        "ended at {mib} MiB: the memory limit", "占用 {mib} MiB 时被终止：达到内存上限",
        "Cells that had run count; --memory-mib gives it more.", "已运行的单元格仍计分；可用 --memory-mib 放宽。",
    ),
    "grading.no_user": Words(
        "there is no Unix user {user}", "没有名为 {user} 的 Unix 用户",
        "Name one that exists, such as nobody.", "请指定存在的用户，例如 nobody。",
    ),
    "grading.not_root": Words(
        "submissions cannot run as {user}: only root may run a process as another user",
        "无法以 {user} 的身份运行提交：只有 root 才能以其他用户的身份运行进程",
        "Start the command as root.", "请以 root 启动该命令。",
    ),
    "grading.worth": Words(
        "{given} is not TASK=POINTS", "{given} 不是 练习=分值 的形式",
        "For example --points env=2.", "例如 --points env=2。",
    ),
    "CRS001.graded": Words("graded: {count} submissions, in {path}", "已评分：{count} 份提交，见 {path}"),
    "CRS001.graded_but": Words(
        "graded: {count} submissions, in {path}; of {troubled} something is to be looked at",
        "已评分：{count} 份提交，见 {path}；其中 {troubled} 份需要查看",
        "The column error says what; each run is kept in the folder of that name with .work behind it.",
        "成绩表的“问题”一列说明原因；每次运行都保存在同名并带 .work 的文件夹中。",
    ),
    "CRS001.kept": Words(
        "{kept} of {count} rows are taken over from an earlier run: neither they nor the workbook have changed since",
        "{count} 行中有 {kept} 行沿用上次的评分：此后提交与工作簿都没有变化",
        "To grade all anew add --force; for a single one remove its folder in {work} first.",
        "要全部重新评分请加 --force；只重评一份时，请先删除 {work} 中它的文件夹。",
    ),
    "CRS001.gone": Words(
        "in the table of an earlier run and no longer in the folder, so no longer in the table: {names}",
        "上次的表中有、文件夹中已没有，因此不再列入：{names}",
        "Put them back into the folder and grade again; or grade other folders into another --out.",
        "请放回文件夹后重新评分；不同的文件夹请用不同的 --out。",
    ),
    "CRS001.absent": Words(
        "in the list of names, and nothing of that name was handed in: {names}",
        "名单中有、但没有同名的提交：{names}",
        "The first column is the file's or folder's name without its suffix.",
        "名单第一列是不含后缀的文件名或文件夹名。",
    ),
    "CRS001.unlisted": Words(
        "handed in, and not in the list of names: {names}; judged under the file's name",
        "已提交、但不在名单中：{names}；按文件名评判",
        "Add a line for each to the file of --names.", "请在 --names 的文件中为每份加一行。",
    ),
    "CRS001.same_code": Words(
        "the same code in every cell: {names}", "每个单元格的代码都相同：{names}",
        "Ask who wrote it: only the name, the outputs or the prose differ.",
        "请询问由谁完成：只有姓名、输出或文字不同。",
    ),
    "CRS001.twice": Words(
        "{count} submissions are of {student}", "{student} 有 {count} 份提交",
        "Say with --names whose each is.", "请用 --names 指明每份属于谁。",
    ),
    "CRS001.alike": Words(
        "the same to the byte: {names}", "逐字节相同：{names}",
        "Ask who wrote it; an exercise handed in as it was handed out is the same too.",
        "请询问由谁完成；原样交回的练习也会相同。",
    ),
    "CRS001.unnamed": Words(
        "worked without a name, judged by the questions that everybody has: {names}",
        "作答时未填姓名，按公共题目评判：{names}",
        "Let students set student in the first cell: each name has questions of its own.",
        "请学生在第一个单元格中填写 student：每个姓名对应各自的题目。",
    ),
    "CRS001.not_graded": Words(
        "not graded: {name}", "未评分：{name}",
        "A submission is a .ipynb, a .zip with one, or a folder with one.",
        "一份提交是一个 .ipynb、一个含笔记本的 .zip，或一个含笔记本的文件夹。",
    ),
    "grading.partly": Words("--partly {given}: expected 0 to 1", "--partly {given}：应为 0 到 1"),
    "CRS001.trouble": Words("{why}", "{why}", "{step}", "{step}"),
}  # fmt: skip

_SAVE_ANEW = (
    "Let it be opened in Jupyter, saved and handed in anew.",
    "请让学生用 Jupyter 打开、保存后重新提交。",
)
_BOOKS = {
    "grading.book_empty": Words(
        "{path} is empty ({size} bytes): expected a notebook as Jupyter saves it",
        "{path}是空的（{size} 字节）：应为 Jupyter 保存的笔记本", *_SAVE_ANEW,
    ),
    "grading.book_cut": Words(
        "{path} breaks off at line {line}, column {column}, after {size} bytes: expected a whole notebook",
        "{path}在第 {line} 行第 {column} 列中断（共 {size} 字节）：应为完整的笔记本",
        "Let it be handed in anew: the upload was not complete.", "请让学生重新提交：上传不完整。",
    ),
    "grading.book_json": Words(
        "{path} is no notebook: at line {line}, column {column} it is no longer JSON",
        "{path}不是笔记本：从第 {line} 行第 {column} 列起不是 JSON", *_SAVE_ANEW,
    ),
    "grading.book_text": Words(
        "{path} is no notebook: byte {at} is no text in UTF-8, in which Jupyter saves",
        "{path}不是笔记本：第 {at} 字节不是 UTF-8 文本，而 Jupyter 以 UTF-8 保存", *_SAVE_ANEW,
    ),
    "grading.book_kind": Words(
        "{path} is JSON, but no notebook (place: {place}): expected an object with cells",
        "{path}是 JSON，但不是笔记本（位置：{place}）：应为含 cells 的对象", *_SAVE_ANEW,
    ),
    "grading.book_format": Words(
        "{path} is a notebook of format {given}: expected format {wanted}",
        "{path}是格式 {given} 的笔记本：应为格式 {wanted}",
        "jupyter nbconvert --to notebook --nbformat 4 FILE writes it anew.",
        "可用 jupyter nbconvert --to notebook --nbformat 4 文件 转换。",
    ),
}  # fmt: skip

_TABLES = {
    "grading.names": Words(
        "{path}, line {line}: expected two columns, submission and student",
        "{path} 第 {line} 行：应有两列，提交与学生",
        "Write one line for each submission: file or folder without its suffix, comma, the student's name.",
        "每份提交写一行：不含后缀的文件名或文件夹名、逗号、学生名。",
    ),
    "grading.names_twice": Words(
        "{path}, line {line}: the submission {name} has another student in line {other}",
        "{path} 第 {line} 行：提交 {name} 在第 {other} 行已属于另一名学生",
        "Give each submission one student; for a group write one name for all.",
        "每份提交只写一名学生；小组作业请合写为一个名字。",
    ),
    "grading.no_csv": Words(
        "{path} cannot be read as CSV: expected text in UTF-8, UTF-16 or GBK, each quote with its end",
        "{path} 无法按 CSV 读取：应为 UTF-8、UTF-16 或 GBK 文本，且引号成对",
        "In Excel choose Save As, CSV UTF-8.", "请在 Excel 中选择“另存为” > “CSV UTF-8”。",
    ),
    "grading.no_grades": Words(
        "{path} is there, and no table of grades: it is not written over", "{path} 已存在且不是成绩表：不会覆盖它",
        "Name another file with --out, or move this one away.", "请用 --out 指定其他文件，或移走该文件。",
    ),
    "grading.other_table": Words(
        "{path} is the table of another notebook, with {tasks}: it is not written over",
        "{path} 是另一个笔记本的成绩表，其中有 {tasks}：不会覆盖它",
        "Name another file with --out, or move this one away.", "请用 --out 指定其他文件，或移走该文件。",
    ),
    "grading.column.submission": Words("submission", "提交"),
    "grading.column.student": Words("student", "学生"),
    "grading.column.points": Words("points", "得分"),
    "grading.column.of": Words("of", "满分"),
    "grading.column.seconds": Words("seconds", "用时（秒）"),
    "grading.column.error": Words("error", "问题"),
    "grading.column.task_result": Words("{task}_result", "{task} 结果"),
    "grading.column.task_points": Words("{task}_points", "{task} 得分"),
    "grading.column.task_tries": Words("{task}_tries", "{task} 次数"),
    "grading.status.done": Words("done", "完成"),
    "grading.status.partly": Words("partly", "部分完成"),
    "grading.status.not_yet": Words("not yet", "未完成"),
}  # fmt: skip

_PACKING = {
    "packing.exists": Words(
        "{path} is there already", "{path} 已存在",
        "Name another file, or give --force.", "换一个文件名，或加 --force。",
    ),
    "packing.git": Words(
        "{path} cannot be read as a git checkout: {error}", "{path} 无法作为 git 检出读取：{error}",
        "What students get is the last commit: work in a clone of the project.",
        "学生拿到的是最近一次提交：请在项目的 git 克隆中执行。",
    ),
    "packing.leak": Words(
        "nothing was written: {path} holds a line of a solution: {line}",
        "未写出任何文件：{path} 中含有参考答案的一行：{line}",
        "Move it into a folder called solutions, or take it out, and commit.",
        "请将其移入名为 solutions 的文件夹或删除，然后提交。",
    ),
    "CRS002.packed": Words(
        "{files} files in {path}; {left_out} of the project are left out",
        "{path} 中有 {files} 个文件；项目中的 {left_out} 个未放入",
    ),
    "CRS002.uncommitted": Words(
        "{files} files of the last commit in {path}; {left_out} of the project are left out, and what is not committed",
        "{path} 中有最近一次提交的 {files} 个文件；项目中的 {left_out} 个未放入，未提交的改动也不在其中",
        "Commit and pack again if it should be.", "如需放入，请提交后重新打包。",
    ),
}  # fmt: skip

_SOLVING = {
    "course.unknown_notebook": Words(
        "there is no notebook {given} of tasks; there are {known}", "没有名为 {given} 的练习笔记本；有 {known}"
    ),
    "solving.no_solutions": Words(
        "the solutions are not here: {path}", "这里没有参考答案：{path}",
        "A student's package has none; use a clone of the project.", "学生包中没有参考答案；请使用项目的克隆。",
    ),
    "CRS005.solved": Words(
        "{path}: the notebook with the solutions of {tasks}; not run yet", "{path}：已填入 {tasks} 的参考答案，尚未运行"
    ),
}  # fmt: skip

_RESETTING = {
    "resetting.no_notebook": Words(
        "there is no notebook {path}", "没有笔记本 {path}",
        "Name yours with --notebook.", "请用 --notebook 指定你的笔记本。",
    ),
    "resetting.unreadable": Words(
        "{path} cannot be read as a notebook: {error}", "{path} 无法作为笔记本读取：{error}",
        "Move it away and copy the exercises anew.", "请将其移走，重新复制一份练习。",
    ),
    "resetting.no_source": Words(
        "{path} has {found} sources of exercises, expected one", "{path} 中有 {found} 份练习源文件，应为一份",
        "Get notebooks/source/course of the project again.", "请重新获取项目的 notebooks/source/course。",
    ),
    "resetting.no_cell": Words(
        "no cell of the notebook belongs to the exercise {exercise}", "笔记本中没有属于练习 {exercise} 的单元格"
    ),
    "resetting.all": Words("all exercises", "全部练习"),
    "resetting.capstone": Words("the capstone", "综合课题"),
    "resetting.one": Words("exercise {name}", "练习 {name}"),
    "resetting.unknown": Words(
        "there is no exercise {given}", "没有名为 {given} 的练习",
        "Name one of {known}.", "请从中选择：{known}。",
    ),
    "CRS003.reset": Words(
        "{exercise}: as handed out again; {cells} cells of {path} put back, yours is kept in {backup}",
        "{exercise}：已恢复原样；{path} 中还原了 {cells} 个单元格，你的版本保存在 {backup}",
    ),
    "CRS003.folder": Words(
        "{exercise}: the cells are as handed out already; what the run kept of {moved} is moved aside",
        "{exercise}：单元格本来就是原样；{moved} 的运行结果已移到一旁",
    ),
    "CRS003.as_it_was": Words("{exercise}: as handed out already", "{exercise}：本来就是原样"),
    "CRS003.not_yet": Words(
        "`course list` says not yet again of {tasks}; the tries stay", "`course list` 中 {tasks} 恢复为未完成，次数保留"
    ),
    "CRS003.state_stays": Words(
        "what `course list` says stays as it was, {path} could not be changed: {why}",
        "`course list` 的状态没有改变，{path} 无法修改：{why}",
        "Run the exercise's check cell again: it writes the state anew.",
        "请重新运行该练习的检查单元格，状态会重新写入。",
    ),
    "course.no_run_dir": Words(
        "there is no folder {path}, so no record of the course", "没有文件夹 {path}，因此没有课程记录",
        "Name with --run-dir the folder that the notebook has as its parameter run_dir.",
        "请用 --run-dir 指定笔记本参数 run_dir 所指的文件夹。",
    ),
    "CRS004.nothing_yet": Words(
        "nothing checked yet: {count} exercises and {stages} stages of the capstone are to be done",
        "还没有检查过：共 {count} 个练习，综合课题有 {stages} 个阶段",
    ),
    "CRS004.listed": Words(
        "{done} of {count} exercises and {stages_done} of {stages} stages of the capstone are done",
        "{count} 个练习中已完成 {done} 个，综合课题的 {stages} 个阶段中已完成 {stages_done} 个",
    ),
}  # fmt: skip

WORDS: dict[str, Words] = {
    **{f"name.{name}": Words(en, zh) for name, (en, zh) in _HEADINGS.items()},
    **_GRADING,
    **_BOOKS,
    **_TABLES,
    **_SOLVING,
    **_PACKING,
    **_RESETTING,
}
