// Package dynamo keeps idempotency records in an Amazon DynamoDB table.
//
//	store := dynamo.New(dynamodb.NewFromConfig(cfg), os.Getenv("IDEMPOTENCY_TABLE"))
//
// # The table
//
// A partition key "id" of type S, no sort key, and time to live enabled on "expiration". A sparse
// index, [AttentionIndex], finds the records that somebody has to settle; no request needs it.
// [CreateTable] makes the table, and [Store.Check] compares one with its [TableDefinition]. The
// layout is a superset of that of AWS Powertools, so one table can serve both. Attributes that this
// version does not know are ignored when a record is read and survive when it is changed.
//
// [Config] can rename attributes, and put the record key on a sort key, as AWS Powertools can.
// Records of Powertools are read whatever language wrote them: data of any type, expirations with a
// fraction, with or without a lease. The [store.Layout] of a record says how its result is kept for
// such readers: as text, or as a value of DynamoDB's own types. Then it stays in the record
// whatever its size, and what does not fit is refused.
//
// # Permissions
//
// The request path needs these IAM actions on the table, and no others:
//
//	dynamodb:PutItem  dynamodb:UpdateItem  dynamodb:DeleteItem  dynamodb:GetItem
//	dynamodb:BatchWriteItem  dynamodb:BatchGetItem, for results larger than the inline limit only
//
// A [Commit] needs no action of its own, but those of its items, each on its own table:
// dynamodb:UpdateItem for the record, and for what the handler writes dynamodb:PutItem, UpdateItem,
// DeleteItem, or ConditionCheckItem. docs/deploy.md says what operators, [Store.List] and
// [Store.Check] need, and how the condition key dynamodb:EnclosingOperation allows an action in
// transactions only. See
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis-iam.html.
//
// # Calls
//
//	a first execution            PutItem, UpdateItem
//	a replay                     PutItem, refused: DynamoDB returns the record with the refusal
//	a takeover                   PutItem, refused; UpdateItem, UpdateItem
//	a step                       UpdateItem; with a start mark, two of them
//	a commit                     TransactWriteItems, in the place of the completing UpdateItem
//	a release                    PutItem, DeleteItem; with steps that were written, PutItem, UpdateItem
//	a result beyond the limit    one BatchWriteItem per 3 parts of 384 KB, before the completing UpdateItem
//	its replay                   one BatchGetItem per 4 parts, after the refused PutItem
//	a settlement by an operator  GetItem, UpdateItem
//	a deletion of what expired   a Scan or a Query of everything, a DeleteItem each; before that of a part, a GetItem
//	a listing                    a Query for each of 10 shards of the index, or a Scan of it; without it a Scan of the table
//
// A refused write consumes write capacity for the item as it is, a unit for every KB begun: a
// duplicate costs what its record weighs. So a large result is kept in items of its own (parts),
// and a retry storm does not exhaust the 1,000 write units a second of a partition. See
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html.
//
// A result is compressed where [Config] says, and one of more than 1.1 MB in any case: its first
// parts are written before its end is. The commit verifies what is read back and expanded.
//
// The steps of an execution are attributes of its record until the update that completes it removes
// them. To record one costs a write unit for every KB that the record then has. A takeover brings
// the steps with it: neither it nor the execution that follows reads anything but parts. When AWS
// Powertools in another language takes a record over, its steps are gone.
//
// The store sends the transaction of a commit once, and repeats it only behind parts. The client
// repeats what got lost or was throttled, with the same token, but no transaction that was
// cancelled, for whatever reason.
//
// Parts are written before the update that names them. They expire a day after the record, and
// those of steps 60 days after it, because a record with steps may become UNKNOWN and be resumed
// long after. Time to live removes what an execution that died in between, or a deleted record,
// leaves behind. Parts cost a write unit for every KB, all at once: 6 MB that cannot be compressed
// are more than a new on-demand table takes in a second (4,000 units), and the rest waits for the
// next one. Where such results are common, raise the table's warm throughput. See
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/warm-throughput.html.
//
// # The client
//
// The store sends every call once; how often a call is retried is the client's business. The SDK's
// defaults fit: of service/dynamodb v1.74.0 and later, four attempts with short pauses. Its HTTP
// client waits without limit for an answer. Bound each attempt, so that a lost reply leaves time
// for another one within the claim budget:
//
//	dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) {
//		o.HTTPClient = awshttp.NewBuildableClient().WithTimeout(time.Second)
//	})
//
// A result of several megabytes needs a longer timeout. A failed write is reported as not applied
// only if every attempt was answered, or never left. The store sees the attempts through the
// options it passes with each call; with a client that ignores them, no failed write counts as not
// applied. An HTTP client that repeats requests by itself hides attempts: do not use one.
//
// # Global tables
//
// The Region that is asked decides a condition. In a global table with eventual consistency two
// Regions can both accept a claim of one key within the replication delay: send all requests of a
// key to one Region. Parts may also reach another Region after the record that names them; until
// then the record is reported as unreadable. A table with multi-Region strong consistency has
// neither problem, but no time to live, see [Store.DeleteExpired], and no transactions, and so no
// [Commit]. See https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GlobalTables.html.
package dynamo
