"""One file per kind of cause. The folder is the registry: nothing else has to know of a file here.

`knows(failure)` tells whether the message is of this kind, `propose(failure)` yields the edits by file, `SOURCE` is the
line or the page that the cure rests on; its words are `cure.NAME` in locale/loop.toml. With HOLDS_EVERYWHERE the edits
run on every device alike, so they may be made for a baseline that fails too.
"""
