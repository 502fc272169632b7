package dynamo

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent/fingerprint"
)

// A result of idempotent.LayoutValue is kept as AWS Powertools for TypeScript does: an object as M,
// an array as L, a string as S, a number as N, true and false as BOOL, null as NULL. What DynamoDB
// cannot hold (a number of more than 38 digits, an empty member name, more than 32 levels) it
// rejects.

// valueOf encodes a JSON text.
func valueOf(text []byte) (types.AttributeValue, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil || !json.Valid(text) { // nothing may follow the value
		return nil, errors.New("the result is no JSON")
	}
	return encodeValue(v), nil
}

func encodeValue(v any) types.AttributeValue {
	switch v := v.(type) {
	case map[string]any:
		m := make(item, len(v))
		for name, member := range v {
			m[name] = encodeValue(member)
		}
		return &types.AttributeValueMemberM{Value: m}
	case []any:
		l := make([]types.AttributeValue, len(v))
		for i, element := range v {
			l[i] = encodeValue(element)
		}
		return &types.AttributeValueMemberL{Value: l}
	case string:
		return textValue(v)
	case json.Number:
		return &types.AttributeValueMemberN{Value: v.String()}
	case bool:
		return &types.AttributeValueMemberBOOL{Value: v}
	default: // nil: there is nothing else in JSON
		return &types.AttributeValueMemberNULL{Value: true}
	}
}

// textOf returns the canonical JSON of a value, which anyone may have written. Sets become arrays,
// bytes base64.
func textOf(v types.AttributeValue) ([]byte, error) {
	plain, err := decodeValue(v)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(plain)
	if err != nil {
		return nil, err
	}
	return fingerprint.Canonical(nil, text)
}

func decodeValue(v types.AttributeValue) (plain any, err error) {
	switch v := v.(type) {
	case *types.AttributeValueMemberM:
		members := make(map[string]any, len(v.Value))
		for name, member := range v.Value {
			if members[name], err = decodeValue(member); err != nil {
				return nil, err
			}
		}
		return members, nil
	case *types.AttributeValueMemberL:
		elements := make([]any, len(v.Value))
		for i, element := range v.Value {
			if elements[i], err = decodeValue(element); err != nil {
				return nil, err
			}
		}
		return elements, nil
	case *types.AttributeValueMemberS:
		return v.Value, nil
	case *types.AttributeValueMemberN:
		return json.Number(v.Value), nil
	case *types.AttributeValueMemberBOOL:
		return v.Value, nil
	case *types.AttributeValueMemberNULL:
		return nil, nil //nolint:nilnil // null is a value
	case *types.AttributeValueMemberB:
		return base64.StdEncoding.EncodeToString(v.Value), nil
	case *types.AttributeValueMemberSS:
		return v.Value, nil
	case *types.AttributeValueMemberNS:
		numbers := make([]json.Number, len(v.Value))
		for i, n := range v.Value {
			numbers[i] = json.Number(n)
		}
		return numbers, nil
	case *types.AttributeValueMemberBS:
		return v.Value, nil // []byte is base64 in JSON
	default:
		return nil, fmt.Errorf("type %s", typeName(v))
	}
}
