"""Function URLs as on AWS: their names, who may call them, the event that a function gets, and what becomes of its response.
LocalEmu lets everybody in, keeps the last of many headers, and knows no cookies.

https://docs.aws.amazon.com/lambda/latest/dg/urls-invocation.html

CloudFront signs its requests. Who plays CloudFront in a test names the distribution in the header `X-Testbed-Distribution` instead.
Nobody else's signature is known here.
"""

import base64
import functools
import hashlib
import json
import re
import time
import uuid

from localemu.aws.api import CommonServiceException
from localemu.aws.api.lambda_ import InvocationType
from localemu.aws.handlers import cors
from localemu.http import Response
from localemu.runtime import hooks
from localemu.services.cloudformation.resource_provider import OperationStatus, ProgressEvent
from localemu.services.iam_enforcement.action_matcher import matches_action
from localemu.services.iam_enforcement.condition_evaluator import matches_conditions
from localemu.services.lambda_ import provider
from localemu.services.lambda_.invocation.models import lambda_stores
from localemu.services.lambda_.resource_providers.aws_lambda_permission import LambdaPermissionProvider
from localemu.services.lambda_.resource_providers.aws_lambda_url import LambdaUrlProvider
from localemu.services.lambda_.urlrouter import FunctionUrlRouter
from rolo.request import get_raw_path

from stack_operators import answering, require

SENDER = "x-testbed-distribution"
CLOUDFRONT = {"Service": "cloudfront.amazonaws.com"}
# AWS's documents don't say it. Who met the limit reports about so many bytes, and the answer to a body that is too large.
MOST_HEADERS = 10_240
IS_TEXT = re.compile(r"text/|application/(.*\+)?(json|javascript|xml)\b")
# New function URLs need both.
ACTIONS = ("lambda:InvokeFunctionUrl", "lambda:InvokeFunction")
OF_PERMISSION = (
    "FunctionName", "Action", "Principal", "SourceArn", "SourceAccount", "FunctionUrlAuthType", "InvokedViaFunctionUrl"
)


@hooks.on_infra_start()
def serve_function_urls():
    made, managed, add = provider.FunctionUrlConfig, cors.should_enforce_self_managed_service, provider.LambdaProvider.add_permission

    def named_as_on_aws(**fields):
        region = fields["function_arn"].split(":")[3]
        return made(**{**fields, "url": f"https://{fields['url_id']}.lambda-url.{region}.on.aws/"})

    def managed_by_localemu(context):
        return ".lambda-url." not in context.request.host and managed(context)

    @functools.wraps(add)
    def add_with_way(self, context, request, *args, **kwargs):
        response = add(self, context, request, *args, **kwargs)
        if request.get("InvokedViaFunctionUrl"):
            statement = statement_of(context, json.loads(response["Statement"]))
            statement.setdefault("Condition", {})["Bool"] = {"lambda:InvokedViaFunctionUrl": "true"}
            response["Statement"] = json.dumps(statement)
        return response

    provider.FunctionUrlConfig = named_as_on_aws
    provider.LambdaProvider.add_permission = add_with_way
    cors.should_enforce_self_managed_service = managed_by_localemu
    FunctionUrlRouter.handle_lambda_url_invocation = serve
    LambdaUrlProvider.create = allowed("lambda:CreateFunctionUrlConfig", LambdaUrlProvider.create)
    LambdaUrlProvider.update = allowed("lambda:UpdateFunctionUrlConfig", update_url)
    LambdaUrlProvider.delete = allowed("lambda:DeleteFunctionUrlConfig", LambdaUrlProvider.delete)
    LambdaPermissionProvider.create = allowed("lambda:AddPermission", create_permission)
    LambdaPermissionProvider.delete = allowed("lambda:RemovePermission", LambdaPermissionProvider.delete)
    known = LambdaPermissionProvider.SCHEMA
    fixed = [*known["createOnlyProperties"], "/properties/InvokedViaFunctionUrl"]
    LambdaPermissionProvider.SCHEMA = {**known, "createOnlyProperties": fixed}


def serve(self, request, api_id, region, **ignored):
    found = find(api_id, region)
    if found is None:
        return said(403, None)
    function, url = found
    if not may_call(function, url, request):
        return said(403, "Forbidden. For troubleshooting Function URL authorization issues, see: "
                         "https://docs.aws.amazon.com/lambda/latest/dg/urls-auth.html")
    if sum(len(name) + len(value) for name, value in request.headers.items()) > MOST_HEADERS:
        return said(413, "Request must be smaller than 6291456 bytes for the InvokeFunction operation")
    body = request.get_data()
    if url.auth_type == "AWS_IAM" and request.method in ("POST", "PUT", "PATCH"):
        if request.headers.get("x-amz-content-sha256") != hashlib.sha256(body).hexdigest():
            return said(403, "The request signature we calculated does not match the signature you provided.")
    _, _, _, _, account, _, name, *qualifier = url.function_arn.split(":")
    try:
        result = self.lambda_service.invoke(
            function_name=name,
            qualifier=qualifier[0] if qualifier else None,
            region=region,
            account_id=account,
            invocation_type=InvocationType.RequestResponse,
            client_context="{}",
            payload=json.dumps(event_of(request, body, api_id)).encode(),
            request_id=str(uuid.uuid4()),
        )
    except CommonServiceException as error:
        return said(error.status_code, error.message)
    response = None if result.is_error else response_of(result.payload)
    return response or Response("Internal Server Error", 502, content_type="application/json")


def find(api_id, region):
    for account in list(lambda_stores):
        for function in list(lambda_stores[account][region].functions.values()):
            for url in list(function.function_url_configs.values()):
                if url.url_id == api_id:
                    return function, url
    return None


def may_call(function, url, request):
    """Whether the function's policy allows it. A URL without authorization needs a permission for everybody."""
    sender = request.headers.get(SENDER)
    signed = url.auth_type == "AWS_IAM"
    if signed and not sender:
        return False
    about = {"lambda:FunctionUrlAuthType": url.auth_type, "lambda:InvokedViaFunctionUrl": "true"}
    if sender:
        about |= {"AWS:SourceArn": sender, "AWS:SourceAccount": sender.split(":")[4]}
    qualifier = url.function_arn.split(":")[7:] or ["$LATEST"]
    policy = function.permissions.get(qualifier[0])
    statements = policy.policy.Statement if policy else []

    def allows(statement, action):
        is_for = statement["Principal"] == (CLOUDFRONT if signed else "*")
        return is_for and matches_action(statement, action) and matches_conditions(statement, about)

    return all(any(allows(statement, action) for statement in statements) for action in ACTIONS)


def event_of(request, body, api_id):
    headers = {}
    for name, value in request.headers.items():
        headers.setdefault(name.lower(), []).append(value)
    for name in ("connection", "x-localemu-tgt-api", "x-localemu-request-url", "remote-addr", SENDER):
        headers.pop(name, None)
    cookies = [cookie for line in headers.pop("cookie", []) for cookie in line.split("; ")]
    peer = request.remote_addr
    headers.setdefault("x-forwarded-for", []).append(peer)
    headers |= {"x-forwarded-proto": ["https"], "x-forwarded-port": ["443"]}
    path, query, now = get_raw_path(request), request.query_string.decode(), time.time()
    event = {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": query,
        "headers": {name: ",".join(values) for name, values in headers.items()},
        "requestContext": {
            "accountId": "anonymous",
            "apiId": api_id,
            "domainName": request.host,
            "domainPrefix": api_id,
            "http": {
                "method": request.method,
                "path": path,
                "protocol": "HTTP/1.1",
                "sourceIp": peer,
                "userAgent": request.headers.get("user-agent", ""),
            },
            "requestId": str(uuid.uuid4()),
            "routeKey": "$default",
            "stage": "$default",
            "time": time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(now)),
            "timeEpoch": int(now * 1000),
        },
        "isBase64Encoded": False,
    }
    if cookies:
        event["cookies"] = cookies
    if query:
        event["queryStringParameters"] = {name: ",".join(request.args.getlist(name)) for name in request.args}
    if body:
        is_text = IS_TEXT.match(request.headers.get("content-type", "")) is not None
        event["isBase64Encoded"] = not is_text
        event["body"] = body.decode() if is_text else base64.b64encode(body).decode()
    return event


def response_of(payload):
    """What the caller of the URL gets, or nothing if the function returned no response."""
    result = json.loads(payload)
    if not isinstance(result, dict) or "statusCode" not in result:
        # AWS takes this for the body.
        return Response(payload, 200, content_type="application/json")
    if type(result["statusCode"]) is not int or not isinstance(result.get("body", ""), str | None):
        return None
    body = result.get("body") or ""
    response = Response(base64.b64decode(body) if result.get("isBase64Encoded") else body, result["statusCode"])
    response.content_type = "application/json"
    for name, value in (result.get("headers") or {}).items():
        response.headers[name] = str(value)
    for cookie in result.get("cookies") or []:
        response.headers.add("Set-Cookie", cookie)
    return response


def said(status, message):
    return Response(json.dumps({"Message": message}), status, content_type="application/json")


def statement_of(context, added):
    name = added["Resource"].split(":")[6]
    policies = lambda_stores[context.account_id][context.region].functions[name].permissions.values()
    return next(each for policy in policies for each in policy.policy.Statement if each["Sid"] == added["Sid"])


def allowed(action, handle):
    def handle_if_allowed(self, request):
        model = request.desired_state
        name = model.get("TargetFunctionArn") or model["FunctionName"]
        arn = name if name.startswith("arn:") else f"arn:aws:lambda:{request.region_name}:{request.account_id}:function:{name}"
        about = {"lambda:FunctionUrlAuthType": model.get("AuthType") or model.get("FunctionUrlAuthType")}
        about["lambda:Principal"] = model.get("Principal")
        require(request, "Lambda", [action], arn, {key: value for key, value in about.items() if value})
        return handle(self, request)

    return answering(handle_if_allowed)


def update_url(self, request):
    """LocalEmu by itself changes nothing, and says that it did."""
    before, model = request.previous_state, request.desired_state
    change = {name: model[name] for name in ("Qualifier", "AuthType", "InvokeMode", "Cors") if name in model}
    request.aws_client_factory.lambda_.update_function_url_config(FunctionName=model["TargetFunctionArn"], **change)
    made = {name: before[name] for name in ("FunctionArn", "FunctionUrl")}
    return ProgressEvent(OperationStatus.SUCCESS, resource_model={**model, **made})


def create_permission(self, request):
    """LocalEmu by itself drops the conditions of function URLs."""
    model = request.desired_state
    permission = {name: model[name] for name in OF_PERMISSION if name in model}
    if isinstance(permission.get("InvokedViaFunctionUrl"), str):
        permission["InvokedViaFunctionUrl"] = permission["InvokedViaFunctionUrl"] == "true"
    id = f"{request.stack_name}-{request.logical_resource_id}-{uuid.uuid4().hex[:12]}"
    request.aws_client_factory.lambda_.add_permission(StatementId=id[-100:], **permission)
    return ProgressEvent(OperationStatus.SUCCESS, resource_model={**model, "Id": id[-100:]})
