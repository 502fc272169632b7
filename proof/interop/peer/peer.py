"""Runs handlers under AWS Powertools for Python, as its standard input asks: see the package documentation of interop."""

import json
import os
import sys
import warnings

import boto3
from aws_lambda_powertools.utilities.idempotency import DynamoDBPersistenceLayer, IdempotencyConfig, idempotent

warnings.simplefilter("ignore")
client = boto3.client("dynamodb", endpoint_url=os.environ["DYNAMODB_ENDPOINT"])


class Context:
    """The context of an invocation that has so much time left."""

    def __init__(self, remaining):
        self.remaining = remaining

    def get_remaining_time_in_millis(self):
        return self.remaining


def say(answer):
    print(json.dumps(answer), flush=True)


def hear():
    line = sys.stdin.readline()
    return json.loads(line) if line else None


def given(pairs):
    return {name: value for name, value in pairs.items() if value not in (None, "")}


def wrapped(ask):
    """The handler of one invocation: it reports that it runs, and ends as it is told."""

    def handler(event, context):
        say({"entered": True})
        told = hear()
        if "fail" in told:
            raise RuntimeError(told["fail"])
        return told["return"]

    handler.__module__, handler.__qualname__ = "app", "handler"
    shape = ask.get("shape") or {}
    store = DynamoDBPersistenceLayer(
        table_name=ask["table"],
        boto3_client=client,
        **given(
            {
                "key_attr": shape.get("key"),
                "sort_key_attr": shape.get("sort"),
                "static_pk_value": shape.get("partition"),
                "expiry_attr": shape.get("expiration"),
                "in_progress_expiry_attr": shape.get("lease"),
                "status_attr": shape.get("status"),
                "data_attr": shape.get("data"),
                "validation_key_attr": shape.get("validation"),
            }
        ),
    )
    config = IdempotencyConfig(
        expires_after_seconds=ask.get("expires_after") or 3600,
        **given(
            {
                "event_key_jmespath": ask.get("key_path"),
                "payload_validation_jmespath": ask.get("validation_path"),
                "hash_function": ask.get("hash"),
            }
        ),
    )
    return idempotent(handler, persistence_store=store, config=config, key_prefix=ask.get("prefix"))


def serve():
    while (ask := hear()) is not None:
        remaining = ask.get("remaining_ms")
        try:
            say({"returned": wrapped(ask)(ask["event"], None if remaining is None else Context(remaining))})
        except Exception as error:  # whatever it is, the other side judges it
            cause = error.__cause__ or error
            say({"error": type(error).__name__, "cause": type(cause).__name__})


serve()
