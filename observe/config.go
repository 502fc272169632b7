package observe

import (
	"cmp"
	"context"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-idempotent/idempotent/internal/setup"
	"github.com/go-idempotent/idempotent/report"
)

// Config adjusts the functions of this package that write metrics. The zero Config is the default.
type Config struct {
	_ struct{} // literals name their fields: more may come

	// Namespace is that of the metrics: 1 to 255 printable ASCII characters that do not begin with
	// a colon or with AWS/. Default Idempotent.
	Namespace string
	// Dimensions are the same in every line, say the stage, by their names. A name has 1 to 250
	// printable ASCII characters, does not begin with a colon, and is no other member of a line; a
	// value has 1 to 1024. There are at most 28.
	Dimensions map[string]string
	// Tenant makes [EMF] write every metric twice: as before, so that alarms go on working, and
	// once more with the dimension Tenant, whose value is what the function returns for a delivery;
	// if that is blank, only the first. Each tenant makes metrics of its own, which are billed:
	// return the names of few. The function gets the context that the handler was called with, and
	// must be safe for concurrent use. What is not printable ASCII is escaped, and what is longer
	// than 1024 characters is cut off. Other lines are not about one tenant, nor about one route.
	Tenant func(ctx context.Context, d report.Delivery) string
	// Route makes [EMF] write every metric once more with the dimension Route, whose value is the
	// route of the delivery, if it has one. Each route makes metrics of its own, which are billed:
	// a handler has at most 100 of them, and "other".
	Route bool
}

const (
	dimensionTenant = "Tenant"
	dimensionRoute  = "Route"

	defaultNamespace = "Idempotent"
	// maxDimensions is CloudWatch's limit, less Operation and one of Tenant and Route.
	maxDimensions = 30 - 2
	maxNamespace  = 255
	maxName       = 250 // of a dimension in this format; CloudWatch itself allows 255
	maxValue      = 1024
)

// configOf returns the Config of a constructor, and panics with what is wrong with it.
func configOf(constructor string, w io.Writer, given []Config, ofDeliveries bool) Config {
	p := setup.Of(constructor)
	c := setup.One(p, given)
	p.Addf(w == nil, "the writer is nil")
	c.Namespace = cmp.Or(c.Namespace, defaultNamespace)
	checkText(p, "Config.Namespace:", c.Namespace, maxNamespace)
	p.Addf(strings.HasPrefix(c.Namespace, ":") || strings.HasPrefix(c.Namespace, "AWS/"),
		"Config.Namespace: %q begins with a colon or with AWS/, which CloudWatch keeps for itself", c.Namespace)
	p.Addf(len(c.Dimensions) > maxDimensions, "Config.Dimensions: there are %d, more than %d",
		len(c.Dimensions), maxDimensions)
	for _, name := range slices.Sorted(maps.Keys(c.Dimensions)) {
		checkText(p, "Config.Dimensions: the name", name, maxName)
		p.Addf(strings.HasPrefix(name, ":"), "Config.Dimensions: the name %q begins with a colon", name)
		p.Addf(slices.Contains(members(), name), "Config.Dimensions: a line has another member of the name %q", name)
		checkText(p, "Config.Dimensions: "+name+": the value", c.Dimensions[name], maxValue)
	}
	p.Addf(c.Tenant != nil && !ofDeliveries, "Config.Tenant: a line is not about one tenant")
	p.Addf(c.Route && !ofDeliveries, "Config.Route: a line is not about one route")
	p.Panic()
	return c
}

// checkText adds why CloudWatch takes s neither as a name nor as a value.
func checkText(p *setup.Problems, of, s string, most int) {
	p.Addf(strings.TrimSpace(s) == "", "%s %q is blank", of, s)
	p.Addf(!printable(s), "%s %q is not printable ASCII", of, s)
	p.Addf(len(s) > most, "%s %q has %d characters, more than %d", of, s, len(s), most)
}

// printable reports whether s is of ASCII characters from the space to the tilde.
func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

// dimensionValue is s as CloudWatch takes it, empty if s is blank.
func dimensionValue(s string) string {
	if strings.TrimSpace(s) == "" {
		return ""
	}
	if !printable(s) {
		s = strconv.QuoteToASCII(s)
		s = s[1 : len(s)-1]
	}
	return s[:min(len(s), maxValue)]
}
