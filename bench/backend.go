package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
)

// connection is where one case keeps its records.
type connection struct {
	client *dynamodb.Client
	table  string
	// rehearse runs an operation once before it is measured: a fake plays from then on what it was answered.
	rehearse func(once func() error) error
}

// backend makes the connections of a section.
type backend struct {
	connect func() connection
	// instant says that it answers at once, so that the whole time is that of this process.
	instant bool
}

func fakeBackend() backend {
	return backend{instant: true, connect: func() connection {
		return new(fake).connect()
	}}
}

// localBackend has a table of its own on DynamoDB Local, which close deletes.
func localBackend() (b backend, closeTable func() error, err error) {
	endpoint := os.Getenv(dynamolocal.EndpointVariable)
	if endpoint == "" {
		return backend{}, nil, fmt.Errorf("%w: %s names no endpoint of DynamoDB: run it with make bench, or with "+
			"go run ./internal/dev/dynamolocal/cmd/with-dynamodb", errNotHere, dynamolocal.EndpointVariable)
	}
	client, table := dynamolocal.Client(endpoint), "bench-"+rand.Text()
	if err := dynamo.CreateTable(context.Background(), client, table); err != nil {
		return backend{}, nil, err
	}
	closeTable = func() error {
		_, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: aws.String(table)})
		return err
	}
	return backend{connect: func() connection {
		return connection{client: client, table: table, rehearse: direct}
	}}, closeTable, nil
}

// plan prepares the groups of a section on a backend.
type plan struct {
	about  string
	groups func(backend) ([]group, error)
}

// group is a part of a table.
type group struct {
	heading string
	cases   []measured
}

const (
	aboutFake = " DynamoDB is played at once by a fake below HTTP, so the time is that of this process: SDK, handler and what stands between."
	aboutReal = " On DynamoDB Local, over sockets; the time is that of this process alone."
)

func onFake(p plan) func(rounds int) (table, error) {
	return func(rounds int) (table, error) {
		return p.measure(fakeBackend(), p.about+aboutFake, rounds)
	}
}

func onDynamoDB(p plan) func(rounds int) (table, error) {
	return func(rounds int) (_ table, err error) {
		b, closeTable, err := localBackend()
		if err != nil {
			return table{}, err
		}
		defer func() { err = errors.Join(err, closeTable()) }()
		return p.measure(b, p.about+aboutReal, rounds)
	}
}

func (p plan) measure(b backend, about string, rounds int) (table, error) {
	groups, err := p.groups(b)
	if err != nil {
		return table{}, err
	}
	return measureGroups(about, groups, rounds)
}

func measureGroups(about string, groups []group, rounds int) (table, error) {
	whole := table{about: about}
	for _, g := range groups {
		t, err := comparison{cases: g.cases}.measure(rounds)
		if err != nil {
			return table{}, fmt.Errorf("%s: %w", g.heading, err)
		}
		whole.add(g.heading, t)
	}
	return whole, nil
}
