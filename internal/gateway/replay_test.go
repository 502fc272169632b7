package gateway_test

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

// A commit says that the result was encoded here, so it is replayed as it is. Without one, or where
// other programs write the same keys, a replay is what this handler could have returned. The member
// "later" tells them apart. unexpiringText is an answer without the header that says until when it
// is replayed.
func unexpiringText(answer []byte) string {
	return regexp.MustCompile(`"Idempotency-Key-Expires":"[^"]*",?`).ReplaceAllString(string(answer), "")
}

func TestOnlyACommittedResponseIsReplayedWithoutDecodingIt(t *testing.T) {
	t.Parallel()
	const (
		stored  = `{"statusCode":201,"headers":{"X":"1"},"multiValueHeaders":null,"body":"b","later":1,"cookies":null}`
		spliced = `{"statusCode":201,"headers":{"Idempotent-Replayed":"true","X":"1"},"multiValueHeaders":null,"body":"b","later":1,"cookies":null}`
	)
	decoded := strings.Replace(spliced, `"later":1,`, "", 1)
	path := idempotent.WithKeyPath("powertools_json(body).id")
	python := idempotent.WithPowertools(
		idempotent.Powertools{Language: idempotent.PowertoolsPython, Prefix: "p", AllCallers: true})
	for name, c := range map[string]struct {
		commit uint8
		opts   []idempotent.Option
		want   string
	}{
		"committed":                        {committed, nil, spliced},
		"not committed":                    {uncommitted, nil, decoded},
		"committed beside AWS Powertools":  {committed, []idempotent.Option{path, python}, decoded},
		"not committed, of AWS Powertools": {uncommitted, []idempotent.Option{path, python}, decoded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := engraved{result: []byte(stored), commit: c.commit}
			h := idempotent.Wrap(func(context.Context, requestV2) (responseV2, error) { panic("executes") }, s,
				c.opts...)
			event := ask{key: "k", body: `{"id":1}`}.v2()
			assert.Equal(t, c.want, unexpiringText(onWire(t, h, event)))

			out, err := h.Handle(t.Context(), event)
			require.NoError(t, err)
			delete(out.Headers, "Idempotency-Key-Expires")
			assert.Equal(t, responseV2{
				StatusCode: 201, Headers: map[string]string{"Idempotent-Replayed": "true", "X": "1"}, Body: "b",
			}, out)
		})
	}
}

// What cannot be taken as it is, is decoded, and refused if that fails.
func TestCommittedResponseOfAnotherKindIsDecoded(t *testing.T) {
	t.Parallel()
	answers := func(stored string) string {
		h := idempotent.Wrap(func(context.Context, requestV2) (responseV2, error) { panic("executes") },
			engraved{result: []byte(stored), commit: committed})
		return unexpiringText(onWire(t, h, ask{key: "k"}.v2()))
	}
	assert.Equal(t,
		`{"statusCode":201,"headers":{"Idempotent-Replayed":"true"},"multiValueHeaders":null,"body":"b","cookies":null}`,
		answers(`{"body":"b","statusCode":201}`))
	// That of a function URL, for which an HTTP API's types find the same records: both read such a
	// text.
	assert.Equal(t,
		`{"statusCode":201,"headers":{"Idempotent-Replayed":"true"},"body":"b","isBase64Encoded":true,"cookies":["a=1"]}`,
		answers(`{"statusCode":201,"headers":null,"body":"b","isBase64Encoded":true,"cookies":["a=1"]}`))
	for _, stored := range []string{
		`{"statusCode":"201","headers":null,"multiValueHeaders":null,"body":"b","cookies":null}`, `["no response"]`, `{`,
	} {
		got := answers(stored)
		assert.Equal(t, 500, responseIn(t, []byte(got)).StatusCode)
		assert.Contains(t, got, "#unreadable")
	}
}

// The caller owns the answer: what it does to one changes neither the record nor another answer.
func TestAnswersShareNoBytesWithTheRecord(t *testing.T) {
	t.Parallel()
	var records keeping
	h := idempotent.Wrap(func(context.Context, requestV2) (responseV2, error) {
		return responseV2{StatusCode: 201, Headers: map[string]string{"X": "1"}, Body: "b"}, nil
	}, &records)
	for range 3 {
		answer := onWire(t, h, ask{key: "k"}.v2())
		assert.Equal(t, 201, responseIn(t, answer).StatusCode)
		clear(answer)
		var kept responseV2
		require.NoError(t, json.Unmarshal(records.record.Result, &kept))
		assert.Equal(t, responseV2{StatusCode: 201, Headers: map[string]string{"X": "1"}, Body: "b"}, kept)
	}
}

// keeping is a store of one record that keeps, and hands out, the very bytes that it got, as the
// client of a store may until it has sent them.
type keeping struct {
	store.Store
	record store.Record
}

func (k *keeping) Claim(_ context.Context, r store.Record, _ time.Time) (store.Record, bool, error) {
	if k.record.Key != "" {
		return k.record, false, nil
	}
	k.record = r
	return store.Record{}, true, nil
}

func (k *keeping) Swap(_ context.Context, _, next store.Record) (store.Record, bool, error) {
	k.record = next
	return store.Record{}, true, nil
}

// TestAResponseThatAnOperatorGaveIsDecoded: nobody but encoding/json vouches for the order and the
// number of its members.
func TestAResponseThatAnOperatorGaveIsDecoded(t *testing.T) {
	t.Parallel()
	records := memory.New()
	uncertain := func(context.Context, requestV2) (responseV2, error) {
		return responseV2{}, idempotent.Uncertain(errDownstream)
	}
	h := idempotent.Wrap(uncertain, records, idempotent.WithOperation("charge"))
	payload := golden(t)["v2-full"]
	_, err := h.Invoke(t.Context(), payload)
	require.Error(t, err)

	o := operate.New(records)
	key := ""
	for l, err := range o.List(t.Context(), operate.Query{Operation: "charge"}) {
		require.NoError(t, err)
		key = l.Record.Key
	}
	shown, err := o.Inspect(t.Context(), key)
	require.NoError(t, err)
	const given = `{"statusCode":201,"headers":{"a":"b"},"multiValueHeaders":null,"body":"first","body":"last","cookies":null}`
	_, err = o.Settle(t.Context(), shown, operate.Executed([]byte(given)), operate.Act{By: "dana", Why: "ticket 4711"})
	require.NoError(t, err)

	got, err := h.Invoke(t.Context(), payload)
	require.NoError(t, err)
	assert.Equal(t, 1, strings.Count(string(got), `"body"`), "%s", got)
	var r responseV2
	require.NoError(t, json.Unmarshal(got, &r))
	assert.Equal(t, 201, r.StatusCode)
	assert.Equal(t, "last", r.Body)
	assert.Equal(t, "true", r.Headers["idempotent-replayed"]+r.Headers["Idempotent-Replayed"])
}
