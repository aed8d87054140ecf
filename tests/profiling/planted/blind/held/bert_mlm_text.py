"""Word pieces."""
import random
import re
import unicodedata


def make_corpus(n):
    words = ["".join(random.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(random.randint(4, 14))) for _ in range(3000)]
    return [" ".join(random.choice(words) for _ in range(300)) for _ in range(n)]


class WordPiece:
    def __init__(self, corpus):
        pieces = {c for line in corpus for c in line}
        for line in corpus[:6]:
            for word in line.split():
                pieces.update((word[:3], word[-3:]))
        self.table = {p: i + 4 for i, p in enumerate(sorted(pieces))}
        self.mask = 3

    def __len__(self):
        return len(self.table) + 4

    def normalise(self, text):
        text = unicodedata.normalize("NFD", text.lower())
        return "".join(c for c in text if unicodedata.category(c) != "Mn")

    def encode(self, text, length):
        ids = []
        for word in re.findall(r"\w+|[^\w\s]", self.normalise(text)):
            at = 0
            while at < len(word):
                for end in range(len(word), at, -1):
                    if word[at:end] in self.table:
                        ids.append(self.table[word[at:end]])
                        at = end
                        break
                else:
                    at += 1
        return (ids + [0] * length)[:length]
