"""Earlier comparisons of one run are kept, so that a later one can say whether a fix helped.

record (one comparison's outcome and what its target was) -> history (one file each, never written over) -> helped (two
held against each other) -> verb."""
