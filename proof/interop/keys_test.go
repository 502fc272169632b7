package interop

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// keyVector is a key that a package computed.
type keyVector struct {
	Name           string  `json:"name"`
	Payload        string  `json:"payload"`
	JMESPath       *string `json:"jmespath"`
	Missing        bool    `json:"missing"`
	Error          string  `json:"error"`
	Key            string  `json:"key"`
	ValidationPath *string `json:"validation_jmespath"`
	Validation     string  `json:"validation_digest"`
	Settings       struct {
		settings

		Hash   string `json:"hash_function"`
		Module string `json:"module"`
		Name   string `json:"qualname"`
		// Configured is the function name that the store of a TypeScript program was given.
		Configured string `json:"configure_functionName"`
	} `json:"settings"`
}

// claimed delivers the payload of the vector and returns the record that is claimed for it.
func (k keyVector) claimed(t *testing.T, opts ...idempotent.Option) (r store.Record, err error) {
	t.Helper()
	opts = append(opts, idempotent.WithExactNames()) // as the handlers of the other languages do
	if k.JMESPath != nil {
		opts = append(opts, idempotent.WithKeyPath(*k.JMESPath))
	}
	if k.ValidationPath != nil {
		opts = append(opts, idempotent.WithFingerprintPath(*k.ValidationPath))
	}
	records := memory.New()
	defer func() {
		// An expression with a function whose results the language has of its own is refused when
		// wrapping.
		if refused := recover(); refused != nil {
			err = refused.(*idempotent.ConfigError)
		}
	}()
	var key string
	opts = append(opts, idempotent.WithObserver(func(_ context.Context, e report.Delivery) { key = e.RecordKey }))
	handler := idempotent.Wrap(func(context.Context, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(`1`), nil
	}, records, opts...)
	if _, err := handler.Invoke(t.Context(), []byte(k.Payload)); err != nil {
		return store.Record{}, err
	}
	r, found, err := records.Get(t.Context(), key)
	require.NoError(t, err)
	require.True(t, found)
	return r, nil
}

// TestKeys computes the record key of every event as a delivery does. It is that of the package, or
// there is none.
func TestKeys(t *testing.T) {
	eachFile(t, func(t *testing.T, v vectors) {
		require.Len(t, v.Keys, 252)
		agree := 0
		for _, k := range v.Keys {
			mode := settings{KeyPrefix: "p"}.mode(v)
			if v.About.Language == "java" {
				mode = settings{FunctionName: "handler"}.mode(v)
			}
			got, err := k.claimed(t, mode)
			var unsupported *idempotent.ConfigError
			switch {
			case err == nil:
				assert.Equal(t, k.Key, got.Key, k.Name)
				agree++
			case errors.As(err, &unsupported):
			// here a selection without content is a missing key in every language
			case errors.Is(err, idempotent.ErrMissingKey):
			default:
				assert.ErrorIs(t, err, idempotent.ErrInvalidKey, k.Name)
			}
		}
		assert.GreaterOrEqual(t, agree, map[string]int{"python": 176, "typescript": 168, "java": 174}[v.About.Language],
			"of 252 keys; the others are refused here")
	})
}

// refusedHere are settings that this library refuses, on purpose.
var refusedHere = map[string]string{
	"hash_no-such-hash":   "not supported", // Java falls back to MD5
	"function_name_empty": "Function, or Prefix",
	// nothing tells whether the key stands for the event
	"validation: missing":      "is missing or incomplete",
	"validation: [a, missing]": "is missing or incomplete",
	// a raw string, which the languages read differently
	`validation: powertools_json('{"z":1, "y":2}')`: "read it differently",
}

// TestKeyFormats goes through hash functions, prefixes and validation digests.
func TestKeyFormats(t *testing.T) {
	eachFile(t, func(t *testing.T, v vectors) {
		for _, k := range v.KeyFormats {
			t.Run(k.Name, func(t *testing.T) {
				mode := idempotent.Powertools{
					Language: v.language(), Prefix: k.Settings.KeyPrefix, Function: k.Settings.FunctionName,
					Hash: k.Settings.Hash,
				}
				if k.Settings.Configured != "" {
					mode.Function = k.Settings.Configured
				}
				if v.About.Language == "python" && mode.Prefix == "" {
					mode.Function = "app.handler" // module and qualified name in all vectors
				}
				if strings.HasSuffix(k.Name, "without_env") {
					t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "")
				}
				got, err := k.claimed(t, idempotent.WithPowertools(mode))
				if refused := refusedHere[k.Name]; refused != "" {
					require.ErrorContains(t, err, refused)
					return
				}
				require.NoError(t, err)
				assert.Equal(t, k.Key, got.Key)
				assert.Equal(t, k.Validation, got.Fingerprint)
			})
		}
	})
}
