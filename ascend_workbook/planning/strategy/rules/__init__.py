"""Rules of hyper-parameters: what a training states, beside what is published."""
