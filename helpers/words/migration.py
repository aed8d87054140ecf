"""Words of the migration part."""

from helpers.words import Words

WORDS: dict[str, Words] = {}
