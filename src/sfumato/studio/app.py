"""The application: pages and their JSON twins, forms, files that come and go, jobs; with the guard before all of it."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from sfumato import __version__
from sfumato.errors import SfumatoError
from sfumato.methods.base import Method
from sfumato.models.base import Model
from sfumato.registry import catalogue
from sfumato.studio.desk import Desk
from sfumato.studio.guard import Guard
from sfumato.studio.project import Project
from sfumato.studio.visit import Changed, Page, Visit
from sfumato.studio.work.releasing import packed

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
    files = StaticFiles(directory=str(resources.files("sfumato.studio").joinpath("static")), follow_symlink=False)
    routes = [Mount("/static", files), *rooms.routes()]
    app = Starlette(routes=routes, exception_handlers={SfumatoError: rooms.refused, 404: rooms.absent}, lifespan=_lifespan(desk))
    return Studio(Guard(app, token=token, hosts=(f"127.0.0.1:{port}", f"localhost:{port}")), desk)


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
        self.pages = {name: cls() for name, cls in sorted(catalogue("studio.pages", Page).items(), key=lambda item: item[1].order)}
        loader = PackageLoader("sfumato.studio", "templates")
        self.templates = Environment(
            loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
        )
        self.templates.filters |= {"number": lambda value: f"{value:,}", "figure": _figure}

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
            Route("/jobs/{name}.json", self.job),
            Route("/jobs/{name}/cancel", self.cancel, methods=["POST"]),
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
        return HTMLResponse(self.render(page, visit, model))

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
            next_ = await asyncio.to_thread(page.act, visit, dict(pairs), several)
        except SfumatoError as error:
            model = await asyncio.to_thread(page.model, visit)
            status = 409 if isinstance(error, Changed) else 422
            return HTMLResponse(self.render(page, visit, model, error), status)
        return RedirectResponse(next_ or str(request.url.path) + (f"?{request.url.query}" if request.url.query else ""), 303)

    def render(self, page: Page, visit: Visit, model: dict[str, Any], error: SfumatoError | None = None) -> str:
        tabs = [other for other in self.pages.values() if other.about == page.about]
        told = None if error is None else {"what": error.what, "where": error.where, "hint": error.hint}
        given = {"page": page, "subject": visit.subject, "tabs": tabs, "error": told, "version": __version__, "query": visit.query}
        return self.templates.get_template(f"{page.name}.html").render(m=model, **given)

    def visit(self, request: Request) -> Visit:
        return Visit(self.project, self.desk, request.path_params.get("subject", ""), dict(request.query_params))

    async def put(self, request: Request) -> Response:
        """A file that was dropped."""
        place = await self.project.receive(request.path_params["name"], request.stream())
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

    async def cancel(self, request: Request) -> Response:
        await asyncio.to_thread(self.desk.cancel, request.path_params["name"])
        if request.headers.get("hx-current-url"):
            return Response(status_code=204, headers={"HX-Refresh": "true"})
        came = urlsplit(request.headers.get("referer", ""))
        ours = came.netloc == request.headers.get("host") and came.path.startswith("/") and not came.path.startswith("//")
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
