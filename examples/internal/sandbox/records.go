package sandbox

import (
	"context"
	"errors"
	"os"

	"github.com/go-idempotent/idempotent/examples/internal/localstore"
	"github.com/go-idempotent/idempotent/examples/internal/remote"
	"github.com/go-idempotent/idempotent/store"
)

// recordsVariable names the URL at which the records are served that are not in DynamoDB.
const recordsVariable = "DEMO_RECORDS_URL"

// Records are the idempotency records of a demonstration, which all sandboxes share: in the memory of this process, or in DynamoDB.
// Make them with [OpenRecords].
type Records struct {
	localstore.Settings

	opened *localstore.Opened
	server *Server
}

// OpenRecords opens the store that the environment of this process says.
func OpenRecords(ctx context.Context) (*Records, error) {
	opened, err := localstore.Open(ctx, localstore.FromEnvironment(os.Getenv))
	if err != nil {
		return nil, err
	}
	server, err := Listen(ctx, remote.Serve(opened))
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return &Records{opened.Settings, opened, server}, nil
}

// String says where the records are.
func (r *Records) String() string {
	if r.Endpoint == "" {
		return "in the memory of this process, which serves them to the function"
	}
	return r.Settings.String()
}

// Close ends what was started for the records.
func (r *Records) Close() error { return errors.Join(r.server.Close(), r.opened.Close()) }

// Variables are what tells a sandbox where the records are.
func (r *Records) Variables() []string {
	return []string{
		recordsVariable + "=" + r.server.URL, "AWS_ENDPOINT_URL_DYNAMODB=" + r.Endpoint, "IDEMPOTENCY_TABLE=" + r.Table,
	}
}

// AttachRecords are the records in a sandbox.
func AttachRecords() store.Store {
	if s := localstore.FromEnvironment(os.Getenv); s.Endpoint != "" {
		return localstore.Attach(s.Endpoint, s.Table)
	}
	return remote.NewStore(os.Getenv(recordsVariable))
}
