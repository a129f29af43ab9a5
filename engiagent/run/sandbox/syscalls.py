"""Numbers of system calls, by processor; generated from the kernel's headers."""

from collections.abc import Mapping
from typing import Final

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
