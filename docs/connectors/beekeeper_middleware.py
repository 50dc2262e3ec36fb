"""The connector in front of a WSGI or an ASGI application. See python.md."""

import asyncio
from urllib.parse import quote

from beekeeper_connector import Answer, Connector

PATH = "/;=,:@&+$!*'()~"


def wsgi(app, connector: Connector):
    """The visitor is in environ["beekeeper.visitor"], which no request can set."""

    def protected(environ, start_response):
        path = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
        query = environ.get("QUERY_STRING")
        target = quote(path.encode("latin-1"), PATH) + (f"?{query}" if query else "")
        accept, cookie = environ.get("HTTP_ACCEPT", ""), environ.get("HTTP_COOKIE", "")
        verdict = connector.decide(environ["REQUEST_METHOD"], target, accept, cookie)
        if isinstance(verdict, Answer):
            start_response(verdict.status, verdict.headers)
            return [verdict.body]

        def start(status, headers, *failure):
            return start_response(status, connector.answered(verdict, headers), *failure)

        return app({**environ, "beekeeper.visitor": verdict}, start)

    return protected


def asgi(app, connector: Connector):
    """The visitor is in scope["beekeeper.visitor"], which no request can set."""

    async def protected(scope, receive, send):
        if scope["type"] not in ("http", "websocket"):
            return await app(scope, receive, send)
        header = lambda name: b"; ".join(value for key, value in scope["headers"] if key == name).decode("latin-1")
        path = quote(scope["path"], PATH)
        query = scope["query_string"].decode("latin-1")
        target = f"{path}?{query}" if query else path
        method = scope.get("method", "WEBSOCKET")
        # In a thread, because it may have to ask the room for its keys.
        verdict = await asyncio.to_thread(connector.decide, method, target, header(b"accept"), header(b"cookie"))
        if not isinstance(verdict, Answer):

            async def answer(message):
                if message["type"] == "http.response.start":
                    told = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in message.get("headers", [])]
                    message = {**message, "headers": sent(connector.answered(verdict, told))}
                await send(message)

            return await app({**scope, "beekeeper.visitor": verdict}, receive, answer)
        if scope["type"] == "websocket":
            return await send({"type": "websocket.close", "code": 1008})
        start = {"type": "http.response.start", "status": int(verdict.status[:3]), "headers": sent(verdict.headers)}
        await send(start)
        await send({"type": "http.response.body", "body": verdict.body})

    return protected


def sent(headers):
    return [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers]
