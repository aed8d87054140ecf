"""One child process group: started, followed through its output file, ended whole."""

from __future__ import annotations

import codecs
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

GRACE_S = 5.0


class Child:
    """The child writes straight into the file: what it said is there even if this process dies."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], cwd: Path | None, output: Path) -> None:
        with output.open("wb") as sink:
            self._process = subprocess.Popen(
                command,
                env=dict(env),
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # its own group, so that workers and ranks end with it
            )
        self._tail = output.open("rb")
        self._decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode
        self._rest = ""

    def wait_for_end(self, seconds: float) -> bool:
        """Wait for the child and return whether it has ended."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    @property
    def exit_code(self) -> int:
        """Return the exit code; a negative one is the signal that ended it."""
        return self._process.wait()

    def new_lines(self, *, last: bool = False) -> tuple[str, ...]:
        """Return whole lines written since the last call; progress bars end theirs with a carriage return."""
        text = self._rest + self._decode(self._tail.read())
        *lines, self._rest = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        if last:
            self._tail.close()
            lines.append(self._rest)
        return tuple(line for line in lines if line)

    def end_group(self) -> None:
        """Ask the whole process group to end, then make it."""
        for sign, patience_s in ((signal.SIGTERM, GRACE_S), (signal.SIGKILL, GRACE_S)):
            self._send_signal(sign)
            if self.wait_for_end(patience_s):
                break
        self._send_signal(signal.SIGKILL)  # workers that outlived their parent
        self._tail.close()

    def _send_signal(self, sign: signal.Signals) -> None:
        try:
            os.killpg(self._process.pid, sign)
        except ProcessLookupError:
            return  # all gone
