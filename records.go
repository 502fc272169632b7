package idempotent

import "github.com/go-idempotent/idempotent/store"

// sharedRecords writes and reads the records of another program on the same table: their keys, fingerprints and
// results, as that program does it. See [WithPowertools].
type sharedRecords interface {
	// key returns the record key of a selection, or of the whole event. It is empty if the event has no content. The
	// text of an error continues a sentence that begins with the name of the selection.
	key(selection []byte, whole bool) (string, error)
	// fingerprint returns the digest of a selection. The text of an error is like that of key.
	fingerprint(selection []byte) (string, error)
	// encode returns what the record keeps of a result, given as JSON, or of a failure.
	encode(result []byte, failure bool) ([]byte, error)
	// decode returns the result of a record as JSON.
	decode(r store.Record) ([]byte, error)
	// name returns what the record keys begin with, up to the last #.
	name() string
	// layout returns the form in which results are stored.
	layout() store.Layout
}
