"""Choose how to spread a training over cards: every strategy that could be, its memory, step and cost by formula."""
