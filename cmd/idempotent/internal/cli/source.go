package cli

import (
	"context"
	"time"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/connect"
	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/demo"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

// source is where the records are, and who may act on them.
type source struct {
	operator *operate.Operator
	records  store.Store
	now      func() time.Time
	// conn is nil in the demo.
	conn *connect.Connection
}

// open connects to the table, or makes the demo.
func (a *app) open(ctx context.Context, opts ...operate.Option) (*source, error) {
	if a.demo {
		now := demo.Now()
		s, err := demo.Store(ctx, now)
		if err != nil {
			return nil, err
		}
		a.target = connect.Target{}
		clock := func() time.Time { return now }
		return &source{operator: operate.New(s, append(opts, operate.WithClock(clock))...), records: s, now: clock}, nil
	}
	conn, err := connect.Open(ctx, a.target)
	if err != nil {
		return nil, err
	}
	return &source{
		operator: operate.New(conn.Store, append(opts, operate.WithClock(a.world.Now))...), records: conn.Store, now: a.world.Now, conn: conn,
	}, nil
}

// who says who acts: what was given, or whom the credentials belong to, or the user of this machine where AWS is not asked, or
// does not say.
func (a *app) who(ctx context.Context, s *source, given string) (string, error) {
	if given != "" {
		return given, nil
	}
	if s.conn != nil && s.conn.OfAWS() {
		arn, err := s.conn.Caller(ctx)
		if err != nil {
			return "", usagef("nobody says who acts: set --by (%s)", cause(err))
		}
		return arn, nil
	}
	if a.world.User == "" {
		return "", usagef("nobody says who acts: set --by")
	}
	return a.world.User, nil
}
