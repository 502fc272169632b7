package gateway

import (
	"context"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// pathsOf are the paths of a request behind a gateway with this stage in front of its paths, empty
// for none.
func pathsOf(stage, sent string) []string {
	r := Request{Path: sent}
	if stage != "" {
		r.prefix = "/" + stage
	}
	return r.Paths()
}

func TestOrdinaryPathHasOneReading(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		"/":                     "/",
		"":                      "/",
		"/orders":               "/orders",
		"/orders/o-1.pdf":       "/orders/o-1.pdf",
		"/orders/caf%C3%A9%20x": "/orders/café x",
		"/orders/café":          "/orders/café", // of an HTTP API, which decodes
		"/a(b)!*'":              "/a(b)!*'",
		"/a:b@c;d=e,f&g+$h~_-":  "/a:b@c;d=e,f&g+$h~_-",
		"/50%25":                "/50%",
	} {
		assert.Equal(t, []string{want}, pathsOf("", sent), sent)
		assert.Equal(t, []string{want}, pathsOf("prod", "/prod"+sent), "with a stage: %s", sent)
	}
	assert.Equal(t, []string{"/production/x"}, pathsOf("prod", "/production/x"), "the stage is a whole segment")
	assert.Equal(t, []string{"/x/prod/y"}, pathsOf("prod", "/x/prod/y"), "and the first one")
}

func TestUnusualSpellingHasEveryReading(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		stage, sent string
		want        []string
	}{
		"slash at the end":      {"", "/health/", []string{"/health/", "/health"}},
		"two slashes":           {"", "//health", []string{"//health", "/health"}},
		"slashes inside":        {"", "/a//b", []string{"/a//b", "/a/b"}},
		"dot":                   {"", "/./health", []string{"/./health", "/health"}},
		"dot segments":          {"", "/health/../charges", []string{"/health/../charges", "/charges"}},
		"dots above the root":   {"", "/../charges", []string{"/../charges", "/charges"}},
		"no slash in front":     {"", "charges", []string{"charges", "/charges"}},
		"letter encoded":        {"", "/he%61lth", []string{"/health", "/he%61lth"}},
		"dots encoded":          {"", "/health/%2e%2E/x", []string{"/health/../x", "/x", "/health/%2e%2E/x"}},
		"slash encoded":         {"", "/webhooks%2Fx", []string{"/webhooks/x", "/webhooks%2Fx"}},
		"slash and letter":      {"", "/%61%2Fb", []string{"/a/b", "/%61%2Fb", "/a%2Fb"}},
		"encoded twice":         {"", "/%2561", []string{"/%61"}},
		"not decodable":         {"", "/100%", []string{"/100%"}},
		"not decodable in part": {"", "/%61%zz", []string{"/a%zz", "/%61%zz"}},
		"question mark":         {"", "/charges?/health", []string{"/charges?/health", "/charges"}},
		"number sign":           {"", "/charges#/health", []string{"/charges#/health", "/charges"}},
		"stage alone":           {"prod", "/prod", []string{"/"}},
		"stage behind slashes":  {"prod", "//prod/x", []string{"//prod/x", "/prod/x", "/x"}},
		"slashes behind stage":  {"prod", "/prod//x", []string{"//x", "/x"}},
		"stage encoded":         {"prod", "/%70rod/x", []string{"/x", "/%70rod/x"}},
		"stage behind dots":     {"prod", "/y/../prod/x", []string{"/y/../prod/x", "/prod/x", "/x"}},
	} {
		assert.Equal(t, tc.want, pathsOf(tc.stage, tc.sent), name)
	}
}

func TestOnlyHTTPAPIPutsItsStageIntoPaths(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ stage, path, want string }{
		{"prod", "/prod/x", "/x"}, {"$default", "/$default/x", "/$default/x"}, {"", "/x", "/x"},
	} {
		e := requestV2{RawPath: c.path}
		e.RequestContext.Stage = c.stage
		assert.Equal(t, []string{c.want}, readOf[requestV2, responseV2](t)(e).Paths())
	}
	v1 := requestV1{Path: "/prod/x"}
	v1.RequestContext.Stage, v1.RequestContext.APIID = "prod", "api"
	assert.Equal(t, []string{"/prod/x"}, readOf[requestV1, responseV1](t)(v1).Paths())
	assert.Equal(t, []string{"/$default/x"},
		readOf[requestURL, responseURL](t)(requestURL{RawPath: "/$default/x"}).Paths())
}

// What a router sees is among the readings, by whichever form of the path it matches, cleaned or
// not. An adapter parses the path as part of a URL; what an HTTP API has decoded, it may also take
// as it is.
func FuzzPathsHoldWhatRoutersSee(f *testing.F) {
	for _, sent := range []string{
		"/", "/charges", "/charges/", "//charges", "/a/../charges", "/%2e%2e/charges", "/ch%61rges", "/a%2Fb/ch%61rges",
		"/100%", "/x?y", "/x#y",
		"/%3Fx", "/%23", "/a%2f%2E%2e/b", "/caf\u00e9", "/caf%c3%a9", "/%", "/%zz?%61", "/?#", "/a;b=c/d", "/a%5Cb",
		"/\\a", "/+", "/%2B",
	} {
		f.Add(sent)
	}
	f.Fuzz(func(t *testing.T, sent string) {
		if !strings.HasPrefix(sent, "/") ||
			strings.ContainsFunc(sent, func(c rune) bool { return c < ' ' || c == 0x7f }) {
			return // no gateway sends these
		}
		readings := pathsOf("", sent)
		if all := pathsOf("prod", "/prod"+sent); !slices.Equal(readings, all) {
			t.Fatalf("%q: with a stage %q, without %q", sent, all, readings)
		}
		var requests []*http.Request
		if !strings.Contains(sent, "%") {
			requests = append(requests, &http.Request{URL: &url.URL{Path: sent}})
		}
		if parsed, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "https://host"+sent,
			http.NoBody); err == nil {
			requests = append(requests, parsed)
		}
		for _, r := range requests {
			for _, seen := range routed(r) {
				if !slices.Contains(readings, seen) {
					t.Fatalf("%q: a router sees %q, and the readings are %q", sent, seen, readings)
				}
			}
		}
	})
}

// routed are the paths by which routers find the handler of a request: the decoded one; the encoded
// one where there is one, as chi does; the decoded segments of the encoded one, as http.ServeMux
// does; and each of them cleaned.
func routed(r *http.Request) []string {
	seen := []string{r.URL.Path}
	if r.URL.RawPath != "" {
		seen = append(seen, r.URL.RawPath)
	}
	if encoded := r.URL.EscapedPath(); strings.Contains(strings.ToUpper(encoded), "%2F") {
		segments := strings.Split(encoded, "/")
		for i, s := range segments {
			decoded, err := url.PathUnescape(strings.NewReplacer("%2f", "%252f", "%2F", "%252F").Replace(s))
			if err != nil {
				return seen
			}
			segments[i] = decoded
		}
		seen = append(seen, strings.Join(segments, "/"))
	}
	for _, p := range seen {
		seen = append(seen, path.Clean("/"+p))
	}
	return seen
}
