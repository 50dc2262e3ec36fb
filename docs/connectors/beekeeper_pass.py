"""Verifies passes of the waiting room, with its public keys and cryptography. README.md says what a good pass is."""

import base64
import json
import logging
import re
import threading
import time
import urllib.request

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicNumbers
from cryptography.hazmat.primitives.hashes import SHA256

LEEWAY_SECONDS = 30
LONGEST_PASS = 4096
LARGEST_KEYS = 65536
HEADER = re.compile(rb'\{"alg":"RS256","kid":"([A-Za-z0-9_-]+)","typ":"JWT"\}')
CLAIM = rb'"[a-z_]+":("[ !#-\[\]-~]*"|0|[1-9][0-9]{0,14})'
CLAIMS = re.compile(rb"\{%b(,%b)*\}" % (CLAIM, CLAIM))


class PassRefused(Exception):
    """The pass is wrong, or was never one."""


class PassExpired(Exception):
    """Nothing is wrong with the pass but its age. The room gives out another one."""


class NoKeys(Exception):
    """The room has not answered yet, so that no pass can be verified."""


class PassVerifier:
    """`room` is the room's URL without a slash at the end, `name` its short name.

    `keys` are the room's public keys, if they are not to be fetched from the room.
    """

    def __init__(self, room: str, name: str, keys: dict | None = None):
        self.room, self.name, self.given = room, name, keys is not None
        self.keys = keys_by_id(keys or {"keys": []})
        self.fetched = self.asked = float("-inf")
        self.lock = threading.Lock()

    def verify(self, pass_: str) -> dict:
        """The claims of a good pass. Otherwise raises PassRefused or PassExpired, whose message is for a log, or NoKeys."""
        parts = pass_.split(".")
        if len(parts) != 3 or len(pass_) > LONGEST_PASS:
            raise PassRefused("not a pass")
        header, text, signature = map(decoded, parts)
        if not (named := HEADER.fullmatch(header)):
            raise PassRefused("not a pass")
        try:
            key = self.key(named[1].decode())
            key.verify(signature, f"{parts[0]}.{parts[1]}".encode(), PKCS1v15(), SHA256())
        except (KeyError, InvalidSignature):
            raise PassRefused("not signed by this room") from None
        claims = json.loads(text) if CLAIMS.fullmatch(text) else {}
        # A name that stood there twice is now written once.
        if json.dumps(claims, separators=(",", ":")).encode() != text:
            raise PassRefused("not spelled as a room spells its passes")
        number, nonce = claims.get("queue_position", 1), claims.get("nonce", "x" * 16)
        numbers = [claims.get("iat"), claims.get("nbf"), claims.get("exp"), number]
        known = {"iss": self.room, "aud": self.name, "token_use": "access"}
        is_ours = known.items() <= claims.items() and all(isinstance(value, int) for value in numbers)
        is_whole = is_text(claims.get("sub"), 1, 128) and is_text(nonce, 16, 64) and number != 0
        if not is_ours or not is_whole:
            raise PassRefused("not a pass of this room's URL and name")
        if time.time() + LEEWAY_SECONDS < max(claims["iat"], claims["nbf"]):
            raise PassRefused("not valid yet")
        if time.time() >= claims["exp"] + LEEWAY_SECONDS:
            raise PassExpired("expired")
        return claims

    def key(self, kid: str):
        # Whoever has a known key doesn't wait while somebody else asks.
        if not self.given and self.should_ask(kid) and self.lock.acquire(blocking=kid not in self.keys):
            try:
                if self.should_ask(kid):
                    self.fetch()
            finally:
                self.lock.release()
        if not self.keys:
            raise NoKeys
        return self.keys[kid]

    def should_ask(self, kid: str) -> bool:
        """Every five minutes, or for an unknown key id, but at most once a minute."""
        now, pause = time.monotonic(), 60 if self.keys else 5
        is_known = kid in self.keys and now - self.fetched < 300
        return not is_known and now - self.asked >= pause

    def fetch(self):
        """Keys that are known stay if the room does not answer."""
        try:
            with OPENER.open(f"{self.room}/.well-known/jwks.json", timeout=5) as response:
                keys = keys_by_id(json.loads(response.read(LARGEST_KEYS)))
            if keys:
                self.keys, self.fetched = keys, time.monotonic()
        except (OSError, ValueError, KeyError, TypeError) as error:
            logging.getLogger(__name__).error("could not fetch the keys of %s: %s", self.room, error)
        finally:
            # Not before: whoever has waited for this would ask again, and the next one after them.
            self.asked = time.monotonic()


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """What is elsewhere are not the room's keys."""

    def redirect_request(self, *_):
        return None


OPENER = urllib.request.build_opener(NoRedirect)


def keys_by_id(published: dict) -> dict:
    """The keys that sign passes, by their ids. Of two with the same id, the first counts."""
    found = [key for key in published["keys"] if isinstance(key, dict)]
    kind = {"kty": "RSA", "use": "sig", "alg": "RS256"}
    found = [key for key in found if kind.items() <= key.items()]
    found = [key for key in found if all(isinstance(key.get(name), str) for name in ("kid", "n", "e"))]
    number = lambda text: int.from_bytes(decoded(text), "big")
    return {key["kid"]: RSAPublicNumbers(number(key["e"]), number(key["n"])).public_key() for key in reversed(found)}


def decoded(part: str) -> bytes:
    """Written again, it has to be the same: base64url has several spellings."""
    try:
        raw = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except ValueError:
        raise PassRefused("not a pass") from None
    if encoded(raw) != part:
        raise PassRefused("not a pass")
    return raw


def encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def is_text(value, shortest: int, longest: int) -> bool:
    return isinstance(value, str) and re.fullmatch("[A-Za-z0-9_-]{%d,%d}" % (shortest, longest), value) is not None
