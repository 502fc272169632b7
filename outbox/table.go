package outbox

// Index is the name of the index that [Relay.Drain] finds by what is due. It is a global secondary index on the attributes outbox_shard (S)
// and outbox_due (N), that includes created_at. It is sparse: only messages that are not done are in it.
const Index = "outbox-index"
