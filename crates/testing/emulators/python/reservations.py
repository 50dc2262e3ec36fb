"""Reserves concurrent executions for the functions of a stack. LocalEmu's CloudFormation ignores that property, although its
functions know reservations.
"""

from localemu.runtime import hooks
from localemu.services.cloudformation.resource_provider import OperationStatus
from localemu.services.lambda_.resource_providers.aws_lambda_function import LambdaFunctionProvider


@hooks.on_infra_start()
def reserve_concurrency():
    for name in ["create", "update"]:
        setattr(LambdaFunctionProvider, name, reserving(getattr(LambdaFunctionProvider, name)))


def reserving(handle):
    def handle_and_reserve(self, request):
        event = handle(self, request)
        if event.status == OperationStatus.SUCCESS:
            name = event.resource_model["FunctionName"]
            # After an update, the model also has the properties that the function no longer has.
            reserved = request.desired_state.get("ReservedConcurrentExecutions")
            reserve(request.aws_client_factory.lambda_, name, reserved)
        return event

    return handle_and_reserve


def reserve(functions, name, reserved):
    if reserved is None:
        functions.delete_function_concurrency(FunctionName=name)
    else:
        functions.put_function_concurrency(
            FunctionName=name, ReservedConcurrentExecutions=int(reserved)
        )
