"""A program of a project with something of everything that another project must not reach. Leaves `victim.json` beside itself."""

import ctypes
import json
import os
import socket
import subprocess
import sys
import time

here = os.path.dirname(os.path.abspath(__file__))
mark = sys.argv[1]
key = int(mark[:6], 16)
libc = ctypes.CDLL(None, use_errno=True)


def listening(address):
    server = socket.socket(socket.AF_UNIX)
    server.bind(address)
    server.listen(16)
    return server


path = os.path.join(os.environ["TMPDIR"], "victim.sock")
if os.path.exists(path):
    os.unlink(path)
servers = [listening(path), listening("\0" + "victim-" + mark)]
libc.shmget(key, 4096, 0o1000 | 0o600)
libc.shmget(key + 1, 4096, 0o1000 | 0o666)
libc.msgget(key + 2, 0o1000 | 0o600)
files = {}
for folder in ("/tmp", "/dev/shm"):
    for mode in (0o600, 0o666):
        file = "%s/victim-%s-%o" % (folder, mark, mode)
        with open(file, "w") as out:
            out.write(mark)
        os.chmod(file, mode)
with open(os.path.join(os.environ["HOME"], "kept"), "w") as out:
    out.write(mark)
sleepers = [subprocess.Popen(["/bin/sleep", "9%s" % key]) for _ in range(2)]
with open(os.path.join(here, "victim.json.part"), "w") as out:
    json.dump({"socket": path}, out)
os.rename(os.path.join(here, "victim.json.part"), os.path.join(here, "victim.json"))
while True:
    time.sleep(60)
