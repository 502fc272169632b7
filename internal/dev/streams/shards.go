package streams

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// discover looks for shards and returns those that can be read from now on.
//
// A child is read after its parents, so that the records of an item or of a partition key stay in order, see
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html#Streams.Processing and
// https://docs.aws.amazon.com/streams/latest/dev/kinesis-using-sdk-java-after-resharding.html. A parent that is not listed any more has been
// trimmed.
func (p *Pump) discover(ctx context.Context) (found []string, err error) {
	began := time.Now()
	shards, err := p.source().Shards(ctx)
	if err != nil {
		return nil, fmt.Errorf("streams: look for shards: %w", err)
	}
	listed := make(map[string]bool, len(shards))
	for _, s := range shards {
		listed[s.ID] = true
	}
	waiting := 0
	for _, s := range shards {
		switch {
		case p.progress.known(s.ID):
		case slices.ContainsFunc(s.Parents, func(parent string) bool { return listed[parent] && !p.progress.ended(parent) }):
			waiting++
		default:
			found = append(found, s.ID)
		}
	}
	p.progress.discovered(began, found, waiting)
	return found, nil
}
