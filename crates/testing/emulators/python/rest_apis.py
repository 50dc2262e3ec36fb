"""Adds what LocalEmu lacks for REST APIs: gateway responses in a definition, methods of `/`, and updates by
CloudFormation."""

import json

from localemu.runtime import hooks
from localemu.services.apigateway.next_gen.execute_api.gateway_response import MissingAuthTokenError
from localemu.services.apigateway.next_gen.execute_api.handlers.resource_router import RestAPIResourceRouter
from localemu.services.apigateway.resource_providers.aws_apigateway_deployment import ApiGatewayDeploymentProvider
from localemu.services.apigateway.resource_providers.aws_apigateway_restapi import ApiGatewayRestApiProvider
from localemu.services.apigateway.resource_providers.aws_apigateway_stage import ApiGatewayStageProvider
from localemu.services.cloudformation.resource_provider import OperationStatus, ProgressEvent

GATEWAY_RESPONSES = "x-amazon-apigateway-gateway-responses"


@hooks.on_infra_start()
def mend_rest_apis():
    match, create_api = RestAPIResourceRouter.match, ApiGatewayRestApiProvider.create

    def match_root_too(self, context):
        asked = context.invocation_request
        if asked["raw_path"].startswith("//"):
            # LocalEmu treats a leading `//` like `/`. On AWS such a path matches none of the API's own paths.
            asked["path"] = "/%2F" + asked["raw_path"].lstrip("/")
        if asked["path"].strip("/"):
            return match(self, context)
        for resource in self._resources.values():
            methods = resource.get("resourceMethods", {})
            if resource["path"] == "/" and (context.request.method in methods or "ANY" in methods):
                return resource, {}
        raise MissingAuthTokenError("Missing Authentication Token")

    def create_with_responses(self, request):
        event = create_api(self, request)
        model = event.resource_model
        if "/" in model.get("Body", {}).get("paths", {}):
            # At first LocalEmu merges the definition into an API that already has `/`, and skips its methods.
            api = request.aws_client_factory.apigateway
            api.put_rest_api(
                restApiId=model["RestApiId"], mode="overwrite", body=json.dumps(model["Body"]).encode()
            )
        put_gateway_responses(request, model)
        return event

    RestAPIResourceRouter.match = match_root_too
    ApiGatewayRestApiProvider.create = create_with_responses
    ApiGatewayRestApiProvider.update = update_api
    ApiGatewayStageProvider.update = update_stage
    # LocalEmu replaces the stage when the API changes, and would put a second stage in the place of the
    # first.
    ApiGatewayStageProvider.SCHEMA = {**ApiGatewayStageProvider.SCHEMA, "createOnlyProperties": []}
    ApiGatewayDeploymentProvider.delete = delete_deployment


def put_gateway_responses(request, model):
    for kind, response in model.get("Body", {}).get(GATEWAY_RESPONSES, {}).items():
        request.aws_client_factory.apigateway.put_gateway_response(
            restApiId=model["RestApiId"], responseType=kind, **response
        )


def update_api(self, request):
    before = request.previous_state
    model = {**request.desired_state, **{name: before[name] for name in ("RestApiId", "RootResourceId")}}
    definition = json.dumps(model["Body"]).encode()
    api = request.aws_client_factory.apigateway
    api.put_rest_api(restApiId=model["RestApiId"], mode="overwrite", body=definition)
    put_gateway_responses(request, model)
    return ProgressEvent(OperationStatus.SUCCESS, resource_model=model)


def update_stage(self, request):
    """Updates only what changes when the API's definition changes."""
    model = request.desired_state
    change = {"op": "replace", "path": "/deploymentId", "value": model["DeploymentId"]}
    api = request.aws_client_factory.apigateway
    api.update_stage(restApiId=model["RestApiId"], stageName=model["StageName"], patchOperations=[change])
    return ProgressEvent(OperationStatus.SUCCESS, resource_model=model)


def delete_deployment(self, request):
    """Deletes the deployment only. A stage that already uses another deployment stays."""
    model, api = request.desired_state, request.aws_client_factory.apigateway
    try:
        api.delete_deployment(restApiId=model["RestApiId"], deploymentId=model["DeploymentId"])
    except api.exceptions.NotFoundException:
        pass
    return ProgressEvent(OperationStatus.SUCCESS, resource_model=model)
