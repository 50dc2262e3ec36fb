"""Executes writes and reads one after the other. A transaction that fails undoes only its own writes.

LocalEmu by itself writes a new item attribute by attribute, and whoever reads it meanwhile finds half of it. It copies the
whole table for every item of a transaction. This takes seconds once the table has a few hundred visitors. If the
transaction fails, LocalEmu puts the copy back, and everything that others wrote meanwhile is lost.
"""

import copy
import functools
import threading

from localemu.runtime import hooks
from moto.dynamodb.models import DynamoDBBackend
from moto.dynamodb.models.dynamo_type import DynamoType
from moto.dynamodb.models.table import Table

CALLS = ("put_item", "update_item", "delete_item", "transact_write_items", "get_item", "query", "scan")


@hooks.on_infra_start()
def isolate_writes():
    transact = DynamoDBBackend.transact_write_items

    def transact_or_take_back(self, transact_items):
        before = [found(self, named) for element in transact_items for named in element.values()]
        try:
            return transact(self, transact_items)
        except Exception:
            for items, key, item in before:
                if item is None:
                    items.pop(key, None)
                else:
                    items[key] = item
            raise

    # LocalEmu copies the table, and puts the copy back if a transaction fails. This makes the copy the table
    # itself.
    Table.__deepcopy__ = lambda table, memo: table
    DynamoDBBackend.transact_write_items = transact_or_take_back
    turn = threading.RLock()
    for name in CALLS:
        setattr(DynamoDBBackend, name, in_turn(turn, getattr(DynamoDBBackend, name)))


def found(backend, named):
    """An item before it is written: the dictionary that contains it, its key, and a copy of it (or None)."""
    table = backend.get_table(named["TableName"])
    key = DynamoType((named.get("Item") or named["Key"])[table.hash_key_attr])
    return table.items, key, copy.deepcopy(table.items.get(key))


def in_turn(turn, call):
    @functools.wraps(call)
    def wait_and_call(*args, **kwargs):
        with turn:
            # A copy: LocalEmu makes the response of the result later, when the next write may have changed the item. Two
            # producers would read the same ticket numbers from their responses.
            return copy.deepcopy(call(*args, **kwargs))

    return wait_and_call
