package gateway_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/go-idempotent/idempotent"
)

func TestStatusOfAMismatchCanBeChosen(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		for _, status := range []int{400, 409, 422} {
			for kind, want := range map[string]int{
				"mismatch": status, "in-progress": 409, "superseded": 409, "unknown-outcome": 409,
			} {
				_, r := trouble[kind](t, d, ask{key: "k"}, idempotent.HTTP{MismatchStatus: status})
				assertProblem(t, r, want, kind)
			}
		}
	})
}

// An error without a response is none of the statuses: what the handler says of its effects
// decides.
func TestErrorsWithoutAResponseAreLeftToTheEffects(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		failed := errors.New("failed")
		a := d.open(t)
		a.returns(reply{Status: 200, Body: "ignored by Lambda"}, failed)
		for range 2 {
			_, err := a.try(ask{key: "k"})
			assert.Same(t, failed, err)
		}
		a.assertExecuted(2)
		_, found := a.record()
		assert.False(t, found)

		a = d.open(t, idempotent.WithEffects(idempotent.Unrepeatable))
		a.returns(reply{}, failed)
		_, err := a.try(ask{key: "k"})
		assert.Same(t, failed, err)
		a.gets(ask{key: "k"}, "409 unknown-outcome")

		a = d.open(t)
		a.returns(reply{Status: 503}, idempotent.NotExecuted(failed))
		a.gets(ask{key: "k"}, "503", "503")
		a.assertExecuted(2)
	})
}

// A response with the status 500 is not stored, so each delivery of a golden event with a key
// executes.
func TestGoldenEventsAreAnswered(t *testing.T) {
	t.Parallel()
	all := idempotent.WithHTTP(idempotent.HTTP{RequireKey: []string{"POST", "PUT", "PATCH", "DELETE"}})
	for name := range golden(t) {
		if _, refused := refusedGolden[name]; refused || name == "alb-health-check" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			a := familyOf(name).open(t, all)
			a.answers(reply{Status: 500, Body: "failed"})
			a.gets(changed(t, name, `{"a":1}`, "k"), "500", "500")
			a.gets(changed(t, name, `{"a":2}`, "k"), "500")
			a.gets(changed(t, name, "", ""), "400 missing-key")
			a.gets(changed(t, name, "", "k,l"), "400 invalid-key")
			a.assertExecuted(3)
		})
	}
}

// changed is a golden event with another body, and with key in place of its key header, or without
// one if key is empty.
func changed(t *testing.T, name, body, key string) []byte {
	t.Helper()
	edits := []string{"body=" + strconv.Quote(body), "isBase64Encoded=false"}
	event := load[requestV1](t, name) // with the headers of any family
	for header := range event.Headers {
		if strings.EqualFold(header, "Idempotency-Key") {
			edits = append(edits, "headers."+header)
		}
	}
	for header := range event.MultiValueHeaders {
		if strings.EqualFold(header, "Idempotency-Key") {
			edits = append(edits, "multiValueHeaders."+header)
		}
	}
	if key != "" && event.Headers != nil {
		edits = append(edits, "headers.Idempotency-Key="+strconv.Quote(key))
	}
	if key != "" && event.MultiValueHeaders != nil {
		edits = append(edits, `multiValueHeaders.Idempotency-Key=[`+strconv.Quote(key)+`]`)
	}
	return edited(t, name, edits...)
}
