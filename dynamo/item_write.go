package dynamo

import (
	"crypto/sha256"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Item is one write of a [Commit]. [Put], [Update], [Delete] and [Check] make it of the user's own types; one of the SDK is
// Item{TransactWriteItem: write} as it is. Exactly one of its four fields is set.
type Item struct {
	types.TransactWriteItem

	// Err is why the item could not be made. [Commit] returns it before it sends anything.
	Err error
}

// ItemOption adds a condition, or what a condition or an update refers to, to an [Item].
type ItemOption func(*itemParts)

// itemParts are what options have said of an item.
type itemParts struct{}

// Put writes a whole item: row is a struct, a map, or what else attributevalue.MarshalMap takes.
func Put(table string, row any, opts ...ItemOption) Item { panic("not built yet") }

// Update changes the item with this key by an update expression, such as "SET stock = stock - :n".
func Update(table string, key any, update string, opts ...ItemOption) Item { panic("not built yet") }

// Delete removes the item with this key.
func Delete(table string, key any, opts ...ItemOption) Item { panic("not built yet") }

// Check writes nothing: it only holds the commit to the conditions on the item with this key.
func Check(table string, key any, opts ...ItemOption) Item { panic("not built yet") }

// IfAbsent is the condition that there is no item, or that it lacks this attribute. Name the partition key to write an item only once.
func IfAbsent(attribute string) ItemOption { panic("not built yet") }

// IfPresent is the condition that there is an item and that it has this attribute.
func IfPresent(attribute string) ItemOption { panic("not built yet") }

// If is a condition expression, such as "stock >= :n". Several conditions of one item must all hold.
func If(condition string) ItemOption { panic("not built yet") }

// Values are what the expressions of the item refer to by names such as ":n", each as attributevalue.Marshal takes it.
func Values(values map[string]any) ItemOption { panic("not built yet") }

// Names are the attributes that the expressions of the item refer to by names such as "#s".
func Names(names map[string]string) ItemOption { panic("not built yet") }

// ReturnOld asks for the item as it is, if a condition on it does not hold, see [RefusedItem].
func ReturnOld() ItemOption { panic("not built yet") }

// ConditionError says that conditions of items of a [Commit] do not hold. Nothing was written, nothing of it will be, and the claim
// stands.
type ConditionError struct {
	// Refused are the items whose conditions do not hold, in the order of the call. There is one at least.
	Refused []RefusedItem
}

// RefusedItem is an item whose condition does not hold.
type RefusedItem struct {
	// Index is which item of the call it is, from 0.
	Index int
	Table string
	// Old is the item as it was then. It is nil if there was none, or if the write did not ask for it, see [ReturnOld].
	Old map[string]types.AttributeValue
}

func (e *ConditionError) Error() string { return "not built yet" }

// writes are the items of a commit. It implements [store.Writes].
type writes struct {
	items  []types.TransactWriteItem
	digest [sha256.Size]byte
}

// Len implements [store.Writes].
func (w *writes) Len() int { return len(w.items) }

// Digest implements [store.Writes].
func (w *writes) Digest() [sha256.Size]byte { return w.digest }

// newWrites checks the items as far as that is possible without a call.
func newWrites(items []Item) (*writes, error) { return nil, errors.New("not built yet") }
