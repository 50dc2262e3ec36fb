//! Calls that the roles must not be allowed to make. Each is made with the role's own credentials, and IAM decides.
//! The other tests make every call that the code needs.

use deployed_rooms::SamRoom;

/// Tries to read an item, and prints the result.
const READ: &str = r#"
import json, sys, boto3, botocore
role, table, key = sys.argv[1:]
# Functions alone may work in this role: let the test do so too.
everybody = {"Service": "lambda.amazonaws.com", "AWS": "*"}
trust = {"Effect": "Allow", "Principal": everybody, "Action": "sts:AssumeRole"}
policy = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
boto3.client("iam").update_assume_role_policy(RoleName=role.rpartition("/")[2], PolicyDocument=policy)
session = boto3.client("sts").assume_role(RoleArn=role, RoleSessionName="rehearsal")["Credentials"]
dynamodb = boto3.client(
    "dynamodb",
    aws_access_key_id=session["AccessKeyId"],
    aws_secret_access_key=session["SecretAccessKey"],
    aws_session_token=session["SessionToken"],
)
try:
    print("item" if "Item" in dynamodb.get_item(TableName=table, Key={"id": {"S": key}}) else "nothing")
except botocore.exceptions.ClientError as error:
    print(error.response["Error"]["Code"])
"#;

pub(super) fn check(room: &SamRoom) {
    let read = |function: &str, key: &str| {
        let role = room.stage.role(function).unwrap();
        let mut python = emulators::boto3().unwrap();
        python.envs(room.aws.environment()).args([
            "-c",
            READ,
            &role,
            room.stage.output("LedgerTable").unwrap(),
            key,
        ]);
        let output = python.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    for (function, key, answer) in [
        ("ProducerFunction", "key/public", "item"),
        ("TriggerFunction", "key/private", "AccessDenied"),
        ("ConsumerFunction", "key/private", "AccessDenied"),
        ("SetupFunction", "key/private", "AccessDenied"),
        ("TriggerFunction", "room", "item"),
        ("TriggerFunction", "admission/00000000000000000000000000000000", "AccessDenied"),
        ("ConsumerFunction", "admission/00000000000000000000000000000000", "nothing"),
    ] {
        assert_eq!(read(function, key), answer, "{function} and {key}");
    }
}
