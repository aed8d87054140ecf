"""Linux's calls that Python 3.9 has no function for: namespaces, mounts, capabilities, Landlock.

Numbers are those of the kernel's public headers (include/uapi/linux: sched.h, mount.h, prctl.h, capability.h,
landlock.h); system calls 424 and later have the same number on x86_64 and aarch64.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
MNT_DETACH = 2
AT_FDCWD, AT_RECURSIVE, MOUNT_ATTR_RDONLY = -100, 0x8000, 1
PR_SET_SECCOMP, SECCOMP_MODE_FILTER, SECCOMP_ALLOW, SECCOMP_REFUSE = 22, 2, 0x7FFF0000, 0x00050001  # EPERM
PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 24, 36, 38
SYS_MOUNT_SETATTR, SYS_LANDLOCK_CREATE, SYS_LANDLOCK_ADD, SYS_LANDLOCK_RESTRICT = 442, 444, 445, 446
SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
SYS_CAPSET = {"x86_64": 126, "aarch64": 91}
#: By machine: the number by which seccomp knows it; ioctl; what no training asks the kernel for: keys of the session
#: (add_key, request_key, keyctl), bpf, userfaultfd, fanotify_init; and io_uring, whose calls pass by this list.
SECCOMP = {
    "x86_64": (0xC000003E, 16, (248, 249, 250, 321, 323, 300, 425, 426, 427)),
    "aarch64": (0xC00000B7, 29, (217, 218, 219, 280, 282, 262, 425, 426, 427)),
}
TIOCSTI, TIOCLINUX = 0x5412, 0x541C
#: What an enclosed program may do in its own name space: what root does to files and users, nothing to the machine.
CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_FSETID, CAP_KILL, CAP_SETGID, CAP_SETUID = 0, 1, 3, 4, 5, 6, 7
LEFT_CAPABILITIES = (CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_FSETID, CAP_KILL, CAP_SETGID, CAP_SETUID)
CAPABILITIES = 41
#: Landlock's rights that change something, by the version of its interface that knows them first.
_WRITES = (1 << 1) | sum(1 << bit for bit in range(4, 13))  # write a file; remove and make what a folder holds
_MAKE_DEVICES = (1 << 6) | (1 << 11)  # never granted
_REFER, _TRUNCATE, _SCOPES = 1 << 13, 1 << 14, 0b11
_READS = (1 << 0) | (1 << 2)  # start and read a file; folders are listed freely
_FILE_RIGHTS = (1 << 1) | _TRUNCATE | _READS

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def call_kernel(name: str, *arguments: object) -> int:
    """Call a function of the C library. Raises OSError with its reason."""
    result = int(getattr(_libc, name)(*arguments))
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{name}: {os.strerror(error)}")
    return result


def unshare(flags: int) -> None:
    """Move this process into name spaces of its own (unshare(2))."""
    call_kernel("unshare", flags)


def mount(source: str, target: str, kind: str | None, flags: int = 0, data: str | None = None) -> None:
    """Mount, as mount(2) does."""
    coded = [None if text is None else os.fsencode(text) for text in (source, target, kind, data)]
    try:
        call_kernel("mount", coded[0], coded[1], coded[2], ctypes.c_ulong(flags), coded[3])
    except OSError as error:
        raise OSError(error.errno, f"mount {kind or 'bind'}: {os.strerror(error.errno or 0)}", target) from None


def unmount(target: str) -> None:
    """Take a mount away."""
    call_kernel("umount2", os.fsencode(target), 0)


def make_read_only(target: str) -> None:
    """Make a mount, and those below it, read-only (mount_setattr(2), Linux 5.12)."""
    attributes = ctypes.create_string_buffer(struct.pack("=QQQQ", MOUNT_ATTR_RDONLY, 0, 0, 0))
    place = os.fsencode(target)
    call_kernel("syscall", SYS_MOUNT_SETATTR, AT_FDCWD, place, AT_RECURSIVE, attributes, ctypes.c_size_t(32))


def change_root(folder: str) -> None:
    """Make a mounted folder the root of this process, and let go of the old one."""
    os.chdir(folder)
    call_kernel("syscall", SYS_PIVOT_ROOT[os.uname().machine], b".", b".")
    call_kernel("umount2", b".", MNT_DETACH)
    os.chdir("/")


def drop_capabilities(user: int | None = None, group: int | None = None) -> None:
    """Give up all that reaches beyond files and users, for this process and all it starts; all of it for another user,
    whom this process becomes where one is given."""
    for capability in set(range(CAPABILITIES)) - set(LEFT_CAPABILITIES):
        try:
            call_kernel("prctl", PR_CAPBSET_DROP, capability, 0, 0, 0)
        except OSError:
            continue  # a number that this kernel does not know, or no right to drop any
    left = sum(1 << capability for capability in LEFT_CAPABILITIES)
    if user is not None:
        os.setgroups([])
        os.setgid(user if group is None else group)
        os.setuid(user)  # which leaves a user who is not root no capability
        left = left if user == 0 else 0
    header = ctypes.create_string_buffer(struct.pack("=Ii", 0x20080522, 0))
    sets = ctypes.create_string_buffer(struct.pack("=IIIIII", left, left, 0, 0, 0, 0))
    call_kernel("syscall", SYS_CAPSET[os.uname().machine], header, sets)
    refuse_new_privileges()


def refuse_new_privileges() -> None:
    """Let no program that is started from here gain rights (set-user-id files)."""
    call_kernel("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def die_with_parent(sign: int) -> None:
    """Have the kernel send this process a signal when the thread that started it ends."""
    call_kernel("prctl", PR_SET_PDEATHSIG, sign, 0, 0, 0)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends."""
    call_kernel("prctl", PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def landlock_version() -> int:
    """Return the version of Landlock's interface; 0 where the kernel has none or refuses it."""
    try:
        return call_kernel("syscall", SYS_LANDLOCK_CREATE, None, ctypes.c_size_t(0), 1)
    except OSError:
        return 0


def refuse_calls() -> None:
    """Refuse, for this process and all it starts, system calls that reach beyond files and its own processes (seccomp):
    those of SECCOMP, letters put into a terminal, and calls of another machine's numbering."""
    arch, ioctl, refused = SECCOMP[os.uname().machine]
    load, equal, answer = 0x20, 0x15, 0x06
    rows = [(load, 0, 0, 4), (equal, 1, 0, arch), (answer, 0, 0, SECCOMP_REFUSE), (load, 0, 0, 0)]
    if arch == SECCOMP["x86_64"][0]:  # x32: the same calls under other numbers
        rows += [(0x35, 0, 1, 0x40000000), (answer, 0, 0, SECCOMP_REFUSE)]
    for number in refused:
        rows += [(equal, 0, 1, number), (answer, 0, 0, SECCOMP_REFUSE)]
    rows += [(equal, 0, 4, ioctl), (load, 0, 0, 24), (equal, 1, 0, TIOCSTI), (equal, 0, 1, TIOCLINUX)]
    rows += [(answer, 0, 0, SECCOMP_REFUSE), (answer, 0, 0, SECCOMP_ALLOW)]
    filters = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *row) for row in rows))
    program = ctypes.create_string_buffer(struct.pack("@HP", len(rows), ctypes.addressof(filters)))
    call_kernel("prctl", PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0)


def restrict_files(writable: Iterable[str], readable: Iterable[str] | None = None) -> None:
    """Let this process and all it starts change files below these places only, and read below others only.

    readable: None leaves reading as it is; what is writable may be read. Names can be listed everywhere. Landlock,
    Linux 5.13.
    """
    version = landlock_version()
    rights = _WRITES | (_REFER if version >= 2 else 0) | (_TRUNCATE if version >= 3 else 0)
    reads = 0 if readable is None else _READS
    fields = [rights | reads, 0, _SCOPES] if version >= 6 else [rights | reads]
    attributes = ctypes.create_string_buffer(struct.pack(f"={len(fields)}Q", *fields))
    ruleset = call_kernel("syscall", SYS_LANDLOCK_CREATE, attributes, ctypes.c_size_t(8 * len(fields)), 0)
    try:
        for place in writable:
            _allow_below(ruleset, place, (rights | reads) & ~_MAKE_DEVICES)
        for place in readable or ():
            _allow_below(ruleset, place, reads)
        refuse_new_privileges()
        call_kernel("syscall", SYS_LANDLOCK_RESTRICT, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow_below(ruleset: int, place: str, rights: int) -> None:
    """Allow rights to a file, or to all below a folder; nothing where there is none."""
    try:
        descriptor = os.open(place, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # gone since it was listed, or closed to this user anyway
        return
    try:
        allowed = rights if os.path.isdir(place) else rights & _FILE_RIGHTS
        if allowed:
            rule = ctypes.create_string_buffer(struct.pack("=Qi", allowed, descriptor))
            call_kernel("syscall", SYS_LANDLOCK_ADD, ruleset, 1, rule, 0)
    finally:
        os.close(descriptor)
