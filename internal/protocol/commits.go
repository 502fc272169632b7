package protocol

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// commits is what one execution knows of its commits. They may be tried from any goroutine, one at
// a time. The zero value is ready.
type commits struct {
	claim *claim
	steps *steps
	// answer returns what a completed record keeps of an answer, see [Work].
	answer func(any) (text []byte, problem string, err error)
	// resolving is true while the resolver is asked.
	resolving atomic.Bool

	mu sync.Mutex
	// over is true once the handler has returned: then returned is closed, which the first commit
	// makes. under is closed when the commit that is under way has come to its end, nil if none is.
	over            bool
	returned, under chan struct{}

	// What follows belongs to the commit that is under way, and, once the handler has returned, to
	// the settlement.

	// landed is the record that a commit has made, nil if none has. It is never changed.
	landed *store.Record
	// failed is why no other commit may begin and no answer may be stored any more; nil if none has
	// failed.
	failed error
	// sent are the records that the commits were to make, of those that were declined the seals.
	// unread: nobody knows whether the last of them is there.
	sent   []store.Record
	unread bool
	// doubt: an attempt of a commit was not answered.
	doubt bool

	reports  []report.Commit
	storeErr error
}

// begin lets the handler commit, and tells how many commits were tried before; or it says why not.
func (c *commits) begin() (before int, refused *execution.Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.over:
		return 0, commitRefused("the handler has returned")
	case c.under != nil:
		return 0, commitRefused("another commit is under way")
	case c.landed != nil:
		return 0, commitRefused("the execution has committed its answer before, and has only one")
	case c.failed != nil:
		return 0, commitRefused("an earlier commit of the execution has failed")
	}
	if c.returned == nil {
		c.returned = make(chan struct{})
	}
	c.under = make(chan struct{})
	return len(c.reports), nil
}

// end takes note of a commit that has come to its end, whichever.
func (c *commits) end(r report.Commit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reports = append(c.reports, r)
	close(c.under)
	c.under = nil
}

// storeFailed keeps a failure of the store for the observer.
func (c *commits) storeFailed(err error) {
	if err != nil {
		c.storeErr = err
	}
}

// close ends the use of commits, because the handler has returned. It waits for one that is under
// way in another goroutine: what becomes of that decides how the execution ends.
func (c *commits) close() {
	c.mu.Lock()
	c.over = true
	under := c.under
	if c.returned != nil {
		close(c.returned) // nothing protects the steps any more that a commit would wait for
	}
	c.mu.Unlock()
	if under != nil {
		<-under
	}
}

// CommitFailed reports whether the handler returned an error that says that its commit has failed,
// and it has.
func (d *Delivery) CommitFailed(err error) bool {
	return d.commits.failed != nil && errors.Is(err, execution.ErrCommitFailed)
}

func commitRefused(reason string) *execution.Fault {
	return &execution.Fault{Kind: execution.ErrCommitRefused, Reason: reason}
}
