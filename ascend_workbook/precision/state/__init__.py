"""What a step keeps and changes besides its operators: gradients, updates, optimizer state, buffers, random streams.

Recorded by child/state.py in both captures and held against each other here: where in the step the runs part first."""
