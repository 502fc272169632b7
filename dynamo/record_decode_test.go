package dynamo_test

import (
	"context"
	"encoding/binary"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/store"
)

func read(it item) (store.Record, error) {
	r, _, err := dynamo.New(wall(it), table).Get(context.Background(), "k")
	return r, err
}

// native is a completed record of this module.
func native() item {
	r := completion(record("k"), []byte(`{"id":"ch_1"}`))
	return item{
		"id": S("k"), "status": S("COMPLETED"), "expiration": N("1800086400"),
		"in_progress_expiration": N("1800000030123"),
		"data":                   S(string(r.Result)), "validation": S("1:print"), "owner": S(r.Owner),
		"commit":  S(r.Seal),
		"attempt": N("1"), "created_at": N("1800000000007"), "reason": S("error"),
		"completed_at": N("1800000001008"), "settled_by": S("dana"), "settled_at": N("1800000002009"),
		"settled_reason": S("ticket 1"),
		"attention":      S("charge#3"), "attention_at": N("1800000000500"),
		"derived": &types.AttributeValueMemberSS{Value: []string{"mail", "charge"}},
	}
}

// with returns the item with other attributes; a nil value takes one away.
func (it items) with(changes item) item {
	out := maps.Clone(item(it))
	maps.Copy(out, changes)
	maps.DeleteFunc(out, func(_ string, v types.AttributeValue) bool { return v == nil })
	return out
}

type items item

// TestNativeRecord: what another version has written, or somebody has taken away, does not keep the
// rest from being read.
func TestNativeRecord(t *testing.T) {
	t.Parallel()
	same := func(*store.Record) {}
	for name, c := range map[string]struct {
		changes item
		differs func(want *store.Record)
	}{
		"as it is":          {nil, same},
		"with what is none": {item{"steps": &types.AttributeValueMemberM{}, "of another version": N("1")}, same},
		"of another status": {item{"status": S("EXPIRED")}, func(want *store.Record) { want.Status = "EXPIRED" }},
		// An encoding says nothing about text.
		"with another encoding": {item{"encoding": S("zstd")}, same},
		// Nobody but an operator takes the data away, so the commit stays to tell of it.
		"without its data": {item{"data": nil}, func(want *store.Record) { want.Result = nil }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := completion(record("k"), []byte(`{"id":"ch_1"}`))
			want.Reason, want.SettledBy, want.SettledReason = "error", "dana", "ticket 1"
			want.CompletedAt, want.SettledAt = time.UnixMilli(1_800_000_001_008).UTC(),
				time.UnixMilli(1_800_000_002_009).UTC()
			want.Attention, want.AttentionAt = "charge#3", time.UnixMilli(1_800_000_000_500).UTC()
			want.Derived = []string{"charge", "mail"}
			c.differs(&want)
			got, err := read(items(native()).with(c.changes))
			require.NoError(t, err)
			require.Equal(t, want, got)
		})
	}
}

func TestWhatCannotBeUnderstood(t *testing.T) {
	t.Parallel()
	const lease = "in_progress_expiration"
	m, unknown := M(item{"secret": S(secret)}), &types.UnknownUnionMember{}
	huge := N(strings.Repeat("9", 38))
	binaryData := item{"data": B(secret), "encoding": S("identity")}
	for name, c := range map[string]struct {
		changes item
		reason  string
	}{
		"no status":               {item{"status": nil}, `"status" is missing`},
		"empty status":            {item{"status": S("")}, `"status" of type S is empty`},
		"status N":                {item{"status": N("1")}, `"status" has type N, not S`},
		"status null":             {item{"status": null}, `"status" has type NULL, not S`},
		"no expiration":           {item{"expiration": nil}, `"expiration" is missing`},
		"expiration S":            {item{"expiration": S(secret)}, `"expiration" has type S, not N`},
		"expiration not a number": {item{"expiration": N(secret + "x")}, `"expiration" of type N is not a number`},
		"expiration empty":        {item{"expiration": N("")}, `"expiration" of type N`},
		"expiration huge":         {item{"expiration": huge}, `"expiration" of type N`},
		"expiration in ms":        {item{"expiration": N("1800086400000")}, `"expiration" of type N`},
		"expiration negative":     {item{"expiration": N("-1")}, `"expiration" of type N`},
		"expiration below zero":   {item{"expiration": N("-0.5")}, `"expiration" of type N`},
		"expiration exponent":     {item{"expiration": N("1E400000000")}, `"expiration" of type N`},
		"expiration infinite":     {item{"expiration": N("Inf")}, `"expiration" of type N`},
		"expiration two points":   {item{"expiration": N("1.2.3")}, `"expiration" of type N`},
		"lease M":                 {item{lease: m}, `"in_progress_expiration" has type M, not N`},
		"lease fraction": {
			item{lease: N("1800000030123.5")}, `"in_progress_expiration" of type N is not a whole number`,
		},
		"lease huge":       {item{lease: huge}, `"in_progress_expiration" of type N`},
		"created_at L":     {item{"created_at": L()}, `"created_at" has type L, not N`},
		"attempt negative": {item{"attempt": N("-3")}, `"attempt" of type N`},
		"attempt huge":     {item{"attempt": N("2147483648")}, `"attempt" of type N`},
		"attempt NS":       {item{"attempt": &types.AttributeValueMemberNS{}}, `"attempt" has type NS, not N`},
		"owner empty":      {item{"owner": S("")}, `"owner" of type S is empty`},
		"owner B":          {item{"owner": B(secret)}, `"owner" has type B, not S`},
		"validation SS": {
			item{"validation": &types.AttributeValueMemberSS{}}, `"validation" has type SS, not S`,
		},
		"commit BS":              {item{"commit": &types.AttributeValueMemberBS{}}, `"commit" has type BS, not S`},
		"reason unknown type":    {item{"reason": unknown}, `"reason" has type unknown, not S`},
		"completed_at S":         {item{"completed_at": S(secret)}, `"completed_at" has type S, not N`},
		"settled_by N":           {item{"settled_by": N("1")}, `"settled_by" has type N, not S`},
		"settled_at fraction":    {item{"settled_at": N("0.5")}, `"settled_at" of type N is not a whole number`},
		"settled_reason B":       {item{"settled_reason": B(secret)}, `"settled_reason" has type B, not S`},
		"attention N":            {item{"attention": N("1")}, `"attention" has type N, not S`},
		"attention_at huge":      {item{"attention_at": huge}, `"attention_at" of type N`},
		"derived S":              {item{"derived": S(secret)}, `"derived" has type S, not SS`},
		"step_names S":           {item{"step_names": S(secret)}, `"step_names" has type S, not SS`},
		"data of unknown type":   {item{"data": unknown}, `"data" of type unknown has no form in JSON`},
		"data M of unknown type": {item{"data": M(item{"a": unknown})}, `"data" of type M has no form in JSON`},
		"data L of unknown type": {item{"data": L(unknown)}, `"data" of type L has no form in JSON`},
		"data N that is none":    {item{"data": N(secret + "x")}, `"data" of type N has no form in JSON`},
		"layout N":               {item{"layout": N("1")}, `"layout" has type N, not S`},
		"new layout":             {item{"layout": S("zstd")}, `"layout" of type S names a layout`},
		"data B, new encoding": {
			item{"data": B(secret), "encoding": S("zstd")}, `"encoding" of type S names an encoding`,
		},
		"data B, encoding N": {item{"data": B(secret), "encoding": N("1")}, `"encoding" has type N, not S`},
		"data B, altered":    {binaryData, `"data" of type B does not match the commit`},
		"data B, no commit": {
			items(binaryData).with(item{"commit": S("")}), `"data" of type B does not match the commit`,
		},
		"parts N":         {item{"data": nil, "parts": N("1")}, `"parts" has type N, not S`},
		"parts malformed": {item{"data": nil, "parts": S("two")}, `"parts" of type S is malformed`},
		"parts, new encoding": {
			item{"data": nil, "parts": S("1:13"), "encoding": S("zstd")}, `"encoding" of type S names an encoding`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			it := items(native()).with(c.changes)
			_, err := read(it)
			requireUnreadable(t, err, "attribute "+c.reason)
			_, claimed, err := dynamo.New(wall(it), table).Claim(t.Context(), record("k"), claimTime)
			require.False(t, claimed)
			requireUnreadable(t, err, "attribute "+c.reason)
		})
	}
}

func requireUnreadable(t *testing.T, err error, reason string) {
	t.Helper()
	var ue *store.UnreadableError
	require.ErrorAs(t, err, &ue)
	require.Contains(t, ue.Reason, reason)
	require.NotContains(t, err.Error(), secret)
	require.NotContains(t, err.Error(), "zstd")
}

func TestPartListsThatAreMalformed(t *testing.T) {
	t.Parallel()
	for _, parts := range []string{
		"1", "1:", ":1", "0:0", "1:0", "-1:5", "2:1", "1:393217", "101:101", "1000000000:1000000000", "01:1",
		"1:1 ", "1:1:1",
		"+1:1", "1:99999999999999999999",
	} {
		_, err := read(items(native()).with(item{"data": nil, "parts": S(parts)}))
		requireUnreadable(t, err, `attribute "parts" of type S is malformed`)
		r := completion(record("k"), []byte("x"))
		r.Result, r.Parts = nil, parts
		_, err = dynamo.New(wall(nil), table).ReadResult(t.Context(), r)
		requireUnreadable(t, err, `attribute "parts" of type S is malformed`)
	}
}

func TestExpiryIsRoundedUp(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"1800086400": 1800086400, "1800086400.0": 1800086400, "1800086400.000": 1800086400, "1800086400.5": 1800086401,
		"1800086400.00000000000000000000000001": 1800086401, "0": 0, "253402300799": 253402300799,
	} {
		got, err := read(items(native()).with(item{"expiration": N(text)}))
		require.NoError(t, err, text)
		require.Equal(t, time.Unix(want, 0).UTC(), got.Expiry, text)
	}
}

// FuzzDecode: whatever an item holds, it is a record or unreadable.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("\x00\x0aCOMPLETED.\x01\x0a1800086400"))
	f.Add([]byte(strings.Repeat("\x02\x05abcde", 13)))
	f.Add([]byte(strings.Repeat("\x0b\x00", 15) + "\x00\x0aINPROGRESS" + strings.Repeat("\x0b\x00", 3) +
		"\x00\x12value o.x plain abc\x01\x012"))
	f.Fuzz(func(t *testing.T, in []byte) {
		it := arbitrary(in)
		r, err := read(it)
		if err != nil {
			require.ErrorAs(t, err, new(*store.UnreadableError))
			require.Equal(t, store.Record{}, r)
			return
		}
		if len(it) == 0 {
			return
		}
		require.Equal(t, "k", r.Key)
		require.NotEmpty(t, r.Status)
		require.False(t, r.Parts != "" && r.Result != nil)
		require.False(t, r.Expiry.Before(time.Unix(0, 0)))
		require.GreaterOrEqual(t, r.Attempt, 0)
		require.GreaterOrEqual(t, r.StepWrites, 0)
		for name, step := range r.Steps {
			require.NotEqual(t, store.StatusCompleted, r.Status)
			require.Equal(t, "a", name)
			require.Contains(t, []store.StepKind{store.StepStarted, store.StepValue, store.StepFailure}, step.Kind)
			require.False(t, step.Parts != "" && step.Result != nil)
		}
	})
}

// arbitrary builds an item: for each attribute a byte for its type, one for its length, and its
// content.
func arbitrary(in []byte) item {
	names := slices.Sorted(maps.Keys(native()))
	names = append(names, "parts", "encoding", "step:a", "steps", "step:")
	it := item{}
	for _, name := range names {
		if len(in) < 2 {
			break
		}
		kind, n := in[0]%13, min(int(in[1]), len(in)-2)
		content := string(in[2 : 2+n])
		in = in[2+n:]
		if v := valueOf(kind, content); v != nil || kind == 11 {
			it[name] = v
		}
	}
	return it
}

func valueOf(kind byte, content string) types.AttributeValue {
	switch kind {
	case 0, 10:
		return S(content)
	case 1:
		return N(content)
	case 2:
		return B(content)
	case 3:
		return &types.AttributeValueMemberBOOL{}
	case 4:
		return &types.AttributeValueMemberNULL{}
	case 5:
		return &types.AttributeValueMemberM{Value: item{content: S(content)}}
	case 6:
		return &types.AttributeValueMemberL{Value: []types.AttributeValue{S(content)}}
	case 7:
		return &types.AttributeValueMemberSS{Value: []string{content}}
	case 8:
		return &types.AttributeValueMemberBS{}
	case 9:
		return &types.UnknownUnionMember{Tag: content}
	case 12:
		return N(strconv.FormatUint(binary.BigEndian.Uint64(append([]byte(content), make([]byte, 8)...)), 10))
	default:
		return nil
	}
}
