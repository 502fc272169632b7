package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"sync"
)

// fakeTable is as much of a DynamoDB table as a rehearsal needs: items under a partition key "id", written on conditions. It
// refuses what it does not know. The zero value is empty.
type fakeTable struct {
	mu    sync.Mutex
	items map[string]fakeItem
}

// fakeItem is an item by the names of its attributes, as JSON has it.
type fakeItem map[string]fakeValue

// fakeValue is a value of type S, N or B, the last in base64.
type fakeValue struct {
	S *string `json:"S,omitempty"`
	N *string `json:"N,omitempty"`
	B *string `json:"B,omitempty"`
}

// fakeInput is the input of all operations.
type fakeInput struct {
	TableName                           string
	Item, Key                           fakeItem
	ConditionExpression                 string
	UpdateExpression                    string
	ExpressionAttributeNames            map[string]string
	ExpressionAttributeValues           fakeItem
	ConsistentRead                      bool
	ReturnValuesOnConditionCheckFailure string
	ReturnValues                        string
	RequestItems                        map[string]json.RawMessage
}

// maxItem is the size of the largest item, in bytes of names and values.
const maxItem = 400 << 10

// errCondition is a refused condition.
var errCondition = errors.New("The conditional request failed") //nolint:staticcheck // the words of DynamoDB

func (t *fakeTable) answer(operation string, body []byte) (status int, answer []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var in fakeInput
	var out any
	held, err := fakeItem(nil), json.Unmarshal(body, &in)
	if err == nil {
		out, held, err = t.operate(operation, in)
	}
	switch {
	case errors.Is(err, errCondition):
		refusal := map[string]any{"__type": errorType("ConditionalCheckFailedException"), "message": err.Error()}
		if held != nil && in.ReturnValuesOnConditionCheckFailure == "ALL_OLD" {
			refusal["Item"] = held
		}
		return http.StatusBadRequest, encoded(refusal)
	case err != nil:
		return http.StatusBadRequest, encoded(map[string]any{"__type": errorType("ValidationException"), "message": err.Error()})
	default:
		return http.StatusOK, encoded(out)
	}
}

func errorType(name string) string { return "com.amazonaws.dynamodb.v20120810#" + name }

func encoded(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	return text
}

// operate returns the item that is held beside a refused condition.
func (t *fakeTable) operate(operation string, in fakeInput) (out any, held fakeItem, err error) {
	switch operation {
	case "PutItem":
		held, err = t.write(in, in.Item, func(fakeItem) (fakeItem, error) { return in.Item, nil })
		return struct{}{}, held, err
	case "UpdateItem":
		held, err = t.write(in, in.Key, in.updated)
		if in.ReturnValues == "ALL_NEW" && err == nil {
			return map[string]any{"Attributes": t.items[id(in.Key)]}, nil, nil
		}
		return struct{}{}, held, err
	case "GetItem":
		if found := t.items[id(in.Key)]; found != nil {
			return map[string]any{"Item": found}, nil, nil
		}
		return struct{}{}, nil, nil
	case "BatchWriteItem":
		return map[string]any{"UnprocessedItems": struct{}{}}, nil, t.writeBatch(in)
	case "BatchGetItem":
		found, err := t.readBatch(in)
		return map[string]any{"Responses": found, "UnprocessedKeys": struct{}{}}, nil, err
	default:
		return nil, nil, fmt.Errorf("%s is none of the operations known here", operation)
	}
}

func (t *fakeTable) write(in fakeInput, key fakeItem, next func(held fakeItem) (fakeItem, error)) (fakeItem, error) {
	held := t.items[id(key)]
	if in.ConditionExpression != "" {
		holds, err := in.holds(held)
		if err != nil {
			return nil, err
		}
		if !holds {
			return held, errCondition
		}
	}
	it, err := next(held)
	if err != nil {
		return nil, err
	}
	return nil, t.put(it)
}

func (t *fakeTable) put(it fakeItem) error {
	size := 0
	for name, v := range it {
		size += len(name) + v.size()
	}
	switch {
	case id(it) == "":
		return errors.New("the item has no key")
	case size > maxItem:
		return errors.New("Item size has exceeded the maximum allowed size") //nolint:staticcheck // the words of DynamoDB
	case t.items == nil:
		t.items = make(map[string]fakeItem)
	}
	t.items[id(it)] = it
	return nil
}

func (t *fakeTable) writeBatch(in fakeInput) error {
	for _, requests := range in.RequestItems {
		var writes []struct{ PutRequest struct{ Item fakeItem } }
		if err := json.Unmarshal(requests, &writes); err != nil {
			return err
		}
		if len(writes) > 25 {
			return errors.New("Too many items requested for the BatchWriteItem call") //nolint:staticcheck // as above
		}
		for _, w := range writes {
			if err := t.put(w.PutRequest.Item); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *fakeTable) readBatch(in fakeInput) (map[string][]fakeItem, error) {
	found := make(map[string][]fakeItem)
	for table, requests := range in.RequestItems {
		var keys struct{ Keys []fakeItem }
		if err := json.Unmarshal(requests, &keys); err != nil {
			return nil, err
		}
		if len(keys.Keys) > 100 {
			return nil, errors.New("Too many items requested for the BatchGetItem call") //nolint:staticcheck // as above
		}
		for _, key := range keys.Keys {
			if it := t.items[id(key)]; it != nil {
				found[table] = append(found[table], it)
			}
		}
	}
	return found, nil
}

// updated is the item after the update expression.
func (in fakeInput) updated(held fakeItem) (fakeItem, error) {
	it := maps.Clone(in.Key)
	maps.Copy(it, held)
	return it, in.update(it)
}

// id is the value of the partition key, empty if there is none.
func id(it fakeItem) string {
	if v := it["id"]; v.S != nil {
		return *v.S
	}
	return ""
}

func (v fakeValue) size() int {
	switch {
	case v.S != nil:
		return len(*v.S)
	case v.N != nil:
		return len(*v.N)
	case v.B != nil:
		return len(*v.B) / 4 * 3
	default:
		return 1
	}
}
