"""Tries, as a program of one project, what would harm another one. `probe.py <place>` reads targets.json beside itself and leaves
`probed-<place>.json` there: {"self": {...}, "cells": {cell: [outcome of each act]}}. Outcomes: allowed, refused, absent."""

import ctypes
import errno
import json
import os
import socket
import subprocess
import sys

libc = ctypes.CDLL(None, use_errno=True)
ABSENT = {
    errno.ENOENT, errno.ESRCH, errno.ENOTDIR, errno.EINVAL, errno.EIDRM, errno.ENXIO, errno.ECONNREFUSED,
}


def call(name, *args):
    ctypes.set_errno(0)
    result = getattr(libc, name)(*args)
    if result == -1:
        raise OSError(ctypes.get_errno(), name)
    return result


def read(path):
    os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))


def write(path):
    os.close(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK))


def create(folder):
    path = os.path.join(folder, "forged")
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    os.unlink(path)


def lists(folder, names):
    """Of a folder that is there for all, only what it shows of others counts."""
    if not set(os.listdir(folder)) & set(names):
        raise FileNotFoundError(errno.ENOENT, "nothing of others")


def connect_unix(path):
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(5)
        peer.connect("\0" + path[1:] if path.startswith("@") else path)


def connect_tcp(port):
    with socket.socket() as peer:
        peer.settimeout(5)
        peer.connect(("127.0.0.1", port))


def proc(pid, entry):
    path = "/proc/%d/%s" % (pid, entry)
    if entry in ("fd", "task"):
        os.listdir(path)
    elif entry in ("cwd", "root", "exe"):
        os.readlink(path)
    elif entry == "mem":
        os.close(os.open(path, os.O_RDONLY))
    else:
        with open(path, "rb") as file:
            file.read(1)


def through_root(pid, path):
    """Into the file system of another process."""
    read("/proc/%d/root%s" % (pid, path))


def signal(pid, number):
    os.kill(pid, number)


def ptrace(pid):
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    libc.ptrace.restype = ctypes.c_long
    attach, detach = 16, 17
    call("ptrace", attach, pid, None, None)
    os.waitpid(pid, 0)
    call("ptrace", detach, pid, None, None)


class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def read_memory(pid):
    buffer = ctypes.create_string_buffer(8)
    here = Vector(ctypes.cast(buffer, ctypes.c_void_p), 8)
    there = Vector(ctypes.c_void_p(4096), 8)
    libc.process_vm_readv.restype = ctypes.c_ssize_t
    try:
        call("process_vm_readv", pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
    except OSError as error:
        # The right was there; nothing lies at that address.
        if error.errno != errno.EFAULT:
            raise


def shared_memory(key):
    call("shmget", key, 0, 0)
    libc.shmat.restype = ctypes.c_long
    call("shmat", call("shmget", key, 0, 0), None, 0o10000)


def message_queue(key):
    class Empty(ctypes.Structure):
        _fields_ = [("raw", ctypes.c_char * 512)]

    call("msgctl", call("msgget", key, 0), 2, ctypes.byref(Empty()))


def setuid_program(path):
    """A program that belongs to root and carries the set-user-ID bit, and prints who it is."""
    if subprocess.run([path, "-u"], capture_output=True, text=True).stdout.strip() != "0":
        raise PermissionError(errno.EPERM, "it stays who it is")


def become_root():
    os.setuid(0)


def in_user_namespace(path):
    """Root in a namespace of its own is nobody outside of it."""
    pid = os.fork()
    if pid == 0:
        try:
            call("unshare", 0x10000000 | 0x00020000)
            for name, text in (("setgroups", "deny"), ("uid_map", "0 %d 1" % uid), ("gid_map", "0 %d 1" % gid)):
                with open("/proc/self/" + name, "w") as file:
                    file.write(text)
            read(path)
            os._exit(0)
        except OSError as error:
            os._exit(error.errno & 127 or 1)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code != 0:
        raise OSError(code, "in a user namespace")


def sees_command(text):
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/cmdline" % name, "rb") as file:
                    if text.encode() in file.read():
                        return
            except OSError:
                pass
    raise FileNotFoundError(errno.ENOENT, text)


def outcome(act, args):
    try:
        globals()[act](*args)
        return "allowed"
    except OSError as error:
        return "absent" if error.errno in ABSENT else "refused"


uid, gid = os.getuid(), os.getgid()
here = os.path.dirname(os.path.abspath(__file__))


def main(place):
    with open(os.path.join(here, "targets.json")) as file:
        targets = json.load(file)
    cells = {}
    for cell, act, args in targets:
        cells.setdefault(cell, []).append({"act": act, "args": args, "outcome": outcome(act, args)})
    with open("/proc/self/status") as file:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    names = ("Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs")
    report = {
        "self": {name: status[name].split() for name in names},
        "umask": status["Umask"],
        "cells": cells,
    }
    path = os.path.join(here, "probed-%s.json" % place)
    with open(path + ".part", "w") as file:
        json.dump(report, file)
    os.rename(path + ".part", path)


main(sys.argv[1])
