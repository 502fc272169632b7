package gateway_test

import (
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/report"
)

// limited requires timestamps that are less than five minutes old, by a clock that stands still.
func limited(now time.Time) []idempotent.Option {
	return []idempotent.Option{
		idempotent.WithClock(func() time.Time { return now }),
		idempotent.WithHTTP(idempotent.HTTP{TimestampHeader: "X-Timestamp", MaxRequestAge: 5 * time.Minute}),
	}
}

// stamped is a request with a timestamp.
func stamped(value string) ask {
	return ask{key: "k", header: map[string]string{"X-Timestamp": value}}
}

var clockAt = time.Date(2026, 1, 2, 3, 4, 5, 600_000_000, time.UTC)

// All forms of a timestamp are those of package httpfield. A retry may have another timestamp.
func TestRecentTimestampIsAccepted(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		a := d.open(t, limited(clockAt)...)
		for _, at := range []time.Time{
			clockAt, clockAt.Add(-5*time.Minute + time.Second), clockAt.Add(-5*time.Minute + time.Nanosecond),
			clockAt.Add(time.Minute),
		} {
			assert.Equal(t, 201, a.send(stamped(" \t"+at.Format(time.RFC3339Nano)+" ")).Status, at)
		}
		a.assertExecuted(1)
	})
}

func TestTimestampOutsideOfTheLimitsIsRefusedBeforeAnyIO(t *testing.T) {
	const unread = "is neither Unix time in seconds, nor a time of RFC 3339, nor an HTTP-date, or was sent more " +
		"than once"
	old, ahead := "is 300 seconds old or older", "is more than 60 seconds ahead of the clock"
	wants := map[string]string{
		clockAt.Add(-5 * time.Minute).Format(time.RFC3339Nano):                old,
		clockAt.Add(-5*time.Minute - time.Second).Format(time.RFC3339Nano):    old,
		strconv.FormatInt(clockAt.Add(-5*time.Minute).Unix(), 10):             old,
		clockAt.Add(-5 * time.Minute).Format("Mon, 02 Jan 2006 15:04:05 GMT"): old,
		"0":                    old,
		"0001-01-01T00:00:00Z": old,
		clockAt.Add(time.Minute + 1).Format(time.RFC3339Nano):              ahead,
		strconv.FormatInt(clockAt.Add(time.Minute+time.Second).Unix(), 10): ahead,
		"99999999999":          ahead,
		"9999-12-31T23:59:59Z": ahead,
		"":                     unread,
		"now":                  unread,
		fmt.Sprintf("%d,%d", clockAt.Unix(), clockAt.Unix()): unread,
	}
	everyDoor(t, func(t *testing.T, d door) {
		for value, reason := range wants {
			assertStale(t, d, stamped(value), reason, limited(clockAt)...)
		}
		assertStale(t, d, ask{key: "k"}, "is missing", limited(clockAt)...)
		both := stamped(clockAt.Format(time.RFC3339))
		both.header["x-timestamp"] = both.header["X-Timestamp"]
		assertStale(t, d, both, "was sent more than once", limited(clockAt)...)
	})
}

func assertStale(t *testing.T, d door, q ask, reason string, opts ...idempotent.Option) {
	t.Helper()
	r, event := d.refused(t, q, opts...)
	assertProblem(t, r, 400, "stale-request")
	assert.Equal(t, "The timestamp in header X-Timestamp "+reason+".", r.problem(t)["detail"])
	assert.Equal(t, report.Stale, event.Outcome)
	err := event.Err
	require.ErrorIs(t, err, idempotent.ErrStaleRequest)
	stale, ok := errors.AsType[*idempotent.Error](err)
	require.True(t, ok)
	want := idempotent.Error{
		Kind: idempotent.ErrStaleRequest, Operation: "charge", Field: "header X-Timestamp", Reason: reason,
	}
	assert.Equal(t, want, *stale)
	assert.Equal(t, "idempotent: charge: the timestamp of the request is not accepted: header X-Timestamp "+
		reason, err.Error())
}

func TestAgeCountsWhereverTheKeyComesFrom(t *testing.T) {
	t.Parallel()
	opts := append(limited(clockAt), idempotent.WithKeyPath("powertools_json(body).id"))
	r, _ := families()["v2"].refused(t, ask{body: `{"id":"o-1"}`}, opts...)
	assertProblem(t, r, 400, "stale-request")
}

// What the limit is for: whatever the client's clock says, a request that was accepted once is
// never executed again after its record expired, however long the limit may be made.
func TestOldRequestIsRefusedBeforeItsRecordExpires(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		now := clockAt
		a := d.open(t,
			idempotent.WithClock(func() time.Time { return now }), idempotent.WithRetention(time.Hour),
			idempotent.WithHTTP(idempotent.HTTP{
				TimestampHeader: "X-Timestamp", MaxRequestAge: time.Hour - time.Minute,
			}))
		captured := stamped(clockAt.Add(time.Minute).Format(time.RFC3339Nano)) // by a clock that is a minute ahead
		assert.Equal(t, 201, a.send(captured).Status)
		for now = clockAt; now.Before(clockAt.Add(3 * time.Hour)); now = now.Add(30 * time.Second) {
			r := a.send(captured)
			if now.Before(clockAt.Add(time.Hour)) {
				assert.True(t, r.replayed(), now)
			} else {
				assertProblem(t, r, 400, "stale-request")
			}
		}
		a.assertExecuted(1)
	})
}
