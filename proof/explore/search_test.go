package explore

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var errBroken = errors.New("broken")

// Two processes with three steps each have twenty schedules, and sixteen states.
func steps(each func(s *schedule, done [2]int) error) func(*schedule) error {
	return func(s *schedule) error {
		var done [2]int
		for {
			var ready []int
			for process, n := range done {
				if n < 3 {
					ready = append(ready, process)
				}
			}
			picked, goesOn := s.Choose(max(1, len(ready)), func() uint64 {
				return newDigest(time.Time{}, done[0], done[1]).Sum64()
			})
			if !goesOn || len(ready) == 0 {
				return nil
			}
			process := ready[picked]
			s.Sayf("%c goes on", 'A'+process)
			done[process]++
			if err := each(s, done); err != nil {
				return err
			}
		}
	}
}

func TestEveryScheduleIsPlayedOnce(t *testing.T) {
	t.Parallel()
	r := search(steps(func(s *schedule, done [2]int) error {
		if done == [2]int{3, 3} {
			s.Saw("end")
		}
		return nil
	}))
	assert.Nil(t, r.Violation)
	assert.EqualValues(t, 20, r.Schedules)
	assert.Equal(t, 16, r.States)
	assert.Equal(t, 7, r.Longest)
	assert.Equal(t, 1, r.Played)
	assert.Equal(t, 9, r.Merged, "one for each state that is met on a second way: those where both have begun")
	assert.Contains(t, r.Seen, "end")
}

func TestAViolationIsToldStepByStep(t *testing.T) {
	t.Parallel()
	r := search(steps(func(_ *schedule, done [2]int) error {
		if done == [2]int{1, 2} {
			return errBroken
		}
		return nil
	}))
	require.NotNil(t, r.Violation)
	require.ErrorIs(t, r.Violation.Err, errBroken)
	assert.Equal(t, []string{"A goes on", "B goes on", "B goes on"}, r.Violation.Story)
	assert.Equal(t, "broken, after\n  A goes on\n  B goes on\n  B goes on", r.Violation.String())
}

// A world that does something else the second time would leave schedules out.
func TestAWorldMustRepeatItself(t *testing.T) {
	t.Parallel()
	times := 0
	assert.PanicsWithValue(t,
		"explore: step 0 had 2 choices and now has 3: the world does not repeat itself", func() {
			search(func(s *schedule) error {
				times++
				s.Choose(1+times, func() uint64 { return 0 })
				return nil
			})
		})
}

func TestDigestsTellStatesApart(t *testing.T) {
	t.Parallel()
	origin := time.Unix(1, 0)
	of := func(values ...any) uint64 { return newDigest(origin, values...).Sum64() }
	different := map[string]uint64{
		"texts":            of("ab", "c"),
		"texts cut apart":  of("a", "bc"),
		"a number":         of(2),
		"a larger number":  of(2 << 40),
		"no time":          of(time.Time{}),
		"the beginning":    of(origin),
		"another order":    of(true, true, false),
		"flags in order":   of(true, false, true),
		"nothing was said": of(),
	}
	seen := map[uint64]string{}
	for what, sum := range different {
		assert.NotContains(t, seen, sum, "%s and %s", what, seen[sum])
		seen[sum] = what
	}
	later := origin.Add(time.Hour)
	assert.Equal(t, of(origin.Add(time.Second)), newDigest(later, later.Add(time.Second)).Sum64())
	assert.Equal(t, of(origin), of(origin.UTC()))
}
