"""The checklist: its items by CODE, and how each is ticked. Their words are `accept.item.CODE`."""
