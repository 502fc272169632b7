"""Selects keys as AWS Powertools for Python does, one line of its standard input after another: see expressions_test.go."""

import json
import sys
import warnings

from aws_lambda_powertools.utilities.idempotency import IdempotencyConfig
from aws_lambda_powertools.utilities.idempotency.persistence.base import BasePersistenceLayer

warnings.simplefilter("ignore")


class Text:
    """A hash function that keeps its text."""

    def __init__(self, text):
        self.text = text

    def hexdigest(self):
        return self.text.decode()


class Layer(BasePersistenceLayer):
    """The persistence layer of the package, up to the text that it gives to the hash function."""

    def _get_record(self, idempotency_key):
        raise NotImplementedError

    _put_record = _update_record = _delete_record = _get_record


def hashed(expression, event):
    layer = Layer()
    layer.configure(IdempotencyConfig(event_key_jmespath=expression), function_name="f", key_prefix="p")
    layer.hash_function = Text
    key = layer._get_hashed_idempotency_key(json.loads(event))
    return None if key is None else key.removeprefix("p#")


for line in sys.stdin:
    ask = json.loads(line)
    try:
        answer = {"hashed": hashed(ask["expression"], ask["event"])}
    except Exception as error:  # whatever it is, the other side judges it
        answer = {"error": type(error).__name__}
    print(json.dumps(answer), flush=True)
