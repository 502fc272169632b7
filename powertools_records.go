package idempotent

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/go-idempotent/idempotent/fingerprint"
	"github.com/go-idempotent/idempotent/internal/powertools"
	"github.com/go-idempotent/idempotent/jmespath"
	"github.com/go-idempotent/idempotent/store"
)

// powertoolsRecords are the records of AWS Powertools in one language.
type powertoolsRecords struct {
	codec  *powertools.Codec
	prefix string
	// rawText is true if results are strings and the language is Java, which keeps them without quotes.
	rawText bool
	// response is the rule for the status of results.
	response responseRule
}

func (r *powertoolsRecords) name() string { return r.prefix }

// newPowertoolsRecords returns the records of a handler whose results have the type out.
func newPowertoolsRecords(codec *powertools.Codec, prefix string, out reflect.Type) *powertoolsRecords {
	r := &powertoolsRecords{codec: codec, prefix: prefix, response: responseRuleOf(out)}
	if out.Kind() == reflect.String {
		r.codec = codec.StringResults()
		r.rawText = strings.HasPrefix(string(codec.Language()), string(powertools.Java))
	}
	return r
}

// readsAlike refuses a path that the language reads differently. The path is nil if there is none.
func readsAlike(codec *powertools.Codec, path *jmespath.Expression) error {
	if path == nil {
		return nil
	}
	return codec.Allow(path)
}

func (r *powertoolsRecords) key(selection []byte, whole bool) (string, error) {
	if whole && r.codec.Missing(selection) {
		return "", nil
	}
	key, err := r.codec.Key(r.prefix, selection)
	if err != nil {
		err = fmt.Errorf("has no key of %s: %w", r.codec.Language(), err)
	}
	return key, err
}

func (r *powertoolsRecords) fingerprint(selection []byte) (string, error) {
	digest, err := r.codec.Digest(selection)
	if err != nil {
		err = fmt.Errorf("has no digest of %s: %w", r.codec.Language(), err)
	}
	return digest, err
}

// layout returns the layout of the language.
func (r *powertoolsRecords) layout() store.Layout {
	if r.codec.Language() == powertools.TypeScript {
		return store.LayoutValue
	}
	return store.LayoutText
}

var (
	errTerminal = errors.New("AWS Powertools cannot tell a stored error from a result")
	errNoStatus = errors.New("it is no response with a status")
)

func (r *powertoolsRecords) encode(result []byte, failure bool) ([]byte, error) {
	if failure {
		return nil, errTerminal
	}
	data, err := r.codec.EncodeData(result)
	switch {
	case err != nil:
		return nil, err
	case r.rawText:
		return []byte(data.Text), nil
	case data.Kind == powertools.Value:
		return fingerprint.Canonical(nil, []byte(data.Text))
	default:
		return result, nil // JSON is JSON: a replay here is what the first caller got, byte for byte
	}
}

func (r *powertoolsRecords) decode(held store.Record) ([]byte, error) {
	if held.Seal != "" && !r.rawText {
		return held.Result, nil
	}
	data, err := r.dataOf(held)
	if err != nil {
		return nil, err
	}
	result, err := r.codec.DecodeData(data)
	if err != nil {
		return nil, err
	}
	return r.response.complete(result)
}

// dataOf returns what the record keeps.
func (r *powertoolsRecords) dataOf(held store.Record) (powertools.Data, error) {
	switch {
	case held.Result == nil:
		return powertools.Data{Kind: powertools.Absent}, nil
	case held.Layout == store.LayoutValue:
		return powertools.Data{Kind: powertools.Value, Text: string(held.Result)}, nil
	case r.codec.Language() == powertools.TypeScript: // whose texts are strings
		quoted, err := encodeJSON(string(held.Result))
		return powertools.Data{Kind: powertools.Value, Text: string(quoted)}, err
	default:
		return powertools.Data{Kind: powertools.Text, Text: string(held.Result)}, nil
	}
}

// responseRule says what a gateway does with a result that has no status.
type responseRule int

const (
	noResponse    responseRule = iota // the result is no response
	withStatus                        // it must have one
	withoutStatus                     // it need not: payload format 2.0, also of function URLs
)

// responseRuleOf returns the rule for results of type out.
func responseRuleOf(out reflect.Type) responseRule {
	if out.Kind() == reflect.Pointer {
		out = out.Elem()
	}
	switch out {
	case reflect.TypeFor[events.APIGatewayV2HTTPResponse](), reflect.TypeFor[events.LambdaFunctionURLResponse]():
		return withoutStatus
	case reflect.TypeFor[events.APIGatewayProxyResponse](), reflect.TypeFor[events.ALBTargetGroupResponse]():
		return withStatus
	default:
		return noResponse
	}
}

// complete gives a result of another program its status, as the gateway would do. A result of payload format 2.0
// without a status is the JSON body of a response with status 200. Where a status is required, a result without one is
// unreadable. See
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html.
func (r responseRule) complete(result []byte) ([]byte, error) {
	if r == noResponse {
		return result, nil
	}
	var response struct {
		StatusCode json.RawMessage `json:"statusCode"`
	}
	if err := json.Unmarshal(result, &response); err == nil && response.StatusCode != nil {
		return result, nil
	}
	if r == withStatus {
		return nil, errNoStatus
	}
	return encodeJSON(map[string]any{
		"statusCode": 200, "headers": map[string]string{"content-type": "application/json"}, "body": string(result),
	})
}
