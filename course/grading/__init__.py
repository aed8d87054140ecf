"""Grades what students handed in: each notebook runs anew in a child of its own, and what it answered is judged here.

Three processes that share no memory. The notebook's kernel runs the student's code and leaves course.json, of which
only the answers are read. A second child, which runs no cell of the student's, judges those answers by this
installation's checker. This process starts and ends both and writes the table.
"""

from course.grading.grade import grade_submissions

__all__ = ["grade_submissions"]
