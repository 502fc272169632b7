package dynamo_test

import (
	"cmp"
	"crypto/rand"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
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
	client := dynamolocal.Client(dynamolocal.Endpoint(t))
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
	dynamolocal.DropAfter(t, client, *in.TableName)
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
	client := dynamolocal.Client(dynamolocal.Endpoint(t))
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
