"""Words of the profiling part."""

from helpers.words import Words

WORDS: dict[str, Words] = {}
