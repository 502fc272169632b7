package dynamo

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// maxTransaction is how many bytes the items of a transaction have together.
const maxTransaction = 4 << 20

// writes are the items of a commit. It implements [store.Writes].
//
// It refers to what the caller's items refer to. A commit ends before it returns to the caller, who cannot change them meanwhile.
type writes struct {
	items  []types.TransactWriteItem
	each   []write
	size   int // in bytes, without what is not known before DynamoDB applies an update
	digest [sha256.Size]byte
}

// Len implements [store.Writes].
func (w *writes) Len() int { return len(w.items) }

// Digest implements [store.Writes].
func (w *writes) Digest() [sha256.Size]byte { return w.digest }

// newWrites checks the items as far as that is possible without a call.
func newWrites(items []Item) (*writes, error) {
	if len(items) > MaxItems {
		return nil, fmt.Errorf("%d items are more than %d, which is how many a commit takes", len(items), MaxItems)
	}
	w := &writes{items: make([]types.TransactWriteItem, len(items)), each: make([]write, len(items))}
	var problems itemErrors
	for i, it := range items {
		var err error
		if w.each[i], err = it.write(); err != nil {
			problems = append(problems, fmt.Errorf("items[%d]: %w", i, err))
		}
		w.items[i] = it.TransactWriteItem
		w.size += w.each[i].size()
	}
	if len(problems) > 0 {
		return nil, problems
	}
	if err := w.checkTogether(); err != nil {
		return nil, err
	}
	w.digest = digestOf(w.each)
	return w, nil
}

// write returns what the item writes, or what is wrong with it.
func (it Item) write() (write, error) {
	if it.Err != nil {
		return write{}, it.Err
	}
	w, err := writeOf(it.TransactWriteItem)
	if err != nil {
		return write{}, err
	}
	if err := w.check(); err != nil {
		return write{}, fmt.Errorf("%v: %w", w, err)
	}
	if w.kind == kindPut && len(it.key) > 0 {
		w.rowKey, err = w.keyIn(it.key)
	}
	return w, err
}

// keyIn returns the key of a row whose attributes have these names.
func (w write) keyIn(names []string) (item, error) {
	key := make(item, len(names))
	for _, name := range names {
		v, has := w.row[name]
		if !has {
			return nil, fmt.Errorf("%v: KeyedBy: the item has no attribute %q", w, name)
		}
		key[name] = v
	}
	return key, nil
}

// checkTogether finds what one transaction cannot do.
func (w *writes) checkTogether() error {
	if w.size > maxTransaction {
		return tooLargeTogether(w.size)
	}
	if err := w.checkPlaces(""); err != nil {
		return err
	}
	return w.checkDistinct()
}

func tooLargeTogether(size int) error {
	return fmt.Errorf("the items have %d bytes together, more than the %d of a transaction", size, maxTransaction)
}

// checkDistinct finds an item that two writes are about. The key of a Put is known only if [KeyedBy], or another write, tells
// the names of the key of its table; DynamoDB finds the others.
func (w *writes) checkDistinct() error {
	if len(w.each) < 2 {
		return nil
	}
	keys := make(map[string]item)
	for _, of := range w.each {
		if key := of.knownKey(); key != nil {
			keys[of.tableName()] = key
		}
	}
	first := make(map[string]int, len(w.each))
	for i, of := range w.each {
		identity := string(appendItem(appendText(nil, of.tableName()), of.keyLike(keys[of.tableName()])))
		if before, is := first[identity]; is {
			return fmt.Errorf("%s and %s are about the same item, of which a transaction takes one write",
				w.each[before].at(before), of.at(i))
		}
		first[identity] = i
	}
	return nil
}

// knownKey returns the key of the item that the write is about, nil if only the table tells it.
func (w write) knownKey() item {
	if w.key != nil {
		return w.key
	}
	return w.rowKey
}

// keyLike returns the key of the item that the write is about, of which another key has the names. Of a Put without such a key it is
// all of the item.
func (w write) keyLike(other item) item {
	if key := w.knownKey(); key != nil {
		return key
	}
	key := make(item, len(other))
	for name := range other {
		if v, has := w.row[name]; has {
			key[name] = v
		}
	}
	if len(other) == 0 || len(key) < len(other) {
		return w.row
	}
	return key
}

// about reports whether the write is about the item of a table with this key.
func (w write) about(table string, key item) bool {
	return w.tableName() == nameOf(table) && string(appendItem(nil, w.keyLike(key))) == string(appendItem(nil, key))
}

// tableName is the name of the table, whose ARN may be given. Tables of one transaction are in one account and Region.
func (w write) tableName() string { return nameOf(aws.ToString(w.table)) }

func nameOf(table string) string { return table[strings.LastIndexByte(table, '/')+1:] }

// placeOf is the Region and account of a table that is given by its ARN, else empty.
func placeOf(table string) string {
	if !strings.Contains(table, ":") {
		return ""
	}
	arn := strings.Split(table, ":")
	if len(arn) != 6 {
		return ""
	}
	return arn[3] + ":" + arn[4]
}

// checkPlaces finds tables that are given by ARNs of different accounts or Regions; the first may be that of the record.
func (w *writes) checkPlaces(recordTable string) error {
	place, first := placeOf(recordTable), -1
	for i, of := range w.each {
		switch here := placeOf(aws.ToString(of.table)); {
		case here == "" || here == place:
		case place == "":
			place, first = here, i
		default:
			whose := fmt.Sprintf("the record, on table %q,", recordTable)
			if first >= 0 {
				whose = w.each[first].at(first)
			}
			return fmt.Errorf("%s and %s are in different accounts or Regions, which no transaction spans", whose, of.at(i))
		}
	}
	return nil
}
