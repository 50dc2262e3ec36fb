"""Queries and changes the AWS account in which `cargo xtask try-aws` tries a room, with the caller's permissions.

    trial.py caller                        prints the account, the caller and the region
    trial.py credentials                   prints the caller's credentials
    trial.py operator NAME POLICY…         creates a role with only these policies, which the account may assume; prints its ARN
    trial.py session ROLE NAME             prints credentials of the role
    trial.py outputs STACK                 prints the outputs of a stack
    trial.py alarms PREFIX                 prints the state of each alarm
    trial.py calls NAME SINCE              prints the calls that CloudTrail recorded of sessions with this name
    trial.py left ROOM                     prints what still has the room's tag
    trial.py remove NAME                   removes the role and its policies
"""

import datetime
import json
import pathlib
import sys
import time

import boto3
import botocore


def caller():
    identity = boto3.client("sts").get_caller_identity()
    return {"account": identity["Account"], "arn": identity["Arn"], "region": boto3.session.Session().region_name}


def credentials():
    known = boto3.session.Session().get_credentials().get_frozen_credentials()
    return [known.access_key, known.secret_key, known.token]


def operator(name, *policies):
    remove(name)
    identity = boto3.client("sts").get_caller_identity()
    partition = identity["Arn"].split(":")[1]
    account = {"AWS": f"arn:{partition}:iam::{identity['Account']}:root"}
    trust = {"Effect": "Allow", "Principal": account, "Action": "sts:AssumeRole"}
    trust = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    iam = boto3.client("iam")
    role = iam.create_role(RoleName=name, AssumeRolePolicyDocument=trust)["Role"]["Arn"]
    for policy in policies:
        document = open(policy).read().replace("arn:aws:", f"arn:{partition}:")
        # In a path of its own, so that `remove` finds it even if it was never attached.
        made = iam.create_policy(PolicyName=f"{name}-{pathlib.Path(policy).stem}", Path=f"/{name}/", PolicyDocument=document)
        iam.attach_role_policy(RoleName=name, PolicyArn=made["Policy"]["Arn"])
    return role


def session(role, name):
    """A new role may not be assumed everywhere at once."""
    deadline = time.monotonic() + 60
    while True:
        try:
            made = boto3.client("sts").assume_role(RoleArn=role, RoleSessionName=name)["Credentials"]
            return [made["AccessKeyId"], made["SecretAccessKey"], made["SessionToken"]]
        except botocore.exceptions.ClientError:
            if time.monotonic() > deadline:
                raise
            time.sleep(2)


def outputs(stack):
    found = boto3.client("cloudformation").describe_stacks(StackName=stack)["Stacks"][0]
    return {output["OutputKey"]: output["OutputValue"] for output in found["Outputs"]}


def alarms(prefix):
    pages = boto3.client("cloudwatch").get_paginator("describe_alarms").paginate(AlarmNamePrefix=prefix)
    return {alarm["AlarmName"]: alarm["StateValue"] for page in pages for alarm in page["MetricAlarms"]}


def calls(name, since):
    start = datetime.datetime.fromtimestamp(int(since), datetime.timezone.utc)
    looked_up = [{"AttributeKey": "Username", "AttributeValue": name}]
    pages = boto3.client("cloudtrail").get_paginator("lookup_events").paginate(LookupAttributes=looked_up, StartTime=start)
    events = (json.loads(event["CloudTrailEvent"]) for page in pages for event in page["Events"])
    made = {(event["eventSource"].partition(".")[0], event["eventName"], event.get("errorCode", "")) for event in events}
    return [{"service": service, "call": call, "error": error} for service, call, error in sorted(made)]


def left(room):
    tag = [{"Key": "beekeeper:room", "Values": [room]}]
    pages = boto3.client("resourcegroupstaggingapi").get_paginator("get_resources").paginate(TagFilters=tag)
    return [found["ResourceARN"] for page in pages for found in page["ResourceTagMappingList"]]


def remove(name):
    iam = boto3.client("iam")
    try:
        iam.get_role(RoleName=name)
    except iam.exceptions.NoSuchEntityException:
        return
    for attached in iam.list_attached_role_policies(RoleName=name)["AttachedPolicies"]:
        iam.detach_role_policy(RoleName=name, PolicyArn=attached["PolicyArn"])
    for page in iam.get_paginator("list_policies").paginate(Scope="Local", PathPrefix=f"/{name}/"):
        for policy in page["Policies"]:
            iam.delete_policy(PolicyArn=policy["Arn"])
    iam.delete_role(RoleName=name)


command, *arguments = sys.argv[1:]
known = {f.__name__: f for f in [caller, credentials, operator, session, outputs, alarms, calls, left, remove]}
print(json.dumps(known[command](*arguments)))
