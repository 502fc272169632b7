package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

// The checks of a table.
const (
	checkKey       = "key"
	checkTTL       = "time to live"
	checkIndex     = "attention index"
	checkRetention = "retention"
)

// shape compares the table with what the store needs.
func (p *Patient) shape(ctx context.Context) ([]Finding, error) {
	var wrong *store.ConfigError
	var failed *store.Error
	err := p.Store.Check(ctx)
	errors.As(err, &wrong)
	switch {
	case errors.As(err, &failed) && failed.Kind != store.FailureAccessDenied:
		return nil, err
	case failed != nil && wrong == nil && strings.Contains(failed.Error(), "DescribeTable "):
		why := "not allowed: dynamodb:DescribeTable"
		return []Finding{{checkKey, NotChecked, why}, {checkTTL, NotChecked, why}, {checkIndex, NotChecked, why}}, nil
	}
	problems := make(map[string][]string)
	if wrong != nil {
		for _, text := range wrong.Problems {
			text = strings.TrimPrefix(text, fmt.Sprintf("table %q: ", p.Table))
			problems[about(text)] = append(problems[about(text)], text)
		}
	}
	advice, unadvised := p.Store.Advise(ctx)
	findings := make([]Finding, 0, 3)
	for _, check := range []string{checkKey, checkTTL, checkIndex} {
		f := Finding{Check: check, Result: OK}
		switch {
		case problems[check] != nil:
			f.Result, f.Detail = Problem, strings.Join(problems[check], "; ")
			// what stays costs, and nothing is lost
			if check == checkTTL && strings.HasPrefix(f.Detail, "time to live is DISABLED") {
				f.Result = Warning
			}
		case check == checkTTL && failed != nil:
			f.Result, f.Detail = NotChecked, "not allowed: dynamodb:DescribeTimeToLive"
		case check != checkKey:
			f = p.advised(check, advice, unadvised)
		}
		findings = append(findings, f)
	}
	return findings, nil
}

// about is the check that a problem belongs to.
func about(problem string) string {
	switch {
	case strings.HasPrefix(problem, "time to live"):
		return checkTTL
	case strings.HasPrefix(problem, "attribute "):
		return checkIndex
	default:
		return checkKey
	}
}

// advised says what the table lacks of a check that no request needs.
func (p *Patient) advised(check string, advice []string, err error) Finding {
	if err != nil {
		return unseen(check, err)
	}
	f := Finding{Check: check, Result: OK}
	for _, text := range advice {
		text = strings.TrimPrefix(text, fmt.Sprintf("table %q: ", p.Table))
		if strings.Contains(text, "time to live") == (check == checkTTL) {
			f.Result, f.Detail = Warning, strings.TrimPrefix(f.Detail+"; "+text, "; ")
		}
	}
	return f
}

// replicas warns of a table that other Regions write to, too. It finds nothing where there is none.
func (p *Patient) replicas(ctx context.Context) []Finding {
	const check = "replicas"
	out, err := p.DynamoDB.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(p.Table)})
	switch {
	case err != nil:
		return []Finding{unseen(check, err)}
	case len(out.Table.Replicas) == 0:
		return nil
	case out.Table.MultiRegionConsistency == types.MultiRegionConsistencyStrong:
		return []Finding{found(check, Warning,
			"multi-Region strong consistency: there are no transactions, so no handler can commit")}
	default:
		return []Finding{found(check, Warning,
			"two Regions can both accept a claim of one key: send all deliveries of a key to one Region")}
	}
}

// The sample of records that retention is looked at with, and the shortest that is not suspicious:
// clients, queues and people retry for longer.
const (
	sampleSize    = 100
	shortestUsual = time.Hour
)

// retention looks at the first records of the table for one that is replayed for less than an hour.
func (p *Patient) retention(ctx context.Context) Finding {
	seen, completed := 0, 0
	var shortest time.Duration
	var operation string
	q := operate.Query{Scan: true, States: operate.States(), PageSize: sampleSize}
	for listed, err := range p.Operator.List(ctx, q) {
		_, unreadable := errors.AsType[*store.UnreadableError](err)
		if err != nil && !unreadable {
			return unseen(checkRetention, err)
		}
		if seen++; seen > sampleSize {
			break
		}
		r := listed.Record
		if r.Status != store.StatusCompleted || r.CompletedAt.IsZero() {
			continue
		}
		if kept := r.Expiry.Sub(r.CompletedAt); completed == 0 || kept < shortest {
			shortest, operation = kept, r.Operation()
		}
		completed++
	}
	switch {
	case completed == 0:
		return found(checkRetention, NotChecked, "no completed record that tells, among the first %d", seen)
	case shortest < shortestUsual:
		return found(checkRetention, Warning, "a result of operation %q is replayed for %s: whoever retries later "+
			"executes again", operation, shortest.Round(time.Second))
	default:
		return found(checkRetention, OK, "%s at least, of %d completed records", shortest.Round(time.Second), completed)
	}
}

// open counts the records that somebody has to settle.
func (p *Patient) open(ctx context.Context) Finding {
	const check = "open records"
	n, oldest := 0, time.Time{}
	for listed, err := range p.Operator.List(ctx, operate.Query{}) {
		if _, unreadable := errors.AsType[*store.UnreadableError](err); err != nil && !unreadable {
			return unseen(check, err)
		}
		n++
		if at := listed.Since; oldest.IsZero() || !at.IsZero() && at.Before(oldest) {
			oldest = at
		}
	}
	if n == 0 {
		return Finding{check, OK, "none"}
	}
	return found(check, Warning, "%d wait for somebody, the oldest since %s: idempotent list tells them", n,
		oldest.UTC().Format(time.RFC3339))
}
