"""Loads a service completely before a call of it is answered. LocalEmu loads it with the first call, and marks it as loaded
before its operations are known. A second call at that moment is told that there is no such operation.
"""

from localemu.aws.handlers.service_plugin import ServiceLoader
from localemu.runtime import hooks


@hooks.on_infra_start()
def load_completely():
    load = ServiceLoader.require_service

    def load_or_wait(self, chain, context, response):
        if not context.service:
            return None
        # The original takes the same lock, which its owner may take again.
        with self.service_locks[context.service.service_name]:
            return load(self, chain, context, response)

    ServiceLoader.require_service = load_or_wait
