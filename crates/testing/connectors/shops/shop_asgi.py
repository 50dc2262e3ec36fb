"""A shop over ASGI, for the tests of the connector."""

import json
import os

import uvicorn

from beekeeper_connector import Connector
from beekeeper_middleware import asgi
from beekeeper_pass import PassVerifier


PAID = ("/thanks", "/notify")


async def shop(scope, receive, send):
    if scope["type"] == "http":
        paid = [(b"beekeeper-session", b"End"), (b"set-cookie", b"basket=")] if scope["path"] in PAID else []
        headers = [(b"content-type", b"application/json"), *paid]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        visitor = scope["beekeeper.visitor"]
        await send({"type": "http.response.body", "body": json.dumps(visitor and visitor._asdict()).encode()})


keys = json.loads(os.environ["KEYS"]) if os.environ["KEYS"] else None
passes = PassVerifier(os.environ["ROOM"], os.environ["NAME"], keys)
connector = Connector(passes, os.environ["SECRET"], bypass=lambda path: path == "/notify")
uvicorn.run(asgi(shop, connector), host="127.0.0.1", port=int(os.environ["PORT"]), lifespan="off")
