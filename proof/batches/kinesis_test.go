package batches_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/batch"
	"github.com/go-idempotent/idempotent/internal/dev/streams"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/proof/kinesispump"
	"github.com/go-idempotent/idempotent/proof/moto"
	"github.com/go-idempotent/idempotent/store"
)

// stream is one of Kinesis in memory. The sequence numbers of its shards are 1, 2, 3 and so on.
type stream struct {
	shards [4][]types.Record
	orders []order
}

// put puts an order into the shard of its customer.
func (s *stream) put(o order) {
	h := fnv.New32()
	_, _ = h.Write([]byte(o.Customer))
	shard := &s.shards[h.Sum32()%uint32(len(s.shards))]
	*shard = append(*shard, types.Record{
		Data: []byte(body(o)), PartitionKey: aws.String(o.Customer), SequenceNumber: aws.String(strconv.Itoa(len(*shard) + 1)),
		ApproximateArrivalTimestamp: aws.Time(time.Now()),
	})
}

func (s *stream) ListShards(context.Context, *kinesis.ListShardsInput, ...func(*kinesis.Options)) (*kinesis.ListShardsOutput, error) {
	out := &kinesis.ListShardsOutput{}
	for i := range s.shards {
		out.Shards = append(out.Shards, types.Shard{ShardId: aws.String(strconv.Itoa(i))})
	}
	return out, nil
}

func (s *stream) GetShardIterator(
	_ context.Context, in *kinesis.GetShardIteratorInput, _ ...func(*kinesis.Options),
) (*kinesis.GetShardIteratorOutput, error) {
	return &kinesis.GetShardIteratorOutput{ShardIterator: aws.String(*in.ShardId + " 0")}, nil
}

func (s *stream) GetRecords(_ context.Context, in *kinesis.GetRecordsInput, _ ...func(*kinesis.Options)) (*kinesis.GetRecordsOutput, error) {
	var shard, from int
	if _, err := fmt.Sscan(*in.ShardIterator, &shard, &from); err != nil {
		return nil, err
	}
	all := s.shards[shard]
	return &kinesis.GetRecordsOutput{Records: all[from:], NextShardIterator: aws.String(fmt.Sprint(shard, " ", len(all)))}, nil
}

// consumer is the wrapped handler of an order of a stream.
func (w *world) consumer(s store.Store) *idempotent.Handler[events.KinesisEventRecord, string] {
	ship := func(ctx context.Context, o order, _ events.KinesisEventRecord) (string, error) {
		return w.execute(ctx, o)
	}
	message := func(r events.KinesisEventRecord) events.SQSMessage {
		return events.SQSMessage{MessageId: r.EventID, Body: string(r.Kinesis.Data)}
	}
	return idempotent.Wrap(batch.JSON(ship), &mortal{s, w}, idempotent.WithOperation("ship"),
		idempotent.WithKey(func(r events.KinesisEventRecord) (string, error) { return keyOf(message(r)) }),
		idempotent.WithFingerprint(func(r events.KinesisEventRecord) (any, error) { return noteOf(message(r)) }))
}

func dataOf(r events.KinesisEventRecord) string { return string(r.Kinesis.Data) }

const streamARN = "arn:aws:kinesis:us-east-1:123456789012:stream/orders"

func pumpOf(source streams.Source, invoke func(context.Context, []byte) ([]byte, error)) *streams.Pump {
	return &streams.Pump{Source: source, Invoke: invoke, ReportBatchItemFailures: true, BisectBatchOnFunctionError: true}
}

// exhaust pumps until everything is handled.
func exhaust(t *testing.T, p *streams.Pump, within time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	var running sync.WaitGroup
	running.Go(func() { assert.NoError(t, p.Run(ctx)) })
	require.NoError(t, p.Idle(ctx))
	cancel()
	running.Wait()
}

// The same as with messages: orders that go wrong among thousands that do not, duplicates of the producer, lost answers, and processes that die.
func TestTenThousandRecordsOfAStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, s := newWorld(t), &stream{orders: orders(many, 300, everything)}
		w.loseAnswer, w.dieAtStore = 50, 400
		for i, o := range s.orders {
			s.put(o)
			if i%9 == 0 { // the producer is not sure
				s.put(o)
			}
		}
		f := batch.Kinesis(w.consumer(memory.New()), batch.WithTerminal(taker(w, w.terminals, dataOf)), batch.WithPoison(taker(w, w.poisons, dataOf)))
		p := pumpOf(kinesispump.Source(s, streamARN), invoke(w, f))
		p.OnFailure = func(d streams.Discarded) { assert.Fail(t, "given up", "%+v", d) }
		exhaust(t, p, 100*time.Hour)
		t.Logf("%d invocations, %d deaths, %d effects", w.invocations.Load(), w.deaths, len(w.effects))
		assert.Empty(t, summary(w.problems(s.orders, nowhere)))
		assert.Empty(t, summary(w.untold(s.orders)))
		assert.Greater(t, w.deaths, many/100)
	})
}

// rejects are the records that a mapping gave up, by the text of the order.
type rejects struct {
	mu     sync.Mutex
	ranges []streams.Discarded
}

func (r *rejects) take(d streams.Discarded) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ranges = append(r.ranges, d)
}

// texts are the orders in each of the ranges.
func (r *rejects) texts(t *testing.T, all map[string][]types.Record) (texts [][]order) {
	t.Helper()
	for _, d := range r.ranges {
		var some []order
		first, err := strconv.Atoi(d.StartSequenceNumber)
		require.NoError(t, err)
		last, err := strconv.Atoi(d.EndSequenceNumber)
		require.NoError(t, err)
		for _, record := range all[d.ShardID][first-1 : last] {
			var o order
			if err := json.Unmarshal(record.Data, &o); err != nil {
				o = order{ID: strings.TrimPrefix(string(record.Data), "{"), Customer: *record.PartitionKey, Kind: garbled}
			}
			some = append(some, o)
		}
		texts = append(texts, some)
	}
	return texts
}

// unexplained finds orders that were given up without a reason: they are no poison, and not behind any of their partition key, but were not
// done. What is poison and was not given up is found, too.
func (w *world) unexplained(orders []order, texts [][]order) (found []string, gone map[string]bool) {
	done, poisoned := map[string]bool{}, map[string]bool{}
	gone = map[string]bool{}
	for _, e := range w.effects {
		done[e.order.ID] = true
	}
	for _, some := range texts {
		behind := map[string]bool{}
		for _, o := range some {
			switch {
			case o.Kind == garbled || o.Kind == always:
				behind[o.Customer], poisoned[o.ID] = true, true
			case !done[o.ID] && !behind[o.Customer]:
				found = append(found, "given up without a reason: "+o.ID)
			case !done[o.ID]:
				gone[o.ID] = true
			}
		}
	}
	for _, o := range orders {
		if (o.Kind == garbled || o.Kind == always) && !poisoned[o.ID] {
			found = append(found, "poison that was not given up: "+o.ID)
		}
	}
	return found, gone
}

// Without a function that takes it, poison ends at the destination on failure when its repetitions are used up, with what is behind it in its
// batch. Of that everything is done but what has its partition key: that was not begun, to stay in order.
func TestPoisonOfAStreamEndsAtItsDestinationOnFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, s, r := newWorld(t), &stream{orders: orders(3000, 100, kinds{7: fails, 41: terminal, 43: garbled, 53: always})}, &rejects{}
		for _, o := range s.orders {
			s.put(o)
		}
		p := pumpOf(kinesispump.Source(s, streamARN), invoke(w, batch.Kinesis(w.consumer(memory.New()))))
		p.MaximumRetryAttempts, p.OnFailure, p.BatchSize = aws.Int(3), r.take, 20
		exhaust(t, p, 100*time.Hour)
		all := map[string][]types.Record{}
		for i, records := range s.shards {
			all[strconv.Itoa(i)] = records
		}
		found, gone := w.unexplained(s.orders, r.texts(t, all))
		assert.Empty(t, summary(found))
		assert.Empty(t, summary(w.problems(s.orders, func(o order) bool { return gone[o.ID] || o.Kind == garbled })))
		assert.Less(t, len(gone), 200, "others go on")
	})
}

// On a server, with a store that can die.
func TestOnAServerEachRecordOfAStreamHasItsEffectOnce(t *testing.T) {
	t.Parallel()
	w, client, name := newWorld(t), moto.Kinesis(t), rand.Text()
	w.timeout, w.loseAnswer, w.dieAtStore = 2*time.Second, 7, 600
	_, err := client.CreateStream(t.Context(), &kinesis.CreateStreamInput{StreamName: &name, ShardCount: aws.Int32(3)})
	require.NoError(t, err)
	all := orders(600, 50, kinds{7: fails, 17: panics, 41: terminal, 43: garbled, 47: nameless})
	in := &kinesis.PutRecordsInput{StreamName: &name}
	for i, o := range all {
		in.Records = append(in.Records, types.PutRecordsRequestEntry{PartitionKey: aws.String(o.Customer), Data: []byte(body(o))})
		if len(in.Records) == 300 || i == len(all)-1 {
			_, err := client.PutRecords(t.Context(), in)
			require.NoError(t, err)
			in.Records = nil
		}
	}
	f := batch.Kinesis(w.consumer(memory.New()), batch.WithReserve(100*time.Millisecond),
		batch.WithTerminal(taker(w, w.terminals, dataOf)), batch.WithPoison(taker(w, w.poisons, dataOf)))
	p := pumpOf(kinesispump.Source(client, "arn:aws:kinesis:"+moto.Region+":"+moto.Account+":stream/"+name), invoke(w, f))
	p.Poll = 20 * time.Millisecond
	exhaust(t, p, 2*time.Minute)
	t.Logf("%d invocations, %d deaths", w.invocations.Load(), w.deaths)
	assert.Empty(t, summary(w.problems(all, nowhere)))
	assert.Empty(t, summary(w.untold(all)))
}

// One that reports the highest failure loses what failed before it, and one that goes on behind a failure mixes up the order.
func TestTheChecksSeeWhatIsWrongWithAStream(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		highest, goesOn bool
		want            string
	}{
		"nothing":                              {},
		"it reports the highest failure":       {highest: true, want: "lost: "},
		"it goes on behind a failure of a key": {goesOn: true, want: "out of order: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w, s := newWorld(t), &stream{orders: orders(400, 20, kinds{7: fails, 8: fails, 31: diesBefore, 37: diesAfter, 57: fails})}
				for _, o := range s.orders {
					s.put(o)
				}
				h := w.consumer(memory.New())
				f := func(ctx context.Context, event events.KinesisEvent) (a events.KinesisEventResponse, _ error) {
					stopped := map[string]bool{}
					for _, r := range event.Records {
						_, err := "", errors.New("it is behind a failure")
						if !stopped[r.Kinesis.PartitionKey] {
							_, err = h.Handle(ctx, r)
						}
						if err == nil {
							continue
						}
						stopped[r.Kinesis.PartitionKey] = !tc.goesOn
						if len(a.BatchItemFailures) == 0 || tc.highest {
							a.BatchItemFailures = []events.KinesisBatchItemFailure{{ItemIdentifier: r.Kinesis.SequenceNumber}}
						}
					}
					return a, nil
				}
				p := pumpOf(kinesispump.Source(s, streamARN), invoke(w, f))
				p.Pause = 10 * time.Second // nothing in it waits for the end of a lease
				exhaust(t, p, 100*time.Hour)
				problems := summary(w.problems(s.orders, nowhere))
				if tc.want == "" {
					assert.Empty(t, problems)
					return
				}
				assert.Contains(t, problems, tc.want)
			})
		})
	}
}

// A process that dies early leaves a lease that lasts a little longer than the time of the next invocation. That must not use up the repetitions
// of the mapping.
func TestADeadProcessUsesUpFewRepetitionsOfAStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, s, r := newWorld(t), &stream{orders: orders(1000, 20, kinds{31: diesBefore, 37: diesAfter})}, &rejects{}
		for _, o := range s.orders {
			s.put(o)
		}
		p := pumpOf(kinesispump.Source(s, streamARN), invoke(w, batch.Kinesis(w.consumer(memory.New()))))
		p.MaximumRetryAttempts, p.OnFailure = aws.Int(5), r.take
		exhaust(t, p, 100*time.Hour)
		assert.Empty(t, r.ranges)
		assert.Empty(t, summary(w.problems(s.orders, nowhere)))
	})
}
