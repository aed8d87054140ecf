"""The Python side of a run of shapes only: where a program reads modelled values, and what it writes to files.

The build copies this folder into the simulator, which imports it into the trained process under another name: modules
here import relatively, and nothing of the workbook.
"""
