#!/usr/bin/env python3
"""A function that executes the command in its event, so that tests can observe the effect."""

import json
import os
import pathlib
import time
import urllib.request

API = f"http://{os.environ['AWS_LAMBDA_RUNTIME_API']}/2018-06-01/runtime"


def post(path, value):
    urllib.request.urlopen(f"{API}/{path}", json.dumps(value).encode())


def handle(event, headers):
    match event.get("do"):
        case "fail":
            raise ValueError("as told")
        case "sleep":
            time.sleep(event["seconds"])
        case "die":
            os._exit(7)
        case "meet":
            place = pathlib.Path(event["place"])
            (place / str(os.getpid())).touch()
            while len(list(place.iterdir())) < event["count"]:
                time.sleep(0.05)
        case "call":
            import boto3

            getattr(boto3.client(event["service"]), event["operation"])(**event["parameters"])
    print("done", event.get("note"), flush=True)
    return {
        "arn": headers["Lambda-Runtime-Invoked-Function-Arn"],
        "left": int(headers["Lambda-Runtime-Deadline-Ms"]) - int(time.time() * 1000),
        "pid": os.getpid(),
        "greeting": os.environ.get("GREETING"),
        "name": os.environ["AWS_LAMBDA_FUNCTION_NAME"],
        "memory": os.environ["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"],
    }


while True:
    with urllib.request.urlopen(f"{API}/invocation/next") as invocation:
        event, headers = json.load(invocation), invocation.headers
    request = f"invocation/{headers['Lambda-Runtime-Aws-Request-Id']}"
    try:
        result = handle(event, headers)
    except Exception as error:
        code = getattr(error, "response", {}).get("Error", {}).get("Code")
        post(f"{request}/error", {"errorType": code or type(error).__name__, "errorMessage": str(error)})
    else:
        post(f"{request}/response", result)
