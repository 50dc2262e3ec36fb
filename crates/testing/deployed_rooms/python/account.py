"""Queries and changes the emulated AWS account, with all permissions.

    account.py user NAME POLICY…    creates a user with only these policies, and prints its keys
    account.py role NAME            creates a role with those policies, which the user may assume, and prints its ARN
    account.py forbid NAME          removes the policies from that user
    account.py deny NAME ACTION     denies that user one action
    account.py list                 prints everything in the account, one thing a line
"""

import json
import sys

import boto3


def user(name, policies):
    iam = boto3.client("iam")
    iam.create_user(UserName=name)
    for number, policy in enumerate(policies):
        made = iam.create_policy(PolicyName=f"{name}-{number}", PolicyDocument=open(policy).read())
        iam.attach_user_policy(UserName=name, PolicyArn=made["Policy"]["Arn"])
    key = iam.create_access_key(UserName=name)["AccessKey"]
    print(json.dumps([key["AccessKeyId"], key["SecretAccessKey"]]))


def role(name):
    iam = boto3.client("iam")
    user = iam.get_user(UserName=name)["User"]["Arn"]
    trust = {"Effect": "Allow", "Principal": {"AWS": user}, "Action": "sts:AssumeRole"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    made = iam.create_role(RoleName=f"{name}-role", AssumeRolePolicyDocument=policy)["Role"]["Arn"]
    for policy in attached(name):
        iam.attach_role_policy(RoleName=f"{name}-role", PolicyArn=policy)
    own = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole", "Resource": made}]})
    iam.put_user_policy(UserName=name, PolicyName="role", PolicyDocument=own)
    print(made)


def attached(name):
    found = boto3.client("iam").list_attached_user_policies(UserName=name)["AttachedPolicies"]
    return [policy["PolicyArn"] for policy in found]


def forbid(name):
    for policy in attached(name):
        boto3.client("iam").detach_user_policy(UserName=name, PolicyArn=policy)


def deny(name, action):
    policy = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Action": action, "Resource": "*"}]})
    boto3.client("iam").put_user_policy(UserName=name, PolicyName="denied", PolicyDocument=policy)


def everything():
    def each(service, operation, member, name):
        client = boto3.client(service)
        if client.can_paginate(operation):
            pages = client.get_paginator(operation).paginate()
        else:
            pages = [getattr(client, operation)()]
        for page in pages:
            for found in page.get(member, []):
                yield f"{service} {member} {found if name is None else found[name]}"

    for what in [
        ("s3", "list_buckets", "Buckets", "Name"),
        ("dynamodb", "list_tables", "TableNames", None),
        ("sqs", "list_queues", "QueueUrls", None),
        ("lambda", "list_functions", "Functions", "FunctionName"),
        ("iam", "list_roles", "Roles", "RoleName"),
        ("iam", "list_users", "Users", "UserName"),
        ("events", "list_rules", "Rules", "Name"),
        ("logs", "describe_log_groups", "logGroups", "logGroupName"),
        ("apigateway", "get_rest_apis", "items", "name"),
        ("cloudwatch", "describe_alarms", "MetricAlarms", "AlarmName"),
        ("sns", "list_topics", "Topics", "TopicArn"),
        ("resourcegroupstaggingapi", "get_resources", "ResourceTagMappingList", "ResourceARN"),
    ]:
        yield from each(*what)
    for stack in boto3.client("cloudformation").describe_stacks()["Stacks"]:
        if stack["StackStatus"] != "DELETE_COMPLETE":
            yield f"stack {stack['StackName']} {stack['StackStatus']}"


match sys.argv[1:]:
    case ["user", name, *policies]:
        user(name, policies)
    case ["role", name]:
        role(name)
    case ["forbid", name]:
        forbid(name)
    case ["deny", name, action]:
        deny(name, action)
    case ["list"]:
        print("\n".join(sorted(everything())))
