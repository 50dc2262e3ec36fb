"""Verifies the passes on standard input with PyJWT. Prints whether each is valid."""

import json
import sys

import jwt

given = json.load(sys.stdin)
keys = {key["kid"]: jwt.PyJWK(key, "RS256") for key in given["jwks"]["keys"]}
known = {"issuer": given["room"], "audience": given["name"], "leeway": 30}
asked = {"algorithms": ["RS256"], "options": {"require": ["exp", "nbf", "sub"]}, **known}


def is_valid(pass_: str) -> bool:
    try:
        key = keys[jwt.get_unverified_header(pass_)["kid"]]
        return jwt.decode(pass_, key, **asked).get("token_use") == "access"
    except (jwt.PyJWTError, LookupError, TypeError, ValueError):
        return False


print(json.dumps([is_valid(pass_) for pass_ in given["passes"]]))
