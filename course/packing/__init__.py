"""The project as students get it: one zip of what is committed, without solutions, teacher's pages and git's history.

The same commit gives the same bytes. students/ holds the README that stands at the zip's top, in either language. The
checker's code is in the zip, as it runs on the student's machine: who reads it learns what is looked at, not the
answers.
"""

from course.packing.pack import pack_zip

__all__ = ["pack_zip"]
