"""The checklist: an item a file, with its CODE, its GROUP and how it is ticked. Its words are `accept.item.CODE`."""
