// Package outbox sends messages that leave if, and only if, their commit happened.
//
// A handler puts a message into a table, in the transaction that also writes its rows and stores
// its answer:
//
//	return dynamo.Commit(ctx, created,
//		dynamo.Put(orders, row, dynamo.IfAbsent("order_id")),
//		outbox.New(table).Message(ctx, "order-placed", row))
//
// Another function, the relay, gets what was put from the stream of the table, and delivers it:
//
//	lambda.Start(outbox.NewRelay(client, table, deliver).Stream)
//
// A third one runs on a schedule, and delivers what the stream has put off or lost:
//
//	lambda.Start(outbox.NewRelay(client, table, deliver).Drain)
//
// # What is guaranteed
//
// A message whose commit did not happen is never delivered. One whose commit happened is delivered
// at least once, always with the same [Message.ID], unless it is given up after it was tried as
// often as [Config.MaxTries] says, or a later commit has replaced it, with the same id. It is
// marked as done after a delivery, and never before. No order is promised.
//
// Deliverers for SQS and HTTP are in the packages outboxsqs and outboxhttp beside this one; any
// function of type [Deliver] is one. See docs/outbox.md.
//
// # Permissions
//
// A handler that commits messages needs dynamodb:PutItem on the table, a relay on the stream
// dynamodb:UpdateItem, and a drain both this and dynamodb:GetItem, and dynamodb:Query on the index.
package outbox

// Outbox is where messages are put by the commit of a handler: a DynamoDB table in the account and
// Region of the idempotency records. It sends nothing and needs no client. Make one with [New]. It
// is safe for concurrent use.
type Outbox struct{ table string }

// New returns the outbox with this table, given by its name or ARN. What is wrong with the name
// [dynamo.Commit] says.
func New(table string) *Outbox { return &Outbox{table} }
