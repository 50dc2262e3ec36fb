"""Throttles writes to tables while the file `$TESTBED_THROTTLED` exists.

The file contains a table, or nothing for all of them, and a prefix, each on a line. Writes of items whose key begins with it
are refused, as by an overloaded table. Each refusal appends one byte to a file beside it.
"""

import os
from pathlib import Path

from localemu.aws.api.dynamodb import ProvisionedThroughputExceededException
from localemu.runtime import hooks
from localemu.services.dynamodb.provider import DynamoDBProvider

from leading_keys import items_of

WRITES = ("PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems")


@hooks.on_infra_start()
def throttle_writes():
    switch = Path(os.environ["TESTBED_THROTTLED"])
    forward = DynamoDBProvider.forward_request

    def forward_unless_throttled(self, context, *args, **kwargs):
        operation = context.operation.name
        if operation in WRITES and switch.exists():
            named, prefix = switch.read_text().split("\n")
            items = items_of(operation, context.service_request, context)
            if any(named in ("", table) and key.startswith(prefix) for _, table, key in items):
                with switch.with_suffix(".refused").open("ab") as refused:
                    refused.write(b".")
                raise ProvisionedThroughputExceededException("The level of configured throughput was exceeded")
        return forward(self, context, *args, **kwargs)

    DynamoDBProvider.forward_request = forward_unless_throttled
