// Delivers an event to a handler under AWS Powertools for TypeScript, or to one that makes the same calls by hand, and says what
// processor time that took. It is asked, and answers, as bench.py describes.

import { createInterface } from 'node:readline';
import { IdempotencyConfig, makeIdempotent } from '@aws-lambda-powertools/idempotency';
import { DynamoDBPersistenceLayer } from '@aws-lambda-powertools/idempotency/dynamodb';
import { ConditionalCheckFailedException, DynamoDBClient, PutItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';

console.warn = () => {};
const table = process.env.IDEMPOTENCY_TABLE;
const retention = 24 * 3600;
const context = { getRemainingTimeInMillis: () => 15_000 };
const keyPath = 'headers."idempotency-key"';
const validationPath = 'powertools_json(body)';

// DynamoDB for the calls of this script. It answers from its table, and once it plays, with what it answered before.
class Fake {
  metadata = { handlerProtocol: 'http/1.1' };

  rehearse() {
    this.items = new Map();
    this.tape = new Map();
    this.playing = false;
  }

  async handle(request) {
    const operation = request.headers['x-amz-target'].split('.')[1];
    if (!this.playing) {
      const [statusCode, answer] = this[operation](JSON.parse(Buffer.from(request.body).toString()));
      this.tape.set(operation, [statusCode, Buffer.from(JSON.stringify(answer))]);
    }
    const [statusCode, text] = this.tape.get(operation);
    const headers = { 'content-type': 'application/x-amz-json-1.0', 'content-length': String(text.length) };
    return { response: { statusCode, headers, body: new Uint8Array(text) } };
  }

  PutItem({ Item: item }) {
    const held = this.items.get(item.id.S);
    if (held) {
      const kind = 'com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException';
      return [400, { __type: kind, message: 'The conditional request failed', Item: held }];
    }
    this.items.set(item.id.S, item);
    return [200, {}];
  }

  UpdateItem(call) {
    const held = this.items.get(call.Key.id.S);
    for (const setting of call.UpdateExpression.replace('SET ', '').split(', ')) {
      const [name, value] = setting.split(' = ');
      held[call.ExpressionAttributeNames[name]] = call.ExpressionAttributeValues[value];
    }
    return [200, {}];
  }
}

const endpoint = process.env.DYNAMODB_ENDPOINT;
const fake = endpoint ? undefined : new Fake();
const client = new DynamoDBClient(endpoint ? { endpoint } : { endpoint: 'http://dynamodb.invalid', requestHandler: fake });

// The handler: it answers every order with the same response at once, and counts.
const shop = { executed: 0, response: undefined };
const charge = async () => {
  shop.executed++;
  return shop.response;
};

const underPowertools = (validation) =>
  makeIdempotent(charge, {
    persistenceStore: new DynamoDBPersistenceLayer({ tableName: table, awsSdkV3Client: client }),
    config: new IdempotencyConfig({ eventKeyJmesPath: keyPath, expiresAfterSeconds: retention, ...validation }),
    keyPrefix: 'charge',
  });

// Makes the calls that Powertools makes, with the key as it is.
const byHand = async (event) => {
  const id = `by-hand#${event.headers['idempotency-key']}`;
  const now = Date.now();
  const expiration = Math.floor(now / 1000) + retention;
  try {
    await client.send(
      new PutItemCommand({
        TableName: table,
        Item: marshall({
          id,
          expiration,
          status: 'INPROGRESS',
          in_progress_expiration: now + context.getRemainingTimeInMillis(),
        }),
        ConditionExpression:
          'attribute_not_exists(#id) OR #expiry < :now OR (#status = :inprogress AND attribute_exists(#in_progress_expiry) AND #in_progress_expiry < :now_in_millis)',
        ExpressionAttributeNames: {
          '#id': 'id',
          '#expiry': 'expiration',
          '#in_progress_expiry': 'in_progress_expiration',
          '#status': 'status',
        },
        ExpressionAttributeValues: marshall({ ':now': now / 1000, ':now_in_millis': now, ':inprogress': 'INPROGRESS' }),
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      })
    );
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) return unmarshall(error.Item).data;
    throw error;
  }
  const answer = await charge();
  await client.send(
    new UpdateItemCommand({
      TableName: table,
      Key: marshall({ id }),
      UpdateExpression: 'SET #expiry = :expiry, #status = :status, #response_data = :response_data',
      ExpressionAttributeNames: { '#expiry': 'expiration', '#status': 'status', '#response_data': 'data' },
      ExpressionAttributeValues: marshall({ ':expiry': expiration, ':status': 'COMPLETED', ':response_data': answer }),
    })
  );
  return answer;
};

const cases = { raw: byHand, key: underPowertools(), validated: underPowertools({ payloadValidationJmesPath: validationPath }) };

const measure = async (ask) => {
  const handler = cases[ask.case];
  const payload = (key) => ask.payload.replace(ask.digits, String(key).padStart(ask.digits.length, '0'));
  const deliver = async (text) => JSON.stringify(await handler(JSON.parse(text), context));
  shop.response = ask.response;
  fake?.rehearse();
  const payloads = Array.from({ length: ask.n }, (_, i) => payload(ask.replay ? ask.key : ask.key + i));
  if (fake || ask.replay) await deliver(payloads[0]);
  if (fake && ask.replay) await deliver(payloads[0]);
  if (fake) fake.playing = true;
  const before = shop.executed;
  const began = process.cpuUsage();
  let answer;
  for (const text of payloads) answer = await deliver(text);
  const { user, system } = process.cpuUsage(began);
  return { nanoseconds: 1000 * (user + system), executed: shop.executed - before, answer: JSON.parse(answer) };
};

process.stdout.write('ready\n');
for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await measure(JSON.parse(line)))}\n`);
}
