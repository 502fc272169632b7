package idempotent

import (
	"maps"
	"strings"
)

// replayedHeader marks a replay. It is never stored, also not where a handler passes on the response of another service.
const replayedHeader = "Idempotent-Replayed"

// answers reports whether the handler made a response at all: an error beside an empty one stands alone.
func (s *httpShape[In, Out]) answers(out Out) bool { return s.family.response(out).status != 0 }

// stores is the rule for statuses. Not stored is what a client may retry with success: it was not let in, it was too
// early or too fast, it met a conflict that passes, or the server failed. A response without a status is one of
// the latter: the gateway makes a server error of it.
func (s *httpShape[In, Out]) stores(out Out) bool {
	status := s.family.response(out).status
	switch status {
	case 401, 403, 408, 409, 423, 425, 429:
		return false
	default:
		return status >= 200 && status < 500
	}
}

func (*httpShape[In, Out]) replaysBytes() bool { return false }

// storedForm leaves out what must not be replayed.
func (s *httpShape[In, Out]) storedForm(out Out) (Out, bool) {
	r := s.family.response(out)
	headers, fewer := without(r.headers, s.dropped)
	multi, fewerMulti := without(r.multi, s.dropped)
	cookies := r.cookies
	if !s.http.StoreCookies {
		cookies = nil
	}
	if !fewer && !fewerMulti && len(cookies) == len(r.cookies) {
		return out, false
	}
	r.headers, r.multi, r.cookies = headers, multi, cookies
	return s.family.with(out, r), true
}

// dropped reports whether a header is not stored: it belongs to one connection (RFC 9110, section 7.6.1), to one moment,
// or to one client.
func (s *httpShape[In, Out]) dropped(name string) bool {
	switch strings.ToLower(name) {
	case "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection",
		"te", "trailer", "transfer-encoding", "upgrade", "date", strings.ToLower(replayedHeader):
		return true
	case "set-cookie":
		return !s.http.StoreCookies
	default:
		return false
	}
}

// replayedForm marks a stored response.
func (s *httpShape[In, Out]) replayedForm(out Out) Out {
	r := s.family.response(out)
	headers := make(map[string]string, len(r.headers)+1)
	maps.Copy(headers, r.headers)
	headers[replayedHeader] = "true"
	r.headers = headers
	return s.family.with(out, r)
}

// without returns m without the dropped names, and whether there were any. m itself stays as it is: a handler may return
// one map with every response.
func without[V any](m map[string]V, dropped func(name string) bool) (kept map[string]V, fewer bool) {
	for name := range m {
		if dropped(name) {
			kept = maps.Clone(m)
			maps.DeleteFunc(kept, func(name string, _ V) bool { return dropped(name) })
			return kept, true
		}
	}
	return m, false
}
