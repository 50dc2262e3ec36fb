"""Makes the calls that boto.rs sends, one a line."""

import io
import json
import sys
import zipfile

import boto3
from botocore.exceptions import ClientError


def package(value):
    """Converts {"bootstrap": text} to a zip that contains this program."""
    if list(value) != ["bootstrap"]:
        return value
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("bootstrap", value["bootstrap"])
    return archive.getvalue()


def plain(value):
    return value.read().decode() if hasattr(value, "read") else str(value)


clients = {}
for line in sys.stdin:
    service, operation, parameters = json.loads(line, object_hook=package)
    if service not in clients:
        clients[service] = boto3.client(service)
    try:
        answer = {"answer": getattr(clients[service], operation)(**parameters)}
    except ClientError as error:
        answer = {"error": error.response["Error"]["Code"]}
    print(json.dumps(answer, default=plain), flush=True)
