"""The guard at the door: only the browser that was given the token may ask, and only pages of this server may make it act.

Threats and answers
    A page of another site in the same browser: requests that change something need an Origin of this server; the cookie is
    SameSite=Strict, so such a request carries none.
    A name that points at this machine (DNS rebinding): Host must be the loopback address, with our port.
    Another user of the machine: without the start-up token nothing is answered; it is compared in constant time and never logged.
    A body without end: forms say how large they are, files are counted while they arrive.
    Script in data: nothing but our own files may run (Content-Security-Policy), every value is escaped, no answer is sniffed.

Invariants
    I1  No request reaches a page before Host, token and, for whatever is no reading, Origin were found right.
    I2  Every answer carries the headers, refusals included.
    I3  Of an error that nobody foresaw only its kind is told, to the page and to the log: its words may hold values of people.
"""

from __future__ import annotations

import hmac
import sys
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
LARGEST_FORM = 32 << 20
"""Bytes of a form; a policy has at most eight million characters. Files are not sent as forms."""


class Guard:
    """Stands before the application."""

    def __init__(self, app: ASGIApp, *, token: str, hosts: tuple[str, ...]) -> None:
        self.app = app
        self.token = token
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

        answer = self._refusal(scope)  # I1
        try:
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
        given = parse_qs(scope["query_string"].decode("ascii", "replace"), max_num_fields=50).get("token", [])
        if given and scope["method"] == "GET" and self._is_token(given[0]):
            entry = RedirectResponse(scope["path"], 303)  # the token leaves the address bar at once
            entry.set_cookie(COOKIE, self.token, httponly=True, samesite="strict", path="/")
            return entry
        if not self._is_token(_cookie(headers)):
            return PlainTextResponse("open the address that the studio printed when it started", 403)
        return None

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self.token.encode())


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
