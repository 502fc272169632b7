package doctor

import (
	"fmt"
	"time"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/sam"
)

// reached says of each route that changes state what protects it.
func (e *examination) reached() []Finding {
	findings := []Finding{}
	for _, r := range e.routes {
		if r.ChangesState() {
			findings = append(findings, e.route(r))
		}
	}
	return findings
}

func (e *examination) route(r sam.Route) Finding {
	name := fmt.Sprintf("%s (%s)", r, r.Gateway)
	s := e.subject(r.Function)
	if s == nil {
		return Finding{checkRoute, NotChecked, name + " reaches no function of the template: " + r.Target}
	}
	why, exempt := s.exempts(r)
	result, detail := OK, s.ID+" wraps"
	switch {
	case s.wraps:
	case exempt:
		detail = fmt.Sprintf("%s is exempt: %s", s.ID, why)
	case s.seen:
		result, detail = Problem, s.not()
	case s.says.wraps != "":
		detail = fmt.Sprintf("%s wraps, says its Metadata: %s", s.ID, s.says.wraps)
	default:
		result, detail = Warning, fmt.Sprintf("nobody knows whether %s wraps: %s", s.ID, s.unseen)
	}
	return Finding{checkRoute, result, name + ": " + detail}
}

// exempts is why a route is not to be wrapped. That of a function that wraps needs no reason, and one that is given is stale.
func (s *subject) exempts(r sam.Route) (why string, exempt bool) {
	if s.wraps {
		return "", false
	}
	return s.says.route(r.Method, r.Path)
}

// unknownTimeout is why nothing is compared with the timeout of a function.
const unknownTimeout = "the timeout of the function is not in the template"

// timeouts compares the timeout of each function with what its gateways wait. An exempt route is one whose retries do no harm. What a gateway waits on some
// routes may be unknown, which hides nothing of the others.
func (e *examination) timeouts() []Finding {
	type pair struct {
		function, gateway string
		known             bool
	}
	shortest, order := map[pair]time.Duration{}, []pair{}
	for _, r := range e.routes {
		s := e.subject(r.Function)
		if s == nil || !r.ChangesState() || r.Wait == 0 {
			continue
		}
		if _, exempt := s.exempts(r); exempt {
			continue
		}
		key := pair{s.ID, r.Gateway, r.Wait != sam.Unknown}
		if wait, known := shortest[key]; !known {
			order, shortest[key] = append(order, key), r.Wait
		} else {
			shortest[key] = min(wait, r.Wait)
		}
	}
	findings := make([]Finding, 0, len(order))
	for _, key := range order {
		s := e.subject(key.function)
		f := Finding{checkGateway, NotChecked, key.gateway + ": " + unknownTimeout}
		switch {
		case !key.known:
			f.Detail = "nobody knows for how long " + key.gateway + " waits"
		case s.Timeout != sam.Unknown:
			f = waiting(key.gateway, shortest[key], s.Timeout)
		}
		findings = append(findings, s.finding(f.Check, f.Result, f.Detail))
	}
	return findings
}
