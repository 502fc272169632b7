package main

import (
	"encoding/json"
	"fmt"
	"time"

	community "github.com/jmespath-community/go-jmespath/pkg/api"
	gojmespath "github.com/jmespath/go-jmespath"

	"github.com/go-idempotent/idempotent/jmespath"
)

// selections are what keys are made of, as AWS Powertools users write it. The last one decodes the body: only this library
// knows the function, the others search twice.
var selections = []struct {
	expression string
	// inBody is the part that goes on in the decoded body.
	inBody string
	goals  goals
}{
	{`headers."idempotency-key"`, "", plainPath},
	{`requestContext.authorizer.jwt.claims.sub`, "", plainPath},
	{`[headers."idempotency-key", requestContext.accountId]`, "", goals{}},
	{`powertools_json(body).[customer.id, metadata.cart]`, `[customer.id, metadata.cart]`, goals{}},
}

// plainPath is the limit for a path to one member.
var plainPath = goals{whole: 6 * time.Microsecond, allocs: 5}

// measureJMESPath compares ways to select a key out of an event.
func measureJMESPath(rounds int) (table, error) {
	payload := newEvent().payload
	whole := table{about: fmt.Sprintf("A key selected out of the event of %d bytes, as the bytes that Lambda delivers, with an expression that "+
		"was compiled before. The measure is json.Unmarshal of the event into any, which jmespath/go-jmespath and jmespath-community need "+
		"first and is a part of their time. They lose digits of numbers and take the last of duplicate members; this library refuses those.",
		len(payload))}
	for _, s := range selections {
		cases, err := selectionCases(payload, s.expression, s.inBody, s.goals)
		if err != nil {
			return table{}, fmt.Errorf("%s: %w", s.expression, err)
		}
		t, err := comparison{cases: cases}.measure(rounds)
		if err != nil {
			return table{}, fmt.Errorf("%s: %w", s.expression, err)
		}
		whole.add(s.expression, t)
	}
	return whole, nil
}

func selectionCases(payload []byte, expression, inBody string, g goals) ([]measured, error) {
	unmarshal := func() (any, error) {
		var event any
		return event, json.Unmarshal(payload, &event)
	}
	ours, err := jmespath.Compile(expression)
	if err != nil {
		return nil, err
	}
	cases := []measured{
		perDocument(payload, "json.Unmarshal alone", goals{}, func() (err error) {
			sinkValue, err = unmarshal()
			return err
		}),
		perDocument(payload, "this library", g, func() error {
			v, err := ours.Search(payload)
			sink = v.JSON()
			return err
		}),
	}
	for _, peer := range []struct {
		name    string
		compile func(string) (searcher, error)
	}{
		{"jmespath/go-jmespath", func(e string) (searcher, error) { return gojmespath.Compile(e) }},
		{"jmespath-community", func(e string) (searcher, error) { return community.Compile(e) }},
	} {
		search, err := peerSearch(peer.compile, expression, inBody)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", peer.name, err)
		}
		cases = append(cases, perDocument(payload, peer.name, goals{}, func() error {
			event, err := unmarshal()
			if err != nil {
				return err
			}
			sinkValue, err = search(event)
			return err
		}))
	}
	return cases, nil
}

var sinkValue any

// searcher is a compiled expression of the other libraries.
type searcher interface {
	Search(data any) (any, error)
}

// peerSearch returns a function that selects out of a decoded event, and out of its body if there is an expression for that.
func peerSearch(compile func(string) (searcher, error), expression, inBody string) (func(event any) (any, error), error) {
	if inBody == "" {
		s, err := compile(expression)
		return s.Search, err
	}
	body, err := compile("body")
	if err != nil {
		return nil, err
	}
	inner, err := compile(inBody)
	if err != nil {
		return nil, err
	}
	return func(event any) (any, error) {
		text, err := body.Search(event)
		if err != nil {
			return nil, err
		}
		var decoded any
		if err := json.Unmarshal([]byte(text.(string)), &decoded); err != nil { //nolint:forcetypeassert // of our event
			return nil, err
		}
		return inner.Search(decoded)
	}, nil
}
