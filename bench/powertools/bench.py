"""Delivers an event to a handler under AWS Powertools for Python, or to one that makes the same calls by hand, and says what
processor time that took.

It says that it is ready. Then each line of JSON on standard input is one measurement:

    {"case": "raw" | "key" | "validated", "replay": bool, "key": number, "n": number, "payload": text, "digits": text,
     "response": the handler's result}

It delivers the payload n times, with the digits replaced by those of a key: of n keys from the given one on, or, for a replay,
of the given key after it was executed once. Parsing the payload and writing the answer counts, as it does in Lambda. The reply is

    {"nanoseconds": user and system time of this process, "executed": number of executions, "answer": the last answer}

With DYNAMODB_ENDPOINT the calls go there; without it they are answered below HTTP, without a socket.
"""

import gc
import json
import os
import sys
import time
import warnings
import zlib

import boto3
from aws_lambda_powertools.utilities.idempotency import DynamoDBPersistenceLayer, IdempotencyConfig, idempotent
from botocore.awsrequest import AWSResponse, HeadersDict
from botocore.exceptions import ClientError

warnings.simplefilter("ignore")
TABLE = os.environ["IDEMPOTENCY_TABLE"]
RETENTION, TIMEOUT = 24 * 3600, 15
KEY_PATH, VALIDATION_PATH = 'headers."idempotency-key"', "powertools_json(body)"


class Context:
    """The context of an invocation that has just begun."""

    def get_remaining_time_in_millis(self):
        return 1000 * TIMEOUT


class Stream:
    """The body of a response that was received as a whole."""

    def __init__(self, body):
        self.body = body

    def stream(self):
        yield self.body


class Fake:
    """DynamoDB for the calls of this script. It answers from its table, and once it plays, with what it answered before."""

    def __init__(self):
        self.rehearse()

    def rehearse(self):
        self.items, self.tape, self.playing = {}, {}, False

    def send(self, request):
        operation = request.headers["X-Amz-Target"].decode().partition(".")[2]
        if not self.playing:
            status, answer = getattr(self, operation)(json.loads(request.body))
            body = json.dumps(answer).encode()
            headers = {"content-type": "application/x-amz-json-1.0", "x-amz-crc32": str(zlib.crc32(body))}
            self.tape[operation] = status, headers, body
        status, headers, body = self.tape[operation]
        response = AWSResponse(request.url, status, HeadersDict(headers), Stream(body))
        response.content  # is read at once, as by botocore
        return response

    def PutItem(self, call):
        held = self.items.get(call["Item"]["id"]["S"])
        if held:
            kind = "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException"
            return 400, {"__type": kind, "message": "The conditional request failed", "Item": held}
        self.items[call["Item"]["id"]["S"]] = call["Item"]
        return 200, {}

    def UpdateItem(self, call):
        held = self.items[call["Key"]["id"]["S"]]
        for setting in call["UpdateExpression"].removeprefix("SET ").split(", "):
            name, value = setting.split(" = ")
            held[call["ExpressionAttributeNames"][name]] = call["ExpressionAttributeValues"][value]
        return 200, {}


fake = None
if endpoint := os.environ.get("DYNAMODB_ENDPOINT"):
    client = boto3.client("dynamodb", endpoint_url=endpoint)
else:
    client, fake = boto3.client("dynamodb", endpoint_url="http://dynamodb.invalid"), Fake()
    client._endpoint.http_session.send = fake.send


class Shop:
    """The handler: it answers every order with the same response at once, and counts."""

    executed, response = 0, None

    def charge(self, event, context):
        self.executed += 1
        return self.response


shop = Shop()


def under_powertools(**validation):
    def handler(event, context):
        return shop.charge(event, context)

    config = IdempotencyConfig(event_key_jmespath=KEY_PATH, expires_after_seconds=RETENTION, **validation)
    store = DynamoDBPersistenceLayer(table_name=TABLE, boto3_client=client)
    return idempotent(handler, persistence_store=store, config=config, key_prefix="charge")


def by_hand(event, context):
    """Makes the calls that Powertools makes, with the key as it is."""
    key, now = {"id": {"S": "by-hand#" + event["headers"]["idempotency-key"]}}, time.time()
    expiry = {"N": str(int(now) + RETENTION)}
    try:
        client.put_item(
            TableName=TABLE,
            Item={
                **key,
                "expiration": expiry,
                "status": {"S": "INPROGRESS"},
                "in_progress_expiration": {"N": str(int(now * 1000) + context.get_remaining_time_in_millis())},
            },
            ConditionExpression="attribute_not_exists(#id) OR #expiry < :now OR (#status = :inprogress AND "
            "attribute_exists(#in_progress_expiry) AND #in_progress_expiry < :now_in_millis)",
            ExpressionAttributeNames={
                "#id": "id",
                "#expiry": "expiration",
                "#in_progress_expiry": "in_progress_expiration",
                "#status": "status",
            },
            ExpressionAttributeValues={
                ":now": {"N": str(int(now))},
                ":now_in_millis": {"N": str(int(now * 1000))},
                ":inprogress": {"S": "INPROGRESS"},
            },
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    except ClientError as refused:
        return json.loads(refused.response["Item"]["data"]["S"])
    answer = shop.charge(event, context)
    client.update_item(
        TableName=TABLE,
        Key=key,
        UpdateExpression="SET #response_data = :response_data, #expiry = :expiry, #status = :status",
        ExpressionAttributeNames={"#expiry": "expiration", "#response_data": "data", "#status": "status"},
        ExpressionAttributeValues={
            ":expiry": expiry,
            ":response_data": {"S": json.dumps(answer)},
            ":status": {"S": "COMPLETED"},
        },
    )
    return answer


cases = {"raw": by_hand, "key": under_powertools(), "validated": under_powertools(payload_validation_jmespath=VALIDATION_PATH)}


def measure(ask):
    handler, context = cases[ask["case"]], Context()
    first, n = ask["key"], ask["n"]
    shop.response = ask["response"]

    def payload(key):
        return ask["payload"].replace(ask["digits"], str(key).zfill(len(ask["digits"])))

    def deliver(text):
        return json.dumps(handler(json.loads(text), context))

    if fake:
        fake.rehearse()
    if ask["replay"]:
        payloads = [payload(first)] * n
        deliver(payloads[0])
        if fake:
            deliver(payloads[0])
    else:
        payloads = [payload(first + i) for i in range(n)]
        if fake:
            deliver(payload(first))
    if fake:
        fake.playing = True
    gc.collect()
    before, began = shop.executed, time.process_time_ns()
    for text in payloads:
        answer = deliver(text)
    took = time.process_time_ns() - began
    return {"nanoseconds": took, "executed": shop.executed - before, "answer": json.loads(answer)}


print("ready", flush=True)
for line in sys.stdin:
    print(json.dumps(measure(json.loads(line))), flush=True)
