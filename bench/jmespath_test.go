package main

import (
	"encoding/json"
	"testing"

	community "github.com/jmespath-community/go-jmespath/pkg/api"
	gojmespath "github.com/jmespath/go-jmespath"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/jmespath"
)

func TestSelectionsAreComparable(t *testing.T) {
	t.Parallel()
	payload := newEvent().payload
	var event any
	require.NoError(t, json.Unmarshal(payload, &event))
	for _, s := range selections {
		compiled, err := jmespath.Compile(s.expression)
		require.NoError(t, err)
		want, err := compiled.Search(payload)
		require.NoError(t, err)
		require.Equal(t, jmespath.Present, want.Presence(), s.expression)
		for name, compile := range map[string]func(string) (searcher, error){
			"jmespath":  func(e string) (searcher, error) { return gojmespath.Compile(e) },
			"community": func(e string) (searcher, error) { return community.Compile(e) },
		} {
			search, err := peerSearch(compile, s.expression, s.inBody)
			require.NoError(t, err, name)
			selected, err := search(event)
			require.NoError(t, err, name)
			got, err := json.Marshal(selected)
			require.NoError(t, err)
			require.JSONEq(t, string(want.JSON()), string(got), "%s: %s", name, s.expression)
		}
	}
}

func TestSelectionCasesWork(t *testing.T) {
	for _, s := range selections {
		cases, err := selectionCases(newEvent().payload, s.expression, s.inBody, s.goals)
		require.NoError(t, err)
		for _, c := range cases {
			sink, sinkValue = nil, nil
			require.NoError(t, c.run(1), c.name)
			require.True(t, len(sink) > 0 || sinkValue != nil, "%s has selected nothing", c.name)
		}
	}
}
