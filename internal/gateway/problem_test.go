package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/protocol"
	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// What must never be seen in an answer.
const (
	secretBody  = "the-stored-answer-of-another-request"
	secretOwner = "the-owner-token-of-someone-else"
	secretKey   = "the-key-itself"
)

// trouble makes each kind of problem at a door.
var trouble = map[string]func(t *testing.T, d door, q ask, h idempotent.HTTP) (*api, reply){
	"missing-key": asking(func(q *ask, _ *idempotent.HTTP) { q.key = "" }),
	"invalid-key": asking(func(q *ask, _ *idempotent.HTTP) { q.key += "," + q.key }),
	"stale-request": asking(func(q *ask, h *idempotent.HTTP) {
		h.TimestampHeader, h.MaxRequestAge = "X-Timestamp", time.Minute
		header := map[string]string{"x-timestamp": secretBody}
		maps.Copy(header, q.header)
		q.header = header
	}),
	"missing-tenant": asking(func(_ *ask, h *idempotent.HTTP) { h.RequireTenant = true }),
	"refused":        asking(func(q *ask, _ *idempotent.HTTP) { q.formless = true }),
	"mismatch": behind(func(a *api, q *ask) {
		a.answers(reply{Status: 200, Body: secretBody})
		a.send(*q)
		q.body += "other"
	}),
	"superseded": behind(func(a *api, _ *ask) {
		a.takenOver(reply{Status: 200, Body: secretBody}, func(*store.Record) {})
	}),
	"in-progress":     planted(func(*store.Record) {}),
	"unknown-outcome": planted(func(r *store.Record) { r.Status = store.StatusUnknown }),
	"unreadable-record": planted(func(r *store.Record) {
		completed(r, `{"statusCode":200,"body":"`+secretBody+`"}`)
		r.Seal = "damaged"
	}),
	"store-unavailable": behind(func(a *api, _ *ask) { a.fault = calls.Deny }),
	"commit-failed": func(t *testing.T, d door, q ask, h idempotent.HTTP) (*api, reply) {
		answer := reply{Status: 200, Body: secretBody}
		a := d.committing(t, calls.Deny, answer, func(_ context.Context, fault error) (reply, error) {
			assert.ErrorIs(t, fault, idempotent.ErrCommitFailed)
			return answer, nil
		}, idempotent.WithHTTP(h))
		return a, a.send(q)
	},
	"wrapped-twice": behind(func(a *api, q *ask) {
		a.do = func(ctx context.Context) (reply, error) { return a.through(ctx, *q) }
	}),
}

// asking sends a request that is wrong in itself, or by what the handler asks for.
func asking(
	change func(q *ask, h *idempotent.HTTP),
) func(t *testing.T, d door, q ask, h idempotent.HTTP) (*api, reply) {
	return func(t *testing.T, d door, q ask, h idempotent.HTTP) (*api, reply) {
		change(&q, &h)
		a := d.open(t, idempotent.WithHTTP(h))
		return a, a.send(q)
	}
}

// behind sends a request to a handler that was prepared.
func behind(prepare func(a *api, q *ask)) func(t *testing.T, d door, q ask, h idempotent.HTTP) (*api, reply) {
	return func(t *testing.T, d door, q ask, h idempotent.HTTP) (*api, reply) {
		a := d.open(t, idempotent.WithHTTP(h))
		prepare(a, &q)
		return a, a.send(q)
	}
}

func planted(change func(r *store.Record)) func(t *testing.T, d door, q ask, h idempotent.HTTP) (*api, reply) {
	return behind(func(a *api, q *ask) {
		a.plant(*q, func(r *store.Record) {
			r.Lease = time.Now().Add(time.Minute)
			change(r)
		})
	})
}

// No problem reveals anything of the record or the request.
//
// The statuses of a missing key, a mismatch and a request in progress, the media type, the language
// and a type that leads to a page are those of draft-ietf-httpapi-idempotency-key-header-07.
func TestEveryProblemIsADocumentOfItsOwn(t *testing.T) {
	statuses := map[string]int{
		"missing-key": 400, "invalid-key": 400, "stale-request": 400, "missing-tenant": 401, "mismatch": 422,
		"in-progress": 409, "superseded": 409, "unknown-outcome": 409,
		"unreadable-record": 500, "store-unavailable": 503, "commit-failed": 503, "refused": 500, "wrapped-twice": 500,
	}
	waits := []string{"in-progress", "superseded", "store-unavailable", "commit-failed"}
	members := regexp.MustCompile(
		`^{"type":"[^"]+","title":"[^"]+","status":\d+,"detail":"[^"]+","instance":"([^"]+)"}$`)
	everyDoor(t, func(t *testing.T, d door) {
		for kind, make := range trouble {
			q := ask{key: secretKey, path: "/charges/<1>&co", body: `{"card":"` + secretBody + `"}`}
			a, r := make(t, d, q, idempotent.HTTP{})
			assertProblem(t, r, statuses[kind], kind)
			m := members.FindStringSubmatch(r.Body)
			require.NotNil(t, m, "members and order: %s", r.Body)
			assert.Equal(t, `/charges/%3C1%3E\u0026co#request-1`, m[1])
			assert.Equal(t, "no-store", r.Headers["Cache-Control"])
			assert.Equal(t, "en", r.Headers["Content-Language"])
			assert.Equal(t, slices.Contains(waits, kind), r.Headers["Retry-After"] != "", kind)
			if kind == "store-unavailable" {
				assert.Equal(t, "2", r.Headers["Retry-After"])
			}
			for name := range r.Headers {
				assert.Contains(t, []string{"Content-Type", "Content-Language", "Cache-Control", "Retry-After"}, name)
			}
			assert.Equal(t, reply{Status: r.Status, Headers: r.Headers, Body: r.Body}, r, "nothing else")
			assert.False(t, r.replayed())
			// the outer one
			executed := map[string]int64{"mismatch": 1, "superseded": 1, "commit-failed": 1, "wrapped-twice": 1}
			a.assertExecuted(executed[kind])

			secrets := []string{secretBody, secretOwner, secretKey, calls.ErrInjected.Error()}
			for _, c := range a.store.Calls() {
				_, hash, _ := strings.Cut(c.Next.Key, "#")
				_, digest, _ := strings.Cut(c.Next.Fingerprint, ":")
				secrets = append(secrets, hash, digest, c.Next.Owner)
			}
			for _, secret := range secrets {
				if secret != "" {
					assert.NotContains(t, fmt.Sprint(r.Headers, r.Body), secret, kind)
				}
			}
		}
	})
}

func TestMissingKeyIsToldWhereItBelongs(t *testing.T) {
	t.Parallel()
	const rest = " Send a new one with each new request, and the same one with each retry."
	for header, name := range map[string]string{"": "Idempotency-Key", "X-Key": "X-Key", "x&y": "x&y"} {
		_, r := trouble["missing-key"](t, doors()[0], ask{}, idempotent.HTTP{Header: header})
		assert.Equal(t, "This operation requires an idempotency key in the header "+name+"."+rest,
			r.problem(t)["detail"])
		assert.NotContains(t, r.Body, "&", "escaped")
	}
	a := doors()[0].open(t, idempotent.WithKeyPath("powertools_json(body).id"))
	assert.Equal(t, "This operation requires an idempotency key."+rest, a.send(ask{body: "{}"}).problem(t)["detail"],
		"the header is not to blame")
}

func TestNothingOfAHostileRequestGetsIntoAnAnswerUnescaped(t *testing.T) {
	const mark = "reflected"
	hostile := []string{
		`"><script>` + mark + `</script>`, "'" + mark + "'", mark + "\r\nSet-Cookie: a=1", `\"},"` + mark + `":{"`,
		mark + "\x00\u2028\xff", "&" + mark + ";",
	}
	dangerous := regexp.MustCompile(`[<>&']|[^ -~]`)
	value := regexp.MustCompile(`^[A-Za-z0-9+/-]+$`)
	everyDoor(t, func(t *testing.T, d door) {
		for kind, make := range trouble {
			for _, text := range hostile {
				header := map[string]string{}
				for _, name := range []string{
					"host", "origin", "referer", "user-agent", "accept", "x-forwarded-for",
					"authorization",
				} {
					header[name] = text
				}
				q := ask{key: "k", path: "/" + text, query: "q=" + mark, header: header, body: text}
				if kind == "invalid-key" {
					q.key = text
				}
				_, r := make(t, d, q, idempotent.HTTP{})
				assert.NotRegexp(t, dangerous, r.Body, kind)
				document := r.problem(t)
				u, err := url.Parse(document["instance"].(string))
				if assert.NoError(t, err) && !d.wire {
					assert.Equal(t, "/"+strings.ToValidUTF8(text, "\ufffd"), u.Path, "%s: only escaped, not lost", kind)
				}
				delete(document, "instance")
				rest, err := json.Marshal(document)
				require.NoError(t, err)
				assert.NotContains(t, string(rest), mark, kind)
				for name, v := range r.Headers {
					assert.Regexp(t, value, v, name)
					assert.NotContains(t, v, mark, name)
				}
			}
		}
	})
}

func TestInstanceIsTheRequestAndNeverAnotherHost(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/charges":                "/charges#request-1",
		"/a b":                    "/a%20b#request-1",
		"/a%20b":                  "/a%20b#request-1",
		"/a%2Fb":                  "/a%2Fb#request-1",
		"/100%":                   "/100%25#request-1",
		"/ü":                      "/%C3%BC#request-1",
		"/<script>'\"\\</script>": `/%3Cscript%3E%27%22%5C%3C/script%3E#request-1`,
		"/a?b#c":                  "/a%3Fb%23c#request-1",
		"/a\r\nX: y":              "/a%0D%0AX:%20y#request-1",
		"//evil.example/x":        "/.//evil.example/x#request-1",
		"javascript:alert(1)":     "./javascript:alert(1)#request-1",
	} {
		a := doors()[0].open(t)
		assert.Equal(t, want, a.send(ask{path: path}).problem(t)["instance"], path)
	}
}

func TestInstanceIsAlwaysARelativeReference(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := ask{}.v2()
		e.RawPath = rapid.OneOf(rapid.String(), rapid.StringMatching(`[/a:%2@?#\\.]{0,8}`)).Draw(t, "path")
		e.RequestContext.RequestID = rapid.String().Draw(t, "id")
		_, r := identify(t, e)
		instance, _ := r.problem(t)["instance"].(string) // none of an empty path without an id
		u, err := url.Parse(instance)
		require.NoError(t, err, instance)
		assert.Empty(t, u.Scheme+u.Host+u.Opaque, instance)
		assert.Regexp(t, `^[!-~]*$`, instance)
		assert.Equal(t, e.RequestContext.RequestID, u.Fragment)
	})
}

// TestRetryAfterIsTheTimeoutAndTheMarginAtMost asks while an execution has only begun, and what the
// pages say of it.
func TestRetryAfterIsTheTimeoutAndTheMarginAtMost(t *testing.T) {
	t.Parallel()
	const timeout = 20 * time.Second
	longest := strconv.Itoa(int((timeout + protocol.DefaultMargin) / time.Second))
	synctest.Test(t, func(t *testing.T) {
		mayEnd := make(chan struct{})
		a := doors()[0].open(t)
		a.do = func(context.Context) (reply, error) {
			<-mayEnd
			return reply{Status: 201}, nil
		}
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		ended := make(chan error, 1)
		go func() {
			_, err := a.through(ctx, ask{key: "k"})
			ended <- err
		}()
		synctest.Wait()
		r, err := a.through(ctx, ask{key: "k"})
		require.NoError(t, err)
		assertProblem(t, r, 409, "in-progress")
		assert.Equal(t, longest, r.Headers["Retry-After"])
		close(mayEnd)
		require.NoError(t, <-ended)
	})
	page, err := os.ReadFile("../../docs/http.md")
	require.NoError(t, err)
	assert.Contains(t, string(page), "the timeout of the function and the margin: "+longest+" seconds")
}

func TestErrorInsideAUsersErrorIsNotTheAnswer(t *testing.T) {
	t.Parallel()
	inner := &idempotent.Error{Kind: idempotent.ErrStoreUnavailable, Operation: "another handler", Err: errors.New("x")}
	failing := idempotent.WithTenant(func(context.Context, requestV2) (string, error) { return "", inner })
	_, r := identify(t, ask{key: "k"}.v2(), failing)
	assertProblem(t, r, 500, "refused")
	assert.NotContains(t, r.Headers, "Retry-After")
}

func TestAnswerAfterTheHandlerIsMadeOfTheEventAsItCame(t *testing.T) {
	t.Parallel()
	records := memory.New()
	handler := idempotent.Wrap(func(ctx context.Context, e *requestV2) (*responseV2, error) {
		e.RawPath, e.RequestContext.RequestID = "/private", "private"
		x, protected := idempotent.FromContext(ctx)
		require.True(t, protected)
		seen, _, err := records.Get(ctx, x.RecordKey)
		require.NoError(t, err)
		next := seen // this process was frozen, and another one has taken over
		next.Owner, next.Lease = "someone", time.Now().Add(time.Minute)
		_, swapped, err := records.Swap(ctx, seen, next)
		require.NoError(t, err)
		require.True(t, swapped)
		return &responseV2{StatusCode: 201}, nil
	}, records)
	e := ask{key: "k"}.v2()
	out, err := handler.Handle(t.Context(), &e)
	require.NoError(t, err)
	assertProblem(t, read(out), 409, "superseded")
	assert.Equal(t, "/charges#request-1", read(out).problem(t)["instance"])
}

// TestPagesOfProblemsAreComplete: the tables of the page that owners publish are what handlers
// answer, and name every field of HTTP. Each type of a problem has a section on its own page, a
// title and a detail of its own.
func TestPagesOfProblemsAreComplete(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/http.md")
	require.NoError(t, err)
	page := string(text)
	titles, details, sections := map[any]bool{}, map[any]bool{}, map[string]bool{}
	for kind, make := range trouble {
		_, r := make(t, doors()[0], ask{key: "k"}, idempotent.HTTP{})
		document := r.problem(t)
		titles[document["title"]], details[document["detail"]], sections[kind] = true, true, true
		if kind == "stale-request" {
			continue // by default there is none
		}
		assert.Regexp(t, fmt.Sprintf("(?m)^\\| %d \\| `%s`", r.Status, kind), page)
		assert.Equal(t, r.Headers["Retry-After"] != "",
			regexp.MustCompile(fmt.Sprintf("(?m)^\\| %d \\| `%s` .*`Retry-After` \\|$", r.Status,
				kind)).MatchString(page), kind)
	}
	assert.Len(t, titles, len(trouble))
	assert.Len(t, details, len(trouble))
	for field := range reflect.TypeFor[idempotent.HTTP]().Fields() {
		assert.Regexp(t, fmt.Sprintf("(?m)^\\| [^|]*`%s`", field.Name), page)
	}
	text, err = os.ReadFile("../../docs/problems.md")
	require.NoError(t, err)
	found := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^## (.+)$`).FindAllStringSubmatch(string(text), -1) {
		found[m[1]] = true
	}
	assert.Equal(t, sections, found)
}

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
