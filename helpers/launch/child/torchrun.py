"""Entry of torchrun, started by file path: as the console script, the current folder is not on its sys.path."""

import sys

if __name__ == "__main__":
    del sys.path[0]
    import ctypes
    import signal

    if sys.platform == "linux":
        # PR_SET_PDEATHSIG of prctl(2): torchrun ends, and its workers with it, when what launched it was killed
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)
    from torch.distributed.run import main

    main()
