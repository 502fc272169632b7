package idempotent

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"

	"github.com/go-idempotent/idempotent/fingerprint"
)

// Execution is what a handler can know about the claim it runs under.
type Execution struct {
	// Operation is the name of the wrapped handler.
	Operation string
	// RecordKey is what the store knows the claim by: the operation and a hash of scope and key.
	RecordKey string
	// Attempt counts the executions of this record, from 1.
	Attempt int
	// Recovered is true if an earlier execution did not end properly: this one may repeat its effects.
	Recovered bool

	fingerprint string
}

type executionKey struct{}

// executionContext is a context.WithValue that holds the execution without boxing it.
type executionContext struct {
	context.Context //nolint:containedctx // it is one

	x Execution
}

func (c *executionContext) Value(key any) any {
	if key == (executionKey{}) {
		return c.x
	}
	return c.Context.Value(key)
}

// FromContext returns the execution that a handler's context belongs to. It reports false outside a protected
// execution: the protection is disabled, or the request needed no key.
func FromContext(ctx context.Context) (Execution, bool) {
	x, ok := ctx.Value(executionKey{}).(Execution)
	return x, ok
}

// DerivedKey returns an idempotency key to pass downstream: 36 characters, a UUID in text form (RFC 9562, version 8). It
// depends on the record key, the fingerprint and the name, so it is the same for every attempt of one request: over
// retries, releases, takeovers and crashes, and also after the retention. It is another one when the client's key comes
// back with another request, and for another name: use one name for each downstream effect.
//
// Outside a protected execution it is random, so that it is never empty and never shared.
func DerivedKey(ctx context.Context, name string) string {
	x, ok := FromContext(ctx)
	if !ok {
		var random [16]byte
		rand.Read(random[:]) // never fails
		return uuid(random)
	}
	return x.DerivedKey(name)
}

// DerivedKey is [DerivedKey] for a known execution, as a resolver has it.
func (x Execution) DerivedKey(name string) string {
	h := fingerprint.New("derived key")
	h.String(x.RecordKey)
	h.String(x.fingerprint)
	h.String(name)
	sum := h.Sum()
	return uuid([sha256.Size / 2]byte(sum[:16]))
}

// uuid writes 16 bytes as a UUID of version 8, whose other bits are free (RFC 9562, section 5.8).
func uuid(b [16]byte) string {
	b[6] = b[6]&0x0f | 0x80
	b[8] = b[8]&0x3f | 0x80
	text := make([]byte, 36)
	hex.Encode(text, b[:4])
	hex.Encode(text[9:], b[4:6])
	hex.Encode(text[14:], b[6:8])
	hex.Encode(text[19:], b[8:10])
	hex.Encode(text[24:], b[10:])
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	return string(text)
}
