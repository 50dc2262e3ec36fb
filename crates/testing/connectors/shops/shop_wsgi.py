"""A shop over WSGI, for the tests of the connector."""

import json
import os
from wsgiref.simple_server import make_server

from beekeeper_connector import Connector
from beekeeper_middleware import wsgi
from beekeeper_pass import PassVerifier


PAID = ("/thanks", "/notify")


def shop(environ, start_response):
    paid = [("Beekeeper-Session", "End"), ("Set-Cookie", "basket=")] if environ["PATH_INFO"] in PAID else []
    start_response("200 OK", [("Content-Type", "application/json"), *paid])
    visitor = environ["beekeeper.visitor"]
    return [json.dumps(visitor and visitor._asdict()).encode()]


keys = json.loads(os.environ["KEYS"]) if os.environ["KEYS"] else None
passes = PassVerifier(os.environ["ROOM"], os.environ["NAME"], keys)
connector = Connector(passes, os.environ["SECRET"], bypass=lambda path: path == "/notify")
make_server("127.0.0.1", int(os.environ["PORT"]), wsgi(shop, connector)).serve_forever()
