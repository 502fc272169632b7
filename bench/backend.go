package main

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// connection is where one case keeps its records.
type connection struct {
	client *dynamodb.Client
	table  string
	// rehearse runs an operation once before it is measured: a fake plays from then on what it was
	// answered.
	rehearse func(once func() error) error
}

// connect makes a connection to a table of its own, which answers at once.
func connect() connection { return new(fake).connect() }

// plan prepares the groups of a section.
type plan struct {
	about  string
	groups func() ([]group, error)
}

// group is a part of a table.
type group struct {
	heading string
	cases   []measured
}

const aboutFake = " DynamoDB is played at once by a fake below HTTP, so the time is that of this process: SDK, " +
	"handler and what stands between."

func onFake(p plan) func(rounds int) (table, error) {
	return func(rounds int) (table, error) {
		groups, err := p.groups()
		if err != nil {
			return table{}, err
		}
		return measureGroups(p.about+aboutFake, groups, rounds)
	}
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
