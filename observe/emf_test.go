package observe_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/testkit/configtest"
	"github.com/go-idempotent/idempotent/observe"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

var someEvent = report.Delivery{
	Operation: "charge", RecordKey: "charge#abc", Outcome: report.Executed, Settlement: report.Completed,
	Attempt: 1, Claim: took(5 * time.Millisecond), Handle: took(time.Second), Settle: took(4 * time.Millisecond),
	ResultBytes: 9,
}

func TestZeroConfigurationHasANamespaceAndTheOperation(t *testing.T) {
	t.Parallel()
	before := time.Now().UnixMilli()
	d := lineOf(t, someEvent)
	assert.Equal(t, "Idempotent", d.AWS.CloudWatchMetrics[0].Namespace)
	assert.Equal(t, [][]string{{"Operation"}}, d.AWS.CloudWatchMetrics[0].Dimensions)
	assert.Equal(t, "charge", d.members["Operation"])
	assert.GreaterOrEqual(t, d.AWS.Timestamp, before)
	assert.LessOrEqual(t, d.AWS.Timestamp, time.Now().UnixMilli())
}

func TestPropertiesSayWhatToLookFor(t *testing.T) {
	t.Parallel()
	e := someEvent
	e.Route = "POST /charges"
	e.Settlement, e.Reason, e.Attempt, e.Recovered = report.Unknown, "uncertain", 2, true
	e.Err = idempotent.Uncertain(&declinedError{})
	e.StoreErr = fmt.Errorf("renew: %w", &store.Error{Kind: store.FailureThrottled, Err: errors.New("slow")})
	ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "r-1"})
	got := read(t, rawLineOf(ctx, e)).members
	for _, m := range append(observe.Metrics(), observe.Metric{Name: "_aws"}) {
		delete(got, m.Name)
	}
	assert.Equal(t, map[string]any{
		"Operation": "charge", "outcome": "executed", "settlement": "unknown", "reason": "uncertain",
		"recordKey": "charge#abc",
		"route":     "POST /charges",
		"attempt":   2.0, "errorType": "observe_test.declinedError", "storeFailure": "throttled",
		"requestId": "r-1",
	}, got)
}

func TestWhatAnEventDoesNotSayIsLeftOut(t *testing.T) {
	t.Parallel()
	got := lineOf(t, report.Delivery{Operation: "charge", Outcome: report.MissingKey}).members
	delete(got, "_aws")
	assert.Equal(t, map[string]any{"Operation": "charge", "outcome": "missing key", "KeyMisuse": 1.0}, got)
}

// declinedError is unexported, and so is what wraps it: then the innermost type is the one that
// says most.
type declinedError struct{}

func (*declinedError) Error() string { return "declined" }

// CardError is the type that a reader looks for.
type CardError struct{ card string }

func (e CardError) Error() string { return "card " + e.card }

// joinedErrors may hold nils, unlike those of errors.Join.
type joinedErrors []error

func (e joinedErrors) Error() string   { return fmt.Sprint([]error(e)) }
func (e joinedErrors) Unwrap() []error { return e }

func TestErrorsAreNamedByTypeAndNeverByText(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"its own": {CardError{"42-42"}, "observe_test.CardError"},
		"pointer": {&CardError{"42-42"}, "observe_test.CardError"},
		"marked":  {idempotent.Terminal(&CardError{"42-42"}), "observe_test.CardError"},
		"wrapped": {fmt.Errorf("card 42-42: %w", CardError{"42-42"}), "observe_test.CardError"},
		"wrapped twice": {
			fmt.Errorf("42-42: %w, %w", errors.Join(nil, CardError{"42-42"}), errors.ErrUnsupported),
			"observe_test.CardError",
		},
		"joined by others": {joinedErrors{nil, CardError{"42-42"}}, "observe_test.CardError"},
		"of nothing":       {joinedErrors{nil}, "observe_test.joinedErrors"},
		"unexported":       {fmt.Errorf("42-42: %w", &declinedError{}), "observe_test.declinedError"},
		"text alone":       {errors.New("card 42-42"), "errors.errorString"},
		"of the library": {
			&idempotent.Error{Kind: idempotent.ErrMismatch, Operation: "charge"},
			"idempotent.MismatchError",
		},
		"wraps an exported": {
			&idempotent.Error{Kind: idempotent.ErrRefused, Err: CardError{"42-42"}},
			"idempotent.RefusedError",
		},
	} {
		e := someEvent
		e.Err = tc.err
		line := rawLineOf(t.Context(), e)
		assert.Equal(t, tc.want, read(t, line).members["errorType"], name)
		assert.NotContains(t, string(line), "42-42", name)
	}
}

func TestStoreFailureIsNamedByItsKind(t *testing.T) {
	t.Parallel()
	denied := &store.Error{Kind: store.FailureAccessDenied, Err: errors.New("arn")}
	for name, tc := range map[string]struct {
		event report.Delivery
		want  any
	}{
		"answer": {report.Delivery{
			Outcome: report.StoreUnavailable,
			Err:     &idempotent.Error{Kind: idempotent.ErrStoreUnavailable, Err: denied},
		}, "access denied"},
		"aside": {report.Delivery{Outcome: report.Replayed, StoreErr: denied}, "access denied"},
		"lease lost": {
			report.Delivery{Outcome: report.Replayed, LeaseLost: true, StoreErr: idempotent.ErrLeaseLost},
			"lease lost",
		},
		"other":     {report.Delivery{Outcome: report.Replayed, StoreErr: CardError{}}, "observe_test.CardError"},
		"none":      {report.Delivery{Outcome: report.Replayed}, nil},
		"handler's": {report.Delivery{Outcome: report.Replayed, Err: denied}, nil},
	} {
		tc.event.Operation = "charge"
		assert.Equal(t, tc.want, lineOf(t, tc.event).members["storeFailure"], name)
	}
}

func TestDimensionsAreAddedToAllMetrics(t *testing.T) {
	t.Parallel()
	d := lineOf(t, someEvent, observe.Config{
		Namespace: "Payments", Dimensions: map[string]string{"Stage": "prod", `Team "A"`: `back\end`},
	})
	assert.Equal(t, "Payments", d.AWS.CloudWatchMetrics[0].Namespace)
	assert.Equal(t, [][]string{{"Operation", "Stage", `Team "A"`}}, d.AWS.CloudWatchMetrics[0].Dimensions)
	assert.Equal(t, "prod", d.members["Stage"])
	assert.Equal(t, `back\end`, d.members[`Team "A"`])
}

func TestTenantIsAnotherSetSoThatAlarmsGoOnWorking(t *testing.T) {
	t.Parallel()
	type tenantKey struct{}
	config := observe.Config{
		Dimensions: map[string]string{"Stage": "prod"},
		Tenant: func(ctx context.Context, e report.Delivery) string {
			name, _ := ctx.Value(tenantKey{}).(string)
			return strings.ReplaceAll(name, "OUTCOME", string(e.Outcome))
		},
	}
	for name, want := range map[string]any{
		"acme":                           "acme",
		"acme OUTCOME":                   "acme executed",
		`a "quoted" \ one`:               `a "quoted" \ one`,
		"":                               nil,
		" \t":                            nil,
		"größe\n":                        `gr\u00f6\u00dfe\n`,
		strings.Repeat("x", 1030):        strings.Repeat("x", 1024),
		strings.Repeat("\u00f6", 1030):   strings.Repeat(`\u00f6`, 171)[:1024],
		"\xff" + strings.Repeat("x", 10): `\xffxxxxxxxxxx`,
	} {
		d := read(t, rawLineOf(context.WithValue(t.Context(), tenantKey{}, name), someEvent, config))
		assert.Equal(t, want, d.members["Tenant"], name)
		sets := [][]string{{"Operation", "Stage"}}
		if want != nil {
			sets = append(sets, []string{"Operation", "Stage", "Tenant"})
		}
		assert.Equal(t, sets, d.AWS.CloudWatchMetrics[0].Dimensions, name)
	}
}

func TestRouteIsADimensionOnlyIfAskedFor(t *testing.T) {
	t.Parallel()
	e := someEvent
	e.Route = "POST /charges/{id}"
	stage := map[string]string{"Stage": "prod"}
	tenant := func(context.Context, report.Delivery) string { return "acme" }

	d := lineOf(t, e, observe.Config{Dimensions: stage})
	assert.Equal(t, [][]string{{"Operation", "Stage"}}, d.AWS.CloudWatchMetrics[0].Dimensions)
	assert.Nil(t, d.members["Route"])
	assert.Equal(t, e.Route, d.members["route"], "it is a property all the same")

	d = lineOf(t, e, observe.Config{Dimensions: stage, Route: true})
	assert.Equal(t, [][]string{{"Operation", "Stage"}, {"Operation", "Stage", "Route"}},
		d.AWS.CloudWatchMetrics[0].Dimensions,
		"alarms go on working")
	assert.Equal(t, e.Route, d.members["Route"])

	d = lineOf(t, e, observe.Config{Route: true, Tenant: tenant})
	assert.Equal(t, [][]string{{"Operation"}, {"Operation", "Tenant"}, {"Operation", "Route"}},
		d.AWS.CloudWatchMetrics[0].Dimensions)

	e.Route = "gr\u00f6\u00dfe\n" // of the user's function
	d = lineOf(t, e, observe.Config{Route: true})
	assert.Equal(t, `gr\u00f6\u00dfe\n`, d.members["Route"])
	assert.Equal(t, e.Route, d.members["route"])

	for _, e.Route = range []string{"", " "} {
		d = lineOf(t, e, observe.Config{Route: true})
		assert.Equal(t, [][]string{{"Operation"}}, d.AWS.CloudWatchMetrics[0].Dimensions, "%q is no dimension", e.Route)
	}
}

func TestWrongConfigsAreNamedAllAtOnce(t *testing.T) {
	t.Parallel()
	many := map[string]string{}
	for i := range 28 {
		many[fmt.Sprintf("D%d", i)] = "x"
	}
	named := func(name, value string) observe.Config {
		return observe.Config{Dimensions: map[string]string{name: value}}
	}
	for name, tc := range map[string]struct {
		config observe.Config
		want   string
	}{
		"blank namespace":    {observe.Config{Namespace: " "}, `Namespace: " " is blank`},
		"foreign namespace":  {observe.Config{Namespace: "größe"}, "not printable ASCII"},
		"long namespace":     {observe.Config{Namespace: strings.Repeat("x", 256)}, "256 characters, more than 255"},
		"colon":              {observe.Config{Namespace: ":x"}, "Namespace: \":x\" begins with"},
		"reserved":           {observe.Config{Namespace: "AWS/Lambda"}, "begins with a colon or with AWS/"},
		"blank name":         {named("", "x"), `the name "" is blank`},
		"long name":          {named(strings.Repeat("x", 251), "x"), "251 characters, more than 250"},
		"control character":  {named("a\nb", "x"), `the name "a\nb" is not printable`},
		"name with a colon":  {named(":a", "x"), "begins with a colon"},
		"name of a metric":   {named("Created", "x"), "another member"},
		"name of a property": {named("outcome", "x"), "another member"},
		"name of metadata":   {named("_aws", "x"), "another member"},
		"operation":          {named("Operation", "x"), "another member"},
		"tenant":             {named("Tenant", "x"), "another member"},
		"route":              {named("Route", "x"), "another member"},
		"name of the route":  {named("route", "x"), "another member"},
		"of other lines":     {named("OldestMessage", "x"), "another member"},
		"blank value":        {named("Stage", os.Getenv("IDEMPOTENT_NOT_SET")), `Stage: the value "" is blank`},
		"long value":         {named("Stage", strings.Repeat("x", 1025)), "more than 1024"},
	} {
		problems := configtest.ProblemsOf(t, func() { observe.EMF(&bytes.Buffer{}, tc.config) })
		require.Len(t, problems, 1, name)
		assert.Contains(t, problems[0], tc.want, name)
	}
	problems := configtest.ProblemsOf(t, func() { observe.EMF(nil, named("", "")) })
	assert.Len(t, problems, 3)
	assert.Contains(t, problems[0], "the writer is nil")
	problems = configtest.ProblemsOf(t, func() { observe.EMF(&bytes.Buffer{}, observe.Config{}, observe.Config{}) })
	assert.Contains(t, problems[0], "there are 2 values of Config")

	tenant := func(context.Context, report.Delivery) string { return "t" }
	line := rawLineOf(t.Context(), someEvent, observe.Config{Dimensions: many, Tenant: tenant})
	assert.Len(t, read(t, line).AWS.CloudWatchMetrics[0].Dimensions[1], 30, "what is allowed fits")
	many["D28"] = "x"
	problems = configtest.ProblemsOf(t, func() { observe.EMF(&bytes.Buffer{}, observe.Config{Dimensions: many}) })
	assert.Contains(t, problems[0], "there are 29, more than 28")
}

// What is not about one delivery has no tenant and no route.
func TestOtherLinesHaveNeitherTenantNorRoute(t *testing.T) {
	t.Parallel()
	wrong := observe.Config{Tenant: func(context.Context, report.Delivery) string { return "" }, Route: true}
	for name, constructor := range map[string]func(){
		"observe.BatchEMF":     func() { observe.BatchEMF(&bytes.Buffer{}, wrong) },
		"observe.RelayEMF":     func() { observe.RelayEMF(&bytes.Buffer{}, wrong) },
		"observe.ReconcileEMF": func() { observe.ReconcileEMF(&bytes.Buffer{}, wrong) },
		"observe.AttentionEMF": func() { observe.AttentionEMF(&bytes.Buffer{}, wrong) },
	} {
		problems := configtest.ProblemsOf(t, constructor)
		require.Len(t, problems, 2, name)
		assert.Contains(t, problems[0], name+": Config.Tenant")
		assert.Contains(t, problems[1], name+": Config.Route")
	}
}

// writes is a writer that is not safe for concurrent use, and remembers each call.
type writes struct {
	calls [][]byte
	err   error
}

func (w *writes) Write(p []byte) (int, error) {
	w.calls = append(w.calls, bytes.Clone(p))
	return len(p), w.err
}

func TestConcurrentInvocationsWriteOneLineEach(t *testing.T) {
	t.Parallel()
	var out writes
	observer := observe.EMF(&out,
		observe.Config{Tenant: func(_ context.Context, e report.Delivery) string { return "of-" + e.RecordKey }})
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			e := someEvent
			e.RecordKey = fmt.Sprintf("charge#%s%d", strings.Repeat("x", i), i)
			observer(context.Background(), e)
		})
	}
	wg.Wait()
	seen := map[any]bool{}
	for _, line := range out.calls {
		d := read(t, line)
		assert.Equal(t, fmt.Sprintf("of-%s", d.members["recordKey"]), d.members["Tenant"])
		seen[d.members["recordKey"]] = true
	}
	assert.Len(t, out.calls, 100)
	assert.Len(t, seen, 100)
}

func TestWriterThatFailsOrPanicsDoesNotBlockTheNext(t *testing.T) {
	t.Parallel()
	calls := 0
	observer := observe.EMF(writerFunc(func([]byte) (int, error) {
		if calls++; calls == 1 {
			panic("closed")
		}
		return 0, errors.New("closed pipe")
	}))
	assert.PanicsWithValue(t, "closed", func() { observer(t.Context(), someEvent) })
	observer(t.Context(), someEvent)
	observer(t.Context(), someEvent)
	assert.Equal(t, 3, calls)
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// A key that comes from somewhere, a reason of a foreign writer of the table, a tenant of a token:
// none breaks the line.
func FuzzLineIsValidWhateverTheTextsAre(f *testing.F) {
	for _, s := range []string{
		"", "charge", "\x00\n\r\t", `"\`, "größe", "\xff\xfe", "\u2028", "<&>",
		strings.Repeat("x", 2000),
	} {
		f.Add(s, s, s)
	}
	f.Fuzz(func(t *testing.T, reason, recordKey, tenant string) {
		if len(reason)+len(recordKey)+len(tenant) > 10_000 {
			t.Skip("records are smaller")
		}
		e := someEvent
		e.Reason, e.RecordKey = reason, recordKey
		e.StoreErr = &store.Error{Kind: store.Failure(reason)}
		d := lineOf(t, e, observe.Config{Tenant: func(context.Context, report.Delivery) string { return tenant }})
		assert.Equal(t, []string{
			"Created", "StoreError", "ClaimLatency", "HandlerLatency", "CompletionLatency",
			"ResultBytes",
		}, d.metrics())
		if recordKey != "" {
			assert.Equal(t, strings.ToValidUTF8(recordKey, "\ufffd") == recordKey, d.members["recordKey"] == recordKey)
		}
	})
}
