package idempotent

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The linker keeps the marker only if the configuration refers to it. What "idempotent doctor"
// makes of that is tested there, with real programs.
func TestTheConfigurationRefersToTheMarker(t *testing.T) {
	t.Parallel()
	c := newConfig(nil, nil)
	require.Equal(t, marker, c.marker)
	require.Equal(t, "github.com/go-idempotent/idempotent: this program calls Wrap (7H2QXVT4KZ6M)", marker,
		"tools of other versions look for this text")
}
