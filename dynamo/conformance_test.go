package dynamo_test

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

// listLag is more than a global secondary index of DynamoDB lags behind. That of DynamoDB Local
// does not.
const listLag = 20 * time.Second

func TestStore(t *testing.T) {
	t.Parallel()
	records, client, table := local(t)
	f := storetest.Features{Foreign: foreign(client, table), ListLag: listLag, Writes: orderRows(t, client)}
	storetest.Run(t, f, func(testing.TB) store.Store { return records })
}

// manyValues are cases that write many values, or large ones, one after the other.
var manyValues = regexp.MustCompile("/(Fields/keep_odd_(in|te)|Steps/are_kept|Layout/.*_comes?_back)")

// only limits a run of the conformance suite to some of its groups, where the others see nothing
// that TestStore does not. What the group Commit repeats of the others is limited to writes of a
// record, and of its parts. Cases with many values are left out: values are written as on any
// table.
func only(tb testing.TB, groups ...string) {
	tb.Helper()
	name := strings.Split(tb.Name(), "/")
	_, ofCommits, _ := strings.Cut(tb.Name(), "/Commit/")
	of, _, _ := strings.Cut(ofCommits, "_")
	again := of != strings.ToLower(of) && of != "Swap" && of != "Parts"
	if !slices.Contains(groups, name[1]) || again || manyValues.MatchString(tb.Name()) {
		tb.Skip("TestStore runs it")
	}
}

// TestStoreOnATableOfAnotherShape: the contract does not depend on names, nor on the key. What
// differs is in each item and each request, so one check of a kind suffices: no races, and no
// sizes.
func TestStoreOnATableOfAnotherShape(t *testing.T) {
	t.Parallel()
	client, table := newTableOf(t, shaped()...)
	records := dynamo.New(client, table, shaped()...)
	f := storetest.Features{ListLag: listLag, Writes: orderRows(t, client)}
	storetest.Run(t, f, func(tb testing.TB) store.Store {
		only(tb, "List", "Claim", "Swap", "Delete", "Seen", "Get", "Fields", "Layout", "Parts", "Steps", "Commit")
		return records
	})
}

// orderRows lets the conformance suite commit rows to a table of orders.
func orderRows(t *testing.T, client *dynamodb.Client) *storetest.Writes {
	t.Helper()
	table := ordersTable(t, client)
	return &storetest.Writes{
		Of: func(rows ...storetest.Row) store.Writes {
			items := make([]dynamo.Item, len(rows))
			for n, r := range rows {
				adds := terms{values: map[string]any{":one": 1}}
				if r.New {
					adds.when = "attribute_not_exists(order_id)"
				}
				items[n] = sdkUpdate(table, orderKey{r.Name}, "ADD amount :one", adds)
			}
			return writesOf(t, items...)
		},
		Count: func(ctx context.Context, _ store.Store, name string) (int, error) {
			it, err := look(ctx, client, table, item{"order_id": S(name)})
			if err != nil || it == nil {
				return 0, err
			}
			return strconv.Atoi(it["amount"].(*types.AttributeValueMemberN).Value)
		},
	}
}
