package jmespath_test

import (
	"errors"
	"fmt"

	"github.com/go-idempotent/idempotent/jmespath"
)

// The key of an HTTP API request is often part of its body, which is JSON in a
// string of the event. The order id is beyond what floating point can hold.
func Example_keyInTheBodyOfAnAPIGatewayEvent() {
	event := []byte(`{
		"version": "2.0",
		"routeKey": "POST /orders",
		"headers": {"content-type": "application/json"},
		"body": "{\"tenant\": \"acme\", \"order_id\": 9007199254740993, \"amount\": 49.90}"
	}`)
	key, err := jmespath.Compile(`powertools_json(body).[tenant, order_id]`)
	if err != nil {
		fmt.Println(err)
		return
	}
	selected, err := key.Search(event)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(selected.JSON()), selected.Presence())
	// Output: ["acme",9007199254740993] present
}

// A key that is only partly there would be shared by different requests.
func ExampleValue_Presence() {
	key, err := jmespath.Compile(`[tenant, order.id]`)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, payload := range []string{
		`{"tenant": "acme", "order": {"id": 0}}`,
		`{"tenant": "acme", "order": {}}`,
		`{}`,
	} {
		selected, err := key.Search([]byte(payload))
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(string(selected.JSON()), selected.Presence())
	}
	// Output:
	// ["acme",0] present
	// ["acme",null] partial
	// [null,null] missing
}

// Numbers compare by their exact values, however they are spelled.
func ExampleExpression_Search_exactNumbers() {
	for _, source := range []string{"a == b", "a == c", "sum([a, d])"} {
		expression, err := jmespath.Compile(source)
		if err != nil {
			fmt.Println(err)
			return
		}
		selected, err := expression.Search(
			[]byte(`{"a": 9007199254740993, "b": 9007199254740993.0, "c": 9007199254740992, "d": 0.1}`))
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(source, "is", string(selected.JSON()))
	}
	// Output:
	// a == b is true
	// a == c is false
	// sum([a, d]) is 9007199254740993.1
}

// Expressions are checked when they are compiled.
func ExampleCompile_errors() {
	for _, source := range []string{"body.", "uuid(id)", "abs(a, b)"} {
		_, err := jmespath.Compile(source)
		fmt.Println(err)
	}
	_, err := jmespath.Compile("uuid(id)")
	if failure, ok := errors.AsType[*jmespath.Error](err); ok {
		fmt.Println(failure.Kind, failure.Offset)
	}
	// Output:
	// jmespath: compile "body.": syntax at offset 5: expression is incomplete
	// jmespath: compile "uuid(id)": unknown-function at offset 0: uuid
	// jmespath: compile "abs(a, b)": invalid-arity at offset 0: function abs needs 1 and gets 2
	// unknown-function 0
}

// Errors tell what is wrong with a payload and never quote it.
func ExampleError() {
	key, err := jmespath.Compile(`powertools_json(body).id`)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, payload := range []string{
		`{"body": "{\"id\": 1, \"id\": 2}"}`, `{"body": null}`,
		`{"body": "{}", "body": "{}"}`,
	} {
		_, err = key.Search([]byte(payload))
		fmt.Println(err)
	}
	// Output:
	// jmespath: search "powertools_json(body).id": invalid-value in powertools_json at offset 0: the string is not acceptable JSON: duplicate key at its offset 10
	// jmespath: search "powertools_json(body).id": invalid-type in powertools_json at offset 0: argument 1 is null, want string
	// fingerprint: JSON text, byte 15: duplicate key
}
