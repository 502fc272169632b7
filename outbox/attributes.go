package outbox

import (
	"encoding/json"
	"time"
)

// The attributes of a message in the table that are named outside of [stored].
const (
	attributeID        = "id"
	attributeOwner     = "owner"
	attributeCreatedAt = "created_at"
	// attributeDue is there while the message is pending. So is attributeShard, and together they
	// are the key of the index.
	attributeDue        = "outbox_due"
	attributeShard      = "outbox_shard"
	attributeDoneAt     = "done_at"
	attributeExpiration = "expiration"
	// attributeLastWrite is the token of the write of a relay that came last, attributeRedrive that
	// of the last redrive.
	attributeLastWrite = "last_write"
	attributeRedrive   = "redrive"
)

// givenUpShard is the shard of the messages that nobody delivers.
const givenUpShard = "given-up"

// stored is a message in the table. Instants are milliseconds since 1970.
type stored struct {
	ID         string            `dynamodbav:"id"`
	Topic      string            `dynamodbav:"topic"`
	Body       string            `dynamodbav:"body"`
	Attributes map[string]string `dynamodbav:"attributes,omitempty"`
	Group      string            `dynamodbav:"group,omitempty"`
	Tenant     string            `dynamodbav:"tenant,omitempty"`
	Trace      string            `dynamodbav:"trace,omitempty"`
	Owner      string            `dynamodbav:"owner"`
	CreatedAt  int64             `dynamodbav:"created_at"`
	Due        int64             `dynamodbav:"outbox_due"`
	Shard      string            `dynamodbav:"outbox_shard"`
	// Tries is there from the first failure on, or since a drain has taken the message.
	Tries     int    `dynamodbav:"tries,omitempty"`
	GivenUpAt int64  `dynamodbav:"given_up_at,omitempty"`
	Failure   string `dynamodbav:"last_error,omitempty"`
}

func (s stored) message() Message {
	return Message{
		ID: s.ID, Topic: s.Topic, Body: json.RawMessage(s.Body), Attributes: s.Attributes, Group: s.Group,
		Tenant: s.Tenant, Trace: s.Trace,
		CreatedAt: time.UnixMilli(s.CreatedAt).UTC(), Tries: s.Tries,
	}
}
