package dynamo_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/store"
)

// orders is an answer as an API gives it, of about this size in bytes.
func orders(size int) []byte {
	random := mathrand.New(mathrand.NewPCG(1, uint64(size)))
	var body strings.Builder
	for body.Len() < size {
		fmt.Fprintf(&body, `{"id":"ord_%016x","status":"%s","amount":%d,"currency":"EUR","customer":{"email":"user%d@example.com"}},`,
			random.Uint64(), []string{"paid", "shipped", "returned"}[random.IntN(3)], random.IntN(100_000),
			random.IntN(10_000))
	}
	out, err := json.Marshal(map[string]any{"statusCode": 200, "body": body.String()[:size*4/5]})
	if err != nil {
		panic(err)
	}
	return out
}

// keep stores a completed record and returns its item.
func (m *memoryTable) keep(t require.TestingT, s *dynamo.Store, result []byte) item {
	_, claimed, err := s.Claim(context.Background(), completion(record("k"), result), claimTime)
	require.NoError(t, err)
	require.True(t, claimed)
	return m.items["k"]
}

// whole reads the record and its result, wherever it is.
func whole(t require.TestingT, s *dynamo.Store) ([]byte, error) {
	r, found, err := s.Get(context.Background(), "k")
	if err != nil {
		return nil, err
	}
	require.True(t, found)
	if r.Parts == "" {
		return r.Result, nil
	}
	require.Nil(t, r.Result)
	return s.ReadResult(context.Background(), r)
}

func requireKept(t require.TestingT, s *dynamo.Store, result []byte) {
	got, err := whole(t, s)
	require.NoError(t, err)
	require.True(t, bytes.Equal(result, got))
}

func textOf(v types.AttributeValue) string {
	s, _ := v.(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}

// TestWhatIsCompressed: only what saves a write unit, and never what others read.
func TestWhatIsCompressed(t *testing.T) {
	t.Parallel()
	plain, inParts := dynamo.Config{NoCompression: true}, dynamo.Config{InlineLimit: -1}
	usual, inline := dynamo.Config{}, dynamo.Config{InlineLimit: 384 << 10}
	for name, c := range map[string]struct {
		result   []byte
		config   dynamo.Config
		encoding string
		parts    bool
	}{
		"one unit":                  {orders(660), usual, "", false},
		"two units":                 {orders(900), usual, "gzip", false},
		"4 KB":                      {orders(4 << 10), usual, "gzip", false},
		"beyond the limit":          {orders(12 << 10), usual, "gzip", false},
		"beyond it, compressed":     {orders(100 << 10), usual, "gzip", true},
		"not wanted":                {orders(4 << 10), plain, "", false},
		"not wanted, large":         {orders(12 << 10), plain, "", true},
		"small, in parts":           {orders(300), inParts, "", true},
		"in parts, compressed":      {orders(4 << 10), inParts, "gzip", true},
		"no smaller":                {pattern(3 << 10), usual, "identity", false},
		"no smaller, in parts":      {pattern(5 << 10), usual, "", true},
		"large, and small as gzip":  {[]byte(`"` + strings.Repeat("x", 4*partSize) + `"`), usual, "gzip", false},
		"large and all in the item": {orders(100 << 10), inline, "gzip", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMemoryTable()
			s := dynamo.New(m, table, c.config)
			it := m.keep(t, s, c.result)
			require.Equal(t, c.parts, m.rounds > 0)
			require.Equal(t, c.encoding, textOf(it["encoding"]))
			require.Equal(t, c.parts, it["parts"] != nil)
			require.Equal(t, c.parts, it["data"] == nil)
			requireKept(t, s, c.result)
		})
	}
	for name, change := range map[string]func(*store.Record){
		"text":  func(r *store.Record) { r.Layout = store.LayoutText },
		"value": func(r *store.Record) { r.Layout = store.LayoutValue },
		// Nobody could tell whether it is what was written.
		"not sealed": func(r *store.Record) { r.Seal = "owner-1.of another result" },
	} {
		m := newMemoryTable()
		r := completion(record("k"), []byte(`"`+strings.Repeat("x", 100_000)+`"`))
		change(&r)
		mustClaim(t, dynamo.New(m, table), r, claimTime)
		require.Empty(t, m.items["k"]["encoding"], name)
		require.Greater(t, len(textOf(m.items["k"]["data"])), 99_999, name)
	}
}

// TestEveryWriterIsReadByEveryReader, whatever their options are.
func TestEveryWriterIsReadByEveryReader(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := newMemoryTable()
		records := func(name string) *dynamo.Store {
			return dynamo.New(m, table, dynamo.Config{
				NoCompression: rapid.Bool().Draw(t, name+" does not compress"),
				InlineLimit:   rapid.SampledFrom([]int{-1, 100, 4 << 10, 384 << 10}).Draw(t, name+" limit"),
			})
		}
		writer, reader := records("writer"), records("reader")
		near := rapid.SampledFrom([]int{
			0, 1, 674, 1024, 1698, 4 << 10, 12 << 10, partSize, 500 << 10,
			600 << 10, 3 * partSize,
		})
		size := max(0, near.Draw(t, "near")+rapid.IntRange(-2, 2).Draw(t, "off"))
		kinds := map[string]func(int) []byte{
			"json": orders, "random": pattern,
			"zeros": func(n int) []byte { return make([]byte, n) }, "base64": base64Text,
		}
		result := kinds[rapid.SampledFrom(slices.Sorted(maps.Keys(kinds))).Draw(t, "kind")](size)
		m.keep(t, writer, result)
		requireKept(t, reader, result)
	})
}

// base64Text is text of n bytes that shrinks by a quarter.
func base64Text(n int) []byte { return []byte(base64.StdEncoding.EncodeToString(pattern(n))[:n]) }

// TestAResultThatIsCompressedToMoreThanAnItemIsKeptWhole: also where the limit is the size of a
// part.
func TestAResultThatIsCompressedToMoreThanAnItemIsKeptWhole(t *testing.T) {
	t.Parallel()
	m := newMemoryTable()
	s := dynamo.New(m, table, dynamo.Config{InlineLimit: partSize})
	for _, size := range []int{partSize * 4 / 3, 600 << 10, 900 << 10, 3 << 19, 2 << 20} {
		result := base64Text(size)
		m.keep(t, s, result)
		requireKept(t, s, result)
	}
}

// TestCompressionIsRepeatable: a write that is repeated writes the parts of its first attempt,
// whatever came between.
func TestCompressionIsRepeatable(t *testing.T) {
	t.Parallel()
	m := newMemoryTable()
	s := dynamo.New(m, table, dynamo.Config{InlineLimit: -1})
	fresh := func() map[string]item {
		m.items = map[string]item{}
		m.keep(t, s, orders(900<<10))
		small := m.items
		m.items = map[string]item{}
		m.keep(t, s, base64Text(3<<20)) // is written while it is compressed
		maps.Copy(small, m.items)
		return small
	}
	want := fresh()
	for _, other := range [][]byte{orders(5000), pattern(900 << 10), orders(900<<10 - 1), make([]byte, 1<<20)} {
		m.keep(t, s, other)
		require.Equal(t, want, fresh())
	}
}

// TestWhatWasHandedOverStays as it was, whatever is compressed next.
func TestWhatWasHandedOverStays(t *testing.T) {
	t.Parallel()
	m := newMemoryTable()
	s := dynamo.New(m, table)
	results := [][]byte{orders(900), orders(500 << 10), base64Text(900 << 10), base64Text(3 << 20)}
	for _, first := range results {
		for _, next := range results {
			m.keep(t, s, first)
			items := maps.Clone(m.items)
			m.keep(t, s, next)
			maps.Copy(m.items, items)
			requireKept(t, s, first)
		}
	}
}

// TestCompressedDataThatIsSpoiled is unreadable, never another result, whichever bit of it is
// spoiled.
func TestCompressedDataThatIsSpoiled(t *testing.T) {
	t.Parallel()
	result := orders(1500)
	m := newMemoryTable()
	it := m.keep(t, dynamo.New(m, table), result)
	data := dataOf(it)
	for n := range len(data) * 8 {
		b := bytes.Clone(data)
		b[n/8] ^= 1 << (n % 8)
		r, err := read(items(it).with(item{"data": B(string(b))}))
		if err == nil { // in the header there are bits that mean nothing
			require.Less(t, n/8, 10)
			require.Equal(t, result, r.Result)
			continue
		}
		requireUnreadable(t, err, `attribute "data" of type B`)
	}
	spoilt := func(changes item, reason string) {
		t.Helper()
		_, err := read(items(it).with(changes))
		requireUnreadable(t, err, reason)
	}
	const noGzip = `attribute "data" of type B is no gzip of a result`
	const another = `attribute "data" of type B does not match the commit`
	for n := range data {
		spoilt(item{"data": B(string(data[:n]))}, noGzip)
	}
	spoilt(item{"data": B(string(data) + "x")}, noGzip)
	spoilt(item{"data": B(string(data) + string(data))}, noGzip)
	spoilt(item{"data": B(string(result))}, noGzip)
	spoilt(item{"data": B(string(zipped(t, orders(1501))))}, another)
	spoilt(item{"commit": nil}, another)
	spoilt(item{"encoding": S("identity")}, another)
	spoilt(item{"encoding": S("zstd")}, `attribute "encoding" of type S names an encoding`)
}

func zipped(t *testing.T, result []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(result)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

// sized is a gzip whose trailer says that it has another size.
func sized(t *testing.T, result []byte, size uint32) []byte {
	t.Helper()
	b := zipped(t, result)
	binary.LittleEndian.PutUint32(b[len(b)-4:], size)
	return b
}

// TestCompressedDataThatSaysAnotherSize allocates no more than the data can stand for, whatever it
// says or expands to.
func TestCompressedDataThatSaysAnotherSize(t *testing.T) {
	zeros := make([]byte, 40<<20)
	bomb := zipped(t, zeros)
	require.Less(t, len(bomb), 384<<10)
	for name, data := range map[string][]byte{
		"a byte more":           sized(t, orders(2000), uint32(len(orders(2000)))+1),
		"a byte less":           sized(t, orders(2000), uint32(len(orders(2000)))-1),
		"nothing":               sized(t, orders(2000), 0),
		"4 GB":                  sized(t, orders(2000), 1<<32-1),
		"more than it can hold": sized(t, orders(2000), 30<<20),
		"more than is kept":     bomb,
		"less than it expands":  sized(t, zeros, 1000),
	} {
		r := completion(record("k"), zeros)
		it := items(native()).with(item{"data": B(string(data)), "encoding": S("gzip"), "commit": S(r.Seal)})
		s := dynamo.New(wall(it), table)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := s.Get(t.Context(), "k")
		runtime.ReadMemStats(&after)
		requireUnreadable(t, err, `attribute "data" of type B is no gzip of a result`)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20), name)
	}
}

// TestCompressedPartsThatAreSpoiled: parts are the result that the commit names, or unreadable.
func TestCompressedPartsThatAreSpoiled(t *testing.T) {
	t.Parallel()
	m := newMemoryTable()
	s := dynamo.New(m, table, dynamo.Config{InlineLimit: 100})
	r := completion(record("k"), orders(20_000))
	m.keep(t, s, r.Result)
	held := mustGet(t, s, "k")
	part := m.items["k#"+r.Seal+"#1"]
	data := dataOf(part)
	// spoilt reads the record with other data in its part.
	spoilt := func(held store.Record, other []byte) ([]byte, error) {
		part["data"] = B(string(other))
		return s.ReadResult(t.Context(), held)
	}
	for n := 0; n < len(data); n += 7 {
		b := bytes.Clone(data)
		b[n] ^= 1
		got, err := spoilt(held, b)
		if n > 9 || err != nil {
			requireUnreadable(t, err, "the 1 parts ")
			require.Nil(t, got)
		}
	}
	_, err := spoilt(held, data[:len(data)-1])
	requireUnreadable(t, err, "the 1 parts are no gzip of a result")

	other := zipped(t, orders(20_001))
	held.Parts = fmt.Sprintf("1:%d gzip", len(other))
	_, err = spoilt(held, other)
	requireUnreadable(t, err, "the 1 parts do not match the commit")

	part["data"] = B(string(data))
	for _, encoding := range []types.AttributeValue{S("zstd"), S("identity"), N("1")} {
		m.items["k"]["encoding"] = encoding
		_, _, err = s.Get(t.Context(), "k")
		requireUnreadable(t, err, `attribute "encoding"`)
	}
	delete(m.items["k"], "encoding")
	_, err = whole(t, s)
	requireUnreadable(t, err, "the 1 parts do not match the commit")
}

// TestCompressionSavesWriteUnits counts them as DynamoDB does.
func TestCompressionSavesWriteUnits(t *testing.T) {
	t.Parallel()
	_, client, table := local(t)
	units := func(result []byte, compressed bool) float64 {
		m := newMemoryTable()
		it := m.keep(t, dynamo.New(m, table, dynamo.Config{NoCompression: !compressed, InlineLimit: 384 << 10}), result)
		it["id"] = S(rand.Text()) // an item that is replaced counts, too
		out, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{
			TableName: aws.String(table), Item: it, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		})
		require.NoError(t, err)
		return *out.ConsumedCapacity.CapacityUnits
	}
	for size, saved := range map[int]float64{500: 0, 900: 1, 2000: 1, 4000: 2, 20_000: 13} {
		require.GreaterOrEqual(t, units(orders(size), false)-units(orders(size), true), saved, size)
	}
	// A quarter of text in which nothing repeats itself, whatever the release of Go does with it.
	for size, saved := range map[int]float64{5000: 1, 20_000: 4, 100_000: 23} {
		require.GreaterOrEqual(t, units(base64Text(size), false)-units(base64Text(size), true), saved, size)
	}
}

// TestLargeResultsWithoutRepetitionsAreCompressed, although they are written while that is done.
func TestLargeResultsWithoutRepetitionsAreCompressed(t *testing.T) {
	t.Parallel()
	for _, around := range []string{"", string(orders(512 << 10))} {
		m := newMemoryTable()
		result := []byte(around + string(base64Text(3<<20)))
		m.keep(t, dynamo.New(m, table), result)
		stored := 0
		for key, it := range m.items {
			if key != "k" {
				stored += len(dataOf(it))
			}
		}
		require.Less(t, stored, len(result)*4/5)
	}
}
