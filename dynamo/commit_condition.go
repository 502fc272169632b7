package dynamo

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent/store"
)

// ConditionError says that conditions of items of a [Commit] do not hold. Nothing was written,
// nothing of it will be, and the claim stands.
type ConditionError struct {
	// Refused are the items whose conditions do not hold, in the order of the call. There is one at
	// least.
	Refused []RefusedItem
}

// RefusedItem is an item whose condition does not hold.
type RefusedItem struct {
	// Index is which item of the call it is, from 0.
	Index int
	Table string
	// Old is the item as it was then. It is nil if there was none, or if the write did not ask for
	// it, see [ReturnOld]. A log that shows the error, also one in JSON, does not show it.
	Old map[string]types.AttributeValue `json:"-"`

	kind string // of write
}

// Error names the items, and nothing of what they hold.
func (e *ConditionError) Error() string {
	refused := make([]string, len(e.Refused))
	for i, r := range e.Refused {
		refused[i] = at(r.Index, r.kind, r.Table)
	}
	if len(refused) == 1 {
		return "dynamo: nothing was written: the condition of " + refused[0] + " does not hold"
	}
	return "dynamo: nothing was written: the conditions of " + strings.Join(refused, " and ") + " do not hold"
}

// Is reports whether target is [store.ErrWritesRefused].
func (e *ConditionError) Is(target error) bool { return target == store.ErrWritesRefused }
