"""The program between a worker and one child: it ends the child's whole family, also when the worker dies.

Started as `python -I -S supervisor.py CONTROL [PSUTIL]`, once for each run, with the child's stdin, stdout and stderr
as its own. CONTROL is the number of a socket to the worker, PSUTIL the folder to import that library from. It imports
nothing of Whilly and little of the standard library, because its start is part of every run. `supervised.py` is the
worker's end of the socket, `docs/decisions/0016-process-care.md` has the reasons.

The worker sends its request (length, then fields between NUL bytes), later `T` (ask the child to end, with a grace),
`K` (end everything now) or `D` with a moment in 24 digits (end everything then, unless a later one comes: the worker
itself may be stopped or hang). Closing the socket, which the kernel does for a killed worker, means `K`. Answers are
lines:

    e ERRNO STAGE    it could not be started, and nothing runs
    x STATUS         the child ended with this wait status
    c KILLED LEFT    its family is gone: so many had to be killed, so many could not be
"""

from __future__ import annotations

import ctypes
import errno
import os
import select
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36

LINGER = 0.2
"""Seconds in which processes that outlive the child may end by themselves: the tail of a pipeline, a `tee`."""
LEAVE = 0.3
"""Seconds between asking those processes to end and killing them."""
NAP = 1.0
"""Seconds between two looks at the clock of the deadline, which goes on while the machine sleeps; timers do not."""
MOMENT = 24
"""Digits of a deadline."""
GIVE_UP = 5.0
"""Seconds of killing, after which what is left cannot be killed (it hangs in the kernel)."""


class Request:
    """What the worker wants to have run."""

    def __init__(self, data: bytes) -> None:
        grace, hunt, marker, self.cwd, count, *rest = data.split(b"\0")
        self.grace = float(grace)
        self.hunt = hunt
        self.marker = marker.decode()
        self.argv = rest[: int(count)]
        self.environment = dict(entry.split(b"=", 1) for entry in rest[int(count) :])


def read_request(control: int) -> Request:
    """The request, or the end of this program when the worker is gone already."""
    size = int.from_bytes(read_exactly(control, 4), "big")
    return Request(read_exactly(control, size))


def read_exactly(control: int, size: int) -> bytes:
    """So many bytes of the socket."""
    parts = bytearray()
    while len(parts) < size:
        part = os.read(control, size - len(parts))
        if not part:
            sys.exit(0)
        parts += part
    return bytes(parts)


def prctl(option: int, value: int) -> None:
    """Linux only; elsewhere it does nothing."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def become(request: Request, parent: int) -> None:
    """Turn this fresh fork into the child. Raises OSError with `filename` holding the stage."""
    stage = "prepare"
    try:
        os.setsid()
        for number in range(1, signal.NSIG):
            if number not in (signal.SIGKILL, signal.SIGSTOP):
                try:
                    signal.signal(number, signal.SIG_DFL)
                except (OSError, ValueError):
                    continue
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
        stage = "chdir"
        os.chdir(request.cwd)
        stage = "exec"
        os.execvpe(request.argv[0], request.argv, request.environment)
    except OSError as error:
        raise OSError(error.errno, error.strerror, stage) from None


def start(request: Request) -> int:
    """The pid of the running child. Raises OSError with `filename` holding the stage."""
    told, tell = os.pipe()
    parent = os.getpid()
    pid = fork()
    if pid == 0:
        try:
            os.close(told)
            become(request, parent)
        except OSError as error:
            os.write(tell, f"{error.errno} {error.filename}".encode())
        finally:
            os._exit(127)
    os.close(tell)
    failure = os.read(told, 200)
    os.close(told)
    if failure:
        os.waitpid(pid, 0)
        number, stage = failure.decode().split()
        raise OSError(int(number), os.strerror(int(number)), stage)
    return pid


def fork() -> int:
    """Fork, with patience while the machine has no room for another process."""
    for wait in (0.1, 0.2, 0.4, 0.8, 1.6, None):
        try:
            return os.fork()
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.ENOMEM) or wait is None:
                raise OSError(error.errno, error.strerror, "fork") from None
            time.sleep(wait)
    raise AssertionError("the last round returns or raises")


def sleepless() -> float:
    """Seconds by the clock that goes on while the machine sleeps; `whilly.worker.clock` has the same one."""
    clock = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))
    return time.monotonic() if clock is None else time.clock_gettime(clock)


def descendants(root: int) -> list[int]:
    """All processes below this one, by the kernel's own lists (Linux)."""
    found: list[int] = []
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        try:
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/children", "rb") as children:
                    below = [int(child) for child in children.read().split()]
                found += below
                waiting += below
        except OSError:
            continue
    return found


def marked(marker: str) -> list[int]:
    """All processes whose environment carries the marker (where the kernel keeps no list for us)."""
    import psutil

    name, value = marker.split("=", 1)
    found = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and process.environ().get(name) == value:
                found.append(process.pid)
        except (psutil.Error, OSError):
            continue
    return found


class Supervisor:
    """Watches the child and the socket, and ends the family when either says so."""

    def __init__(self, control: int, request: Request) -> None:
        self.control = control
        self.request = request
        self.main = 0
        self.main_ended = False
        self.killed: set[int] = set()
        self.next_step: Callable[[], None] = self.kill_everything
        self.due: float | None = None
        self.deadline: float | None = None

    def family(self) -> list[int]:
        """Every process that belongs to this run and still lives."""
        if self.request.hunt == b"children":
            return descendants(os.getpid())
        return marked(self.request.marker)

    def say(self, line: str) -> None:
        """Tell the worker, if it still lives."""
        try:
            os.write(self.control, line.encode() + b"\n")
        except OSError:
            pass

    def reap(self) -> bool:
        """Collect the dead; true when nobody of the family is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return self.request.hunt == b"children" or not self.family()
            if pid == 0:
                return False
            if pid == self.main:
                self.main_ended = True
                self.say(f"x {status}")
                self.plan(self.ask_the_rest_to_leave, LINGER)

    def plan(self, step: Callable[[], None], seconds: float) -> None:
        """What comes next, unless everybody leaves before."""
        self.next_step, self.due = step, time.monotonic() + seconds

    def obey(self, command: bytes) -> None:
        """Do what the worker asks; an empty command means that it is gone."""
        if command == b"D":
            self.postpone()
        elif command == b"T" and not self.main_ended:
            try:
                os.killpg(self.main, signal.SIGTERM)
            except OSError:
                pass
            self.plan(self.kill_everything, self.request.grace)
        elif command != b"T":
            self.kill_everything()

    def postpone(self) -> None:
        """Take another deadline. Half of one means that the worker died while it wrote."""
        digits = b""
        while len(digits) < MOMENT:
            more = os.read(self.control, MOMENT - len(digits))
            if not more:
                self.kill_everything()
            digits += more
        self.deadline = float(digits)

    def seconds_left(self) -> float | None:
        """Until something has to be done, if nobody says anything; None: nothing has."""
        left = [] if self.due is None else [max(0.0, self.due - time.monotonic())]
        if self.deadline is not None:
            left.append(min(NAP, max(0.0, self.deadline - sleepless())))
        return min(left, default=None)

    def ask_the_rest_to_leave(self) -> None:
        """The child ended, others did not."""
        self.signal_family(signal.SIGTERM)
        self.plan(self.kill_everything, LEAVE)

    def kill_everything(self) -> None:
        """Kill the family in rounds, since each death makes its children ours; does not return."""
        until = time.monotonic() + GIVE_UP
        while time.monotonic() < until:
            self.signal_family(signal.SIGKILL)
            if self.reap():
                self.leave(0)
            time.sleep(0.002)
        self.leave(len(self.family()))

    def signal_family(self, number: int) -> None:
        """Send it to each."""
        for pid in self.family():
            try:
                os.kill(pid, number)
            except OSError:
                continue
            if pid != self.main:
                self.killed.add(pid)

    def leave(self, left: int) -> None:
        """The work is done."""
        self.say(f"c {len(self.killed)} {left}")
        os._exit(0)

    def watch(self, wake: int) -> None:
        """Until the family is gone."""
        poll = select.poll()
        poll.register(self.control, select.POLLIN)
        poll.register(wake, select.POLLIN)
        while True:
            if self.reap() and self.main_ended:
                self.leave(0)
            wait = self.seconds_left()
            ready = [file for file, _ in poll.poll(None if wait is None else wait * 1000)]
            if wake in ready:
                os.read(wake, 4096)
            if self.control in ready:
                self.obey(os.read(self.control, 1))
            elif self.deadline is not None and sleepless() >= self.deadline:
                self.kill_everything()
            elif not ready and self.due is not None and time.monotonic() >= self.due:
                self.next_step()


def main() -> None:
    """Run one child and everything it starts."""
    control = int(sys.argv[1])
    sys.path[1:1] = sys.argv[2:]
    os.set_inheritable(control, False)
    request = read_request(control)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    prctl(PR_SET_DUMPABLE, 0)
    wake, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE, signal.SIGTSTP):
        signal.signal(number, signal.SIG_IGN)
    supervisor = Supervisor(control, request)
    try:
        supervisor.main = start(request)
    except OSError as error:
        supervisor.say(f"e {error.errno} {error.filename}")
        return
    nothing = os.open(os.devnull, os.O_RDWR)
    for ours in (0, 1, 2):
        os.dup2(nothing, ours)
    supervisor.watch(wake)


if __name__ == "__main__":
    main()
