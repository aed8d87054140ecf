"""The page of a run or a report: one file that opens offline and answers on its first screen."""
