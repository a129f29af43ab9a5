"""How a process on Linux confines itself: calls to the kernel, Landlock, and the filter of calls.

Landlock says which files may still be opened; its rules only ever take away. What the kernel can do
depends on the version of its interface (ABI), which is asked for; what an old one leaves open is
closed by seccomp. That filter lists what a numerical script needs; everything else, and every call
that a later kernel brings, is refused with EPERM. There are no sockets, no new processes, no
programs, no shared memory, no other process's memory or limits, no change of owners or modes.
"""

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final

# Name, number on x86-64, number on AArch64; "-" where the processor has no such call.
_TABLE: Final = """
read:0:63  write:1:64  readv:19:65  writev:20:66  pread64:17:67  pwrite64:18:68  preadv:295:69
pwritev:296:70  close:3:57  close_range:436:436  lseek:8:62  fsync:74:82  fdatasync:75:83
ftruncate:77:46  fallocate:285:47  fadvise64:221:223  readahead:187:213  copy_file_range:326:285
sendfile:40:71  open:2:-  openat:257:56  access:21:-  faccessat:269:48  faccessat2:439:439
stat:4:-  fstat:5:80  lstat:6:-  newfstatat:262:79  statx:332:291  statfs:137:43  fstatfs:138:44
getdents64:217:61  getdents:78:-  readlink:89:-  readlinkat:267:78  getcwd:79:17  chdir:80:49
fchdir:81:50  mkdir:83:-  mkdirat:258:34  rmdir:84:-  unlink:87:-  unlinkat:263:35  rename:82:-
renameat:264:38  renameat2:316:276  dup:32:23  dup2:33:-  dup3:292:24  fcntl:72:25  flock:73:32
pipe:22:-  pipe2:293:59  ioctl:16:29  mmap:9:222  munmap:11:215  mremap:25:216  mprotect:10:226
madvise:28:233  msync:26:227  mincore:27:232  mlock:149:228  munlock:150:229  brk:12:214
membarrier:324:283  futex:202:98  futex_waitv:449:449  set_robust_list:273:99
get_robust_list:274:100  rseq:334:293  set_tid_address:218:96  sched_yield:24:124
sched_getaffinity:204:123  sched_getparam:143:121  sched_getscheduler:145:120
sched_get_priority_max:146:125  sched_get_priority_min:147:126  getcpu:309:168  gettid:186:178
getpid:39:172  getppid:110:173  getuid:102:174  geteuid:107:175  getgid:104:176  getegid:108:177
getpgrp:111:-  getpgid:121:155  getsid:124:156  getgroups:115:158  getresuid:118:148
getresgid:120:150  getrusage:98:165  getrlimit:97:163  getpriority:140:141  prlimit64:302:261
sysinfo:99:179  uname:63:160  times:100:153  capget:125:90  prctl:157:167  clone:56:220
rt_sigaction:13:134  rt_sigprocmask:14:135  rt_sigreturn:15:139  rt_sigpending:127:136
rt_sigsuspend:130:133  rt_sigtimedwait:128:137  sigaltstack:131:132  restart_syscall:219:128
pause:34:-  alarm:37:-  setitimer:38:103  getitimer:36:102  kill:62:129  tgkill:234:131
wait4:61:260  waitid:247:95  clock_gettime:228:113  clock_getres:229:114
clock_nanosleep:230:115  nanosleep:35:101  gettimeofday:96:169  time:201:-
timerfd_create:283:85  timerfd_settime:286:86  timerfd_gettime:287:87  timer_create:222:107
timer_settime:223:110  timer_delete:226:111  timer_gettime:224:108  timer_getoverrun:225:109
poll:7:-  ppoll:271:73  select:23:-  pselect6:270:72  epoll_create:213:-  epoll_create1:291:20
epoll_ctl:233:21  epoll_wait:232:-  epoll_pwait:281:22  eventfd:284:-  eventfd2:290:19
getrandom:318:278  exit:60:93  exit_group:231:94  arch_prctl:158:-  clone3:435:435
openat2:437:437  seccomp:317:277  landlock_create_ruleset:444:444  landlock_add_rule:445:445
landlock_restrict_self:446:446  capset:126:91
"""


def _numbers(column: int) -> Mapping[str, int]:
    rows = (entry.split(":") for entry in _TABLE.split())
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"}


X86_64: Final = _numbers(1)
AARCH64: Final = _numbers(2)


PR_SET_PDEATHSIG: Final = 1
PR_SET_DUMPABLE: Final = 4
PR_SET_SECCOMP: Final = 22
PR_CAPBSET_DROP: Final = 24
PR_SET_NO_NEW_PRIVS: Final = 38
_CAPABILITY_VERSION_3: Final = 0x20080522
_ENOSYS: Final = errno.ENOSYS
_MOST_CAPABILITIES: Final = 64


@cache
def _library() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def numbers() -> Mapping[str, int]:
    """Return the numbers of system calls on this machine; nothing for an unknown processor."""
    if not hasattr(os, "uname") or os.uname().sysname != "Linux":
        return {}
    if ctypes.sizeof(ctypes.c_void_p) != 8:
        return {}
    return {"x86_64": X86_64, "aarch64": AARCH64}.get(platform.machine(), {})


def call(name: str, *arguments: Any) -> int:
    """Call the kernel; OSError with what it answered, ENOSYS where the call has no number here."""
    number = numbers().get(name)
    if number is None:
        raise OSError(_ENOSYS, os.strerror(_ENOSYS))
    return _checked(_library().syscall(ctypes.c_long(number), *arguments))


def prctl(option: int, *arguments: int) -> int:
    """Change a property of this process; OSError with what the kernel answered."""
    if not numbers():
        raise OSError(_ENOSYS, os.strerror(_ENOSYS))
    padded = [ctypes.c_ulong(value) for value in (*arguments, 0, 0, 0, 0)[:4]]
    return _checked(_library().prctl(option, *padded))


def prctl_pointer(option: int, mode: int, pointer: Any) -> int:
    """Change a property of this process that takes a structure; errors as :func:`prctl`."""
    return _checked(_library().prctl(option, ctypes.c_ulong(mode), pointer, 0, 0))


def drop_capabilities() -> None:
    """Give up every privilege of root for good; nothing where there is none."""
    if os.geteuid() == 0:
        for capability in range(_MOST_CAPABILITIES):
            try:
                prctl(PR_CAPBSET_DROP, capability)
            except OSError:  # past the last one that this kernel knows, or none to give up
                break
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    call("capset", ctypes.byref(header), ctypes.byref((ctypes.c_uint32 * 6)()))


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, REMOVE_DIR, REMOVE_FILE = (1 << k for k in range(6))
MAKE_CHAR, MAKE_DIR, MAKE_REG, MAKE_SOCK, MAKE_FIFO, MAKE_BLOCK = (1 << k for k in range(6, 12))
MAKE_SYM, REFER, TRUNCATE, IOCTL_DEV = (1 << k for k in range(12, 16))

READ: Final = READ_FILE | READ_DIR
WORK: Final = READ | WRITE_FILE | TRUNCATE | MAKE_DIR | MAKE_REG | REMOVE_DIR | REMOVE_FILE | REFER
_ON_FILES: Final = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
_TCP: Final = 0b11
_SCOPES: Final = 0b11
_VERSION: Final = 1
_PATH_BENEATH: Final = 1


class _Ruleset(ctypes.Structure):
    _fields_ = (("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("access", ctypes.c_uint64), ("parent", ctypes.c_int32))


def abi() -> int:
    """Return the version of the kernel's interface; 0 where there is none."""
    try:
        return call("landlock_create_ruleset", None, ctypes.c_size_t(0), _VERSION)
    except OSError:
        return 0


def handled(version: int) -> int:
    """Return the rights to files that a version of the interface can take away."""
    known = {0: 0, 1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)
    return (1 << known) - 1


def restrict(rules: Iterable[tuple[str, int]], version: int) -> None:
    """Leave this process only the rights below the paths of the rules; TCP never."""
    rights = handled(version)
    net, scopes = _TCP if version >= 4 else 0, _SCOPES if version >= 6 else 0
    size = 8 if version < 4 else 16 if version < 6 else 24
    wanted = _Ruleset(rights, net, scopes)
    ruleset = call("landlock_create_ruleset", ctypes.byref(wanted), ctypes.c_size_t(size), 0)
    try:
        for path, access in rules:
            _allow(ruleset, path, access & rights)
        call("landlock_restrict_self", ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, access: int) -> None:
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not os.path.isdir(path):
            access &= _ON_FILES
        if access:
            rule = _Beneath(access, handle)
            call("landlock_add_rule", ruleset, _PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(handle)


_LOAD, _AND, _RETURN = 0x20, 0x54, 0x06
_EQUAL, _AT_LEAST = 0x15, 0x35
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_EPERM = errno.EPERM
_AUDIT: Final = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32: Final = 0x40000000
_MODE_FILTER: Final = 2

_NOT_LISTED: Final = (
    "seccomp",
    "landlock_create_ruleset",
    "landlock_add_rule",
    "landlock_restrict_self",
    "capset",
)
_ABSENT: Final = ("clone3", "openat2")
"""Their arguments lie in memory that no filter can read; glibc then takes the older call."""

_THREAD: Final = 0x00010900  # CLONE_VM, CLONE_SIGHAND and CLONE_THREAD
_NAMESPACES: Final = 0x7E020080  # every CLONE_NEW… flag
_TERMINAL_AND_FLAGS: Final = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
_PRCTL: Final = (3, 15, 16, 0x53564D41)  # dumpable?, a thread's name, a mapping's name
_FCNTL_REFUSED: Final = (8, 10, 15, 1024, 1026)  # signals to an owner, leases, notifications
_TRUNCATE, _ACCESS = 0o1000, 0o3

Line = tuple[int, int, int, int]


def filter_lines(machine: str, numbers: Mapping[str, int], pid: int) -> list[Line]:
    """Return the filter as lines of (code, jump if true, jump if false, value)."""
    lines: list[Line] = [
        (_LOAD, 0, 0, 4),
        (_EQUAL, 1, 0, _AUDIT[machine]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, 0),
    ]
    if machine == "x86_64":
        lines += [(_AT_LEAST, 0, 1, _X32), (_RETURN, 0, 0, _KILL)]
    special = _special(pid)
    for name, number in numbers.items():
        if name in _NOT_LISTED:
            continue
        block = special.get(name, [(_RETURN, 0, 0, _ALLOW)])
        if name in _ABSENT:
            block = [(_RETURN, 0, 0, _ERRNO | _ENOSYS)]
        lines += [(_EQUAL, 0, len(block), number), *block]
    return [*lines, (_RETURN, 0, 0, _ERRNO | _EPERM)]


def confine() -> None:
    """Confine this process and its threads for good, after ``no_new_privs``."""
    known = numbers()
    if not known:
        raise OSError(_ENOSYS, "no filter is known for this processor")
    install(filter_lines(platform.machine(), known, os.getpid()))


def install(lines: list[Line]) -> None:
    """Put a filter in force; errors as :func:`confine`."""
    code = b"".join(struct.pack("=HBBI", *line) for line in lines)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = ctypes.create_string_buffer(struct.pack("@HP", len(lines), ctypes.addressof(buffer)))
    prctl_pointer(PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program))


def _special(pid: int) -> dict[str, list[Line]]:
    """Return the calls that are allowed with some arguments only."""
    return {
        "clone": _thread_only(),
        "ioctl": _argument_among(1, _TERMINAL_AND_FLAGS),
        "prctl": _argument_among(0, _PRCTL),
        "fcntl": _argument_none_of(1, _FCNTL_REFUSED),
        "kill": _argument_among(0, (pid,)),
        "tgkill": _argument_among(0, (pid,)),
        "prlimit64": _own_limits_read(),
        "open": _no_hidden_truncation(1),
        "openat": _no_hidden_truncation(2),
        "mkdir": _mode_of_owner(1),
        "mkdirat": _mode_of_owner(2),
    }


def _low(argument: int) -> Line:
    return (_LOAD, 0, 0, 16 + 8 * argument)


def _refused() -> Line:
    return (_RETURN, 0, 0, _ERRNO | _EPERM)


def _argument_among(argument: int, allowed: tuple[int, ...]) -> list[Line]:
    tests = [(_EQUAL, len(allowed) - k, 0, value) for k, value in enumerate(allowed)]
    return [_low(argument), *tests, _refused(), (_RETURN, 0, 0, _ALLOW)]


def _argument_none_of(argument: int, refused: tuple[int, ...]) -> list[Line]:
    tests = [(_EQUAL, len(refused) - k, 0, value) for k, value in enumerate(refused)]
    return [_low(argument), *tests, (_RETURN, 0, 0, _ALLOW), _refused()]


def _thread_only() -> list[Line]:
    return [
        _low(0),
        (_AND, 0, 0, _THREAD),
        (_EQUAL, 0, 4, _THREAD),
        _low(0),
        (_AND, 0, 0, _NAMESPACES),
        (_EQUAL, 0, 1, 0),
        (_RETURN, 0, 0, _ALLOW),
        _refused(),
    ]


def _own_limits_read() -> list[Line]:
    """Allow ``prlimit64(0, …, NULL, …)``: reading one's own limits."""
    high_of_new = (_LOAD, 0, 0, 16 + 8 * 2 + 4)
    return [
        _low(0),
        (_EQUAL, 0, 5, 0),
        _low(2),
        (_EQUAL, 0, 3, 0),
        high_of_new,
        (_EQUAL, 0, 1, 0),
        (_RETURN, 0, 0, _ALLOW),
        _refused(),
    ]


def _no_hidden_truncation(argument: int) -> list[Line]:
    """Refuse to empty a file that is opened for reading, which an old Landlock does not see."""
    return [
        _low(argument),
        (_AND, 0, 0, _TRUNCATE | _ACCESS),
        (_EQUAL, 2, 0, _TRUNCATE),
        (_EQUAL, 1, 0, _TRUNCATE | _ACCESS),
        (_RETURN, 0, 0, _ALLOW),
        _refused(),
    ]


def _mode_of_owner(argument: int) -> list[Line]:
    """Refuse folders that their owner could not look into and remove."""
    return [
        _low(argument),
        (_AND, 0, 0, 0o700),
        (_EQUAL, 0, 1, 0o700),
        (_RETURN, 0, 0, _ALLOW),
        _refused(),
    ]
