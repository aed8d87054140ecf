"""The timeline drawn: a static picture, and a view to zoom, search and select in. What is drawn is computed in
ascend_workbook/profiling/timeline."""
