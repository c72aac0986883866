"""The application: pages and their JSON twins, forms, files that come and go, jobs; with the guard before all of it.


Guard
-----
The guard at the door: only the browser that was given the token may ask, and only pages of this server may make it act.

Threats and answers
    A page of another site in the same browser: requests that change something need an Origin of this server; the cookie
    is SameSite=Strict, so such a request carries none. A name that points at this machine (DNS rebinding): Host must be
    the loopback address, with our port. Another user of the machine: without the start-up token nothing is answered; it
    is compared in constant time and never logged. Another server on this machine, which the browser sends our cookie
    to: it is random, not the token, and ends with this run. A policy of a stranger: files that it names outside the
    project folder are refused (`core.confinement`). A body without end: forms say how large they are, files are counted
    while they arrive. Script in data: nothing but our own files may run (Content-Security-Policy), every value is
    escaped, no answer is sniffed.

Invariants
    I1  No request reaches a page before Host, token and, for whatever is no reading, Origin were found right.
    I2  Every answer carries the headers, refusals included.
    I3  Page and log show only the kind of an unexpected error: its text may contain values of people.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import secrets
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import partial
from http.cookies import CookieError, SimpleCookie
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.datastructures import Headers, MutableHeaders, UploadFile
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sfumato import __version__
from sfumato.core.confinement import CONFINED_TO
from sfumato.core.errors import SfumatoError
from sfumato.core.registry import catalogue
from sfumato.core.wording import percent_text
from sfumato.models.base import Model
from sfumato.release.method import Method
from sfumato.ui.studio.background_jobs import Desk
from sfumato.ui.studio.page import Changed, Page, Visit, question
from sfumato.ui.studio.project import Project
from sfumato.ui.studio.steps import ROLE_COLORS, ROLE_WORDS, steps_of
from sfumato.ui.studio.work.releasing import packed

COOKIE = "sfumato_studio"
POLICY = (
    "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'self'; object-src 'none'; "
    "img-src 'self' data:; connect-src 'self'"
)
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",  # with no-referrer browsers would hide the Origin of our own forms
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "SAMEORIGIN",
}
_READING = ("GET", "HEAD")
_MOST_QUERY_FIELDS = 50
LARGEST_FORM = 32 << 20
"""Bytes of a form; a policy has at most eight million characters. Files are not sent as forms."""


class Guard:
    """Stands before the application."""

    def __init__(self, app: ASGIApp, *, token: str, hosts: tuple[str, ...], folder: Path) -> None:
        self.app = app
        self.token = token
        self.folder = folder
        self.session = secrets.token_urlsafe(24)
        """What the cookie holds: no browser that has it knows the token, and it ends with this run."""
        self.hosts = hosts
        """Every way to write our own address: ``127.0.0.1:8000``, ``localhost:8000``."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)  # I2
            await send(message)

        CONFINED_TO.set(self.folder)
        try:
            answer = self._refusal(scope)  # I1
            await (answer or self.app)(scope, receive, sending)
        except Exception as error:  # I3; the application has answered that something went wrong
            print(f"unforeseen in {scope['method']}: {type(error).__name__}", file=sys.stderr)

    def _refusal(self, scope: Scope) -> Response | None:
        """What is answered instead of a page; nothing when the request may pass."""
        headers = Headers(scope=scope)
        if headers.get("host") not in self.hosts or len(headers.getlist("host")) != 1:
            return PlainTextResponse("this is not the address of the studio", 403)
        if scope["method"] not in _READING and headers.get("origin") not in {f"http://{host}" for host in self.hosts}:
            return PlainTextResponse("this request did not come from a page of the studio", 403)
        if scope["method"] == "POST" and not _small(headers):
            return PlainTextResponse("a form is not that large", 413)
        if scope["method"] == "GET" and hmac.compare_digest(scope["query_string"], b"token=" + self.token.encode()):
            entry = RedirectResponse(scope["path"], 303)  # the token leaves the address bar at once
            entry.set_cookie(COOKIE, self.session, httponly=True, samesite="strict", path="/")
            return entry
        if not hmac.compare_digest(_cookie(headers).encode(), self.session.encode()):
            return PlainTextResponse("open the address that the studio printed when it started", 403)
        if scope["query_string"].count(b"&") >= _MOST_QUERY_FIELDS:
            return PlainTextResponse("an address of the studio has few fields", 400)
        return None


def _small(headers: Headers) -> bool:
    """Whether a form says how large it is, and is no larger than a policy may be."""
    said = headers.get("content-length", "")
    return (
        said.isascii()
        and said.isdigit()
        and int(said[:12]) <= LARGEST_FORM
        and "chunked" not in headers.get("transfer-encoding", "")
    )


def _cookie(headers: Headers) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return "" if found is None else found.value


# App
# ---


REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox allow-popups"
_MOST_FIELDS = 2_000
_LARGEST_FORM = 8 << 20


@dataclass(frozen=True, slots=True)
class Studio:
    """The application with the desk whose jobs must end with it."""

    serve: Guard
    desk: Desk

    def warm(self) -> None:
        """Import in the background what the first page would otherwise wait for."""
        self.desk.warm()
        threading.Thread(target=lambda: [catalogue("models", Model), catalogue("methods", Method)], daemon=True).start()


def studio(project: Project, *, token: str, port: int) -> Studio:
    """Everything for one project folder."""
    desk = Desk(project)
    rooms = Rooms(project, desk)
    files = StaticFiles(directory=str(resources.files("sfumato.ui.studio").joinpath("static")), follow_symlink=False)
    routes = [Mount("/static", files), *rooms.routes()]
    app = Starlette(
        routes=routes, exception_handlers={SfumatoError: rooms.refused, 404: rooms.absent}, lifespan=_lifespan(desk)
    )
    return Studio(
        Guard(app, token=token, hosts=(f"127.0.0.1:{port}", f"localhost:{port}"), folder=project.folder), desk
    )


def _lifespan(desk: Desk) -> Callable[[Starlette], Any]:
    @contextlib.asynccontextmanager
    async def living(_: Starlette) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(desk.close)

    return living


class Rooms:
    """Every address of the studio and what answers there."""

    def __init__(self, project: Project, desk: Desk) -> None:
        self.project, self.desk = project, desk
        self.pages = {
            name: cls() for name, cls in sorted(catalogue("studio pages", Page).items(), key=lambda item: item[1].order)
        }
        loader = PackageLoader("sfumato.ui.studio", "templates")
        self.templates = Environment(
            loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
        )
        self.templates.filters |= {"number": lambda value: f"{value:,}", "figure": _figure, "percent": percent_text}
        self.templates.globals |= {"role_words": ROLE_WORDS, "role_colors": ROLE_COLORS}

    def routes(self) -> list[Route]:
        """Pages by what they are about; then files and jobs."""
        shown = []
        for page in self.pages.values():
            path = {"project": "/", "policy": "/p/{subject}/", "release": "/r/{subject}/"}[page.about] + page.name
            shown += [Route(path, partial(self.page, page), methods=["GET", "POST"])]
            shown += [Route(path + ".json", partial(self.twin, page), methods=["GET"])]
        return [
            Route("/", self.home),
            *shown,
            Route("/files/{name}", self.put, methods=["PUT"]),
            Route("/files/{name}", self.get, methods=["GET"]),
            Route("/p/{subject}/undo", self.undo, methods=["POST"]),
            Route("/jobs/{name}.json", self.job),
            Route("/jobs/{name}/cancel", self.cancel, methods=["POST"]),
            Route("/jobs/{name}/take", self.take, methods=["POST"]),
            Route("/r/{subject}/report.html", partial(self.report, "report.html")),
            Route("/r/{subject}/private.html", partial(self.report, "")),
            Route("/r/{subject}.zip", self.zip),
        ]

    async def home(self, request: Request) -> Response:
        return RedirectResponse("/project", 303)

    async def page(self, page: Page, request: Request) -> Response:
        visit = self.visit(request)
        if request.method == "POST":
            return await self.form(page, visit, request)
        model = await asyncio.to_thread(page.model, visit)
        waited = request.headers.get("hx-request") == "true"
        if waited and (onward := page.onward(visit, model)):
            return Response(status_code=204, headers={"HX-Redirect": onward})
        return HTMLResponse(await asyncio.to_thread(self.render, page, visit, model))

    async def undo(self, request: Request) -> Response:
        """Take the last change of a policy back, and return to the page it was made on."""
        visit = self.visit(request)
        async with request.form(max_files=0, max_fields=_MOST_FIELDS) as given:
            seen, name = str(given.get("seen", "")), str(given.get("page", ""))
        await asyncio.to_thread(visit.undo, seen)
        page = self.pages.get(name)
        return RedirectResponse(f"/p/{visit.subject}/{page.name if page else 'data'}", 303)

    async def twin(self, page: Page, request: Request) -> Response:
        return JSONResponse(await asyncio.to_thread(page.model, self.visit(request)))

    async def form(self, page: Page, visit: Visit, request: Request) -> Response:
        """Do what a form asks and show the page again; an error is shown on the page itself."""
        async with request.form(max_files=0, max_fields=_MOST_FIELDS, max_part_size=_LARGEST_FORM) as given:
            pairs = [(key, value) for key, value in given.multi_items() if not isinstance(value, UploadFile)]
        several: dict[str, list[str]] = {}
        for key, value in pairs:
            several.setdefault(key, []).append(value)
        try:
            if "mend" in several and page.about == "policy":
                await asyncio.to_thread(visit.mend, dict(pairs))
                next_ = ""
            else:
                next_ = await asyncio.to_thread(page.act, visit, dict(pairs), several)
        except SfumatoError as error:
            model = await asyncio.to_thread(page.model, visit)
            status = 409 if isinstance(error, Changed) else 422
            return HTMLResponse(self.render(page, visit, model, error), status)
        return RedirectResponse(
            next_ or str(request.url.path) + (f"?{request.url.query}" if request.url.query else ""), 303
        )

    def render(self, page: Page, visit: Visit, model: dict[str, Any], error: SfumatoError | None = None) -> str:
        tabs = [other for other in self.pages.values() if other.about == page.about and other.listed]
        guided = page.about == "policy"
        estimate = visit.estimate() if guided and page.step in range(2, 5) else None
        told = None if error is None else {"what": error.what, "where": error.where, "hint": error.hint}
        given = {
            "page": page,
            "subject": visit.subject,
            "tabs": tabs,
            "error": told,
            "version": __version__,
            "query": visit.query,
            "steps": steps_of(visit) if guided else [],
            "undo": self.project.last_version(visit.subject) if guided else None,
            "estimate": None if estimate is None else question(estimate),
            "policy_seen": visit.digest if guided else "",
        }
        return self.templates.get_template(f"{page.name}.html").render(m=model, **given)

    def visit(self, request: Request) -> Visit:
        return Visit(self.project, self.desk, request.path_params.get("subject", ""), dict(request.query_params))

    async def put(self, request: Request) -> Response:
        """A file that was dropped."""
        replace = request.query_params.get("replace") == "1"
        place = await self.project.receive(request.path_params["name"], request.stream(), replace=replace)
        return JSONResponse({"name": place.name})

    async def get(self, request: Request) -> Response:
        """A policy as a file; nothing else of the project is handed out."""
        name = request.path_params["name"]
        if name not in {file.name for file in self.project.policies()}:
            return Response(status_code=404)
        return FileResponse(self.project.existing(name), media_type="text/yaml", filename=name)

    async def job(self, request: Request) -> Response:
        job = self.desk.jobs.get(request.path_params["name"])
        return JSONResponse(job.to_json() if job else {"state": "unknown"}, 200 if job else 404)

    async def take(self, request: Request) -> Response:
        self.desk.take(request.path_params["name"])
        return self._back(request)

    async def cancel(self, request: Request) -> Response:
        await asyncio.to_thread(self.desk.cancel, request.path_params["name"])
        return self._back(request)

    @staticmethod
    def _back(request: Request) -> Response:
        """Return to the page that a button of a job stands on."""
        if request.headers.get("hx-current-url"):
            return Response(status_code=204, headers={"HX-Refresh": "true"})
        came = urlsplit(request.headers.get("referer", ""))
        ours = (
            came.netloc == request.headers.get("host") and came.path.startswith("/") and not came.path.startswith("//")
        )
        return RedirectResponse(came.path + (f"?{came.query}" if came.query else "") if ours else "/", 303)

    async def report(self, name: str, request: Request) -> Response:
        """A report, which may show itself and do nothing else."""
        folder = self._release(request.path_params["subject"])
        place = folder / name if name else folder.with_name(f"{folder.name}.private.html")
        if place.is_symlink() or not place.is_file():
            return Response(status_code=404)
        return FileResponse(place, media_type="text/html", headers={"content-security-policy": REPORT_POLICY})

    async def zip(self, request: Request) -> Response:
        folder = self._release(request.path_params["subject"])
        where = tempfile.TemporaryDirectory()
        made = await asyncio.to_thread(packed, folder, Path(where.name) / folder.name)
        return FileResponse(made, filename=f"{folder.name}.zip", background=BackgroundTask(where.cleanup))

    def _release(self, name: str) -> Path:
        if name not in self.project.releases():
            raise SfumatoError(f"no release '{name}' in this project", hint="look at the list of releases")
        return self.project.existing(name)

    async def refused(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, SfumatoError)
        told = {"what": error.what, "where": error.where, "hint": error.hint}
        if request.url.path.endswith(".json") or request.method == "PUT":
            return JSONResponse({"error": told}, 422)
        return HTMLResponse(self.templates.get_template("refused.html").render(error=told, version=__version__), 422)

    async def absent(self, request: Request, error: Exception) -> Response:
        told = {"what": "there is no such page", "where": "", "hint": "go back to the project"}
        return HTMLResponse(self.templates.get_template("refused.html").render(error=told, version=__version__), 404)


def _figure(value: Any) -> str:
    """A number as people read it."""
    return (
        f"{value:,}"
        if isinstance(value, int)
        else f"{value:.4g}"
        if isinstance(value, float)
        else ""
        if value is None
        else str(value)
    )
