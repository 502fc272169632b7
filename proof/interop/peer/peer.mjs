// Runs handlers under AWS Powertools for TypeScript, as its standard input asks: see the package documentation of interop.

import { createInterface } from 'node:readline';
import { IdempotencyConfig, makeIdempotent } from '@aws-lambda-powertools/idempotency';
import { DynamoDBPersistenceLayer } from '@aws-lambda-powertools/idempotency/dynamodb';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';

console.warn = () => {};
const client = new DynamoDBClient({ endpoint: process.env.DYNAMODB_ENDPOINT });
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

const exact = (_, value) => (typeof value === 'bigint' ? `${value}n` : value);
const say = (answer) => process.stdout.write(`${JSON.stringify(answer, exact)}\n`);
const hear = async () => {
  const { value, done } = await lines.next();
  return done ? undefined : JSON.parse(value);
};
const given = (members) => Object.fromEntries(Object.entries(members).filter(([, value]) => value));

// The handler of one invocation: it reports that it runs, and ends as it is told.
const handler = async () => {
  say({ entered: true });
  const told = await hear();
  if ('fail' in told) throw new Error(told.fail);
  return told.return;
};

const wrapped = (ask) => {
  const shape = ask.shape ?? {};
  const persistenceStore = new DynamoDBPersistenceLayer({
    tableName: ask.table,
    awsSdkV3Client: client,
    ...given({
      keyAttr: shape.key,
      sortKeyAttr: shape.sort,
      staticPkValue: shape.partition,
      expiryAttr: shape.expiration,
      inProgressExpiryAttr: shape.lease,
      statusAttr: shape.status,
      dataAttr: shape.data,
      validationKeyAttr: shape.validation,
    }),
  });
  const config = new IdempotencyConfig(
    given({
      eventKeyJmesPath: ask.key_path,
      payloadValidationJmesPath: ask.validation_path,
      hashFunction: ask.hash,
      expiresAfterSeconds: ask.expires_after,
    })
  );
  return makeIdempotent(handler, { persistenceStore, config, keyPrefix: ask.prefix });
};

for (let ask = await hear(); ask !== undefined; ask = await hear()) {
  const remaining = ask.remaining_ms ?? undefined;
  try {
    const returned = await wrapped(ask)(ask.event, { getRemainingTimeInMillis: () => remaining });
    say({ returned: returned === undefined ? null : returned });
  } catch (error) {
    say({ error: error.name, cause: (error.cause ?? error).name });
  }
}
