"""Words of the precision part."""

from helpers.words import Words

WORDS: dict[str, Words] = {}
