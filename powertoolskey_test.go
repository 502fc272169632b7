package idempotent_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/jmespath"
	"github.com/go-idempotent/idempotent/memory"
)

func TestPowertoolsFingerprintIsTheirDigest(t *testing.T) {
	t.Parallel()
	n := newNeighbour(t, returns(1), python(), idempotent.WithFingerprintPath("amount"))
	_, err := n.invoke()
	require.NoError(t, err)
	assert.Equal(t, "d3d9446802a44259755d38e6d163e820", n.record(key1).Fingerprint)
	_, err = n.Invoke(t.Context(), []byte(`{"id":1,"amount":11}`))
	require.ErrorIs(t, err, idempotent.ErrMismatch)

	n = newNeighbour(t, returns(1), python(), idempotent.WithFingerprintPath("amount"))
	n.theirs(key1, func(r *idempotent.Record) { r.Result = []byte(`1`) })
	_, err = n.invoke()
	require.ErrorIs(t, err, idempotent.ErrMismatch, "as theirs, a record without a digest is another request's")
}

func TestPowertoolsMissingKeys(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path    string
		payload string
		opts    []idempotent.Option
		err     error
		record  bool
	}{
		"missing":            {"id", `{"x":1}`, nil, idempotent.ErrMissingKey, false},
		"missing, optional":  {"id", `{"x":1}`, []idempotent.Option{idempotent.WithOptionalKey()}, nil, false},
		"half":               {"[id, y]", `{"id":1}`, nil, idempotent.ErrMissingKey, false},
		"half, optional":     {"[id, y]", `{"id":1}`, []idempotent.Option{idempotent.WithOptionalKey()}, idempotent.ErrMissingKey, false},
		"half, allowed":      {"[id, y]", `{"id":1}`, []idempotent.Option{idempotent.WithPartialKey()}, nil, true},
		"zero":               {"id", `{"id":0}`, nil, nil, true},
		"fails":              {"powertools_json(id)", `{"id":"{"}`, nil, idempotent.ErrInvalidKey, false},
		"beyond a double":    {"id", `{"id":1e400}`, nil, idempotent.ErrInvalidKey, false},
		"empty whole event":  {"", `{}`, nil, idempotent.ErrMissingKey, false},
		"whole event":        {"", `{"x":null,"y":{"z":null,"n":1}}`, nil, nil, true},
		"event that is null": {"", `null`, []idempotent.Option{idempotent.WithOptionalKey()}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := memory.New()
			opts := append([]idempotent.Option{python()}, c.opts...)
			if c.path != "" {
				opts = append(opts, idempotent.WithKeyPath(c.path))
			}
			h := idempotent.Wrap(func(context.Context, json.RawMessage) (int, error) { return 1, nil }, store, opts...)
			_, err := h.Invoke(t.Context(), []byte(c.payload))
			require.ErrorIs(t, err, c.err)
			assert.Equal(t, c.record, store.Len() == 1)
		})
	}
}

func TestPowertoolsKeysBeginAsTheirs(t *testing.T) {
	for name, c := range map[string]struct {
		mode     idempotent.Powertools
		function string
		prefix   string
	}{
		"python":                       {idempotent.Powertools{Language: "python", Function: "app.handler"}, "pay", "pay.app.handler#"},
		"python without environment":   {idempotent.Powertools{Language: "python", Function: "app.handler"}, "", "test-func.app.handler#"},
		"python with a prefix":         {idempotent.Powertools{Language: "python", Prefix: " p #"}, "pay", " p ##"},
		"java":                         {idempotent.Powertools{Language: "java", Function: "charge"}, "pay", "pay.charge#"},
		"java without environment":     {idempotent.Powertools{Language: "java21", Function: "charge"}, "", "testFunction.charge#"},
		"dotnet":                       {idempotent.Powertools{Language: "dotnet", Function: "Charge"}, "", "testFunction.Charge#"},
		"typescript":                   {idempotent.Powertools{Language: "typescript"}, "pay", "pay#"},
		"typescript without":           {idempotent.Powertools{Language: "typescript"}, "", "#"},
		"typescript with a function":   {idempotent.Powertools{Language: "typescript", Function: "charge"}, "pay", "pay.charge#"},
		"typescript with a prefix":     {idempotent.Powertools{Language: "typescript", Prefix: " p "}, "pay", "p#"},
		"typescript, a prefix of none": {idempotent.Powertools{Language: "typescript", Prefix: "  "}, "pay", "pay#"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("AWS_LAMBDA_FUNCTION_NAME", c.function)
			n := newNeighbour(t, returns(1), idempotent.WithPowertools(c.mode))
			_, err := n.invoke()
			require.NoError(t, err)
			require.Len(t, n.seen.seen, 1)
			assert.True(t, strings.HasPrefix(n.seen.seen[0].RecordKey, c.prefix), n.seen.seen[0].RecordKey)
			operation := c.function
			if operation == "" {
				operation = "local"
			}
			assert.Equal(t, operation, n.seen.seen[0].Operation)
		})
	}
}

func TestPowertoolsConfiguration(t *testing.T) {
	t.Parallel()
	both := func(p idempotent.Powertools) []idempotent.Option {
		return []idempotent.Option{idempotent.WithPowertools(p)}
	}
	for name, c := range map[string]struct {
		opts     []idempotent.Option
		problems []string
	}{
		"no language":      {both(idempotent.Powertools{Prefix: "p"}), []string{`language "" is not supported`}},
		"unknown hash":     {both(idempotent.Powertools{Language: "python", Prefix: "p", Hash: "crc32"}), []string{`hash function "crc32" of python`}},
		"no prefix":        {both(idempotent.Powertools{Language: "java"}), []string{"Function, or Prefix: keys of java begin with one of them"}},
		"two prefixes":     {both(idempotent.Powertools{Language: "java", Function: "f", Prefix: "p"}), []string{"Prefix and Function contradict"}},
		"long prefix":      {both(idempotent.Powertools{Language: "python", Prefix: strings.Repeat("p", 896)}), []string{"a prefix of 896 bytes"}},
		"prefix, no UTF-8": {both(idempotent.Powertools{Language: "python", Prefix: "\xff"}), []string{"a prefix of 1 bytes is not UTF-8"}},
		"several":          {both(idempotent.Powertools{}), []string{"language", "Function, or Prefix"}},
		"options that make keys of their own": {
			[]idempotent.Option{
				python(), idempotent.WithKey(func(json.RawMessage) (string, error) { return "k", nil }),
				idempotent.WithFingerprint(func(json.RawMessage) (any, error) { return 1, nil }),
				idempotent.WithTenant(func(context.Context, json.RawMessage) (string, error) { return "t", nil }),
				idempotent.WithDigestKey(make([]byte, 32)),
			},
			[]string{
				"WithPowertools and WithKey contradict", "WithPowertools and WithFingerprint contradict",
				"WithPowertools and WithTenant contradict", "WithPowertools and WithDigestKey contradict",
			},
		},
		"an expression that the language has no result for": {
			[]idempotent.Option{java(), idempotent.WithKeyPath("map(&a, b)")}, []string{"WithPowertools: powertools: expression"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ce := configError(t, func() {
				idempotent.Wrap(func(context.Context, json.RawMessage) (int, error) { return 0, nil }, memory.New(), c.opts...)
			})
			require.Len(t, ce.Problems, len(c.problems), "%q", ce.Problems)
			for i, p := range c.problems {
				assert.Contains(t, ce.Problems[i], p)
			}
		})
	}
	ce := configError(t, func() {
		idempotent.Wrap(func(context.Context, requestV1) (responseV1, error) { return responseV1{}, nil }, memory.New(), python(),
			idempotent.WithHTTP(idempotent.HTTP{RequireTenant: true, FingerprintHeaders: []string{"accept"}}))
	})
	assert.Len(t, ce.Problems, 2)
}

func configError(t *testing.T, wrap func()) (ce *idempotent.ConfigError) {
	t.Helper()
	defer func() {
		var is bool
		ce, is = recover().(*idempotent.ConfigError)
		require.True(t, is)
	}()
	wrap()
	return nil
}

// A user's own function of JMESPath works beside those of the language.
func TestPowertoolsKeepTheFunctionsOfThePath(t *testing.T) {
	t.Parallel()
	tail := jmespath.WithFunction("tail", 1, func(arguments []jmespath.Value) (jmespath.Value, error) {
		text, _ := arguments[0].Text()
		_, text, _ = strings.Cut(text, "-")
		return jmespath.FromString(text)
	})
	n := newNeighbour(t, returns(1), python(), idempotent.WithKeyPath("tail(id)", tail))
	_, err := n.Invoke(t.Context(), []byte(`{"id":"x-1"}`))
	require.NoError(t, err)
	n.record("p#2f7bb230c70819aeb10b45a709bcf48f") // md5 of "1" with its quotes
}
