"""Makes writes to a table happen one after the other, and a transaction take back what it wrote itself if it fails.

LocalEmu copies the whole table for every item of a transaction, which takes seconds once a few hundred people are in
it, and puts the copy back if the transaction fails: whatever others wrote meanwhile is lost.
"""

import copy
import functools
import threading

from localemu.runtime import hooks
from moto.dynamodb.models import DynamoDBBackend
from moto.dynamodb.models.dynamo_type import DynamoType
from moto.dynamodb.models.table import Table

WRITES = ("put_item", "update_item", "delete_item", "transact_write_items")


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

    # What LocalEmu copies and puts back.
    Table.__deepcopy__ = lambda table, memo: table
    DynamoDBBackend.transact_write_items = transact_or_take_back
    turn = threading.RLock()
    for name in WRITES:
        setattr(DynamoDBBackend, name, in_turn(turn, getattr(DynamoDBBackend, name)))


def found(backend, named):
    """An item before it is written: where it is kept, its key there, and a copy of it if there is one."""
    table = backend.get_table(named["TableName"])
    key = DynamoType((named.get("Item") or named["Key"])[table.hash_key_attr])
    return table.items, key, copy.deepcopy(table.items.get(key))


def in_turn(turn, write):
    @functools.wraps(write)
    def wait_and_write(*args, **kwargs):
        with turn:
            return write(*args, **kwargs)

    return wait_and_write
