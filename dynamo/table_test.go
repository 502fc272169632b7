package dynamo_test

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/internal/testkit/configtest"
	"github.com/go-idempotent/idempotent/internal/testkit/dynamotest"
	"github.com/go-idempotent/idempotent/store"
)

func TestCheckOfTheTableThatCreateTableMakes(t *testing.T) {
	t.Parallel()
	s, client, table := local(t)
	require.NoError(t, s.Check(t.Context()))
	require.NoError(t, dynamo.CreateTable(t.Context(), client, table), "again")

	out, err := client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String(table)})
	require.NoError(t, err)
	require.Equal(t, types.BillingModePayPerRequest, out.Table.BillingModeSummary.BillingMode)
	require.Empty(t, adviceOf(t, s))
}

// TestCheckNamesEveryProblem: package table has what else may be wrong.
func TestCheckNamesEveryProblem(t *testing.T) {
	t.Parallel()
	client := dynamolocal.Client(dynamotest.Endpoint(t))
	in := dynamo.TableDefinition("dynamo-test-" + rand.Text())
	in.KeySchema, in.AttributeDefinitions, in.GlobalSecondaryIndexes = nil, nil, nil
	for name, part := range map[string]types.KeyType{"id": types.KeyTypeHash, "sk": types.KeyTypeRange} {
		in.AttributeDefinitions = append(in.AttributeDefinitions,
			types.AttributeDefinition{AttributeName: aws.String(name), AttributeType: types.ScalarAttributeTypeN})
		in.KeySchema = append(in.KeySchema, types.KeySchemaElement{AttributeName: aws.String(name), KeyType: part})
	}
	slices.SortFunc(in.KeySchema, func(a, b types.KeySchemaElement) int { return cmp.Compare(a.KeyType, b.KeyType) })
	makeTable(t, client, in, "")
	of := `table "` + *in.TableName + `": `
	require.Equal(t, []string{
		of + `partition key is "id" with the sort key "sk", expected "id"`,
		of + `key attribute "id" has type N, expected S`,
		of + `time to live is DISABLED, expected ENABLED on "expiration"`,
	}, problemsOf(t, dynamo.New(client, *in.TableName).Check(t.Context())))
	require.Len(t, problemsOf(t, dynamo.CreateTable(t.Context(), client, *in.TableName)), 2,
		"a wrong table is not taken for the right one, and gets its time to live")
}

func makeTable(t *testing.T, client *dynamodb.Client, in *dynamodb.CreateTableInput, ttl string) {
	t.Helper()
	_, err := client.CreateTable(t.Context(), in)
	require.NoError(t, err)
	dynamotest.DropAfter(t, client, *in.TableName)
	if ttl == "" {
		return
	}
	spec := dynamo.TimeToLiveDefinition(*in.TableName)
	spec.TimeToLiveSpecification.AttributeName = aws.String(ttl)
	_, err = client.UpdateTimeToLive(t.Context(), spec)
	require.NoError(t, err)
}

func TestCheckOfAMissingTable(t *testing.T) {
	t.Parallel()
	client := dynamolocal.Client(dynamotest.Endpoint(t))
	err := dynamo.New(client, "dynamo-test-missing").Check(t.Context())
	requireStoreError(t, err, "check", store.FailureMissingTable, true)
	require.ErrorContains(t, err, `DescribeTable of table "dynamo-test-missing"`)
}

func TestCheckWithAClientThatCannotDescribe(t *testing.T) {
	t.Parallel()
	require.Contains(t, problemsOf(t, dynamo.New(wall(nil), table).Check(t.Context()))[0],
		`table "idempotency" cannot be checked: client dynamo_test.fake has no DescribeTable`)
}

func TestCheckOfTheTablesThatAreCommittedInto(t *testing.T) {
	t.Parallel()
	s, client, _ := local(t)
	orders := ordersTable(t, client)
	require.NoError(t, s.Check(t.Context(), orders))
	require.Equal(t, []string{
		`table "dynamo-test-missing": there is none in this account and Region`,
		`table "no table": that is not the name or ARN of a DynamoDB table`,
		`table "dynamo-test-missing-2": there is none in this account and Region`,
	}, problemsOf(t, s.Check(t.Context(), orders, "dynamo-test-missing", "no table", "dynamo-test-missing-2")))
}

// TestCheckOfOtherTables are those that DynamoDB Local does not have: without transactions, in the
// making, and such as nobody may look at.
func TestCheckOfOtherTables(t *testing.T) {
	t.Parallel()
	described := func(account, rest string) reply {
		return ok(`{"Table":{"TableStatus":"ACTIVE","KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],
			"TableArn":"arn:aws:dynamodb:eu-central-1:` + account + `:table/t"` + rest + `}}`)
	}
	live := func(status string) reply {
		return ok(`{"TimeToLiveDescription":{"TimeToLiveStatus":"` + status + `","AttributeName":"expiration"}}`)
	}
	const ours, theirs, strong = "123456789012", "210987654321", `,"MultiRegionConsistency":"STRONG"`
	healthy := func(other reply) []reply { return []reply{described(ours, ""), live("ENABLED"), other} }
	deleting := ok(`{"Table":{"TableStatus":"DELETING","KeySchema":[{"AttributeName":"id","KeyType":"HASH"}]}}`)
	const without = `": it has multi-Region strong consistency, and so no transactions: `
	const noCommit, noRows = without + "no handler can commit", without + "nothing can be committed into it"
	const apart = `": it is in another account or Region than the table of records, and no transaction spans two`
	none, orders := []string(nil), []string{"orders"}
	for name, c := range map[string]struct {
		replies  []reply
		into     []string // that handlers commit
		problems []string
		denied   string
	}{
		"fine": {healthy(described(ours, `,"MultiRegionConsistency":"EVENTUAL"`)), orders, nil, ""},
		"both are": {
			[]reply{described(ours, strong), described(ours, strong)},
			orders,
			[]string{`table "idempotency` + noCommit, `table "orders` + noRows},
			"",
		},
		"nobody commits":  {[]reply{described(ours, strong), live("ENABLED")}, none, nil, ""},
		"another account": {healthy(described(theirs, "")), orders, []string{`table "orders` + apart}, ""},
		"not ready": {
			healthy(ok(`{"Table":{"TableStatus":"CREATING"}}`)),
			orders,
			[]string{`table "orders": status is CREATING, not ACTIVE`},
			"",
		},
		"denied":                {[]reply{denied}, none, nil, `DescribeTable of table "idempotency"`},
		"the other one, denied": {healthy(denied), orders, nil, `DescribeTable of table "orders"`},
		"one strong, one denied": {
			[]reply{denied, described(ours, strong)},
			orders,
			[]string{`table "orders` + noRows},
			`DescribeTable of table "idempotency"`,
		},
		"time to live, denied": {
			[]reply{deleting, denied},
			none,
			[]string{`table "idempotency": status is DELETING, not ACTIVE`},
			`DescribeTimeToLive of table "idempotency"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := scripted(c.replies...)
			err := s.Check(t.Context(), c.into...)
			if c.problems == nil && c.denied == "" {
				require.NoError(t, err)
				return
			}
			if c.problems != nil {
				require.Equal(t, c.problems, problemsOf(t, err))
			} else {
				require.NotErrorAs(t, err, new(*store.ConfigError))
			}
			if c.denied != "" {
				requireStoreError(t, err, "check", store.FailureAccessDenied, true)
				require.ErrorContains(t, err, c.denied)
			}
		})
	}
}

// describing is a client that has no transactions.
type describing struct {
	dynamo.Client
	dynamo.Describer
}

func TestCheckWithAClientThatHasNoTransactions(t *testing.T) {
	t.Parallel()
	_, client, table := local(t)
	s := dynamo.New(describing{client, client}, table)
	require.NoError(t, s.Check(t.Context()), "which only a commit needs")
	require.Equal(t, []string{"client dynamo_test.describing has no TransactWriteItems: there is no commit with it"},
		problemsOf(t, s.Check(t.Context(), table)))
}

// renamed gives every attribute that can be renamed another name; many are reserved words of
// DynamoDB, or no names of expressions.
func renamed() dynamo.Attributes {
	return dynamo.Attributes{
		Key: "key", Status: "state", Expiration: "ttl", Lease: "time", Data: "a.b", Validation: "#l",
	}
}

// shaped is the configuration of a store whose every name is another one, on a table with a sort
// key.
func shaped() []dynamo.Config {
	return []dynamo.Config{{Attributes: renamed(), SortKey: "range", Partition: "tenant-1", InlineLimit: 16}}
}

func TestEveryAttributeOfPowertoolsIsRenamed(t *testing.T) {
	t.Parallel()
	client, table := newTableOf(t, shaped()...)
	s := dynamo.New(client, table, shaped()...)
	require.NoError(t, s.Check(t.Context()))

	inProgress := record("charge#1")
	small := completion(record("charge#2"), []byte(`"a"`))
	small.Reason, small.Layout, small.CompletedAt = "error", store.LayoutText, claimTime
	small.SettledBy, small.SettledAt, small.SettledReason = "dana", claimTime, "ticket 1"
	unknown := record("charge#0")
	unknown.Status, unknown.Attention, unknown.AttentionAt = store.StatusUnknown, "charge#1", claimTime
	unknown.Derived = []string{"charge"}
	unknown.Unmarked, unknown.StepNames = true, []string{"charge", "mail"}
	binary := completion(record("charge#3"), []byte("\"\xff\""))
	large := completion(record("charge#4"), pattern(1<<20))
	for _, r := range []store.Record{inProgress, small, binary, large, unknown} {
		mustClaim(t, s, r, claimTime)
	}
	inProgress = writeSteps(t, s, inProgress, steps{
		"reserve": stepValue("owner-1", ""), "charge": startMark("owner-1"),
		"mail": stepValue("owner-1", `{"id":"m_1"}`),
	})
	require.JSONEq(t, `{"id":"m_1"}`, string(resultOf(t, s, inProgress.OfStep(inProgress.Steps["mail"]))))
	inProgress = writeSteps(t, s, inProgress, steps{"charge": removal()})
	require.Equal(t, 2, inProgress.StepWrites)
	names := make(map[string]bool)
	for _, it := range scan(t, client, table) {
		assert.Equal(t, S("tenant-1"), it["key"])
		assert.Contains(t, it, "range")
		for name := range it {
			names[name] = true
		}
	}
	assert.ElementsMatch(t, []string{
		"key", "range", "state", "ttl", "time", "a.b", "#l", "owner", "commit", "attempt", "created_at", "reason",
		"parts", "encoding", "layout",
		"completed_at", "settled_by", "settled_at", "settled_reason", "attention", "attention_at", "derived",
		"unmarked", "step_names", "steps", "step:reserve", "step:mail",
	}, slices.Collect(maps.Keys(names)))

	require.Equal(t, large.Result, resultOf(t, s, mustGet(t, s, "charge#4")))
}

// TestNamesCollide: two attributes of one name would overwrite each other.
func TestNamesCollide(t *testing.T) {
	t.Parallel()
	named := func(a dynamo.Attributes) dynamo.Config { return dynamo.Config{Attributes: a} }
	for name, c := range map[string]struct {
		config  dynamo.Config
		problem string
	}{
		"two of Powertools": {
			named(dynamo.Attributes{Status: "data"}), `the attributes status and data have one name, "data"`,
		},
		"with one of this module": {
			named(dynamo.Attributes{Key: "owner"}), `the attributes id and owner have one name, "owner"`,
		},
		"partition and sort key": {
			dynamo.Config{SortKey: "id"}, `the attributes id and sort have one name, "id"`,
		},
		"a name that begins with the prefix of steps": {
			named(dynamo.Attributes{Data: "step:data"}),
			`the name "step:data" of the attribute data begins with "step:", as those of steps do`,
		},
		"a sort key that begins with the prefix of steps": {
			dynamo.Config{SortKey: "step:", Partition: "p"},
			`the name "step:" of the attribute sort begins with "step:", as those of steps do`,
		},
		"a default that was renamed away is free": {named(dynamo.Attributes{Key: "pk", Data: "id"}), ""},
		"no sort key": {dynamo.Config{Partition: "p"}, "Partition: there is no SortKey"},
		"long partition": {
			dynamo.Config{SortKey: "sk", Partition: strings.Repeat("x", 2049)},
			"Partition: 2049 bytes are not UTF-8 of at most 2048",
		},
		"long name": {
			named(dynamo.Attributes{Data: strings.Repeat("x", 256)}),
			`of the attribute data is not UTF-8 of at most 255 bytes`,
		},
		"no UTF-8": {
			named(dynamo.Attributes{Data: "\xff"}), `the name "\xff" of the attribute data is not UTF-8`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for what, do := range map[string]func(){
				"New":                  func() { dynamo.New(wall(nil), table, c.config) },
				"TableDefinition":      func() { dynamo.TableDefinition(table, c.config) },
				"TimeToLiveDefinition": func() { dynamo.TimeToLiveDefinition(table, c.config) },
			} {
				if c.problem == "" {
					require.NotPanics(t, do, what)
				} else {
					assert.Contains(t, strings.Join(configtest.ProblemsOf(t, do), "\n"), c.problem, what)
				}
			}
		})
	}
}

func TestDefaultPartitionIsThatOfPowertools(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "pay")
	tr := answering(done)
	s := dynamo.New(scriptedClient(tr), table, dynamo.Config{SortKey: "sk"})
	_, _, err := s.Get(t.Context(), "k")
	require.NoError(t, err)
	var sent struct{ Key json.RawMessage }
	require.NoError(t, json.Unmarshal(tr.requests[0].Body, &sent))
	require.JSONEq(t, `{"id":{"S":"idempotency#pay"},"sk":{"S":"k"}}`, string(sent.Key))
}

func TestCheckFollowsTheShape(t *testing.T) {
	t.Parallel()
	client, plain := newTableOf(t)
	require.Equal(t, []string{
		`table "` + plain + `": partition key is "id", expected "key" with the sort key "range"`,
		`table "` + plain + `": time to live is on "expiration", expected on "ttl"`,
	}, problemsOf(t, dynamo.New(client, plain, shaped()...).Check(t.Context())))

	client, composite := newTableOf(t, shaped()...)
	require.NoError(t, dynamo.CreateTable(t.Context(), client, composite, shaped()...), "again")
	require.Contains(t, problemsOf(t, dynamo.New(client, composite).Check(t.Context())),
		`table "`+composite+`": partition key is "key" with the sort key "range", expected "id"`)
}

// TestTheLongestKeysFitASortKey: 1,024 bytes, for the key of a record and those of its parts.
func TestTheLongestKeysFitASortKey(t *testing.T) {
	t.Parallel()
	opts := []dynamo.Config{{SortKey: "sk", Partition: "p"}}
	client, table := newTableOf(t, opts...)
	s := dynamo.New(client, table, opts...)
	key := strings.Repeat("o", 255) + "#" + strings.Repeat("h", 43) // the longest name of an operation, and a digest
	r := completion(record(key), pattern(9<<20))
	mustClaim(t, s, r, claimTime)
	require.Equal(t, r.Result, resultOf(t, s, mustGet(t, s, key)))

	longest := strings.Repeat("k", 1024)
	mustClaim(t, s, record(longest), time.Now())
}

func noTable(name string) string {
	return fmt.Sprintf("dynamo.New: table %q is not the name or ARN of a DynamoDB table", name)
}

func TestConfigurationProblemsAreNamedAllAtOnce(t *testing.T) {
	t.Parallel()
	var none *dynamodb.Client
	require.Equal(t, []string{
		"dynamo.New: the client is nil", noTable(""), "dynamo.New: there are 2 values of Config, and one counts",
		"dynamo.New: InlineLimit: 393217 is more than 393216 bytes",
	}, configtest.ProblemsOf(t, func() { dynamo.New(none, "", dynamo.Config{InlineLimit: 393217}, dynamo.Config{}) }))
}

func TestNamesOfTables(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"abc", "Idempotency_1.prod-eu", strings.Repeat("a", 255),
		"arn:aws:dynamodb:eu-central-1:123456789012:table/idempotency",
		"arn:aws-us-gov:dynamodb:us-gov-west-1:123456789012:table/idempotency",
	} {
		require.NotPanics(t, func() { dynamo.New(wall(nil), name, dynamo.Config{InlineLimit: 393216}) }, name)
	}
	for _, name := range []string{
		"", "ab", strings.Repeat("a", 256), "my table", "tab\nle", "table\n", "täble", "a/b", "a:b:c",
		"arn:aws:dynamodb:eu-central-1:123456789012:table/",
		"arn:aws:dynamodb:eu-central-1:123456789012:table/ab",
		"arn:aws:dynamodb:eu-central-1:123456789012:index/idempotency",
		"arn:aws:dynamodb:eu-central-1:123456789012:table/idempotency/index/x",
		"arn:aws:dynamodb:eu-central-1:12345678901:table/idempotency",
		"arn:aws:dynamodb:eu-central-1:12345678901x:table/idempotency",
		"arn:aws:s3:eu-central-1:123456789012:table/idempotency",
		"arn:AWS:dynamodb:eu-central-1:123456789012:table/idempotency",
		"arn::dynamodb:eu-central-1:123456789012:table/idempotency",
		"arn:aws:dynamodb::123456789012:table/idempotency",
		"xrn:aws:dynamodb:eu-central-1:123456789012:table/idempotency",
		"arn:aws:dynamodb:eu-central-1:123456789012:table/idempotency:x",
	} {
		require.Equal(t, []string{noTable(name)}, configtest.ProblemsOf(t, func() { dynamo.New(wall(nil), name) }))
	}
}

// TestZeroStoreSaysSo: a Store that New has not made has no client and no table.
func TestZeroStoreSaysSo(t *testing.T) {
	t.Parallel()
	var none *dynamo.Store
	for name, s := range map[string]*dynamo.Store{"zero": {}, "nil": none} {
		large := completion(record("k"), bytes.Repeat([]byte("x"), 10_000))
		errs := everyCall(t.Context(), s)
		_, _, errs["commit"] = s.Commit(t.Context(), record("k"), completion(record("k"), []byte("x")), nil, "token")
		errs["apply"] = s.Apply(t.Context(), nil, "token")
		for op, err := range errs {
			requireStoreError(t, err, op, store.FailureRejected, true)
			require.ErrorContains(t, err, "dynamo.New has not made this Store", name)
		}
		_, _, err := s.Claim(t.Context(), large, claimTime)
		requireStoreError(t, err, "claim", store.FailureRejected, true)
		_, _, err = s.Swap(t.Context(), record("k"), large)
		requireStoreError(t, err, "swap", store.FailureRejected, true)
		require.Equal(t, []string{"dynamo.New has not made this Store: its zero value is not usable"},
			problemsOf(t, s.Check(t.Context())))
	}
}

func TestActionsAreTheCallsOfAClient(t *testing.T) {
	t.Parallel()
	client := reflect.TypeFor[dynamo.Client]()
	calls := make([]string, client.NumMethod())
	for i := range calls {
		calls[i] = "dynamodb:" + client.Method(i).Name
	}
	require.Equal(t, calls, dynamo.Actions(), "reflection sorts by name")
}
