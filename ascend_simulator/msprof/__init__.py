"""The stand-in for CANN's msprof: makes its tables and timeline of what the simulated device recorded.

This folder is copied into the simulator's and runs there alone: standard library only, imports within the folder only.
File names, columns and units follow the profiles that CANN 8 writes ("msprof", "profile data" on
https://www.hiascend.com/document) and what torch_npu's parser looks for (torch_npu/profiler/analysis/prof_parse/
_cann_file_parser.py). What a CPU cannot know is N/A: no AI Core metrics, no block numbers, no memory layouts.
"""
