// Package localstore opens a store for a run on this machine: one in memory, or DynamoDB Local.
package localstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
)

// Settings say which store a run gets. They come from the environment of the same names.
type Settings struct {
	// Store (STORE) is "memory" or "dynamodb"; empty means memory.
	Store string
	// Endpoint (AWS_ENDPOINT_URL_DYNAMODB) is a running DynamoDB Local or LocalStack. Empty starts DynamoDB Local. It
	// is spoken to with credentials that mean nothing, so it cannot be DynamoDB itself.
	Endpoint string
	// Table (IDEMPOTENCY_TABLE) is created if it is not there; empty means "idempotency".
	Table string
}

// FromEnvironment reads settings with a function such as [os.Getenv].
func FromEnvironment(getenv func(string) string) Settings {
	return Settings{
		Store:    getenv("STORE"),
		Endpoint: getenv("AWS_ENDPOINT_URL_DYNAMODB"),
		Table:    getenv("IDEMPOTENCY_TABLE"),
	}
}

// String says where the records are.
func (s Settings) String() string {
	if s.Endpoint == "" {
		return "in memory"
	}
	return fmt.Sprintf("in table %s at %s", s.Table, s.Endpoint)
}

// Client is one of the server, for what a run keeps beside its records. There is none in memory.
func (s Settings) Client() *dynamodb.Client { return dynamolocal.Client(s.Endpoint) }

// Opened is a store that is ready for use.
type Opened struct {
	store.Store

	// Settings are those that it was opened with; Endpoint and Table are set if it is on DynamoDB.
	Settings
	// Close ends what was started for it.
	Close func() error
}

// Open opens the store. The context bounds only that.
func Open(ctx context.Context, s Settings) (*Opened, error) {
	switch s.Store {
	case "", "memory":
		return &Opened{Store: memory.New(), Settings: Settings{Store: "memory"}, Close: func() error { return nil }}, nil
	case "dynamodb":
		return openDynamoDB(ctx, s)
	default:
		return nil, fmt.Errorf("STORE=%q is neither memory nor dynamodb", s.Store)
	}
}

// Attach is the store on a table that another process has created.
func Attach(endpoint, table string) store.Store {
	return dynamo.New(Settings{Endpoint: endpoint}.Client(), table)
}

func openDynamoDB(ctx context.Context, s Settings) (*Opened, error) {
	if s.Table == "" {
		s.Table = "idempotency"
	}
	stop := func() error { return nil }
	if s.Endpoint == "" {
		server, err := dynamolocal.Start(ctx)
		if err != nil {
			return nil, err
		}
		s.Endpoint, stop = server.Endpoint, server.Stop
	}
	if err := dynamo.CreateTable(ctx, s.Client(), s.Table); err != nil {
		return nil, errors.Join(err, stop())
	}
	return &Opened{Store: Attach(s.Endpoint, s.Table), Settings: s, Close: stop}, nil
}
