package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/go-idempotent/idempotent/outbox"
	"github.com/go-idempotent/idempotent/outbox/outboxhttp"
)

const (
	// outboxBatch is how many messages are in one event of a stream: the default of an event source
	// mapping of Lambda.
	outboxBatch = 100
	// outboxRounds is the most rounds of a case: a round has many messages.
	outboxRounds = 5
	// outboxMessages is how many messages a round has.
	outboxMessages = 2000
)

const aboutOutbox = "Messages of 0.3 KB that one process delivers, by wall time: from events of the stream with 100 " +
	"messages each, one event after the " +
	"other, and by one drain. The row says how many are delivered at once. Delivering is nothing, or a POST to a " +
	"server on loopback in " +
	"this very process. That each message is delivered once, and each is marked, is checked. CPU is that of the whole process."

// outboxMessage is a message as an outbox has it.
type outboxMessage struct {
	id, owner string
	shard     int
	due       int64
}

func newOutboxMessages(n int) []outboxMessage {
	all := make([]outboxMessage, n)
	for i := range all {
		all[i] = outboxMessage{
			id: uuidOf(lastKey.Add(1)), owner: rand.Text(), shard: i % 10, due: time.Now().Add(-time.Hour).UnixMilli(),
		}
	}
	return all
}

const outboxBody = `{"order_id":"ord_1CeCw9kHqLqYlo2C","email":"somebody@example.com","amount":1999,"currency":"eur"}`

// typed is a value as DynamoDB spells it: a type, S or N, and a text.
type typed map[string]string

// attributes are those of the message, of which the index has some.
func (m outboxMessage) attributes() (all, indexed map[string]typed) {
	due := typed{"N": strconv.FormatInt(m.due, 10)}
	indexed = map[string]typed{
		"id": {"S": m.id}, "outbox_shard": {"S": strconv.Itoa(m.shard)}, "outbox_due": due,
		"created_at": due,
	}
	all = maps.Clone(indexed)
	maps.Copy(all, map[string]typed{"topic": {"S": "order-placed"}, "body": {"S": outboxBody}, "owner": {"S": m.owner}})
	return all, indexed
}

// record is the message in an event of a stream.
func (m outboxMessage) record() events.DynamoDBEventRecord {
	all, _ := m.attributes()
	image := make(map[string]events.DynamoDBAttributeValue, len(all))
	for name, v := range all {
		if text, is := v["S"]; is {
			image[name] = events.NewStringAttribute(text)
			continue
		}
		image[name] = events.NewNumberAttribute(v["N"])
	}
	return events.DynamoDBEventRecord{
		EventName: string(events.DynamoDBOperationTypeInsert),
		Change:    events.DynamoDBStreamRecord{SequenceNumber: m.id, NewImage: image},
	}
}

// measureOutbox delivers from a table that answers at once.
func measureOutbox(rounds int) (table, error) {
	t := table{about: aboutOutbox + aboutFake, header: []string{"", "messages/s", "least", "most", "CPU a message"}}
	for _, deliverer := range []struct {
		name string
		open func(*sync.Map) (outbox.Deliver, func())
	}{
		{"nothing", countingDeliverer},
		{"a POST", postingDeliverer},
	} {
		for _, way := range []struct {
			name string
			run  func(*outbox.Relay, []outboxMessage) (delivered int, err error)
		}{
			{"stream", streamed},
			{"drain", drained},
		} {
			t.rows = append(t.rows, []string{way.name + ", delivering is " + deliverer.name})
			for _, atOnce := range []int{1, 10, 50} {
				row, err := outboxRow(way.run, deliverer.open, atOnce, rounds)
				if err != nil {
					return table{}, fmt.Errorf("%s, %s, %d at once: %w", way.name, deliverer.name, atOnce, err)
				}
				t.rows = append(t.rows, row)
			}
		}
	}
	return t, nil
}

func outboxRow(
	run func(*outbox.Relay, []outboxMessage) (int, error), open func(*sync.Map) (outbox.Deliver, func()),
	atOnce, rounds int,
) ([]string, error) {
	many := outboxMessages
	if rounds == onlyOnce {
		many = 50
	}
	var rates, cpus []float64
	for range min(max(rounds, 1), outboxRounds) {
		f := new(outboxFake)
		messages, err := f.put(many)
		if err != nil {
			return nil, err
		}
		var arrived sync.Map // by id, how often
		deliver, closeDeliverer := open(&arrived)
		relay := outbox.NewRelay(clientOver(f), "messages", deliver, outbox.Config{Concurrency: atOnce, NoStream: true})
		began, used := time.Now(), processorTime()
		delivered, err := run(relay, messages)
		took := time.Since(began)
		used = processorTime() - used
		closeDeliverer()
		if err == nil {
			err = checkOutbox(&arrived, messages, delivered)
		}
		if err != nil {
			return nil, err
		}
		rates, cpus = append(rates, float64(many)/took.Seconds()), append(cpus, float64(used)/float64(many))
	}
	return []string{
		strconv.Itoa(atOnce) + " at once", count(median(rates)), count(quantile(rates, 0)), count(quantile(rates, 1)),
		micros(median(cpus)),
	}, nil
}

// checkOutbox requires that each message has arrived once, and counts as delivered.
func checkOutbox(arrived *sync.Map, messages []outboxMessage, delivered int) error {
	if delivered != len(messages) {
		return fmt.Errorf("%d of %d messages are done", delivered, len(messages))
	}
	for _, m := range messages {
		if times, _ := arrived.Load(m.id); times != 1 {
			return fmt.Errorf("message %s arrived %v, not once", m.id, times)
		}
	}
	return nil
}

// streamed delivers messages as a stream hands them over.
func streamed(relay *outbox.Relay, messages []outboxMessage) (delivered int, err error) {
	for from := 0; from < len(messages); from += outboxBatch {
		var event events.DynamoDBEvent
		for _, m := range messages[from:min(from+outboxBatch, len(messages))] {
			event.Records = append(event.Records, m.record())
		}
		answer, err := relay.Stream(context.Background(), event)
		if err != nil {
			return 0, err
		}
		delivered += len(event.Records) - len(answer.BatchItemFailures)
	}
	return delivered, nil
}

// drained delivers messages that are due.
func drained(relay *outbox.Relay, _ []outboxMessage) (delivered int, err error) {
	report, err := relay.Drain(context.Background())
	return report.Delivered, err
}

// note keeps that a message has arrived once, or more often.
func note(arrived *sync.Map, id string) {
	if _, again := arrived.LoadOrStore(id, 1); again {
		arrived.Store(id, "more than once")
	}
}

func countingDeliverer(arrived *sync.Map) (deliver outbox.Deliver, closeDeliverer func()) {
	return func(_ context.Context, m outbox.Message) error {
		note(arrived, m.ID)
		return nil
	}, func() {}
}

func postingDeliverer(arrived *sync.Map) (deliver outbox.Deliver, closeDeliverer func()) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		note(arrived, r.Header.Get("Idempotency-Key"))
		w.WriteHeader(http.StatusAccepted)
	}))
	return outboxhttp.To(server.URL), server.Close
}
