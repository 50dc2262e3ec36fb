"""Verifies passes of the waiting room, with its public keys and PyJWT. See python.md."""

import json
import logging
import re
import threading
import time
import urllib.request

import jwt

LEEWAY_SECONDS = 30
LONGEST_PASS = 4096


class NoKeys(Exception):
    """The room has not answered yet, so that no pass can be verified."""


class PassVerifier:
    """`room` is the room's URL without a slash at the end, `name` its short name.

    `keys` are the room's public keys, if they are not to be fetched from the room.
    """

    def __init__(self, room: str, name: str, keys: dict | None = None):
        self.room, self.name, self.given = room, name, keys is not None
        self.keys = parsed(keys or {"keys": []})
        self.fetched = self.asked = None
        self.lock = threading.Lock()

    def verify(self, pass_: str) -> dict:
        """The claims of a valid pass. Otherwise raises jwt.PyJWTError or NoKeys."""
        if len(pass_) > LONGEST_PASS:
            raise jwt.InvalidTokenError("too long")
        key = self.key(jwt.get_unverified_header(pass_).get("kid"))
        required = {"require": ["exp", "nbf", "sub"]}
        known = {"issuer": self.room, "audience": self.name, "leeway": LEEWAY_SECONDS}
        claims = jwt.decode(pass_, key, algorithms=["RS256"], options=required, **known)
        if claims.get("token_use") != "access" or not re.fullmatch(r"[A-Za-z0-9_-]{1,128}", claims["sub"]):
            raise jwt.InvalidTokenError("not a pass")
        return claims

    def key(self, kid: str | None):
        with self.lock:
            if not self.given and self.should_ask(kid):
                self.asked = time.monotonic()
                self.fetch()
            if not self.keys:
                raise NoKeys
            if kid not in self.keys:
                raise jwt.InvalidTokenError("not signed by this room")
            return self.keys[kid]

    def should_ask(self, kid: str | None) -> bool:
        """Every five minutes, or for an unknown key id, but at most once a minute."""
        now, pause = time.monotonic(), 60 if self.keys else 5
        is_known = kid in self.keys and now - self.fetched < 300
        return not is_known and (self.asked is None or now - self.asked >= pause)

    def fetch(self):
        """Keys that are known stay if the room does not answer."""
        try:
            with urllib.request.urlopen(f"{self.room}/.well-known/jwks.json", timeout=5) as response:
                self.keys, self.fetched = parsed(json.load(response)) or self.keys, time.monotonic()
        except (OSError, ValueError, KeyError, jwt.PyJWTError) as error:
            logging.getLogger(__name__).error("could not fetch the keys of %s: %s", self.room, error)


def parsed(published: dict) -> dict:
    return {key["kid"]: jwt.PyJWK(key, "RS256") for key in published["keys"]}
