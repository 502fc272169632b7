package observe

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
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
	// than 1024 characters is cut off.
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

// checked is a Config in the making, and what is wrong with it.
type checked struct {
	Config

	problems []string
}

func configOf(constructor string, w io.Writer, config []Config) *checked {
	c := &checked{}
	switch len(config) {
	case 0:
	case 1:
		c.Config = config[0]
	default:
		c.problemf("%s: there are %d Configs", constructor, len(config))
	}
	if w == nil {
		c.problemf("%s: the writer is nil", constructor)
	}
	if c.Namespace == "" {
		c.Namespace = defaultNamespace
	}
	c.checkNamespace()
	if len(c.Dimensions) > maxDimensions {
		c.problemf("Config.Dimensions: there are %d, more than %d", len(c.Dimensions), maxDimensions)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Dimensions)) {
		c.checkDimension(name, c.Dimensions[name])
	}
	return c
}

func (c *checked) checkNamespace() {
	if problem := unusable(c.Namespace, maxNamespace); problem != "" {
		c.problemf("Config.Namespace: %q %s", c.Namespace, problem)
	}
	if strings.HasPrefix(c.Namespace, ":") || strings.HasPrefix(c.Namespace, "AWS/") {
		c.problemf("Config.Namespace: %q begins with a colon or with AWS/, which CloudWatch keeps for itself",
			c.Namespace)
	}
}

func (c *checked) checkDimension(name, value string) {
	if problem := unusable(name, maxName); problem != "" {
		c.problemf("Config.Dimensions: the name %q %s", name, problem)
	}
	if strings.HasPrefix(name, ":") {
		c.problemf("Config.Dimensions: the name %q begins with a colon", name)
	}
	if slices.Contains(members(), name) {
		c.problemf("Config.Dimensions: a line has another member of the name %q", name)
	}
	if problem := unusable(value, maxValue); problem != "" {
		c.problemf("Config.Dimensions: %s: the value %q %s", name, value, problem)
	}
}

func (c *checked) problemf(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

func (c *checked) panicIfWrong() {
	if len(c.problems) > 0 {
		panic(&store.ConfigError{Problems: c.problems})
	}
}

// panicIfOfDeliveries is panicIfWrong for a line that is not about one delivery.
func (c *checked) panicIfOfDeliveries(constructor string) {
	if c.Tenant != nil {
		c.problemf("%s: Config.Tenant: a line is not about one tenant", constructor)
	}
	if c.Route {
		c.problemf("%s: Config.Route: a line is not about one route", constructor)
	}
	c.panicIfWrong()
}

// unusable says why CloudWatch takes s neither as a name nor as a value, empty if it does.
func unusable(s string, most int) string {
	switch {
	case strings.TrimSpace(s) == "":
		return "is blank"
	case !printable(s):
		return "is not printable ASCII"
	case len(s) > most:
		return fmt.Sprintf("has %d characters, more than %d", len(s), most)
	default:
		return ""
	}
}

// printable reports whether s is of ASCII characters from the space to the tilde.
func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
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
