package dynamo_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/store"
)

// TestADeleteLeavesAnotherRecordAlone: what a delete compares is all that keeps a stale owner, or
// one that completed meanwhile, from deleting what protects an effect.
func TestADeleteLeavesAnotherRecordAlone(t *testing.T) {
	t.Parallel()
	s, _, _ := local(t)
	for name, becomes := range map[string]func(r store.Record) store.Record{
		"the same owner completed it": func(r store.Record) store.Record {
			return completion(r,
				[]byte(`{"id":"ch_1"}`))
		},
		"the same owner gave it up": func(r store.Record) store.Record {
			r.Status = store.StatusUnknown
			return r
		},
		"another owner took it over": func(r store.Record) store.Record { r.Owner = "owner-2"; return r },
		"another owner completed it": func(r store.Record) store.Record {
			r.Owner = "owner-2"
			return completion(r, []byte(`1`))
		},
		"the lease that was seen changed": func(r store.Record) store.Record {
			r.Lease = r.Lease.Add(time.Second)
			return r
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := record("charge#" + name)
			held := becomes(seen)
			mustClaim(t, s, held, claimTime)

			deleted, err := s.Delete(t.Context(), seen)
			require.NoError(t, err)
			require.False(t, deleted)
			got, found, err := s.Get(t.Context(), held.Key)
			require.NoError(t, err)
			require.True(t, found, "it is still held")
			require.Equal(t, held, got)

			deleted, err = s.Delete(t.Context(), held)
			require.NoError(t, err)
			require.True(t, deleted, "who saw it deletes it")
		})
	}
}
