"""The course: quizzes and predictions that are judged without stopping, the glossary, machines that are broken on
purpose. Sources of the notebooks: notebooks/source/course; words: words/course_*.py.
"""
