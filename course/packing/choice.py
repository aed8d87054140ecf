"""What of the project goes into the students' zip, and under which name."""

from __future__ import annotations

from pathlib import PurePosixPath

from course.packing.makefile import for_students

#: Path -> (mode, content).
Files = dict[str, tuple[int, bytes]]
#: Folders at the top that a student has no use for; tests hold solutions and their outputs.
FOLDERS = ("tests", "benchmarks", "tools", "containers", ".ci")
#: Of these folders what the students' Makefile starts.
NEEDED = ("tools/bootstrap.py",)
#: Beginnings of files at the top: those for who works on the project, and README, which has the students' in its place.
AT_THE_TOP = ("README", "CONTRIBUTING", "CHANGELOG", "requirements-dev", "requirements-browser", ".dockerignore")
#: Anywhere.
SOLUTIONS = "solutions"
#: Beginnings of the pages in docs/ for teachers, for who carries the project elsewhere, and for the project's README.
PAGES = ("teaching", "everywhere", "public-scripts", "report.png")
#: What of this folder stands at the zip's top.
STUDENTS = "course/packing/students/"


def goes_along(name: str) -> bool:
    """Whether the file of this path in the project is for students."""
    path = PurePosixPath(name)
    if name in NEEDED:
        return True
    if len(path.parts) == 1:
        return not name.startswith(AT_THE_TOP)
    page = path.parts[0] == "docs" and path.name.startswith(PAGES)
    return path.parts[0] not in FOLDERS and SOLUTIONS not in path.parts and not page


def choose_files(every: Files) -> Files:
    """Return the files of the zip by their names in it: those that go along, the students' README, their Makefile."""
    files = {name.removeprefix(STUDENTS): file for name, file in every.items() if goes_along(name)}
    if "Makefile" in files:
        mode, data = files["Makefile"]
        files["Makefile"] = mode, for_students(data.decode("utf-8")).encode()
    return files
