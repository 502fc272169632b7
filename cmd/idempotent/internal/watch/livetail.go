package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
	"github.com/aws/smithy-go"
)

// Tail reads lines from the live tail of CloudWatch Logs, one session after the other: each ends after three hours.
type Tail struct {
	Client *cloudwatchlogs.Client
	// Groups are the ARNs of log groups, ten at most. Filter is a pattern of CloudWatch Logs for the lines, empty for all.
	Groups []string
	Filter string
	// Silence is after how long without an answer a session is taken for dead, default 20 seconds: a session says something each second.
	Silence time.Duration
	// Pause is for how long it waits before another session after one that could not begin, default a second; it doubles, up to half a minute.
	Pause time.Duration
	Now   func() time.Time
	// Sentence says why a session failed.
	Sentence func(error) string

	mu      sync.Mutex
	state   TailState
	sampled series
}

// TailState is what is known of the sessions of a live tail.
type TailState struct {
	Groups []string
	// Sessions is how many have begun. The one that runs did at Began, which is zero if none runs.
	Sessions int
	Began    time.Time
	// Expired is how many ended because their time was over, Broken how many ended otherwise. Between two sessions lines are missing.
	Expired, Broken int
	// Gap is when a session ended last.
	Gap time.Time
	// Sampled counts seconds in which there were more lines than a session tells.
	Sampled Count
	// Problem says why no session runs, since Since; empty if one does, or none was tried.
	Problem string
	Since   time.Time
}

const (
	defaultSilence = 20 * time.Second
	defaultPause   = time.Second
	longestPause   = 30 * time.Second
)

// Run hands the lines to take until ctx has ended. It returns an error only if no session could ever begin, and none ever will.
func (t *Tail) Run(ctx context.Context, take func(line []byte, long bool)) error {
	pause := cmp.Or(t.Pause, defaultPause)
	wait := pause
	for {
		began, err := t.session(ctx, take)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // it was ended
		}
		if !began && t.hopeless(err) {
			return err
		}
		if began {
			wait = pause
		}
		t.ended(began, err)
		if expired(err) {
			continue
		}
		if !sleep(ctx, wait) {
			return nil
		}
		wait = min(2*wait, longestPause)
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// errSilent ends a session that says nothing.
var errSilent = errors.New("the session says nothing any more")

// session reads one session until it ends. It began if the service has confirmed it.
func (t *Tail) session(ctx context.Context, take func([]byte, bool)) (began bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := cmp.Or(t.Silence, defaultSilence)
	watchdog := time.AfterFunc(silence, func() { cancel(errSilent) })
	defer watchdog.Stop()
	why := func(err error) error {
		if errors.Is(context.Cause(ctx), errSilent) {
			return errSilent
		}
		return err
	}

	in := &cloudwatchlogs.StartLiveTailInput{LogGroupIdentifiers: t.Groups}
	if t.Filter != "" {
		in.LogEventFilterPattern = aws.String(t.Filter)
	}
	out, err := t.Client.StartLiveTail(ctx, in)
	if err != nil {
		return false, why(err)
	}
	stream := out.GetStream()
	defer stream.Close()
	for {
		select {
		case <-ctx.Done():
			return began, why(ctx.Err())
		case event, open := <-stream.Events():
			if !open {
				return began, why(stream.Err())
			}
			watchdog.Reset(silence)
			if !began {
				began = true
				t.begun()
			}
			if update, is := event.(*types.StartLiveTailResponseStreamMemberSessionUpdate); is {
				t.update(&update.Value, take)
			}
		}
	}
}

func (t *Tail) update(u *types.LiveTailSessionUpdate, take func([]byte, bool)) {
	if u.SessionMetadata != nil && u.SessionMetadata.Sampled {
		t.mu.Lock()
		t.sampled.add(t.Now(), 1)
		t.mu.Unlock()
	}
	for i := range u.SessionResults {
		message := aws.ToString(u.SessionResults[i].Message)
		take([]byte(message[:min(len(message), maxLine)]), len(message) > maxLine)
	}
}

func (t *Tail) begun() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state.Sessions++
	t.state.Began, t.state.Problem, t.state.Since = t.Now(), "", time.Time{}
}

func (t *Tail) ended(began bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.Now()
	s := &t.state
	s.Began = time.Time{}
	if began {
		s.Gap = now
		if expired(err) {
			s.Expired++
			return
		}
		s.Broken++
	}
	if s.Problem == "" {
		s.Since = now
	}
	s.Problem = "the connection ended"
	if err != nil {
		s.Problem = t.Sentence(err)
	}
}

// expired reports whether a session ended because its three hours were over.
func expired(err error) bool {
	_, is := errors.AsType[*types.SessionTimeoutException](err)
	return is
}

// hopeless reports whether the service has refused the request for good, and never took it before.
func (t *Tail) hopeless(err error) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state.Sessions > 0 {
		return false
	}
	answer, is := errors.AsType[smithy.APIError](err)
	if !is {
		return false
	}
	for _, code := range []string{
		"AccessDenied", "ResourceNotFound", "InvalidParameter", "InvalidOperation", "UnrecognizedClient", "InvalidClientTokenId",
		"InvalidSignature", "Validation",
	} {
		if strings.HasPrefix(answer.ErrorCode(), code) {
			return true
		}
	}
	return false
}

// State returns what is known of the sessions.
func (t *Tail) State() *TailState {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.state
	s.Groups, s.Sampled = t.Groups, t.sampled.count("sampled", t.Now())
	return &s
}

// missing is how long a gap between two sessions is told.
const missing = 5 * time.Minute

func (s *TailState) warnings(now time.Time) (all []warning) {
	if s == nil {
		return nil
	}
	say := func(format string, args ...any) { all = append(all, warning(fmt.Sprintf(format, args...))) }
	if s.Problem != "" {
		say("The live tail does not run for %s: %s. Lines are missing.", brief(now.Sub(s.Since)), ascii(s.Problem))
	}
	if s.Sampled.Total > 0 {
		say("There were more than 500 lines a second, in %s of the last minute: the live tail leaves lines out, so the numbers are too low.",
			plural(s.Sampled.Minute, "second"))
	}
	if s.Problem == "" && !s.Gap.IsZero() && now.Sub(s.Gap) < missing {
		why := "lost its connection"
		if s.Broken == 0 {
			why = "was over after three hours, as each is"
		}
		say("A session of the live tail %s, %s ago; lines of the moment in between are missing.", why, brief(now.Sub(s.Gap)))
	}
	return all
}
