"""CloudFront's part of a stack: a distribution, the access controls and policies that it refers to, and the firewall in front
of it. LocalEmu's CloudFormation does not know them.

A resource keeps its properties. Those that are not listed here, and those of a wrong type, are refused as CloudFormation
refuses them, and what contradicts itself as CloudFront does. At a distribution's name, the first origin answers, and nothing
is kept: who wants a distribution with all that it does makes an `EdgeProxy` in Rust, from `GET /_testbed/distributions`.
"""

import json
import random
import re
import string
import threading
import uuid

import requests
from jsonschema import Draft202012Validator
from localemu import config
from localemu.http import Response
from localemu.runtime import hooks
from localemu.services.cloudformation.resource_provider import (
    CloudFormationResourceProviderPlugin,
    OperationStatus,
    ProgressEvent,
    ResourceProvider,
)
from localemu.services.edge import ROUTER

from function_urls import SENDER
from stack_operators import Refused, answering, require, stack_tags

# By their IDs.
DISTRIBUTIONS, CONTROLS, CACHE_POLICIES, HEADER_POLICIES, FIREWALLS = {}, {}, {}, {}, {}
MADE_BY_AWS = {
    "CachePolicyId": {
        "4135ea2d-6df8-44a3-9df3-4b5a84be39ad",  # CachingDisabled
        "658327ea-f89d-4fab-a63d-7e88639e58f6",  # CachingOptimized
        "83da9c7e-98b4-4e11-a168-04f0df8e2c65",  # UseOriginCacheControlHeaders
        "4cc15a8a-d715-48a4-82b8-cc0b614638fe",  # UseOriginCacheControlHeaders-QueryStrings
    },
    "OriginRequestPolicyId": {
        "b689b0a8-53d0-40ab-baf2-68738e2966ac",  # AllViewerExceptHostHeader
        "216adef6-5c7f-47e4-b989-5492eafa07d3",  # AllViewer
    },
    "ResponseHeadersPolicyId": {
        "67f7725c-6f97-4210-82d7-5512b31e9d03",  # SecurityHeadersPolicy
    },
}
ALLOWED_METHODS = [
    {"GET", "HEAD"},
    {"GET", "HEAD", "OPTIONS"},
    {"GET", "HEAD", "OPTIONS", "PUT", "PATCH", "POST", "DELETE"},
]
ERROR_CODES = [400, 403, 404, 405, 414, 416, 500, 501, 502, 503, 504]
TURN = threading.RLock()

TEXT, FLAG, SECONDS = {"type": "string"}, {"type": "boolean"}, {"type": "integer", "minimum": 0}
TEXTS = {"type": "array", "items": TEXT}


def one_of(*values):
    return {"type": "string", "enum": list(values)}


def between(least, most):
    return {"type": "integer", "minimum": least, "maximum": most}


def each(schema):
    return {"type": "array", "items": schema}


def shape(required=(), **properties):
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


BEHAVIOR = {
    "AllowedMethods": TEXTS,
    "CachedMethods": TEXTS,
    "CachePolicyId": TEXT,
    "Compress": FLAG,
    "OriginRequestPolicyId": TEXT,
    "ResponseHeadersPolicyId": TEXT,
    "TargetOriginId": TEXT,
    "ViewerProtocolPolicy": one_of("allow-all", "https-only", "redirect-to-https"),
}
OF_BEHAVIOR = ["TargetOriginId", "ViewerProtocolPolicy"]
ORIGIN = shape(
    ["Id", "DomainName"],
    Id=TEXT,
    DomainName=TEXT,
    OriginPath=TEXT,
    OriginAccessControlId=TEXT,
    OriginCustomHeaders=each(shape(["HeaderName", "HeaderValue"], HeaderName=TEXT, HeaderValue=TEXT)),
    ConnectionAttempts=between(1, 3),
    ConnectionTimeout=between(1, 10),
    CustomOriginConfig=shape(
        ["OriginProtocolPolicy"],
        HTTPPort=between(1, 65535),
        HTTPSPort=between(1, 65535),
        OriginKeepaliveTimeout=between(1, 120),
        OriginProtocolPolicy=one_of("http-only", "match-viewer", "https-only"),
        OriginReadTimeout=between(1, 120),
        OriginSSLProtocols=each(one_of("SSLv3", "TLSv1", "TLSv1.1", "TLSv1.2")),
    ),
)
DISTRIBUTION = shape(
    ["DistributionConfig"],
    DistributionConfig=shape(
        ["Enabled", "DefaultCacheBehavior"],
        Aliases=TEXTS,
        CacheBehaviors=each(shape(["PathPattern", *OF_BEHAVIOR], PathPattern=TEXT, **BEHAVIOR)),
        Comment={"type": "string", "maxLength": 128},
        CustomErrorResponses=each(
            shape(
                ["ErrorCode"],
                ErrorCode={"type": "integer", "enum": ERROR_CODES},
                ErrorCachingMinTTL=SECONDS,
                ResponseCode={"type": "integer", "enum": [200, *ERROR_CODES]},
                ResponsePagePath=TEXT,
            )
        ),
        DefaultCacheBehavior=shape(OF_BEHAVIOR, **BEHAVIOR),
        Enabled=FLAG,
        HttpVersion=one_of("http1.1", "http2", "http3", "http2and3"),
        IPV6Enabled=FLAG,
        Origins=each(ORIGIN),
        PriceClass=one_of("PriceClass_100", "PriceClass_200", "PriceClass_All"),
        ViewerCertificate=shape(
            AcmCertificateArn=TEXT,
            CloudFrontDefaultCertificate=FLAG,
            MinimumProtocolVersion=one_of("TLSv1", "TLSv1.2_2019", "TLSv1.2_2021", "TLSv1.2_2025", "TLSv1.3_2025"),
            SslSupportMethod=one_of("sni-only", "static-ip", "vip"),
        ),
        WebACLId=TEXT,
    ),
    Tags=each(shape(["Key", "Value"], Key=TEXT, Value=TEXT)),
)
CONTROL = shape(
    ["OriginAccessControlConfig"],
    OriginAccessControlConfig=shape(
        ["Name", "OriginAccessControlOriginType", "SigningBehavior", "SigningProtocol"],
        Description={"type": "string", "maxLength": 256},
        Name={"type": "string", "minLength": 1, "maxLength": 64},
        OriginAccessControlOriginType=one_of("s3", "mediastore", "lambda", "mediapackagev2"),
        SigningBehavior=one_of("never", "no-override", "always"),
        SigningProtocol=one_of("sigv4"),
    ),
)
CACHE_POLICY = shape(
    ["CachePolicyConfig"],
    CachePolicyConfig=shape(
        ["Name", "MinTTL", "MaxTTL", "DefaultTTL", "ParametersInCacheKeyAndForwardedToOrigin"],
        Comment={"type": "string", "maxLength": 128},
        Name=TEXT,
        MinTTL=SECONDS,
        MaxTTL=SECONDS,
        DefaultTTL=SECONDS,
        ParametersInCacheKeyAndForwardedToOrigin=shape(
            ["EnableAcceptEncodingGzip", "HeadersConfig", "CookiesConfig", "QueryStringsConfig"],
            EnableAcceptEncodingBrotli=FLAG,
            EnableAcceptEncodingGzip=FLAG,
            HeadersConfig=shape(["HeaderBehavior"], HeaderBehavior=one_of("none", "whitelist"), Headers=TEXTS),
            CookiesConfig=shape(
                ["CookieBehavior"], CookieBehavior=one_of("none", "whitelist", "allExcept", "all"), Cookies=TEXTS
            ),
            QueryStringsConfig=shape(
                ["QueryStringBehavior"],
                QueryStringBehavior=one_of("none", "whitelist", "allExcept", "all"),
                QueryStrings=TEXTS,
            ),
        ),
    ),
)
HEADER_POLICY = shape(
    ["ResponseHeadersPolicyConfig"],
    ResponseHeadersPolicyConfig=shape(
        ["Name"],
        Comment={"type": "string", "maxLength": 128},
        Name=TEXT,
        CustomHeadersConfig=shape(
            ["Items"], Items=each(shape(["Header", "Value", "Override"], Header=TEXT, Value=TEXT, Override=FLAG))
        ),
        RemoveHeadersConfig=shape(["Items"], Items=each(shape(["Header"], Header=TEXT))),
        SecurityHeadersConfig=shape(
            ContentTypeOptions=shape(["Override"], Override=FLAG),
            FrameOptions=shape(["FrameOption", "Override"], FrameOption=one_of("DENY", "SAMEORIGIN"), Override=FLAG),
            ReferrerPolicy=shape(["Override", "ReferrerPolicy"], Override=FLAG, ReferrerPolicy=TEXT),
            XSSProtection=shape(["Override", "Protection"], ModeBlock=FLAG, Override=FLAG, Protection=FLAG),
            StrictTransportSecurity=shape(
                ["AccessControlMaxAgeSec", "Override"],
                AccessControlMaxAgeSec=SECONDS,
                IncludeSubdomains=FLAG,
                Override=FLAG,
                Preload=FLAG,
            )
        ),
    ),
)
VISIBILITY = shape(
    ["CloudWatchMetricsEnabled", "MetricName", "SampledRequestsEnabled"],
    CloudWatchMetricsEnabled=FLAG,
    MetricName={"type": "string", "pattern": "^[A-Za-z0-9_-]{1,255}$"},
    SampledRequestsEnabled=FLAG,
)
HEADERS = each(shape(["Name", "Value"], Name=TEXT, Value=TEXT))
BLOCK = shape(
    CustomResponse=shape(
        ["ResponseCode"], ResponseCode=between(200, 599), CustomResponseBodyKey=TEXT, ResponseHeaders=HEADERS
    )
)
FIREWALL = shape(
    ["DefaultAction", "Scope", "VisibilityConfig"],
    CustomResponseBodies={},
    DefaultAction=shape(Allow=shape()),
    Rules=each(
        shape(
            ["Name", "Priority", "Statement", "VisibilityConfig"],
            Action=shape(Block=BLOCK, Challenge=shape()),
            Name=TEXT,
            Priority=SECONDS,
            Statement={},
            VisibilityConfig=VISIBILITY,
        )
    ),
    Scope=one_of("CLOUDFRONT"),
    Tags=each(shape(["Key", "Value"], Key=TEXT, Value=TEXT)),
    VisibilityConfig=VISIBILITY,
)


class Kept(ResourceProvider):
    """A resource of CloudFront that its kind says more of: where it is kept, its properties, the one that has its name, and
    what IAM calls it."""

    kept = properties = config = noun = verb = None
    service = "CloudFront"
    # What CloudFormation asks for besides, by AWS's list of the permissions of each handler.
    after_create = before_update = before_delete = ()
    SCHEMA = {"primaryIdentifier": ["/properties/Id"]}

    @answering
    def create(self, request):
        model = self.checked(request)
        tags = self.tags(request, model)
        self.require(request, ["Create" + self.verb], "*", tags)
        if tags:
            self.require(request, ["TagResource"], "*", tags)
        with TURN:
            self.judge(model, None)
            model |= self.identity()
            event = self.keep(request, model, tags)
        self.require(request, self.after_create, model["Id"])
        return event

    @answering
    def update(self, request):
        model, before = self.checked(request), request.previous_state
        tags = self.tags(request, model)
        self.require(request, ["Get" + self.verb, *self.before_update, "Update" + self.verb], before["Id"])
        if tags != self.kept[before["Id"]]["Tags"]:
            self.require(request, ["TagResource", "UntagResource"], before["Id"], tags)
        with TURN:
            self.judge(model, before["Id"])
            model |= {name: before[name] for name in self.identity()}
            return self.keep(request, model, tags)

    @answering
    def delete(self, request):
        id = request.previous_state["Id"]
        self.require(request, ["Get" + self.verb, *self.before_delete, "Delete" + self.verb], id)
        with TURN:
            if any(id in json.dumps(other["DistributionConfig"]) for other in DISTRIBUTIONS.values()):
                raise Refused(self.service, 409, "ResourceConflict", f"{self.verb}InUse: {id} is used by a distribution")
            self.kept.pop(id, None)
        return ProgressEvent(OperationStatus.SUCCESS, resource_model={})

    def checked(self, request):
        model = typed(request.desired_state, self.properties)
        errors = [complaint(error) for error in Draft202012Validator(self.properties).iter_errors(model)]
        if errors:
            raise Refused("CloudFormation", 400, "InvalidRequest", "Properties validation failed: " + ", ".join(errors))
        return model

    def judge(self, model, own):
        """Their names are the account's."""
        name = model[self.config]["Name"]
        if any(other[self.config]["Name"] == name for id, other in self.kept.items() if id != own):
            raise Refused("CloudFront", 409, "AlreadyExists", f"{self.verb}AlreadyExists: {name}")

    def identity(self):
        return {"Id": str(uuid.uuid4())}

    def tags(self, request, model):
        return {}

    def keep(self, request, model, tags):
        where = {"Stack": request.stack_name, "Arn": self.arn(request, model["Id"]), "Tags": tags}
        self.kept[model["Id"]] = {**model, **where}
        return ProgressEvent(OperationStatus.SUCCESS, resource_model=model)

    def arn(self, request, id):
        return f"arn:aws:cloudfront::{request.account_id}:{self.noun}/{id}"

    def require(self, request, operations, id, new_tags=None):
        old = self.kept.get(id, {}).get("Tags", {})
        conditions = {f"aws:ResourceTag/{key}": value for key, value in old.items()}
        if new_tags:
            conditions |= {f"aws:RequestTag/{key}": value for key, value in new_tags.items()}
            conditions["aws:TagKeys"] = list(new_tags)
        actions = [f"{self.service.lower()}:{operation}" for operation in operations]
        require(request, self.service, actions, self.arn(request, id), conditions)


class Distribution(Kept):
    kept, properties, config = DISTRIBUTIONS, DISTRIBUTION, "DistributionConfig"
    noun, verb = "distribution", "Distribution"
    after_create = ("GetDistribution",)
    before_update = ("GetDistributionConfig", "ListTagsForResource")
    # It must be disabled first, which that list forgets.
    before_delete = ("GetDistributionConfig", "UpdateDistribution")

    def checked(self, request):
        model = super().checked(request)
        # CloudFront wants to see that who asks for a firewall may read it.
        for firewall in FIREWALLS.values():
            if firewall["Arn"] == model[self.config].get("WebACLId"):
                tags = {f"aws:ResourceTag/{key}": value for key, value in firewall["Tags"].items()}
                require(request, "WAFV2", ["wafv2:GetWebACL"], firewall["Arn"], tags)
        return model

    def judge(self, model, own):
        for problem in contradictions(model[self.config], own):
            raise Refused("CloudFront", 400, "InvalidRequest", problem)

    def identity(self):
        name = "".join(random.choices(string.ascii_lowercase + string.digits, k=13))
        return {"Id": access_id(), "DomainName": f"d{name}.cloudfront.net"}

    def tags(self, request, model):
        return stack_tags(request) | {tag["Key"]: tag["Value"] for tag in model.get("Tags", [])}


class OriginAccessControl(Kept):
    kept, properties, config = CONTROLS, CONTROL, "OriginAccessControlConfig"
    noun, verb = "origin-access-control", "OriginAccessControl"

    def identity(self):
        return {"Id": access_id()}


class CachePolicy(Kept):
    kept, properties, config = CACHE_POLICIES, CACHE_POLICY, "CachePolicyConfig"
    noun, verb = "cache-policy", "CachePolicy"


class ResponseHeadersPolicy(Kept):
    kept, properties, config = HEADER_POLICIES, HEADER_POLICY, "ResponseHeadersPolicyConfig"
    noun, verb = "response-headers-policy", "ResponseHeadersPolicy"


class WebACL(Kept):
    """It judges no request."""

    kept, properties, config, service = FIREWALLS, FIREWALL, "Rules", "WAFV2"
    noun, verb = "global/webacl", "WebACL"
    after_create = ("GetWebACL", "ListTagsForResource")
    before_update = ("ListTagsForResource",)

    def identity(self):
        id = str(uuid.uuid4())
        return {"Id": id, "Name": f"Firewall-{id[:8]}"}

    def judge(self, model, own):
        bodies = model.get("CustomResponseBodies", {})
        for key, body in bodies.items():
            if len(body["Content"].encode()) > 4096:
                raise Refused("WAFV2", 400, "InvalidRequest", f"WAFLimitsExceededException: the response body {key}")
        for rule in model["Rules"]:
            wanted = rule["Action"].get("Block", {}).get("CustomResponse", {}).get("CustomResponseBodyKey")
            if wanted is not None and wanted not in bodies:
                raise Refused("WAFV2", 400, "InvalidRequest", f"WAFInvalidParameterException: no response body {wanted}")

    def tags(self, request, model):
        return stack_tags(request) | {tag["Key"]: tag["Value"] for tag in model.get("Tags", [])}

    def keep(self, request, model, tags):
        if request.region_name != "us-east-1":
            raise Refused("WAFV2", 400, "InvalidRequest", "WAFInvalidParameterException: the scope is not valid")
        return super().keep(request, model | {"Arn": self.arn(request, model["Id"])}, tags)

    def arn(self, request, id):
        return f"arn:aws:wafv2:us-east-1:{request.account_id}:{self.noun}/Firewall-{id[:8]}/{id}"


def plugin(provider, of="CloudFront"):
    class Plugin(CloudFormationResourceProviderPlugin):
        name = f"AWS::{of}::{provider.__name__}"
        factory = None

        def load(self):
            self.factory = provider

    return Plugin


DistributionPlugin = plugin(Distribution)
OriginAccessControlPlugin = plugin(OriginAccessControl)
CachePolicyPlugin = plugin(CachePolicy)
ResponseHeadersPolicyPlugin = plugin(ResponseHeadersPolicy)
WebACLPlugin = plugin(WebACL, of="WAFv2")


def access_id():
    return "E" + "".join(random.choices(string.ascii_uppercase + string.digits, k=13))


def typed(value, schema):
    """CloudFormation takes `"true"` and `"5"` where it expects a boolean or a number."""
    match schema.get("type"), value:
        case "object", dict():
            known = schema["properties"]
            return {name: typed(member, known.get(name, {})) for name, member in value.items()}
        case "array", list():
            return [typed(member, schema["items"]) for member in value]
        case "boolean", "true" | "false":
            return value == "true"
        case "integer", str() if value.isdigit():
            return int(value)
        case "string", bool():
            return str(value).lower()
        case "string", int():
            return str(value)
    return value


def complaint(error):
    at = "#/" + "/".join(str(part) for part in error.absolute_path)
    if error.validator == "additionalProperties":
        extra = sorted(set(error.instance) - set(error.schema["properties"]))
        return f"[{at}: extraneous key {extra} is not permitted]"
    return f"[{at}: {error.message}]"


def contradictions(config, own):
    origins = {origin["Id"]: origin for origin in config.get("Origins", [])}
    if not origins or len(origins) != len(config["Origins"]):
        yield "InvalidArgument: the distribution needs origins, each with another Id"
    for origin in origins.values():
        yield from wrong_origin(origin)
    for behavior in [config["DefaultCacheBehavior"], *config.get("CacheBehaviors", [])]:
        yield from wrong_behavior(behavior, origins)
    patterns = [behavior["PathPattern"] for behavior in config.get("CacheBehaviors", [])]
    if len(set(patterns)) != len(patterns):
        yield f"InvalidArgument: two behaviors have one path pattern: {patterns}"
    for answer in config.get("CustomErrorResponses", []):
        if ("ResponseCode" in answer) != ("ResponsePagePath" in answer):
            yield "InvalidArgument: a custom error response has a code and a page, or neither"
    yield from wrong_names(config, own)
    firewall = config.get("WebACLId", "")
    if firewall and firewall not in [known["Arn"] for known in FIREWALLS.values()]:
        yield f"InvalidWebACLId: {firewall}"


def wrong_origin(origin):
    name, control = origin["DomainName"], origin.get("OriginAccessControlId")
    if not re.fullmatch(r"[a-z0-9-]+(\.[a-z0-9-]+)+", name):
        yield f"InvalidArgument: the origin's domain name is no name of a host: {name}"
    if "CustomOriginConfig" not in origin:
        yield "InvalidOrigin: the origin has no CustomOriginConfig"
    if control is not None and control not in CONTROLS:
        yield f"NoSuchOriginAccessControl: {control}"
    elif control is not None:
        kind = CONTROLS[control]["OriginAccessControlConfig"]["OriginAccessControlOriginType"]
        if (kind == "lambda") != (".lambda-url." in name):
            yield f"InvalidOriginAccessControl: one of type {kind} for {name}"


def wrong_behavior(behavior, origins):
    if behavior["TargetOriginId"] not in origins:
        yield f"NoSuchOrigin: {behavior['TargetOriginId']}"
    if "CachePolicyId" not in behavior:
        yield "InvalidArgument: a behavior without a cache policy"
    for name, own in [
        ("CachePolicyId", CACHE_POLICIES),
        ("OriginRequestPolicyId", {}),
        ("ResponseHeadersPolicyId", HEADER_POLICIES),
    ]:
        id = behavior.get(name)
        if id is not None and id not in MADE_BY_AWS[name] and id not in own:
            yield f"NoSuch{name.removesuffix('Id')}: {id}"
    allowed = set(behavior.get("AllowedMethods", ALLOWED_METHODS[0]))
    cached = set(behavior.get("CachedMethods", ALLOWED_METHODS[0]))
    if allowed not in ALLOWED_METHODS or cached not in ALLOWED_METHODS[:2] or not cached <= allowed:
        yield f"InvalidArgument: methods {sorted(allowed)}, of which {sorted(cached)} are cached"


def wrong_names(config, own):
    names, certificate = config.get("Aliases", []), config.get("ViewerCertificate", {}).get("AcmCertificateArn")
    if names and not certificate:
        yield f"InvalidViewerCertificate: {names} need a certificate"
    if certificate and not certificate.startswith("arn:aws:acm:us-east-1:"):
        yield f"InvalidViewerCertificate: {certificate} is not in us-east-1"
    for id, other in DISTRIBUTIONS.items():
        taken = set(names) & set(other["DistributionConfig"].get("Aliases", []))
        if taken and id != own:
            yield f"CNAMEAlreadyExists: {sorted(taken)}"


@hooks.on_infra_start()
def show_distributions():
    def show(request):
        with TURN:
            kept = {
                "Distributions": list(DISTRIBUTIONS.values()),
                "OriginAccessControls": list(CONTROLS.values()),
                "CachePolicies": list(CACHE_POLICIES.values()),
                "ResponseHeadersPolicies": list(HEADER_POLICIES.values()),
                "Firewalls": list(FIREWALLS.values()),
            }
            return Response(json.dumps(kept), mimetype="application/json")

    ROUTER.add("/_testbed/distributions", show)
    host = "<regex('d[a-z0-9]+'):name>.cloudfront.net<regex('(:[0-9]+)?'):port>"
    ROUTER.add("/", pass_on, host=host, defaults={"path": ""})
    ROUTER.add("/<path:path>", pass_on, host=host)


def pass_on(request, name, path, port):
    found = [one for one in list(DISTRIBUTIONS.values()) if one["DomainName"] == f"{name}.cloudfront.net"]
    if not found:
        return Response("Bad request: no such distribution", 403)
    headers = [(key, value) for key, value in request.headers.items() if key.lower() not in ("host", "connection")]
    headers = {**dict(headers), "Host": found[0]["DistributionConfig"]["Origins"][0]["DomainName"], SENDER: found[0]["Arn"]}
    answer = requests.request(
        request.method,
        config.internal_service_url() + request.full_path,
        headers=headers,
        data=request.get_data(),
        allow_redirects=False,
    )
    response = Response(answer.content, answer.status_code)
    for key, value in answer.raw.headers.items():
        if key.lower() not in ("content-length", "content-encoding", "connection", "transfer-encoding"):
            response.headers.add(key, value)
    response.headers["X-Amz-Cf-Id"] = access_id()
    return response
