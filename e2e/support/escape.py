"""Leaves programs behind in every way that leads out of a session, an environment and a parent. `escape.py <label>`: the label
is printed when all is done. None of them outlives ten minutes, whatever a test forgets."""

import ctypes
import os
import subprocess
import sys
import time

label = sys.argv[1]
devnull = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def shell(text):
    subprocess.run(["/bin/sh", "-c", text], **devnull)


def detached(act):
    """In a session of its own with no descriptor open, as a child of process 1."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.closerange(0, 256)
            act()
        os._exit(0)
    os.wait()


def renamed():
    os.execve("/bin/sleep", ["kworker/0:1-events", "600"], {})


def runs_away():
    """Is another process every few milliseconds: a list of processes that is read is old when it is used."""
    end = time.monotonic() + 600
    while time.monotonic() < end:
        if os.fork() != 0:
            os._exit(0)
        time.sleep(0.004)


shell("(sh -c 'sleep 600 & sleep 600' &) ")
shell("setsid sleep 600 &")
shell("env -i setsid -f sleep 600")
shell("nohup sleep 600 &")
# Kept by the kernel until somebody removes it.
ctypes.CDLL(None).shmget(0, 4096, 0o1600)
detached(renamed)
detached(runs_away)
print("escaped " + label, flush=True)
