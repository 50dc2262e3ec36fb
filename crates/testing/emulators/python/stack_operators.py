"""Checks what an operator may do where CloudFormation acts for them. LocalEmu's CloudFormation has permissions of its own.

It concerns the resources whose providers ask for it: those of `distributions.py` and `function_urls.py`.
"""

import functools
import threading

from localemu.runtime import hooks
from localemu.services.cloudformation.engine.v2.change_set_model_executor import ChangeSetModelExecutor
from localemu.services.cloudformation.resource_provider import OperationStatus, ProgressEvent
from localemu.services.cloudformation.v2.provider import CloudformationProviderV2
from localemu.services.iam_enforcement.enforcer import _extract_access_key, iam_enforcement_handler
from localemu.services.iam_enforcement.evaluator import Decision, PolicyEvaluator
from localemu.services.iam_enforcement.identity import resolve_caller

CALLS = ("create_stack", "update_stack", "execute_change_set", "delete_stack")

# By the ID of a stack: the stack, and who changes it (nobody where everything is allowed).
CHANGES = {}


class Refused(Exception):
    """What the handler of a resource says when a service refuses its call."""

    def __init__(self, service, status, code, message):
        super().__init__(
            f'Resource handler returned message: "{message} (Service: {service}, Status Code: {status}, '
            f'Request ID: testbed)" (RequestToken: testbed, HandlerErrorCode: {code})'
        )


@hooks.on_infra_start()
def remember_operators():
    asking, begin = threading.local(), ChangeSetModelExecutor.__init__

    def remembering(call):
        @functools.wraps(call)
        def remember(self, context, *args, **kwargs):
            asking.caller = caller_of(context)
            return call(self, context, *args, **kwargs)

        return remember

    def begin_for_operator(self, change_set):
        begin(self, change_set)
        CHANGES[change_set.stack.stack_id] = change_set.stack, getattr(asking, "caller", None)

    for name in CALLS:
        setattr(CloudformationProviderV2, name, remembering(getattr(CloudformationProviderV2, name)))
    ChangeSetModelExecutor.__init__ = begin_for_operator


def caller_of(context):
    enforced, _, _ = iam_enforcement_handler._read_mode()
    if enforced and not context.is_internal_call:
        return resolve_caller(_extract_access_key(context), context.account_id, context.region)
    return None


def stack_tags(request):
    stack, _ = CHANGES[request.stack_id]
    return {tag["Key"]: tag["Value"] for tag in stack.tags}


def require(request, service, actions, resource, conditions=None):
    """Fails unless the operator may do all of these on this resource."""
    _, caller = CHANGES[request.stack_id]
    conditions = {"aws:CalledVia": ["cloudformation.amazonaws.com"], **(conditions or {})}
    for action in actions if caller else []:
        decision = PolicyEvaluator().evaluate(caller, action, resource, conditions)
        if decision != Decision.ALLOW:
            said = f"User: {caller.arn} is not authorized to perform: {action} on resource: {resource}"
            raise Refused(service, 403, "AccessDenied", said)


def answering(handle):
    """Makes a refusal the reason of the resource's failure. LocalEmu says nothing of an exception in an update."""

    @functools.wraps(handle)
    def answer(self, request):
        try:
            return handle(self, request)
        except Refused as refusal:
            # After an update that failed, the resource is what it was.
            before = request.previous_state or {}
            return ProgressEvent(OperationStatus.FAILED, resource_model=before, message=str(refusal))

    return answer
