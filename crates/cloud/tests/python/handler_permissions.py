"""Prints the permissions that CloudFormation's resource schemas list for the resources of a template (JSON, on the
standard input), by type and handler. The schemas are those in cfn-lint, and the SAM transform is that of the SAM CLI."""

import json
import sys
from importlib.metadata import version
from pathlib import Path

import cfnlint
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator

SCHEMAS = Path(cfnlint.__file__).parent / "data/schemas"
# The region has every service.
PROVIDERS = json.loads((SCHEMAS / "providers/us-east-1.json").read_text())

template = json.load(sys.stdin)
# Where the programs and the parameters' values are makes no difference to the types.
for resource in template["Resources"].values():
    resource["Properties"].pop("CodeUri", None)
    if resource["Type"] == "AWS::Serverless::Function":
        resource["Properties"]["CodeUri"] = "s3://bucket/key"
values = {name: parameter.get("Default", "x") for name, parameter in template["Parameters"].items()}
resources = Translator({}, Parser()).translate(template, values)["Resources"]

types = {}
for kind in sorted({resource["Type"] for resource in resources.values()} - {"Custom::Room"}):
    schema = json.loads((SCHEMAS / f"resources/{PROVIDERS[kind]}.json").read_text())
    # Only somebody who imports resources needs to list them.
    handlers = {name: handler["permissions"] for name, handler in schema["handlers"].items() if name != "list"}
    if tags := schema.get("tagging", {}).get("permissions"):
        handlers["tags"] = tags
    types[kind] = {name: sorted(set(permissions)) for name, permissions in sorted(handlers.items())}

date = json.loads((SCHEMAS / "version.json").read_text())["schema_date"][:10]
print(json.dumps({"from": f"cfn-lint {version('cfn-lint')}, schemas of {date}", "types": types}, indent=2))
