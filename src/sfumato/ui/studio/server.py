"""The server: the loopback interface, a free port, a token for this run, and a browser that is sent there."""

from __future__ import annotations

import asyncio
import secrets
import socket
import webbrowser
from collections.abc import Callable
from pathlib import Path

import uvicorn

from sfumato.core.errors import DataError
from sfumato.ui.studio.app import studio
from sfumato.ui.studio.project import Project

ADDRESS = "127.0.0.1"


def serve(folder: str | Path, *, port: int = 0, browser: bool = True, said: Callable[[str], None] = print) -> None:
    """Serve a project folder until interrupted; tells the one address that opens it."""
    project = Project.open(folder)
    listening = _listen(port)
    taken = listening.getsockname()[1]
    token = secrets.token_urlsafe(24)
    address = f"http://{ADDRESS}:{taken}/?token={token}"
    opened = studio(project, token=token, port=taken)
    config = uvicorn.Config(
        opened.serve,
        log_level="error",
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=3,
    )
    opened.warm()
    said(address)
    if browser:
        webbrowser.open(address)
    try:
        asyncio.run(uvicorn.Server(config).serve(sockets=[listening]))
    finally:
        opened.desk.close()
        listening.close()


def _listen(port: int) -> socket.socket:
    """A socket of the loopback interface; nothing outside this machine can reach it."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((ADDRESS, port))
        listening.listen()  # a request before the pages are ready waits, and is not refused
    except OSError:
        listening.close()
        raise DataError(f"port {port} is taken", where="--port", hint="leave --port out to take a free one") from None
    return listening
