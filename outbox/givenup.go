package outbox

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"
)

// GivenUpMessage is a message that nobody delivers any more: it failed too often, or for good.
type GivenUpMessage struct {
	Message

	GivenUpAt time.Time
	// Failure is the type of the error of its last delivery, empty if that ended without one.
	Failure string

	owner string
}

// GivenUp yields the messages of a table that are given up, about in that order. It reads the
// [Index], which may be late by a moment, and then each message. An error ends it.
func GivenUp(ctx context.Context, client Client, table string) iter.Seq2[GivenUpMessage, error] {
	b := &box{client: client, table: table}
	return func(yield func(GivenUpMessage, error) bool) {
		for listed, err := range b.entries(ctx, givenUpShard, new(int)) {
			m, givenUp := GivenUpMessage{}, false
			if err == nil {
				m, givenUp, err = b.givenUp(ctx, listed.ID)
			}
			if (givenUp || err != nil) && !yield(m, err) || err != nil {
				return
			}
		}
	}
}

func (b *box) givenUp(ctx context.Context, id string) (m GivenUpMessage, givenUp bool, err error) {
	e, pending, err := b.Get(ctx, id)
	if !pending || !e.GivenUp {
		return GivenUpMessage{}, false, err
	}
	return GivenUpMessage{
		Message: e.Message.message(), GivenUpAt: time.UnixMilli(e.Message.GivenUpAt).UTC(),
		Failure: e.Message.Failure, owner: e.Owner,
	}, true, nil
}

// FindGivenUp returns the message with this id that is given up, or [ErrNotGivenUp].
func FindGivenUp(ctx context.Context, client Client, table, id string) (GivenUpMessage, error) {
	p, givenUp, err := (&box{client: client, table: table}).givenUp(ctx, id)
	if err == nil && !givenUp {
		err = ErrNotGivenUp
	}
	return p, err
}

// ErrNotGivenUp is returned when the message was redriven or delivered, or a later commit has
// replaced it.
var ErrNotGivenUp = errors.New("outbox: there is no such message that is given up")

// The bounds of who redrives a message and why, in bytes: those of package operate.
const maxBy, maxWhy = 256, 512

// Redrive lets a message that is still given up as it was shown be delivered again, with its tries
// counted anew: at once where there is a relay on the stream, else by the next drain. If it is not,
// the error is [ErrNotGivenUp]. The message keeps who did it, when, and why; both texts are
// required, and have at most 256 and 512 bytes.
func Redrive(ctx context.Context, client Client, table string, m GivenUpMessage, by, why string) error {
	switch {
	case m.ID == "" || m.owner == "":
		return errors.New("outbox.Redrive: the message is not one of GivenUp or FindGivenUp")
	case strings.TrimSpace(by) == "" || strings.TrimSpace(why) == "":
		return fmt.Errorf("outbox.Redrive: by is %q and why is %q: say who does it, and why", by, why)
	case len(by) > maxBy || len(why) > maxWhy:
		return fmt.Errorf("outbox.Redrive: by has %d bytes and why has %d, more than %d and %d", len(by),
			len(why), maxBy, maxWhy)
	}
	change := "SET outbox_shard = :shard, outbox_due = :now, redriven_at = :now, redriven_by = :by, " +
		"redriven_reason = :why REMOVE tries, given_up_at, last_error"
	_, redriven, err := (&box{client: client, table: table}).update(ctx, entry{ID: m.ID, Owner: m.owner},
		attributeRedrive, "#owner = :owner AND outbox_shard = :givenUp AND given_up_at = :at", change, attributes{
			refGivenUp: text(givenUpShard), ":at": number(m.GivenUpAt.UnixMilli()), ":shard": text(shardOf(m.ID)),
			refNow: number(time.Now().UnixMilli()), ":by": text(by), ":why": text(why),
		})
	if err == nil && !redriven {
		err = ErrNotGivenUp
	}
	return err
}
