"""Does once what LocalEmu does again for every call, every client or every start: half of what all tests cost is LocalEmu.

It parses a role's policies for each call, AWS's descriptions of a service for each client, and the list of regions for each kind of
resource. Its collector of garbage goes through all of this again and again, although none of it ever becomes garbage. And its
dashboard, which no test opens, compiles a thousand routes.
"""

import functools
import gc

import boto3
import botocore.session
from localemu.dashboard import plugins as dashboard
from localemu.runtime import hooks
from localemu.services.iam_enforcement import identity

# How many objects come before the collector looks for garbage. Python's own number is 2,000.
OBJECTS = 50_000


@hooks.on_infra_start(priority=100)
def work_once():
    """Comes before the hooks of LocalEmu itself, one of which opens the dashboard."""
    dashboard._dashboard_registered = True
    botocore.session.create_loader = functools.cache(botocore.session.create_loader)
    boto3.Session.get_available_regions = known_regions(boto3.Session.get_available_regions)
    identity._parse_policy = parsed_once(identity._parse_policy)
    gc.freeze()
    gc.set_threshold(OBJECTS)


def known_regions(ask):
    known = {}

    def regions(session, service_name, partition_name="aws", allow_non_regional=False):
        asked = (service_name, partition_name, allow_non_regional)
        if asked not in known:
            known[asked] = ask(session, *asked)
        return list(known[asked])

    return regions


def parsed_once(parse):
    parse_text = functools.lru_cache(parse)

    def parsed(policy):
        return parse_text(policy) if isinstance(policy, str) else parse(policy)

    return parsed
