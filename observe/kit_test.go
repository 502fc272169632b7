package observe_test

import (
	"bytes"
	"context"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/observe"
	"github.com/go-idempotent/idempotent/report"
)

// document is a line as CloudWatch reads it.
type document struct {
	AWS struct {
		Timestamp         int64
		CloudWatchMetrics []struct {
			Namespace  string
			Dimensions [][]string
			Metrics    []observe.Metric
		}
	} `json:"_aws"`
	members map[string]any
}

// read checks a line against the schema and takes it apart.
func read(t *testing.T, line []byte) document {
	t.Helper()
	require.Empty(t, violations(line, time.Now()), "%s", line)
	var d document
	require.NoError(t, json.Unmarshal(line, &d))
	require.NoError(t, json.Unmarshal(line, &d.members))
	require.Len(t, d.AWS.CloudWatchMetrics, 1)
	return d
}

// metrics are the names of the metrics in these units, or of all, in their order.
func (d document) metrics(units ...string) (names []string) {
	for _, m := range d.AWS.CloudWatchMetrics[0].Metrics {
		if len(units) == 0 || slices.Contains(units, m.Unit) {
			names = append(names, m.Name)
		}
	}
	return names
}

// counts are those metrics that count something.
func (d document) counts() []string { return d.metrics("Count") }

// lineOf is what EMF writes about an event.
func lineOf(t *testing.T, e report.Delivery, opts ...observe.Config) document {
	t.Helper()
	return read(t, rawLineOf(t.Context(), e, opts...))
}

func rawLineOf(ctx context.Context, e report.Delivery, opts ...observe.Config) []byte {
	var out bytes.Buffer
	observe.EMF(&out, opts...)(ctx, e)
	return out.Bytes()
}

// logOf is what Slog writes about an event.
func logOf(t *testing.T, e report.Delivery) string {
	t.Helper()
	var out bytes.Buffer
	observe.Slog(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: withoutTime})))(t.Context(), e)
	return out.String()
}

func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

// constantsOf lists the constants of a string type as the source of the core declares them.
func constantsOf(t *testing.T, fileName, typeName string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../report/"+fileName, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	var values []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if of, ok := spec.Type.(*ast.Ident); ok && of.Name == typeName {
			for _, v := range spec.Values {
				value, err := strconv.Unquote(v.(*ast.BasicLit).Value)
				require.NoError(t, err)
				values = append(values, value)
			}
		}
		return true
	})
	slices.Sort(values)
	return values
}

// took is a phase that took so long.
func took(d time.Duration) report.Phase {
	return report.Phase{Start: time.Now().Add(-d), Took: d}
}
