"""Gives the actions of two services the names that IAM uses. LocalEmu names them after the service's endpoint."""

from localemu.runtime import hooks
from localemu.services.iam_enforcement.service_action_map import ACTION_MAP

PREFIXES = {
    "resourcegroupstaggingapi": ("tag", ["GetResources"]),
    "service-quotas": ("servicequotas", ["GetServiceQuota", "GetAWSDefaultServiceQuota"]),
}


@hooks.on_infra_start()
def name_actions():
    for service, (prefix, operations) in PREFIXES.items():
        for operation in operations:
            ACTION_MAP[service, operation] = [f"{prefix}:{operation}"]
