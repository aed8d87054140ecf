"""Entry of torchrun, started by file path: as the console script, the current folder is not on its sys.path."""

import os
import sys

#: torch imports torch_npu by itself unless this is 0.
AUTOLOAD = "TORCH_DEVICE_BACKEND_AUTOLOAD"

if __name__ == "__main__":
    del sys.path[0]
    import ctypes
    import signal

    if sys.platform == "linux":
        # PR_SET_PDEATHSIG of prctl(2): torchrun ends, and its workers with it, when what launched it was killed
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)
    autoload = os.environ.get(AUTOLOAD)
    os.environ[AUTOLOAD] = "0"  # the ranks compute, torchrun itself needs no device: seconds and 75 MiB less
    from torch.distributed.run import main

    if autoload is None:
        del os.environ[AUTOLOAD]
    else:
        os.environ[AUTOLOAD] = autoload
    main()
