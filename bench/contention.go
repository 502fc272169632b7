package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
)

// mostClients is how many deliver at once at most.
const mostClients = 64

const aboutContention = "Clients that deliver at the same time. With one key, all of them deliver each key: one delivery executes, the others " +
	"get its result, or meet it while it runs and are refused. With distinct keys every delivery executes. That each key executed " +
	"exactly once is checked. The figures are those of one delivery."

// measureContentionOnDynamoDB delivers HTTP events of 3 KB, whose result has 1 KB.
func measureContentionOnDynamoDB(rounds int) (_ table, err error) {
	b, closeTable, err := localBackend()
	if err != nil {
		return table{}, err
	}
	defer func() { err = errors.Join(err, closeTable()) }()
	c := b.connect()
	// One connection for each client is kept, so that opening them is not what is measured.
	c.client = dynamolocal.Client(os.Getenv(dynamolocal.EndpointVariable), func(o *dynamodb.Options) {
		o.HTTPClient = awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
			t.MaxIdleConns, t.MaxIdleConnsPerHost = mostClients, mostClients
		})
	})
	s := wrapped(orders("1 KB", 1<<10), c)
	open := func() (arena, error) {
		before := s.shop.executed.Load()
		return arena{
			client: func() func(key uint64) (refused bool, err error) {
				client := newSubject(s.name, s.shop, s.handler)
				return func(key uint64) (bool, error) {
					answer, err := client.deliver(key)
					if bytes.HasPrefix(answer, []byte(`{"statusCode":409,`)) {
						return true, nil
					}
					return false, err
				}
			},
			executed: func() int64 { return s.shop.executed.Load() - before },
		}, nil
	}
	return measureContention(aboutContention+aboutReal, []int{1, 8, mostClients}, open, rounds)
}

// measureContentionInMemory delivers plain events by value.
func measureContentionInMemory(rounds int) (table, error) {
	open := func() (arena, error) {
		t := new(till)
		o := openPlain(t)
		return arena{executed: t.executed.Load, client: func() func(key uint64) (bool, error) {
			deliver := o.client()
			return func(key uint64) (bool, error) {
				status, err := deliver(uuidOf(key))
				return status == statusConflict, err
			}
		}}, nil
	}
	return measureContention(aboutContention+" By value, on the store in memory.", []int{1, 2, 8, mostClients}, open, rounds)
}

// arena is one round of a case.
type arena struct {
	// client returns what delivers under a key and reports whether it was refused because an execution runs. Its result
	// belongs to one goroutine.
	client   func() func(key uint64) (refused bool, err error)
	executed func() int64
}

func measureContention(about string, clients []int, open func() (arena, error), rounds int) (table, error) {
	groups := make([]group, 0, 2)
	for _, kind := range []struct {
		heading string
		sharing bool
	}{{"one key", true}, {"distinct keys", false}} {
		g := group{heading: kind.heading}
		for _, n := range clients {
			name := strconv.Itoa(n) + " clients"
			if n == 1 {
				name = "1 client"
			}
			sharing := 1
			if kind.sharing {
				sharing = n
			}
			g.cases = append(g.cases, measured{name: name, run: func(deliveries int) error {
				a, err := open()
				if err != nil {
					return err
				}
				return a.run(n, sharing, deliveries)
			}})
		}
		groups = append(groups, g)
	}
	return measureGroups(about, groups, rounds)
}

// run lets clients share the deliveries, of which so many in a row have one key.
func (a arena) run(clients, sharing, deliveries int) error {
	keys := (deliveries + sharing - 1) / sharing
	first := lastKey.Add(uint64(keys)) - uint64(keys) + 1
	var (
		next  atomic.Int64
		group sync.WaitGroup
		errs  = make([]error, clients)
	)
	for c := range clients {
		group.Go(func() {
			deliver := a.client()
			for i := next.Add(1) - 1; i < int64(deliveries) && errs[c] == nil; i = next.Add(1) - 1 {
				refused, err := deliver(first + uint64(i)/uint64(sharing))
				if refused && sharing == 1 {
					err = errNotTaken
				}
				errs[c] = err
			}
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if executed := a.executed(); executed != int64(keys) {
		return fmt.Errorf("%d keys executed %d times", keys, executed)
	}
	return nil
}
