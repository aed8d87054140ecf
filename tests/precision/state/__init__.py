"""What a step keeps and changes besides its operators: recorded, compared, and judged on planted faults."""
