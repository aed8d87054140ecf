"""The boot file of a ModelArts training job: it stands in the code directory's root, and the platform starts it as
`python modelarts_job.py --data_url=... --train_url=...`, with the preset engine once per card.

`ascend-workbook modelarts job` writes the job's configuration, docs/modelarts-job.md tells what happens.
"""

import sys
from pathlib import Path

if sys.version_info < (3, 9):  # noqa: UP036 - older images have Python 3.7
    sys.exit("modelarts_job.py: Python {} is too old: choose an image with Python 3.9 or newer".format(sys.version[:6]))  # noqa: UP032
sys.path.insert(0, str(Path(__file__).resolve().parent))

from ascend_workbook.modelarts.boot import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
