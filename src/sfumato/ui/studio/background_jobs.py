"""The desk: work that takes longer than a page may take, in processes of its own.

A *job* is one process with one pipe. It tells how far it is, can be cancelled at any moment, and leaves nothing behind:
its temporary files lie in a scratch folder that is removed when it ends, however it ends. The server remembers jobs, so
a page that is loaded again finds its job where it was. Questions of pages and jobs of users have two queues; in each
only a few run at a time and the others wait, so that memory stays bounded however many pages are open.

Invariants
    I1  A job that was cancelled or that died leaves no scratch folder.
    I2  What a worker says is JSON; nothing is unpickled that came out of data.
    I3  At most `PLACES` jobs of a lane run at once.
    I4  An error without a sentence of its own is named by its kind alone, so that no value of a person reaches a page
        or a log.
"""

from __future__ import annotations

import contextlib
import json
import math
import multiprocessing
import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from multiprocessing.connection import Connection, wait
from pathlib import Path
from secrets import token_urlsafe
from typing import Any, Literal

from sfumato.core.confinement import CONFINED_TO
from sfumato.core.effort import take_on_request
from sfumato.core.errors import SfumatoError
from sfumato.core.remaining_time import RemainingTime
from sfumato.ui.studio.project import Project

Work = Callable[..., Any]
"""A function of `studio.work`: takes `progress` and JSON values by name, returns what JSON can say."""
State = Literal["running", "done", "failed", "cancelled"]
Lane = Literal["question", "work"]
PLACES: Mapping[Lane, int] = {"question": 2, "work": 2}
"""Jobs that run at once: what pages ask, and what people begin."""
_PATIENCE = 3.0
"""Seconds a cancelled worker has to clean up before it is killed."""
_MOST_KEPT = 50
_WAITING = "waiting for its turn"


@dataclass(slots=True)
class Job:
    """One piece of work, as pages see it."""

    title: str
    subject: str
    """Which policy or folder it is about."""
    name: str = field(default_factory=lambda: token_urlsafe(9))
    remaining: RemainingTime = field(default_factory=RemainingTime)
    """What is left; with a limit, the job takes the best result so far when that is over."""
    state: State = "running"
    share: float = 0.0
    stage: str = "starting"
    lane: Lane = "work"
    asked: str = ""
    """What a page wants to know, whatever its answer depends on; a newer question of the same words takes its place."""
    began: float = field(default_factory=time.monotonic)
    seconds: float = 0.0
    ended: float = 0.0
    cpu: float = 0.0
    """Seconds of the processor."""
    result: Any = None
    error: Mapping[str, str] | None = None
    note: str = ""
    """What a page wants to remember beside it."""
    process: Any = field(default=None, repr=False)
    scratch: Path | None = field(default=None, repr=False)
    beginning: threading.Lock = field(default_factory=threading.Lock, repr=False)
    """Held while the process is started, so that nothing is cancelled halfway."""

    def to_json(self) -> dict[str, Any]:
        running = self.state == "running"
        spent = time.monotonic() - self.began if running else self.seconds
        left = self.remaining.left(self.share, spent) if running and self.process is not None else None
        told = {
            "name": self.name,
            "title": self.title,
            "subject": self.subject,
            "state": self.state,
            "stage": self.stage,
        }
        figures = {
            "share": round(self.share, 3),
            "seconds": round(spent, 1),
            "left": None if left is None else math.ceil(left),
            "limit": self.remaining.limit,
            "cpu": self.cpu,
        }
        return told | figures | {"result": self.result, "error": None if self.error is None else dict(self.error)}


class Desk:
    """Starts, watches and cancels jobs of one project."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.secrets: dict[str, str] = {}
        """Addresses with a login, by the variables that policies name them with; kept in memory as long as the studio
        runs."""
        self.jobs: dict[str, Job] = {}
        self._context = multiprocessing.get_context(
            "forkserver"
        )  # workers are forked from a process that has imported the package
        self._context.set_forkserver_preload(
            [*(f"sfumato.ui.studio.work.{name}" for name in work_modules()), "sfumato.ui.studio.preloaded"]
        )
        self._lock = threading.Lock()
        self._queue: list[tuple[Job, Work, str]] = []
        self._running: dict[Lane, int] = dict.fromkeys(PLACES, 0)

    def warm(self) -> None:
        """Let the process that workers are forked from import the package before the first request."""
        threading.Thread(target=self._context.Process(target=_nothing).start, daemon=True).start()

    def start(self, work: Work, title: str, subject: str, *, limit: float | None = None, **given: Any) -> Job:
        """Begin what somebody wants done; returns at once. After `limit` seconds it takes the best result so far."""
        return self._enter(Job(title, subject, remaining=RemainingTime(limit)), work, given)

    def ask(self, work: Work, asked: str, stamp: str, subject: str, **given: Any) -> Job:
        """Begin what a page wants to know; an older question of the same words is no longer of interest."""
        job = self._enter(Job(f"{asked} {stamp}", subject, lane="question", asked=asked), work, given)
        with self._lock:
            old = [one for one in self.jobs.values() if one is not job and (one.subject, one.asked) == (subject, asked)]
        for one in old:
            if one.state == "running":
                threading.Thread(target=self.cancel, args=(one.name,), daemon=True).start()
        return job

    def _enter(self, job: Job, work: Work, given: Mapping[str, Any]) -> Job:
        job.stage = _WAITING
        with self._lock:
            self.jobs[job.name] = job
            self._forget()
            self._queue.append((job, work, json.dumps(given)))
        self._advance()
        return job

    def _advance(self) -> None:
        """Begin whatever has a place (I3)."""
        with self._lock:
            for entry in list(self._queue):
                lane = entry[0].lane
                if self._running[lane] < PLACES[lane]:
                    self._running[lane] += 1
                    self._queue.remove(entry)
                    threading.Thread(target=self._live, args=entry, daemon=True).start()

    def _live(self, job: Job, work: Work, given: str) -> None:
        """The life of a job, from its process to the last of its files (I1)."""
        try:
            here, there = self._context.Pipe(duplex=False)
            with job.beginning:
                if job.state == "cancelled":
                    return
                job.scratch, job.began = self.project.scratch(), time.monotonic()
                job.process = self._context.Process(
                    target=_worker, args=(there, work, given, str(job.scratch), json.dumps(self.secrets))
                )
                job.process.start()
                job.stage = "starting"
            there.close()
            self._watch(job, here)
        finally:
            with self._lock:
                self._running[job.lane] -= 1
            self._advance()

    def _watch(self, job: Job, pipe: Connection) -> None:
        """Read what the worker says until it ends, then clear up (I1)."""
        limit = job.remaining.limit
        try:
            while True:
                if limit is not None and time.monotonic() - job.began >= limit:
                    self.take(job.name)  # again every second: it has no effect before a search began
                    pipe.poll(1.0)
                elif limit is not None and not pipe.poll(max(job.began + limit - time.monotonic(), 0.01)):
                    continue
                if limit is None or pipe.poll():
                    self._hear(job, json.loads(pipe.recv_bytes()))  # I2
        except (EOFError, OSError):
            pass
        job.process.join()
        job.ended = time.monotonic()
        job.seconds = job.ended - job.began
        if job.state == "running":
            job.error = {
                "what": "the worker ended without a word",
                "where": "",
                "hint": "there may not be enough memory",
            }
            job.state = "failed"
        shutil.rmtree(job.scratch or "", ignore_errors=True)  # I1

    @staticmethod
    def _hear(job: Job, said: dict[str, Any]) -> None:
        if job.state == "cancelled" and "result" not in said:  # a job that ended before the signal came is done
            return
        if "stage" in said:
            job.share, job.stage = max(job.share, float(said["share"])), said["stage"]
        elif "error" in said:
            job.error, job.state = said["error"], "failed"
        else:
            job.result, job.cpu, job.share, job.state = said["result"], said["cpu"], 1.0, "done"

    def cancel(self, name: str) -> None:
        """End a job; returns when nothing of it is left."""
        job = self.jobs.get(name)
        if job is None or job.state != "running":
            return
        with job.beginning:
            job.state = "cancelled"
        with self._lock:
            self._queue = [entry for entry in self._queue if entry[0] is not job]
        if job.process is None:
            return
        _end(job.process, signal.SIGTERM)
        job.process.join(_PATIENCE)
        _end(job.process, signal.SIGKILL)
        job.process.join()
        shutil.rmtree(job.scratch or "", ignore_errors=True)  # I1

    def take(self, name: str) -> None:
        """Ask a job for the best result that it has so far; one that has not begun goes on."""
        job = self.jobs.get(name)
        if job is None or job.state != "running" or job.process is None or job.stage in ("starting", _WAITING):
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(job.process.pid, signal.SIGUSR1)

    def latest(self, subject: str, title: str) -> Job | None:
        """The last job of this title about this subject."""
        with self._lock:
            found = [job for job in self.jobs.values() if job.subject == subject and job.title == title]
        return found[-1] if found else None

    def latest_asked(self, subject: str, asked: str) -> Job | None:
        """The last question of these words about this subject, whatever its answer depends on."""
        with self._lock:
            found = [job for job in self.jobs.values() if job.subject == subject and job.asked == asked]
        return found[-1] if found else None

    def close(self) -> None:
        """End everything."""
        for name in list(self.jobs):
            self.cancel(name)
        self.project.clear()

    def _forget(self) -> None:
        """Jobs that ended long ago make place."""
        ended = [name for name, job in self.jobs.items() if job.state != "running"]
        for name in ended[: max(0, len(self.jobs) - _MOST_KEPT)]:
            del self.jobs[name]


def work_modules() -> list[str]:
    """What workers may be asked to do, by the names of the files."""
    return sorted(
        file.name[:-3] for file in resources.files("sfumato.ui.studio.work").iterdir() if not file.name.startswith("_")
    )


def _nothing() -> None:
    """The work of a worker that only warms up."""


def _end(process: Any, how: signal.Signals) -> None:
    """Tell a worker and whatever it started to end (I1)."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, how)
    if process.is_alive():  # it may not have a group of its own yet
        process.kill() if how == signal.SIGKILL else process.terminate()


def _follow(parent: Any) -> None:
    """End with the server, however it ends."""
    wait([parent.sentinel])
    os.killpg(os.getpgid(0), signal.SIGKILL)


def _worker(pipe: Connection, work: Work, given: str, scratch: str, secrets: str) -> None:
    """The life of a worker."""
    os.environ.update(json.loads(secrets))
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    os.setsid()  # a group of its own, so that its children end with it
    signal.signal(signal.SIGTERM, _leave)
    threading.Thread(target=_follow, args=(multiprocessing.parent_process(),), daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server decides when a worker ends
    os.nice(5)  # pages answer first
    os.umask(0o077)
    tempfile.tempdir = scratch
    CONFINED_TO.set(Path(scratch).parents[1])

    def progress(share: float, stage: str) -> None:
        _say(pipe, {"share": share, "stage": stage})

    try:
        with take_on_request() as take:
            signal.signal(signal.SIGUSR1, lambda number, frame: take())
            done = work(progress=progress, **json.loads(given))
        _say(pipe, {"result": done, "cpu": round(time.process_time(), 2)})
    except SfumatoError as error:
        _say(pipe, {"error": {"what": error.what, "where": error.where, "hint": error.hint}})
    except MemoryError:
        _say(
            pipe,
            {"error": {"what": "not enough memory", "where": "", "hint": "close other programs or take fewer columns"}},
        )
    except Exception as error:  # I4
        hint = "please report it, with the policy and without the data"
        _say(pipe, {"error": {"what": f"unforeseen: {type(error).__name__}", "where": "", "hint": hint}})


def _leave(*_: object) -> None:
    raise SystemExit(1)


def _say(pipe: Connection, what: dict[str, Any]) -> None:
    pipe.send_bytes(json.dumps(_sayable(what), default=str).encode())


def _sayable(value: Any) -> Any:
    """What JSON can say: a number without bounds is nothing."""
    if isinstance(value, dict):
        return {key: _sayable(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_sayable(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
