package idempotent_test

import (
	"context"
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
)

func covering(names ...string) idempotent.Option {
	return idempotent.WithHTTP(idempotent.HTTP{FingerprintHeaders: names})
}

func TestChosenHeadersCountInTheFingerprint(t *testing.T) {
	t.Parallel()
	opt := covering("X-Tenant-Mode", "Accept-Language")
	of := func(headers map[string][]string) string {
		e := ask{key: "k"}.v1()
		e.Headers = nil
		maps.Copy(e.MultiValueHeaders, headers)
		first := identifyV1(t, e, opt)
		assert.Equal(t, identifyV1(t, ask{key: "k"}.v1()).key, first.key, "the scope does not change")
		return first.fingerprint
	}
	type h = map[string][]string
	for _, same := range [][2]h{
		{{"Accept-Language": {"de"}}, {"accept-language": {"de"}}},
		{{"Accept-Language": {"de"}, "X-Tenant-Mode": {"a"}}, {"X-TENANT-MODE": {"a"}, "Accept-Language": {"de"}}},
		{{"Accept-Language": {"de"}, "User-Agent": {"a"}}, {"Accept-Language": {"de"}, "User-Agent": {"b"}}},
		{{}, {"Accept-Language": {}}},
	} {
		assert.Equal(t, of(same[0]), of(same[1]), same)
	}
	for _, other := range [][2]h{
		{{"Accept-Language": {"de"}}, {"Accept-Language": {"en"}}},
		{{"Accept-Language": {"de", "en"}}, {"Accept-Language": {"en", "de"}}},
		{{"Accept-Language": {"de", "en"}}, {"Accept-Language": {"de,en"}}},
		{{"Accept-Language": {"de"}}, {"X-Tenant-Mode": {"de"}}},
		{{"Accept-Language": {""}}, {}},
		{{"Accept-Language": {"", ""}}, {"Accept-Language": {""}}},
		{{"Accept-Language": {""}}, {"X-Tenant-Mode": {""}}},
		{{"Accept-Language": {"de"}}, {"Accept-Language": {"de "}}},
		{{"Accept-Language": {"x-tenant-mode"}}, {"X-Tenant-Mode": {"x-tenant-mode"}}}, // a value that looks like the next name
	} {
		assert.NotEqual(t, of(other[0]), of(other[1]), other)
	}
}

func TestChosenHeadersCountInEveryFamily(t *testing.T) {
	t.Parallel()
	opt := covering("Accept-Language")
	german := ask{key: "k", header: map[string]string{"accept-language": "de"}}
	english := ask{key: "k", header: map[string]string{"accept-language": "en"}}
	want := identifyV2(t, german.v2(), opt).fingerprint
	for name, of := range map[string]func(a ask) string{
		"v2":        func(a ask) string { return identifyV2(t, a.v2(), opt).fingerprint },
		"v1":        func(a ask) string { return identifyV1(t, a.v1(), opt).fingerprint },
		"url":       func(a ask) string { return identifyURL(t, a.url(), opt).fingerprint },
		"alb":       func(a ask) string { return identifyALB(t, a.alb(), opt).fingerprint },
		"alb multi": func(a ask) string { return identifyALB(t, a.albMulti(), opt).fingerprint },
	} {
		assert.Equal(t, want, of(german), name)
		assert.NotEqual(t, want, of(english), name)
	}
}

func TestOrderAndSpellingOfTheChosenHeadersDoNotMatter(t *testing.T) {
	t.Parallel()
	e := ask{key: "k", header: map[string]string{"a": "1", "b": "2"}}.v2()
	assert.Equal(t, identifyV2(t, e, covering("a", "b")), identifyV2(t, e, covering("B", "A")))
	alike := ask{key: "k", header: map[string]string{"a": "1", "b": "1"}}.v2()
	assert.NotEqual(t, identifyV2(t, alike, covering("a")), identifyV2(t, alike, covering("b")))
	names := []string{"A"}
	opt := covering(names...)
	h := idempotent.WithHTTP(idempotent.HTTP{FingerprintHeaders: names})
	want := identifyV2(t, e, opt)
	handler := func(context.Context, requestV2) (responseV2, error) { return responseV2{StatusCode: 200}, nil }
	wrapped := idempotent.Wrap(handler, memory.New(), h)
	names[0] = "b" // the configuration has its own copy
	_, err := wrapped.Handle(t.Context(), e)
	assert.NoError(t, err)
	e.Headers["b"] = "3"
	out, err := wrapped.Handle(t.Context(), e)
	assert.NoError(t, err)
	assert.True(t, ofV2(out).replayed())
	assert.Equal(t, want.key, identifyV2(t, e, opt).key)
}

func TestSpellingsOfOneHeaderAreNeverAMatterOfChance(t *testing.T) {
	t.Parallel()
	e := ask{key: "k"}.v1()
	e.MultiValueHeaders["X-A"], e.MultiValueHeaders["x-a"], e.MultiValueHeaders["X-a"] = []string{"1"}, []string{"2"}, []string{"3"}
	e.Headers = map[string]string{"X-B": "1", "x-b": "2", "idempotency-key": "k"}
	first := identifyV1(t, e, covering("X-A", "X-B"))
	for range 50 {
		assert.Equal(t, first, identifyV1(t, e, covering("X-A", "X-B")))
	}
}

func TestTextNeverMovesBetweenBodyAndHeaders(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.SampledFrom([]string{"", "a", "b", "json", "bytes", "1", "x-a", "ab"})
		draw := func(label string) ask {
			a := ask{key: "k", body: part.Draw(t, label+" body"), header: map[string]string{}}
			a.header["content-type"] = "text/plain"
			for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"x-a", "x-b"}), rapid.ID).Draw(t, label+" names") {
				a.header[name] = part.Draw(t, label+" value")
			}
			return a
		}
		a, b := draw("a"), draw("b")
		same := a.body == b.body && maps.Equal(a.header, b.header)
		opt := covering("x-a", "x-b")
		assert.Equal(t, same, identifyV2(t, a.v2(), opt) == identifyV2(t, b.v2(), opt))
	})
}

func TestFingerprintOfChosenHeadersNeverChanges(t *testing.T) {
	t.Parallel()
	e := ask{key: "k", body: `{"amount":1}`, header: map[string]string{"accept-language": "de"}}.v2()
	assert.Equal(t, "1:8BkHC80Uc-LAVsh345zYpZyC_XLzCOrN0_07lGVs2m0", identifyV2(t, e, covering("X-Mode", "Accept-Language")).fingerprint)
}

func TestOptionsOfKeyAndFingerprintAreChecked(t *testing.T) {
	t.Parallel()
	for problem, h := range map[string]idempotent.HTTP{
		`MinKey -1 is not 1 to 255`:                                                       {MinKey: -1},
		`MinKey 256 is not 1 to 255`:                                                      {MinKey: 256},
		`MaxKey 256 is not 1 to 255`:                                                      {MaxKey: 256},
		`MaxKey -1 is not 1 to 255`:                                                       {MaxKey: -1},
		`MinKey 9 is above MaxKey 8`:                                                      {MinKey: 9, MaxKey: 8},
		"KeyFormat \"a)|(b\": error parsing regexp: unexpected ): `a)|(b`":                {KeyFormat: "a)|(b"},
		"KeyFormat \"[\": error parsing regexp: missing closing ]: `[`":                   {KeyFormat: "["},
		`FingerprintHeaders: "" is no header name`:                                        {FingerprintHeaders: []string{""}},
		`FingerprintHeaders: "a b" is no header name`:                                     {FingerprintHeaders: []string{"a b"}},
		`FingerprintHeaders: "X-A" is there twice`:                                        {FingerprintHeaders: []string{"x-a", "X-A"}},
		`FingerprintHeaders: "idempotency-KEY" carries the key`:                           {FingerprintHeaders: []string{"idempotency-KEY"}},
		`FingerprintHeaders: "X-Key" carries the key`:                                     {Header: "x-key", FingerprintHeaders: []string{"X-Key"}},
		`FingerprintHeaders: "Authorization" differs between deliveries of one request`:   {FingerprintHeaders: []string{"Authorization"}},
		`FingerprintHeaders: "x-amzn-trace-id" differs between deliveries of one request`: {FingerprintHeaders: []string{"x-amzn-trace-id"}},
		`FingerprintHeaders: "Cookie" differs between deliveries of one request`:          {FingerprintHeaders: []string{"Cookie"}},
	} {
		problems := problemsOf(t, func() {
			idempotent.Wrap(mustNotRun[requestALB, responseALB](t), memory.New(), idempotent.WithHTTP(h))
		})
		assert.Equal(t, []string{"WithHTTP: " + problem}, problems)
	}
	several := problemsOf(t, func() {
		idempotent.Wrap(mustNotRun[requestALB, responseALB](t), memory.New(), idempotent.WithHTTP(idempotent.HTTP{
			MinKey: -1, MaxKey: 300, KeyFormat: "[", FingerprintHeaders: []string{"Date", "idempotency-key"},
		}))
	})
	assert.Len(t, several, 5, several)
	for _, h := range []idempotent.HTTP{{MinKey: 255}, {MaxKey: 1}, {MinKey: 7, MaxKey: 7}, {KeyFormat: idempotent.KeyUUID, FingerprintHeaders: []string{"Accept"}}} {
		assert.NotPanics(t, func() {
			idempotent.Wrap(mustNotRun[requestALB, responseALB](t), memory.New(), idempotent.WithHTTP(h))
		})
	}
}
