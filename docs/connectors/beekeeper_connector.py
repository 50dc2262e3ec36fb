"""Lets nobody into the shop without a valid pass of the waiting room. See python.md."""

import hashlib
import hmac
import html
import json
import logging
import re
import time
from typing import NamedTuple

from beekeeper_pass import NoKeys, PassExpired, PassRefused, PassVerifier, decoded, encoded

LONGEST_PATH = 1500
DAY = 86400
# So many seconds after the shop has ended a visit, images of its last page still come.
FAREWELL = 30


class Visitor(NamedTuple):
    subject: str
    number: int | None


class Answer(NamedTuple):
    status: str
    headers: list[tuple[str, str]]
    body: bytes = b""


class Connector:
    """Decides about each request.

    `secret` has at least 32 random characters, the same on all of the shop's machines. `bypass` gets a path and says
    whether it needs no pass. Only a test may set `https` to False.
    """

    def __init__(self, passes: PassVerifier, secret: str, session_seconds=3600, https=True, bypass=lambda path: False):
        if len(secret) < 32:
            raise ValueError("the secret needs at least 32 characters")
        self.passes, self.secret, self.session_seconds = passes, secret.encode(), session_seconds
        self.https, self.bypass = https, bypass
        self.prefix = f"{'__Host-' if https else ''}bk_{passes.name}"
        self.door = f"{passes.room}/beekeeper"

    def decide(self, method: str, target: str, accept: str, cookie: str) -> Visitor | Answer | None:
        """The visitor who may enter, what to answer to somebody who may not, or None if the request needs no pass."""
        if self.bypass(target.split("?")[0]):
            return None
        pass_, target = take_pass(target)
        # A bare strip() would remove more than spaces and tabs.
        cookies = [pair.strip(" \t").partition("=") for pair in cookie.split(";")]
        values = lambda name: [value for key, _, value in cookies if key == f"{self.prefix}_{name}"][:4]
        session = next(filter(None, map(self.unseal, values("session"))), None)
        reads = method in ("GET", "HEAD")
        if session:
            return redirect(target) if pass_ and reads else session
        if "text/html" not in accept:
            return answer("403 Forbidden", json.dumps({"error": "no pass", "room": self.door}))
        ended = next((value for value in values("ended") if re.fullmatch("[A-Za-z0-9_-]{1,128}", value)), None)
        door = f"{self.door}?again={ended}" if ended else self.door
        if not reads:
            # A form that was sent too late. Its URL is no page to come back to.
            return redirect(door, status="303 See Other")
        remembered = next(filter(None, map(decoded_path, values("page"))), None)
        asked = []
        if pass_ and method == "GET":
            try:
                claims = self.passes.verify(pass_)
                visitor = Visitor(claims["sub"], claims.get("queue_position"))
                set_session = self.set_session(visitor, self.session_seconds)
                return redirect(remembered or target, set_session, self.set_cookie("page", "", 0))
            except NoKeys:
                return answer("503 Service Unavailable", "Please try again soon.", ("Retry-After", "30"))
            except (PassExpired, PassRefused) as error:
                # Never the pass itself, which may be good elsewhere.
                logging.getLogger(__name__).error("the waiting room's pass opens no session: %s", error)
                # An expired pass leads to the room, which gives out another one. Any other mistake would lead there for ever.
                if isinstance(error, PassRefused):
                    return refused("This pass is not valid here.", door)
                # So would a clock that is fast.
                if values("asked"):
                    return refused("This link has expired, or this shop's clock is wrong.", door)
                asked = [self.set_cookie("asked", "1", 60)]
        # An expired pass came to the room's page of the shop. The one that was asked for is remembered already.
        page = (pass_ and remembered) or target
        return redirect(door, self.set_cookie("page", encoded(page.encode()), DAY), *asked)

    def answered(self, visitor: Visitor | None, headers: list[tuple[str, str]]) -> list[tuple[str, str]]:
        """The headers of the shop's answer. If they end the visit, the room gives the visitor a new place when they come again,
        if it counts who is in the shop."""
        told = [value.strip().lower() for name, value in headers if name.lower() == "beekeeper-session"]
        headers = [(name, value) for name, value in headers if name.lower() != "beekeeper-session"]
        if visitor and "end" in told:
            headers += [self.set_session(visitor, FAREWELL), self.set_cookie("ended", visitor.subject, DAY)]
        return headers

    def set_session(self, visitor: Visitor, seconds: int) -> tuple[str, str]:
        number = "" if visitor.number is None else visitor.number
        text = f"{visitor.subject}.{number}.{int(time.time()) + seconds}"
        return self.set_cookie("session", f"{text}.{self.mac(text)}", seconds)

    def unseal(self, value: str) -> Visitor | None:
        match = re.fullmatch(r"(([A-Za-z0-9_-]{1,128})\.([0-9]{0,16})\.([0-9]{1,16}))\.([A-Za-z0-9_-]{43})", value)
        if not match or not hmac.compare_digest(match[5], self.mac(match[1])) or time.time() >= int(match[4]):
            return None
        return Visitor(match[2], int(match[3]) if match[3] else None)

    def mac(self, text: str) -> str:
        return encoded(hmac.new(self.secret, f"{self.passes.name}.{text}".encode(), hashlib.sha256).digest())

    def set_cookie(self, name: str, value: str, seconds: int) -> tuple[str, str]:
        secure = "; Secure" if self.https else ""
        text = f"{self.prefix}_{name}={value}; Path=/; Max-Age={seconds}; HttpOnly{secure}; SameSite=Lax"
        return ("Set-Cookie", text)


def take_pass(target: str) -> tuple[str | None, str]:
    """The pass in the query, and the path without it, which never leads to another site."""
    path, _, query = target.partition("?")
    pairs = query.split("&")
    is_pass = lambda pair: pair == "bk_pass" or pair.startswith("bk_pass=")
    pass_ = next((pair.removeprefix("bk_pass=") for pair in pairs if pair.startswith("bk_pass=")), None)
    rest = "&".join(pair for pair in pairs if not is_pass(pair))
    return pass_, path_of(f"{path}?{rest}" if rest else path) or "/"


def path_of(text: str) -> str | None:
    """The path, unless a browser could take it for the URL of another site, or a header for more than a URL."""
    return text if re.fullmatch(r"/(?!/)[\x21-\x5b\x5d-\x7e]*", text) and len(text) <= LONGEST_PATH else None


def decoded_path(page: str) -> str | None:
    try:
        return path_of(decoded(page).decode())
    except (PassRefused, ValueError):
        return None


def redirect(url: str, *headers: tuple[str, str], status="302 Found") -> Answer:
    return Answer(status, [("Location", url), ("Cache-Control", "no-store"), *headers])


def refused(text: str, door: str) -> Answer:
    """Tells a person why their pass opens nothing, and where there is another one."""
    link = f'<a href="{html.escape(door)}">Get another one</a>'
    page = f'<!doctype html><meta name="viewport" content="width=device-width"><p>{text} {link}</p>'
    return answer("403 Forbidden", page, kind="text/html; charset=utf-8")


def answer(status: str, text: str, *headers: tuple[str, str], kind="text/plain") -> Answer:
    return Answer(status, [("Content-Type", kind), ("Cache-Control", "no-store"), *headers], text.encode())
