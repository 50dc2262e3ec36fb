"""Lets CloudFormation call the functions behind custom resources. LocalEmu by itself only pretends to.

https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/crpg-ref.html
"""

import json
import uuid
from http.server import BaseHTTPRequestHandler, HTTPServer

from localemu.services.cloudformation.resource_provider import (
    CloudFormationResourceProviderPlugin,
    OperationStatus,
    ProgressEvent,
    ResourceProvider,
)

LOOPBACK = "127.0.0.1"
# LocalEmu keeps the ID of a resource among its properties, under this name.
IDENTITY = "PhysicalResourceId"


class CustomResourcePlugin(CloudFormationResourceProviderPlugin):
    name = "AWS::CloudFormation::CustomResource"
    factory = None

    def load(self):
        self.factory = CustomResource


class CustomResource(ResourceProvider):
    TYPE = CustomResourcePlugin.name
    SCHEMA = {"primaryIdentifier": [f"/properties/{IDENTITY}"]}

    def create(self, request):
        return call("Create", request)

    def update(self, request):
        before = request.previous_state
        old = {name: value for name, value in before.items() if name != IDENTITY}
        details = {IDENTITY: before[IDENTITY], "OldResourceProperties": as_texts(old)}
        return call("Update", request, details)

    def delete(self, request):
        return call("Delete", request, {IDENTITY: request.previous_state[IDENTITY]})


def call(kind, request, details=None):
    properties = {name: value for name, value in request.desired_state.items() if name != IDENTITY}
    patience = int(properties.pop("ServiceTimeout", 3600))
    with HTTPServer((LOOPBACK, 0), Taker) as ear:
        ear.timeout, ear.heard = patience, None
        stack = request.aws_client_factory.cloudformation.describe_stacks(StackName=request.stack_name)
        event = {
            "RequestType": kind,
            "ResponseURL": f"http://{LOOPBACK}:{ear.server_port}/answer",
            "StackId": stack["Stacks"][0]["StackId"],
            "RequestId": str(uuid.uuid4()),
            "ResourceType": request.resource_type,
            "LogicalResourceId": request.logical_resource_id,
            "ResourceProperties": as_texts(properties),
            **(details or {}),
        }
        service = {"FunctionName": properties["ServiceToken"], "InvocationType": "Event"}
        request.aws_client_factory.lambda_.invoke(**service, Payload=json.dumps(event))
        ear.handle_request()
    answer = ear.heard or {"Status": "FAILED", "Reason": f"no answer within {patience} s"}
    if answer["Status"] != "SUCCESS":
        return ProgressEvent(OperationStatus.FAILED, resource_model={}, message=answer["Reason"])
    model = {**request.desired_state, **answer.get("Data", {}), IDENTITY: answer[IDENTITY]}
    return ProgressEvent(OperationStatus.SUCCESS, resource_model=model)


class Taker(BaseHTTPRequestHandler):
    def do_PUT(self):
        self.server.heard = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *args):
        pass


def as_texts(value):
    """CloudFormation passes numbers and booleans as strings."""
    match value:
        case dict():
            return {name: as_texts(member) for name, member in value.items()}
        case list():
            return [as_texts(member) for member in value]
        case bool():
            return str(value).lower()
        case _:
            return str(value)
