// Selects keys as AWS Powertools for TypeScript does, one line of its standard input after another: see expressions_test.go.

import { createInterface } from 'node:readline';
import { IdempotencyConfig } from '@aws-lambda-powertools/idempotency';
import { BasePersistenceLayer } from '@aws-lambda-powertools/idempotency/persistence';

console.warn = () => {};

// The persistence layer of the package, up to the text that it gives to the hash function.
class Layer extends BasePersistenceLayer {
  generateHash(text) {
    if (typeof text !== 'string') throw new TypeError('nothing to hash');
    return text;
  }
}

const hashed = (expression, event) => {
  const layer = new Layer();
  const config = new IdempotencyConfig({ eventKeyJmesPath: expression, throwOnNoIdempotencyKey: true });
  layer.configure({ config, keyPrefix: 'p' });
  try {
    return layer.getHashedIdempotencyKey(JSON.parse(event)).slice('p#'.length);
  } catch (error) {
    if (error.name === 'IdempotencyKeyError') return null;
    throw error;
  }
};

for await (const line of createInterface({ input: process.stdin })) {
  const ask = JSON.parse(line);
  let answer;
  try {
    answer = { hashed: hashed(ask.expression, ask.event) };
  } catch (error) {
    answer = { error: error.name };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
