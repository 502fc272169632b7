package main_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// large is an endpoint with a table of a million records of 1 KB, of which two wait for somebody.
// It answers with pages.
type large struct {
	t     *testing.T
	mu    sync.Mutex
	calls []string
	// pages is after how many pages a scan ends.
	pages int
	// mayDescribe says whether the size of the table can be looked at.
	mayDescribe bool
}

func newLarge(t *testing.T) (*large, option) {
	t.Helper()
	l := &large{t: t, pages: 3, mayDescribe: true}
	s := httptest.NewServer(l)
	t.Cleanup(s.Close)
	return l, env("IDEMPOTENCY_TABLE=million", "AWS_ENDPOINT_URL_DYNAMODB="+s.URL)
}

func (l *large) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, call, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	body, err := io.ReadAll(r.Body)
	assert.NoError(l.t, err)
	var in struct{ IndexName string }
	assert.NoError(l.t, json.Unmarshal(body, &in))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, strings.TrimSpace(call+" "+in.IndexName))
	n := 0
	for _, c := range l.calls {
		if strings.HasPrefix(c, "Scan") {
			n++
		}
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	switch {
	case call == "DescribeTable" && !l.mayDescribe:
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"__type":"com.amazon.coral.service#AccessDeniedException","message":"no"}`)
	case call == "DescribeTable":
		fmt.Fprint(w, `{"Table":{"TableStatus":"ACTIVE","ItemCount":1000000,"TableSizeBytes":1024000000,
			"GlobalSecondaryIndexes":[{"IndexName":"attention-index","IndexStatus":"ACTIVE","ItemCount":2,"IndexSizeBytes":400}]}}`)
	case call == "GetItem":
		fmt.Fprintf(w, `{"Item":%s}`, unknownItem(1))
	case in.IndexName != "":
		fmt.Fprintf(w, `{"Items":[%s],"Count":1,"ScannedCount":1,"ConsumedCapacity":{"CapacityUnits":0.5}}`, unknownItem(n))
	case n < l.pages:
		fmt.Fprintf(w, `{"Items":[%s],"Count":1,"ScannedCount":1024,"ConsumedCapacity":{"CapacityUnits":128},"LastEvaluatedKey":{"id":{"S":"charge#%d"}}}`, unknownItem(n), n)
	default:
		fmt.Fprintf(w, `{"Items":[%s],"Count":1,"ScannedCount":1024,"ConsumedCapacity":{"CapacityUnits":128}}`, unknownItem(n))
	}
}

func unknownItem(n int) string {
	return fmt.Sprintf(`{"id":{"S":"charge#%d"},"status":{"S":"UNKNOWN"},"expiration":{"N":"4102444800"},"reason":{"S":"crashed"},
		"attention":{"S":"charge#0"},"attention_at":{"N":"1782871200000"}}`, n)
}

func (l *large) forbidDescription() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mayDescribe = false
}

// made are the calls, sorted: the records that a page has are read side by side.
func (l *large) made() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(slices.Values(l.calls))
}

const toldOfTheTable = "Reads the whole table: about 1000000 records in 977 pages, 125000 read units, 4m10s at " +
	"--rate 500, by a count that may be six hours old."

func TestWhatALargeListingReadsIsTold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args string
		says []string
		// rows is how many records are listed, calls is how many calls are made; made, unless
		// empty, are those, sorted.
		rows, calls int
		made        string
	}{
		"with the index": {args: "list", says: []string{
			"Reads the index of records with attention, and then each of them: about 2 records in 1 page, 0.5 read units",
		}, rows: 1, calls: 3, made: "DescribeTable, GetItem, Scan attention-index"},
		// The shards of the index, and those that were given up, and an entry of each.
		"of one operation": {args: "list --operation charge", rows: 11, calls: 1 + 11 + 11},
		"of the whole table": {args: "list --scan", says: []string{
			toldOfTheTable, "3 records (read 3072 records in 3 pages, 384 read units).",
		}, rows: 3, calls: 7, made: "DescribeTable, GetItem, GetItem, GetItem, Scan, Scan, Scan"},
		"a limit gives the oldest": {args: "list --scan --rate 0 --limit 1", says: []string{
			"3 records, of which --limit left out 2, the youngest (read 3072 records in 3 pages",
		}, rows: 1, calls: 7},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, endpoint := newLarge(t)
			r := runs(t, c.args, endpoint)
			for _, says := range c.says {
				assert.Contains(t, r.err, says)
			}
			assert.Equal(t, c.rows, strings.Count(r.out, "charge#"), r.out)
			assert.Len(t, l.made(), c.calls)
			if c.made != "" {
				assert.Equal(t, c.made, strings.Join(l.made(), ", "))
			}
		})
	}
	t.Run("at a rate", func(t *testing.T) {
		t.Parallel()
		_, endpoint := newLarge(t)
		began := time.Now()
		runs(t, "list --scan --rate 256", endpoint)
		assert.GreaterOrEqual(t, time.Since(began), time.Second, "two pages of 128 units before the last one")
	})
	t.Run("the size cannot be looked at", func(t *testing.T) {
		t.Parallel()
		l, endpoint := newLarge(t)
		l.forbidDescription()
		assert.Contains(t, runs(t, "list --scan", endpoint).err, "How much this reads cannot be told")
	})
}
