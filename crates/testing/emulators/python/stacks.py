"""Corrects how LocalEmu handles stacks that cannot be created, updated or removed.

- The failure of one resource does not change the status of the stack.
- Only resources that were created are removed.
- A stack is not deleted while one of its resources still exists.
- An update that fails forgets none of the resources that it did not get to.
"""

import copy

from localemu.aws.api.cloudformation import StackStatus
from localemu.runtime import hooks
from localemu.services.cloudformation.engine.v2.change_set_model_executor import ChangeSetModelExecutor
from localemu.services.cloudformation.v2.entities import Stack
from localemu.services.cloudformation.v2.provider import CloudformationProviderV2


@hooks.on_infra_start()
def mend_stacks():
    process_event, execute = ChangeSetModelExecutor._process_event, ChangeSetModelExecutor.execute
    set_status = Stack.set_stack_status
    setup = CloudformationProviderV2._setup_change_set_model.__func__

    def process_only_the_resource(self, **event):
        stack = self._change_set.stack
        stack.set_stack_status = lambda *args, **kwargs: None
        try:
            process_event(self, **event)
        finally:
            del stack.set_stack_status

    def set_status_of_an_update(self, status, reason=None):
        if self.status.startswith("UPDATE_") and status.startswith("ROLLBACK_"):
            status = StackStatus(f"UPDATE_{status}")
        set_status(self, status, reason)

    def execute_to_the_end(self):
        result = execute(self)
        stack = self._change_set.stack
        left = [name for name, state in stack.resource_states.items() if state["ResourceStatus"] == "DELETE_FAILED"]
        if stack.status == StackStatus.DELETE_IN_PROGRESS and left:
            raise RuntimeError(f"could not remove {', '.join(left)}")
        if result.failure_message:
            for name, resource in self._before_resolved_resources.items():
                result.resources.setdefault(name, resource)
        return result

    def setup_with_what_was_made(cls, change_set, before_template, after_template, **others):
        if before_template and after_template is None:
            before_template = what_was_made(change_set.stack, before_template)
        return setup(
            cls, change_set=change_set, before_template=before_template, after_template=after_template, **others
        )

    ChangeSetModelExecutor._process_event = process_only_the_resource
    ChangeSetModelExecutor.execute = execute_to_the_end
    Stack.set_stack_status = set_status_of_an_update
    CloudformationProviderV2._setup_change_set_model = classmethod(setup_with_what_was_made)


def what_was_made(stack, template):
    made = {name for name, state in stack.resource_states.items() if state["ResourceStatus"] != "CREATE_FAILED"}
    # What an earlier attempt deleted has no state any more. What is left refers to it.
    made |= stack.resolved_resources.keys() - stack.resource_states.keys()
    template = copy.deepcopy(template)
    template["Resources"] = {name: part for name, part in template["Resources"].items() if name in made}
    template.pop("Outputs", None)
    return template
