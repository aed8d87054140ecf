"""A profile in the forms that other programs read."""

PICTURES = (".png", ".svg")
#: What a file's name may end in
ENDINGS = {"timeline": (".html", *PICTURES), "perfetto": (".json", ".json.gz"), "flame": (".txt", *PICTURES)}
