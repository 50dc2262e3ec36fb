#!/usr/bin/env python3
"""A function behind a URL. It answers with its event and two cookies, and as the path says; its log has each path it was asked."""

import base64
import json
import os
import time
import urllib.request

API = f"http://{os.environ['AWS_LAMBDA_RUNTIME_API']}/2018-06-01/runtime"

# By the end of a path: what it answers besides.
ANSWERS = {
    "for-a-minute": {"headers": {"Cache-Control": "public, max-age=1, s-maxage=60", "Vary": "*"}},
    "for-a-second": {"headers": {"Cache-Control": "s-maxage=1"}},
    "not-at-all": {"headers": {"Cache-Control": "private, no-store"}},
    "unsaid": {},
    "failing": {"statusCode": 503},
    "missing": {"statusCode": 404},
    "bytes": {"headers": {"Content-Type": "image/png"}, "body": base64.b64encode(b"\x89PNG").decode(), "isBase64Encoded": True},
    "no-response": {"statusCode": "many"},
}


asked = {}


def post(path, value):
    urllib.request.urlopen(f"{API}/{path}", json.dumps(value).encode())


def handle(event):
    path = event["rawPath"]
    print(f"asked {event['requestContext']['http']['method']} {path}", flush=True)
    name = path.rsplit("/", 1)[-1]
    if name.startswith("slow-"):
        time.sleep(1)
        name = name.removeprefix("slow-")
    if name == "once":
        asked[path] = asked.get(path, 0) + 1
        return {"statusCode": 200 if asked[path] == 1 else 503, "headers": {"Cache-Control": "s-maxage=1"}, "body": "once"}
    if name == "plain":
        return {"no": "status"}
    cookies = ["a=1; Path=/; HttpOnly", "b=2; Path=/"]
    answer = {"statusCode": 200, "headers": {}, "cookies": cookies, "body": json.dumps(event)}
    return {**answer, **ANSWERS.get(name, {})}


while True:
    with urllib.request.urlopen(f"{API}/invocation/next") as invocation:
        event, headers = json.load(invocation), invocation.headers
    post(f"invocation/{headers['Lambda-Runtime-Aws-Request-Id']}/response", handle(event))
