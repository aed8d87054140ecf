"""Parts of one plan, each run by a start of its own, maybe on another machine: what each leaves, and all as one."""
