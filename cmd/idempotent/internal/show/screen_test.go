package show_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
)

func TestAScreenIsDrawnInPlaceAndGivenBack(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := show.Screen{Printer: show.Printer{Out: &out, Colours: true}}
	require.NoError(t, s.End())
	assert.Empty(t, out.String(), "nothing was drawn")

	lines := [][]show.Cell{{{Text: "one", Colour: show.Red}, {Text: " two"}}, nil, {{Text: "\x1b[2Jé"}}}
	require.NoError(t, s.Draw(lines, 5))
	assert.Equal(t, "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[H\x1b[K\x1b[31mone\x1b[0m t\r\n\x1b[K\r\n\x1b[K\\x1b[\x1b[J\x1b[?7h", out.String())

	out.Reset()
	require.NoError(t, s.Draw([][]show.Cell{{{Text: "three"}}}, 80))
	assert.Equal(t, "\x1b[?7l\x1b[H\x1b[Kthree\x1b[J\x1b[?7h", out.String())

	out.Reset()
	require.NoError(t, s.End())
	require.NoError(t, s.End())
	assert.Equal(t, "\x1b[?25h\x1b[?1049l", out.String())
}
