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
    "grading.names": Words(
        "{path}, line {line}: expected two columns, submission and student",
        "{path} 第 {line} 行：应有两列，提交与学生",
        "Write one line for each submission: file or folder without its suffix, comma, the student's name.",
        "每份提交写一行：不含后缀的文件名或文件夹名、逗号、学生名。",
    ),
    "grading.link": Words("{path} is a link: links are not followed", "{path} 是链接：不跟随链接"),
    "grading.too_large": Words("{path} is larger than {most} MiB", "{path} 超过 {most} MiB"),
    "grading.members": Words("{path} has more than {most} files", "{path} 中的文件超过 {most} 个"),
    "grading.bad_zip": Words("{path} cannot be read as a zip: {error}", "{path} 无法按 zip 读取：{error}"),
    "grading.no_notebook": Words("no notebook is in {path}", "{path} 中没有笔记本"),
    "grading.several": Words(
        "{path} has several notebooks: {found}; expected one, or one called {wanted}",
        "{path} 中有多个笔记本：{found}；应只有一个，或其中一个名为 {wanted}",
    ),
    "grading.no_json": Words("the notebook cannot be read: {error}", "无法读取笔记本：{error}"),
    "grading.no_answers": Words(
        "the notebook ran and handed no answer to the checker", "笔记本已运行，但没有向检查器交出任何答案"
    ),
    "grading.other_name": Words(
        "worked under the name {declared}, handed in as {name}: judged by the questions of {name}",
        "以 {declared} 的名义作答，以 {name} 的名义提交：按 {name} 的题目评判",
    ),
    "grading.time": Words("ended after {seconds} s: the time limit", "运行 {seconds} 秒后被终止：达到时间上限"),
    "grading.memory": Words("ended at {mib} MiB: the memory limit", "占用 {mib} MiB 时被终止：达到内存上限"),
    "grading.died": Words("its process ended with code {code}", "其进程以退出码 {code} 结束"),
    "grading.user": Words(
        "submissions cannot run as {user}: {why}", "无法以 {user} 的身份运行提交：{why}",
        "Name a Unix user that exists, and start the command as root.",
        "请指定存在的 Unix 用户，并以 root 启动该命令。",
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
        "error 一列说明原因；每次运行都保存在同名并带 .work 的文件夹中。",
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
    "CRS001.trouble": Words("{name}: {why}", "{name}：{why}"),
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
        "what is not committed is not in it", "未提交的改动不在其中",
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
    "CRS003.reset": Words(
        "exercise {exercise} is as it was handed out: {cells} cells of {path} put back; yours is kept in {backup}",
        "练习 {exercise} 已恢复原样：{path} 中还原了 {cells} 个单元格；你的版本保存在 {backup}",
    ),
    "CRS003.as_it_was": Words(
        "exercise {exercise} is as it was handed out already", "练习 {exercise} 本来就是原样"
    ),
    "CRS004.listed": Words(
        "{done} of {count} exercises and {stages_done} of {stages} stages of the capstone are done",
        "{count} 个练习中已完成 {done} 个，综合课题的 {stages} 个阶段中已完成 {stages_done} 个",
    ),
}  # fmt: skip

WORDS: dict[str, Words] = {
    **{f"name.{name}": Words(en, zh) for name, (en, zh) in _HEADINGS.items()},
    **_GRADING,
    **_SOLVING,
    **_PACKING,
    **_RESETTING,
}
