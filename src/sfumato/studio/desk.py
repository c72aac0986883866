"""The desk: work that takes longer than a page may take, in processes of its own.

A *job* is one process with one pipe. It tells how far it is, can be cancelled at any moment, and leaves nothing behind: its
temporary files lie in a scratch folder that is removed when it ends, however it ends. The server remembers jobs, so a page that is
loaded again finds its job where it was.

Invariants
    I1  A job that was cancelled or that died leaves no scratch folder.
    I2  What a worker says is JSON; nothing is unpickled that came out of data.
    I3  An error without a sentence of its own is named by its kind alone, so that no value of a person reaches a page or a log.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import secrets
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Literal

from sfumato.errors import SfumatoError
from sfumato.studio.project import Project

Work = Callable[..., Any]
"""A function of `studio.work`: takes `progress` and JSON values by name, returns what JSON can say."""
State = Literal["running", "done", "failed", "cancelled"]
_PATIENCE = 3.0
"""Seconds a cancelled worker has to clean up before it is killed."""
_MOST_KEPT = 50
_PRELOADED = tuple(f"sfumato.studio.work.{name}" for name in ("planning", "profiles", "releasing"))


@dataclass(slots=True)
class Job:
    """One piece of work, as pages see it."""

    title: str
    subject: str
    """Which policy or folder it is about."""
    name: str = field(default_factory=lambda: secrets.token_urlsafe(9))
    state: State = "running"
    share: float = 0.0
    stage: str = "starting"
    began: float = field(default_factory=time.monotonic)
    seconds: float = 0.0
    result: Any = None
    error: Mapping[str, str] | None = None
    process: Any = field(default=None, repr=False)
    scratch: Path | None = field(default=None, repr=False)

    def to_json(self) -> dict[str, Any]:
        running = self.state == "running"
        spent = time.monotonic() - self.began if running else self.seconds
        left = spent / self.share - spent if running and self.share > 0.02 else None
        told = {"name": self.name, "title": self.title, "subject": self.subject, "state": self.state, "stage": self.stage}
        figures = {"share": round(self.share, 3), "seconds": round(spent, 1), "left": None if left is None else round(left)}
        return told | figures | {"result": self.result, "error": None if self.error is None else dict(self.error)}


class Desk:
    """Starts, watches and cancels jobs of one project."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.jobs: dict[str, Job] = {}
        self._context = multiprocessing.get_context("forkserver")  # workers are forked from one that has imported the house
        self._context.set_forkserver_preload(list(_PRELOADED))
        self._lock = threading.Lock()

    def start(self, work: Work, title: str, subject: str, **given: Any) -> Job:
        """Begin; returns at once."""
        here, there = self._context.Pipe(duplex=False)
        scratch = self.project.scratch()
        job = Job(title, subject, scratch=scratch)
        job.process = self._context.Process(target=_worker, args=(there, work, json.dumps(given), str(scratch)))
        with self._lock:
            self.jobs[job.name] = job
            self._forget()
        job.process.start()
        there.close()
        threading.Thread(target=self._watch, args=(job, here), daemon=True).start()
        return job

    def _watch(self, job: Job, pipe: Connection) -> None:
        """Read what the worker says until it ends, then clear up (I1)."""
        try:
            while True:
                self._hear(job, json.loads(pipe.recv_bytes()))  # I2
        except (EOFError, OSError):
            pass
        job.process.join()
        job.seconds = time.monotonic() - job.began
        if job.state == "running":
            job.error = {"what": "the worker ended without a word", "where": "", "hint": "there may not be enough memory"}
            job.state = "failed"
        shutil.rmtree(job.scratch or "", ignore_errors=True)  # I1

    @staticmethod
    def _hear(job: Job, said: dict[str, Any]) -> None:
        if job.state == "cancelled":
            return
        if "stage" in said:
            job.share, job.stage = max(job.share, float(said["share"])), said["stage"]
        elif "error" in said:
            job.error, job.state = said["error"], "failed"
        else:
            job.result, job.share, job.state = said["result"], 1.0, "done"

    def cancel(self, name: str) -> None:
        """End a job; returns when nothing of it is left."""
        job = self.jobs.get(name)
        if job is None or job.state != "running":
            return
        job.state = "cancelled"
        _end(job.process, signal.SIGTERM)
        job.process.join(_PATIENCE)
        _end(job.process, signal.SIGKILL)
        job.process.join()
        shutil.rmtree(job.scratch or "", ignore_errors=True)  # I1

    def latest(self, subject: str, title: str) -> Job | None:
        """The last job of this title about this subject."""
        with self._lock:
            found = [job for job in self.jobs.values() if job.subject == subject and job.title == title]
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


def _worker(pipe: Connection, work: Work, given: str, scratch: str) -> None:
    """The life of a worker."""
    os.setsid()  # a group of its own, so that its children end with it
    signal.signal(signal.SIGTERM, _leave)
    threading.Thread(target=_follow, args=(multiprocessing.parent_process(),), daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server decides when a worker ends
    os.umask(0o077)
    tempfile.tempdir = scratch

    def progress(share: float, stage: str) -> None:
        _say(pipe, {"share": share, "stage": stage})

    try:
        _say(pipe, {"result": work(progress=progress, **json.loads(given))})
    except SfumatoError as error:
        _say(pipe, {"error": {"what": error.what, "where": error.where, "hint": error.hint}})
    except MemoryError:
        _say(pipe, {"error": {"what": "not enough memory", "where": "", "hint": "close other programs or take fewer columns"}})
    except Exception as error:  # I3
        hint = "please report it, with the policy and without the data"
        _say(pipe, {"error": {"what": f"unforeseen: {type(error).__name__}", "where": "", "hint": hint}})


def _leave(*_: object) -> None:
    raise SystemExit(1)


def _say(pipe: Connection, what: dict[str, Any]) -> None:
    pipe.send_bytes(json.dumps(what, default=str).encode())
