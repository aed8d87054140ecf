"""What a timeline shows: lanes, one step in detail, an overview of the rest. helpers/view/timeline draws it."""
