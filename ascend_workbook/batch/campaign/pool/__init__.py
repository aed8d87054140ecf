"""How the runs of a plan get their processes: one each, bounded in memory and time, on cards of their own."""
