package versions_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/proof/versions"
)

// An execution of one version is suspended, its lease lapses, and the other version takes the record over.
func TestAnOwnerWhoseRecordTheOtherVersionTookOver(t *testing.T) {
	t.Parallel()
	for name, story := range map[string]func(t *testing.T, m *meeting){
		"this version records nothing, and gets the answer of the version before": func(t *testing.T, m *meeting) {
			stale := m.holds(stepped, versions.Ask{Effects: m.both("", versions.Holds)})
			m.later()
			answer := m.deliver(before, m.whole()).Returned
			require.NotEmpty(t, answer)
			completed := m.item()
			heard := stale.goesOn()
			assert.Equal(t, answer, heard.Returned, "what it did is not the answer")
			assert.Empty(t, heard.Err)
			assert.Equal(t, completed, m.item())
			m.replaysEverywhere(answer)
		},
		"this version records nothing while the version before runs": func(t *testing.T, m *meeting) {
			stale := m.holds(stepped, versions.Ask{Effects: m.both("", versions.Holds)})
			m.later()
			runs := m.holds(before, versions.Ask{Effects: m.both("", versions.Holds)})
			held := m.item()
			heard := stale.goesOn()
			assert.Equal(t, "superseded", heard.Err)
			assert.Equal(t, held, m.item())
			m.replaysEverywhere(runs.goesOn().Returned)
		},
		"this version releases nothing of the version before": func(t *testing.T, m *meeting) {
			stale := m.holds(stepped, versions.Ask{Effects: m.both("", ""), End: versions.HoldsAndFails})
			m.later()
			runs := m.holds(before, versions.Ask{Effects: m.both("", versions.Holds)})
			held := m.item()
			assert.Equal(t, "its own", stale.goesOn().Err)
			assert.Equal(t, held, m.item())
			m.replaysEverywhere(runs.goesOn().Returned)
		},
		"the version before gets the answer of this one": func(t *testing.T, m *meeting) {
			stale := m.holds(before, versions.Ask{Effects: m.both("", versions.Holds)})
			m.later()
			answer := m.deliver(stepped, m.whole()).Returned
			heard := stale.goesOn()
			assert.Empty(t, heard.Err)
			assert.Equal(t, answer, heard.Returned)
			m.replaysEverywhere(answer)
		},
		"the version before neither completes nor releases what this one runs": func(t *testing.T, _ *meeting) {
			for _, end := range []versions.End{versions.Holds, versions.HoldsAndFails} {
				m := newMeeting(t)
				stale := m.holds(before, versions.Ask{Effects: m.both("", end)})
				m.later()
				runs := m.holds(stepped, versions.Ask{Effects: m.both("", versions.Holds)})
				held := m.item()
				require.True(t, m.keepsStep())
				heard := stale.goesOn()
				assert.Nil(t, heard.Returned)
				if end == versions.Holds {
					assert.Equal(t, "superseded", heard.Err)
				}
				assert.Equal(t, held, m.item(), "with its step")
				m.replaysEverywhere(runs.goesOn().Returned)
			}
		},
		"the version before leaves the steps of a crashed one to this version": func(t *testing.T, m *meeting) {
			stale := m.holds(before, versions.Ask{Effects: m.both("", versions.Holds)})
			m.later()
			m.leaves(stepped, m.first(versions.Dies))
			require.True(t, m.keepsStep())
			// The clock of the stale one is behind, and so it takes the one that has crashed for one that runs.
			heard := stale.goesOn()
			assert.Equal(t, "superseded", heard.Err)
			assert.True(t, m.keepsStep())
			m.later()
			assert.Equal(t, "goes on with `charge`", m.meets(stepped))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			story(t, newMeeting(t))
		})
	}
}
