package dynamo

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-idempotent/idempotent/store"
)

// failed is the error of a transaction that DynamoDB did not cancel for reasons: it never got that far, or nobody knows.
func (t *transaction) failed(err error) error {
	kind, cause := understood(t.attempts.explained(err))
	message := errorMessage(err)
	switch {
	case kind == store.FailureMissingTable:
		cause = fmt.Errorf("one of the tables %s: %w", t.tables(), cause)
	case kind == store.FailureRejected && begins(message, multipleOperations):
		cause = fmt.Errorf("two of the items are one and the same in their table, or one is the record itself: "+
			"a transaction takes one write of an item: %w", cause)
	case kind == store.FailureRejected && aboutTheKey(message):
		cause = fmt.Errorf("one of the tables %s has another key than the items for it: %w", t.tables(), cause)
	}
	return &store.Error{Op: t.op, Kind: kind, NotApplied: t.attempts.notApplied(), Err: cause}
}

// tables names those of the transaction, each once, that of the record first.
func (t *transaction) tables() string {
	var names []string
	if t.record != nil {
		names = append(names, fmt.Sprintf("%q", t.record.tableName()))
	}
	for _, w := range t.writes.each {
		if name := fmt.Sprintf("%q", w.tableName()); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}
