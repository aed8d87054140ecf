"""Words of the environment part."""

from helpers.words import Words

WORDS: dict[str, Words] = {}
