package dynamo_test

import (
	"crypto/rand"
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
}

func TestCheckNamesEveryProblem(t *testing.T) {
	t.Parallel()
	client := dynamolocal.Client(dynamolocal.Endpoint(t))
	define := func(in *dynamodb.CreateTableInput, name string, of types.ScalarAttributeType, part types.KeyType) {
		in.AttributeDefinitions = append(in.AttributeDefinitions,
			types.AttributeDefinition{AttributeName: aws.String(name), AttributeType: of})
		in.KeySchema = append(in.KeySchema, types.KeySchemaElement{AttributeName: aws.String(name), KeyType: part})
	}
	keyed := func(partition, sort string, of types.ScalarAttributeType) func(in *dynamodb.CreateTableInput) {
		return func(in *dynamodb.CreateTableInput) {
			in.AttributeDefinitions, in.KeySchema, in.GlobalSecondaryIndexes = nil, nil, nil
			define(in, partition, of, types.KeyTypeHash)
			if sort != "" {
				define(in, sort, types.ScalarAttributeTypeS, types.KeyTypeRange)
			}
		}
	}
	right := func(*dynamodb.CreateTableInput) {}
	const noTTL = `time to live is DISABLED, expected ENABLED on "expiration"`
	for name, c := range map[string]struct {
		change   func(in *dynamodb.CreateTableInput)
		ttl      string
		problems []string
	}{
		"no time to live": {right, "", []string{noTTL}},
		"time to live on another attribute": {
			right, "ttl", []string{`time to live is on "ttl", expected on "expiration"`},
		},
		"another key": {
			keyed("pk", "", types.ScalarAttributeTypeS), "expiration", []string{`partition key is "pk", expected "id"`},
		},
		"another type": {
			keyed("id", "", types.ScalarAttributeTypeN), "expiration",
			[]string{`key attribute "id" has type N, expected S`},
		},
		"everything": {
			keyed("pk", "sk", types.ScalarAttributeTypeS), "",
			[]string{`partition key is "pk" with the sort key "sk", expected "id"`, noTTL},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := dynamo.TableDefinition("dynamo-test-" + rand.Text())
			c.change(in)
			makeTable(t, client, in, c.ttl)
			for i, p := range c.problems {
				c.problems[i] = `table "` + *in.TableName + `": ` + p
			}
			require.Equal(t, c.problems, problemsOf(t, dynamo.New(client, *in.TableName).Check(t.Context())))
			if c.ttl != "" { // a wrong table is not taken for the right one
				require.NotEmpty(t, problemsOf(t, dynamo.CreateTable(t.Context(), client, *in.TableName)))
			}
		})
	}
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
