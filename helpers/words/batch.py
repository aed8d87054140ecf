"""Words of the batch part."""

from helpers.words import Words

WORDS: dict[str, Words] = {}
