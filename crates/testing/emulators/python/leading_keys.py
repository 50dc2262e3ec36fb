"""Lets policies limit roles to some items of a table. LocalEmu does not support `dynamodb:LeadingKeys`.

As on AWS, a call is allowed if each of its items is allowed. For each item the policy is evaluated with the action on
that item (a transaction has no action of its own), the table's own ARN, and the item's partition key as the leading
key. LocalEmu by itself evaluates the policy once for a whole call. For a transaction it always evaluates four actions.
For transactions and batches it uses the resource `table/*`.

LocalEmu itself evaluates a call that names no item, like `Query` and `Scan`. Such a call has no leading keys, so it is
denied if a condition requires them.
"""

from localemu.runtime import hooks
from localemu.services.iam_enforcement import enforcer, service_action_map
from localemu.services.iam_enforcement.evaluator import Decision, PolicyEvaluator
from moto.dynamodb.models import dynamodb_backends

# Not a real condition key. It carries the items of a request to the policy evaluation.
ITEMS = "testbed:items"

SINGLE = ("GetItem", "PutItem", "UpdateItem", "DeleteItem")
IN_TRANSACTION = {
    "Get": "GetItem",
    "Put": "PutItem",
    "Update": "UpdateItem",
    "Delete": "DeleteItem",
    "ConditionCheck": "ConditionCheckItem",
}


@hooks.on_infra_start()
def ask_for_leading_keys():
    for transaction in ("TransactWriteItems", "TransactGetItems"):
        service_action_map.ACTION_MAP.pop(("dynamodb", transaction), None)
    build_conditions, evaluate = enforcer._build_conditions, PolicyEvaluator.evaluate

    def with_items(context, caller):
        conditions = build_conditions(context, caller)
        if context.service.service_name == "dynamodb":
            conditions[ITEMS] = items_of(context.operation.name, context.service_request, context)
        return conditions

    def each_item(self, caller, action, resource, conditions, resource_policy=None):
        items = conditions.pop(ITEMS, None)
        if not items:
            return evaluate(self, caller, action, resource, conditions, resource_policy)
        for item_action, table, key in items:
            about_item = {**conditions, "dynamodb:LeadingKeys": [key]}
            arn = resource.rpartition("/")[0] + f"/{table}"
            decision = evaluate(self, caller, f"dynamodb:{item_action}", arn, about_item, resource_policy)
            if decision != Decision.ALLOW:
                return decision
        return Decision.ALLOW

    enforcer._build_conditions, PolicyEvaluator.evaluate = with_items, each_item


def items_of(operation, request, context):
    """The items of a request, and the action on each: (action, table, partition key)."""

    def item(action, named):
        table = named["TableName"].rpartition("/")[2]
        tables = dynamodb_backends[context.account_id][context.region].tables
        partition = tables[table].hash_key_attr if table in tables else "id"
        (value,) = (named.get("Item") or named.get("Key") or {}).get(partition, {"S": ""}).values()
        return action, table, str(value)

    match operation:
        case single if single in SINGLE:
            return [item(single, request)]
        case "BatchGetItem":
            tables = request["RequestItems"].items()
            return [
                item("BatchGetItem", {"TableName": table, "Key": key})
                for table, asked in tables
                for key in asked["Keys"]
            ]
        case "TransactWriteItems" | "TransactGetItems":
            parts = [part for element in request["TransactItems"] for part in element.items()]
            return [item(IN_TRANSACTION[kind], named) for kind, named in parts]
    return []
