"""Lets roles be limited to some items of a table, where LocalEmu knows no `dynamodb:LeadingKeys`.

As on AWS a call is allowed if each of its items is: with the action that is done to that item (a transaction has no
action of its own), on the table's own ARN, with the item's partition key as the leading key. LocalEmu asks once for a
whole call, for a transaction always for four actions, and for those and batches on `table/*`.

A call that names no item, like `Query` and `Scan`, is left to LocalEmu: it has no leading keys there, and so is denied
where a condition asks for them.
"""

from localemu.runtime import hooks
from localemu.services.iam_enforcement import enforcer, service_action_map
from localemu.services.iam_enforcement.evaluator import Decision, PolicyEvaluator
from moto.dynamodb.models import dynamodb_backends

# Not a condition key: how what is asked for gets from the request to whoever decides.
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
    """What is done to which item of which table: (action, table, partition key)."""

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
