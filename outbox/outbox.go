package outbox

// Outbox is where messages are put by the commit of a handler: a DynamoDB table in the account and Region of the idempotency records. It
// sends nothing and needs no client. Make one with [New]. It is safe for concurrent use.
type Outbox struct{ table string }

// New returns the outbox with this table, given by its name or ARN. What is wrong with the name [dynamo.Commit] says.
func New(table string) *Outbox { return &Outbox{table} }
