"""Where this workbook is served from. TO BE SET BY WHOEVER HOSTS IT, in this file alone; as shipped: nowhere.

After a change run `python notebooks/build.py`: every notebook's first code cell and the table of launch links in
docs/modelarts-notebook.md are made from these.
"""

#: What a notebook that was opened alone fetches the workbook from: a git address that needs no password
#: (`https://…/ascend-workbook.git`), an `obs://bucket/folder`, or the path of a .zip. Empty: it says how to get it.
REPOSITORY = ""
#: The public https address of the folder `notebooks` as built (`https://…/notebooks`), for launch links. Empty: none.
NOTEBOOKS = ""
#: The image that launch links ask for, as ModelArts numbers it (a UUID); empty: the links name none.
IMAGE = ""
