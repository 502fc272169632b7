package dynamo_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/store"
)

// complete does what AWS Powertools does at the end of an execution: an update without a condition.
func complete(t *testing.T, client *dynamodb.Client, table, key string, data types.AttributeValue) {
	t.Helper()
	_, err := client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName:                aws.String(table),
		Key:                      item{"id": S(key)},
		UpdateExpression:         aws.String("SET #data = :data, #expiration = :expiration, #status = :status"),
		ExpressionAttributeNames: map[string]string{"#data": "data", "#expiration": "expiration", "#status": "status"},
		ExpressionAttributeValues: item{
			":data": data, ":expiration": N("1800090000"), ":status": S("COMPLETED"),
		},
	})
	require.NoError(t, err)
}

// TestLeftovers lets AWS Powertools complete a record that this module has written, in each of its
// states.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	s, client, table := local(t)
	live := record("")
	unknown := live
	unknown.Status, unknown.Reason = store.StatusUnknown, "result-lost"
	failed := completion(live, []byte(`"no"`))
	failed.Reason = "error"
	for name, held := range map[string]store.Record{
		"in progress":        live,
		"unknown":            unknown,
		"completed":          completion(live, []byte(`{"id":"ch_1"}`)),
		"terminal error":     failed,
		"completed in parts": completion(live, pattern(1<<20)),
		"completed binary":   completion(live, []byte("\"\xff\"")),
	} {
		t.Run(name, func(t *testing.T) {
			held.Key = "charge#" + name
			mustClaim(t, s, held, claimTime)
			complete(t, client, table, held.Key, S(`{"ok": true}`))

			got := mustGet(t, s, held.Key)
			require.Equal(t, store.StatusCompleted, got.Status)
			require.Equal(t, `{"ok": true}`, string(got.Result))
			require.Empty(t, got.Seal)
			require.Empty(t, got.Parts)
			require.Empty(t, got.Reason)
			require.Equal(t, held.Owner, got.Owner, "the conditions of a later write need it")

			for _, result := range [][]byte{got.Result, []byte("\"\xfe\"")} {
				next := completion(got, result)
				mustSwap(t, s, got, next)
				got := mustGet(t, s, held.Key)
				require.Equal(t, next, got, "no leftover counts under the new commit")
			}
		})
	}
}

// TestRecordsOfPowertools reads items as each of its versions writes them.
func TestRecordsOfPowertools(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		item   item
		result string
	}{
		"in progress": {item{
			"id": S("p#1"), "status": S("INPROGRESS"), "expiration": N("1795265229"),
			"in_progress_expiration": N("1795261659803"),
		}, ""},
		"without a lease": {item{"id": S("p#1"), "status": S("INPROGRESS"), "expiration": N("1795265229")}, ""},
		"completed": {item{
			"id": S("p#1"), "status": S("COMPLETED"), "expiration": N("1795265229"),
			"in_progress_expiration": N("1795261659803"),
			"data":                   S(`{"ok": true}`), "validation": S("09lEaAKkQll1XTjm0WPoIA=="),
		}, `{"ok": true}`},
		"completed without a value": {
			item{"id": S("p#1"), "status": S("COMPLETED"), "expiration": N("1795265229")},
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := read(c.item)
			require.NoError(t, err)
			require.Empty(t, got.Owner)
			require.Empty(t, got.Seal)
			require.Equal(t, c.result, string(got.Result))
		})
	}
}

// TestTakeoverOfAFractionalExpiry: the comparison with what was seen holds although reading rounded
// it.
func TestTakeoverOfAFractionalExpiry(t *testing.T) {
	t.Parallel()
	s, client, table := local(t)
	for _, expiration := range []string{"1800000000", "1800000000.5", "1799999999.001"} {
		putItem(t, client, table, item{"id": S("p#1"), "status": S("INPROGRESS"), "expiration": N(expiration)})
		seen := mustGet(t, s, "p#1")
		for _, off := range []int{-1, 1} {
			other := seen
			other.Expiry = other.Expiry.AddDate(0, 0, off)
			_, swapped, err := s.Swap(t.Context(), other, record("p#1"))
			require.NoError(t, err)
			require.False(t, swapped)
		}
		_, swapped, err := s.Swap(t.Context(), seen, record("p#1"))
		require.NoError(t, err)
		require.True(t, swapped, expiration)
	}
}

// TestLaterVersionsAreNotMisread: an encoding says nothing about text.
func TestLaterVersionsAreNotMisread(t *testing.T) {
	t.Parallel()
	s := dynamo.New(wall(items(native()).with(item{"encoding": S("zstd")})), table)
	r, _, err := s.Get(t.Context(), "k")
	require.NoError(t, err, "the commit covers the text, whatever else is left over")
	require.True(t, r.Sealed(r.Result))
}

// TestStepsOfARecordThatOthersRead: steps are always kept in the own form, whatever the layout of
// the result is.
func TestStepsOfARecordThatOthersRead(t *testing.T) {
	t.Parallel()
	opts := []dynamo.Config{{SortKey: "sk", Partition: "p"}}
	client, table := newTableOf(t, opts...)
	s := dynamo.New(client, table, opts...)
	for _, layout := range []store.Layout{store.LayoutText, store.LayoutValue} {
		held := record("charge#" + string(layout))
		held.Layout = layout
		held = claims(t, s, held)
		changes := steps{
			"charge": stepValue("owner-1", ` {"b":1,"a":2} `),
			"mail":   stepValue("owner-1", string(orders(60_000))), "ship": startMark("owner-1"),
		}
		held = writeSteps(t, s, held, changes)
		require.Equal(t, layout, held.Layout)
		require.Equal(t, changes["charge"], held.Steps["charge"])
		require.Equal(t, orders(60_000), resultOf(t, s, held.OfStep(held.Steps["mail"])))

		mustSwap(t, s, held, completion(held, []byte(`{"a":2,"b":1}`)))
		it := getByKey(t, client, table, item{"id": S("p"), "sk": S(held.Key)})
		for _, name := range []string{"steps", "step:charge", "step:mail", "step:ship"} {
			require.NotContains(t, it, name)
		}
	}
}
