"""Entry of torchrun, started by file path: as the console script, the current folder is not on its sys.path."""

import sys

if __name__ == "__main__":
    del sys.path[0]
    from torch.distributed.run import main

    main()
