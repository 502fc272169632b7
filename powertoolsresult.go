package idempotent

import (
	"encoding/json"
	"errors"
	"reflect"

	"github.com/aws/aws-lambda-go/events"

	"github.com/go-idempotent/idempotent/fingerprint"
	"github.com/go-idempotent/idempotent/internal/powertools"
)

// layout is the form in which the handler's results are stored.
func (c *config) layout() Layout {
	switch {
	case c.powertools == nil:
		return LayoutNative
	case c.powertools.Language == PowertoolsTypeScript:
		return LayoutValue
	default:
		return LayoutText
	}
}

var (
	errTerminal = errors.New("AWS Powertools cannot tell a stored error from a result")
	errNoStatus = errors.New("it is no response with a status")
)

// kept is a result as it is stored. With an error it cannot be, and the reason is that of the UNKNOWN record.
func (c *config) kept(e ending) (result []byte, reason string, err error) {
	m := c.powertools
	switch {
	case m == nil:
		return e.result, "", nil
	case e.reason == reasonTerminal:
		return nil, reasonTerminal, errTerminal
	}
	data, err := m.codec.EncodeData(e.result)
	switch {
	case err != nil:
		return nil, reasonResultLost, err
	case m.rawText:
		return []byte(data.Text), "", nil
	case data.Kind == powertools.Value:
		result, err = fingerprint.Canonical(nil, []byte(data.Text))
		return result, reasonResultLost, err
	default:
		return e.result, "", nil // JSON is JSON: a replay here is what the first caller got, byte for byte
	}
}

// replayed is a stored result as JSON, as the language reads it.
func (m *powertoolsMode) replayed(held Record, result []byte) ([]byte, error) {
	if held.Commit != "" && !m.rawText {
		return result, nil
	}
	result, err := m.codec.DecodeData(m.dataOf(held, result))
	if err != nil {
		return nil, err
	}
	return m.response.complete(result)
}

// dataOf is what the record keeps.
func (m *powertoolsMode) dataOf(held Record, result []byte) powertools.Data {
	switch {
	case result == nil:
		return powertools.Data{Kind: powertools.Absent}
	case held.Layout == LayoutValue:
		return powertools.Data{Kind: powertools.Value, Text: string(result)}
	case m.Language == PowertoolsTypeScript: // whose texts are strings
		return powertools.Data{Kind: powertools.Value, Text: string(quoted(result))}
	default:
		return powertools.Data{Kind: powertools.Text, Text: string(result)}
	}
}

// quoted is a text as JSON.
func quoted(text []byte) []byte {
	result, _ := encodeJSON(string(text)) // a text has always a form in JSON
	return result
}

// responseRule is what a gateway makes of a result without a status.
type responseRule int

const (
	noResponse    responseRule = iota // the result is no response
	withStatus                        // it must have one
	withoutStatus                     // it need not: payload format 2.0, also of function URLs
)

// responseRuleOf knows the rule of a handler's response.
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

// complete gives a result of another program its status, as the gateway would have: a result of payload format 2.0 without
// one is the JSON body of a response with status 200. Where there has to be one, a result without is unreadable. See
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
