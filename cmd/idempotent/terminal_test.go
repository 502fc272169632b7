//go:build unix

package main_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// terminal is a run of the program on a terminal.
type terminal struct {
	t       *testing.T
	command *exec.Cmd
	pty     *os.File
	cancel  context.CancelFunc
	seen    strings.Builder
}

// onTerminal runs lines of a shell on a terminal.
func onTerminal(t *testing.T, lines string, opts ...option) *terminal {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	c := command(ctx, lines)
	c.Env = append(c.Env, "TERM=xterm")
	for _, o := range opts {
		o(c)
	}
	f, err := pty.StartWithSize(c, &pty.Winsize{Rows: 50, Cols: 250})
	require.NoError(t, err)
	return &terminal{t: t, command: c, pty: f, cancel: cancel}
}

// until reads what is printed up to a text.
func (s *terminal) until(text string) {
	s.t.Helper()
	buffer := make([]byte, 4096)
	for !strings.Contains(s.seen.String(), text) {
		n, err := s.pty.Read(buffer)
		s.seen.Write(buffer[:n])
		require.NoError(s.t, err, "before %q was printed: %s", text, s.seen.String())
	}
}

func (s *terminal) answer(text string) {
	s.t.Helper()
	_, err := io.WriteString(s.pty, text)
	require.NoError(s.t, err)
}

// end waits for the end, and returns everything that was printed and the exit code.
func (s *terminal) end() (string, int) {
	s.t.Helper()
	_, _ = io.Copy(&s.seen, s.pty) // ends with an error when the program has
	_ = s.command.Wait()           // the exit code says it
	s.cancel()
	s.pty.Close()
	return strings.ReplaceAll(s.seen.String(), "\r\n", "\n"), s.command.ProcessState.ExitCode()
}

const red = "\x1b[31m"

func TestColoursAreForTerminalsOnly(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		variable string
		coloured bool
	}{
		"terminal":       {coloured: true},
		"NO_COLOR":       {variable: "NO_COLOR=1"},
		"empty NO_COLOR": {variable: "NO_COLOR=", coloured: true},
		"dumb":           {variable: "TERM=dumb"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := onTerminal(t, program("list --demo"), env(c.variable))
			out, code := s.end()
			assert.Zero(t, code)
			assert.Contains(t, out, "charge#result-lost")
			assert.Equal(t, c.coloured, strings.Contains(out, red+"unknown"), "%q", out)
			assert.Equal(t, c.coloured, strings.Contains(out, "\x1b"), "%q", out)
		})
	}
	r := run(t, "list --demo")
	assert.NotContains(t, r.out+r.err, "\x1b")
}

func TestAChangeIsShownAndConfirmed(t *testing.T) {
	t.Parallel()
	const args = "settle charge#uncertain --demo --not-executed --may-repeat-effect --reason 'ticket 4711' --by dana"
	for answer, confirmed := range map[string]bool{
		"y\n": true, "YES\n": true, "\n": false, "n\n": false,
		"yep\n": false, "\x04": false,
	} {
		t.Run(strings.TrimSpace(answer), func(t *testing.T) {
			t.Parallel()
			s := onTerminal(t, program(args))
			s.until("Settle it as not executed? (on the demo, in memory, by dana) [y/N] ")
			shown := s.seen.String()
			assert.Contains(t, shown, "the handler said that the effect may have happened", "the record is shown")
			assert.Contains(t, shown, "The next request with this key", "and what the next retry gets")
			assert.NotContains(t, shown, "Done")
			s.answer(answer)
			out, code := s.end()
			if confirmed {
				assert.Zero(t, code, out)
				assert.Contains(t, out, "Action   settle")
				return
			}
			assert.Equal(t, 1, code)
			assert.Contains(t, out, "not confirmed; nothing was done")
			assert.NotContains(t, out, "Action ")
		})
	}
}

func TestInterruptingAQuestionEndsTheProgram(t *testing.T) {
	t.Parallel()
	s := onTerminal(t, program("delete charge#completed --demo --reason 'ticket 4711' --by dana"))
	s.until("[y/N] ")
	began := time.Now()
	s.answer("\x03")
	out, code := s.end()
	assert.Equal(t, 1, code)
	assert.Contains(t, out, "interrupted")
	assert.Less(t, time.Since(began), 10*time.Second)
}

// Whoever thinks about the question for a minute must not settle what somebody else has settled
// meanwhile.
func TestARecordThatChangesWhileTheQuestionStandsIsLeftAlone(t *testing.T) {
	t.Parallel()
	tb := newTable(t)
	for key, c := range map[string]struct {
		rival string
		says  []string
	}{
		"charge#uncertain": {"settle --failed 'Declined: no' ", []string{"it is completed now", "by kim"}},
		"charge#crashed":   {"delete --may-repeat-effect ", []string{"the record is gone"}},
	} {
		tb.put(t, recordOf(t, key))
		s := onTerminal(t, program("settle "+key+" --not-executed --may-repeat-effect --reason 'ticket 4711' --by dana"),
			tb.env)
		s.until("[y/N] ")
		tb.runs(t, c.rival+key+" --reason 'ticket 4712' --by kim --yes")
		before := tb.item(t, key)
		s.answer("y\n")
		out, code := s.end()
		assert.Equal(t, 4, code, out)
		for _, says := range append(c.says, "nothing was changed") {
			assert.Contains(t, out, says)
		}
		assert.Equal(t, before, tb.item(t, key))
	}
}

// Somebody else redrives a message while the question stands.
func TestAMessageThatIsNotGivenUpAnyMoreIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	m := newOutbox(t)
	ids := m.giveUp(t, "order-placed", "or_1", "or_2")
	s := onTerminal(t, program("messages redrive --all --reason 'ticket 4711' --by dana"), m.env, env("NO_COLOR=1"))
	s.until("Redrive 2 messages? (on table ")
	for _, id := range ids {
		assert.Contains(t, s.seen.String(), id, "the messages are shown")
	}
	m.runs(t, "messages redrive --id "+ids[0]+" --reason 'ticket 4710' --by eve --yes")
	s.answer("y\n")
	out, code := s.end()
	assert.Equal(t, 4, code, out)
	assert.Contains(t, out, "refused: of 2 messages, 1 changed since")
	assert.Regexp(t, "changed meanwhile +order-placed +"+ids[0], out)
	assert.Regexp(t, "(?m)^redriven +order-placed +"+ids[1], out)
	assert.Equal(t, []string{"eve", "ticket 4710"}, texts(t, m.item(t, ids[0]), "redriven_by", "redriven_reason"))
	assert.Equal(t, []string{"dana", "ticket 4711"}, texts(t, m.item(t, ids[1]), "redriven_by", "redriven_reason"))
}
