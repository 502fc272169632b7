// Package dynamo keeps idempotency records in an Amazon DynamoDB table.
//
//	store := dynamo.New(dynamodb.NewFromConfig(cfg), os.Getenv("IDEMPOTENCY_TABLE"))
//
// # The table
//
// A partition key "id" of type S, no sort key, and time to live enabled on "expiration". A sparse
// index, [AttentionIndex], finds the records that somebody has to settle; no request needs it, and
// [Store.Advise] says if it is missing. [TableDefinition] is that table as the input of
// CreateTable, [CreateTable] makes it, [Store.Check] compares an existing one with it. The layout
// is a superset of that of AWS Powertools, so that one table can serve both. Attributes that this
// version does not know are ignored when a record is read and survive when it is changed.
//
// [Config] can give attributes other names, and put the record key on a sort key. Both follow AWS
// Powertools, whose records are read whatever language wrote them: data of any type, expirations
// with a fraction, with or without a lease. The [store.Layout] of a record says in which form its
// result is kept for such readers: as text, or as a value of DynamoDB's own types; then it stays in
// the record whatever its size, and what does not fit is refused.
//
// # Permissions
//
// The request path needs these IAM actions on the table, and no others:
//
//	dynamodb:PutItem  dynamodb:UpdateItem  dynamodb:DeleteItem  dynamodb:GetItem
//	dynamodb:BatchWriteItem  dynamodb:BatchGetItem
//
// The last two serve results larger than the inline limit only.
//
// A handler that commits, see [Commit], needs no action of that name: the items of a transaction
// need those of the calls that they stand for, each on its own table. A commit updates the record
// (dynamodb:UpdateItem on the table above), and for what it writes itself it needs
//
//	Put     dynamodb:PutItem
//	Update  dynamodb:UpdateItem
//	Delete  dynamodb:DeleteItem
//	Check   dynamodb:ConditionCheckItem
//
// The condition key dynamodb:EnclosingOperation, with the value TransactWriteItems, allows them in
// transactions only, so that no other code of the function writes the rows without the answer. See
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis-iam.html.
//
// An operator who looks at records needs dynamodb:GetItem and dynamodb:BatchGetItem, dynamodb:Query
// and dynamodb:Scan, also on the index (the ARN of the table and /index/attention-index), and
// dynamodb:DescribeTable; one who settles them also dynamodb:UpdateItem, dynamodb:DeleteItem and,
// for large results, dynamodb:BatchWriteItem. [Store.Check] needs dynamodb:DescribeTable, also on
// the tables that handlers commit into, and dynamodb:DescribeTimeToLive, [CreateTable] these and
// dynamodb:CreateTable and dynamodb:UpdateTimeToLive. [Store.DeleteExpired] needs dynamodb:Scan,
// dynamodb:GetItem and dynamodb:DeleteItem.
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
// A refused write consumes write capacity for the item as it is, at least one unit and one for
// every KB begun. Many duplicates of one key therefore cost what its record weighs: a large result
// is kept in items of its own (parts) so that the record stays small and a retry storm does not
// exhaust the 1,000 write units a second of its partition. See
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html and
// [Config].
//
// A result is compressed (gzip) where that saves a write unit, which is from about 700 bytes on,
// unless [Config] turns it off. One of more than 1.1 MB is compressed in any case: its first parts
// are written before its end is. The inline limit counts what is left. What is read back is
// verified by the commit of the record, over the result as it was before.
//
// The steps of an execution are attributes of its record, until the update that completes it
// removes them. An update that records one costs a write unit for every KB of the record as it then
// is. Steps stay in the record as they are, as long as together they keep within the inline limit;
// a result for which there is no room goes to parts. A takeover brings the steps with it: neither
// it nor the execution that follows reads anything but parts. AWS Powertools in other languages
// does not look at steps; when it takes a record over, they are gone.
//
// A commit adds one item to the transaction of the handler's own writes: the update of the record.
// DynamoDB bills every item of a transaction twice, so a completion of one write unit is two in a
// commit, and every row is twice what it is alone. The store sends a transaction once, and repeats
// it only behind parts. The client repeats what got lost or was throttled, with the same token; it
// does not repeat a transaction that was cancelled, for whatever reason.
//
// Parts are written before the update that names them. They expire a day after the record, and
// those of steps 60 days after it, because a record with steps may become UNKNOWN and be resumed
// long after. What an execution that died in between, or a deleted record, leaves behind is removed
// by time to live. They cost a write unit for every KB, all at once: 6 MB that cannot be compressed
// are more than a new on-demand table takes in a second (4,000 units), and the rest waits for the
// next one. Where such results are common, raise the table's warm throughput. See
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/warm-throughput.html.
//
// # The client
//
// The store sends every call once; what is retried inside a call, and how often, is the client's
// business. The SDK's defaults fit: of service/dynamodb v1.74.0 and later, four attempts with short
// pauses. Its HTTP client waits without limit for an answer. Bound each attempt, so that a lost
// reply leaves time for another one within the claim budget:
//
//	dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) {
//		o.HTTPClient = awshttp.NewBuildableClient().WithTimeout(time.Second)
//	})
//
// A result of several megabytes needs a longer timeout than that. A failed write is reported as not
// applied only if every attempt the client made was answered, or never left. The store sees the
// attempts through the options it passes with each call; with a client that ignores them, no failed
// write counts as not applied. An HTTP client that repeats requests by itself hides attempts from
// the SDK and from the store: do not use one.
//
// # Global tables
//
// Conditions are decided by the Region that is asked. In a global table with eventual consistency
// two Regions can both accept a claim of one key within the replication delay: send all requests of
// a key to one Region, or use a table with multi-Region strong consistency, which has no time to
// live and no transactions: [Store.DeleteExpired] deletes what has expired, and there is no
// [Commit]. With eventual consistency parts may also reach another Region after the record that
// names them, which is reported as an unreadable record until they are there. See
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GlobalTables.html.
package dynamo
