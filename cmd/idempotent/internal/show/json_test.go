package show_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
)

// What a terminal acts on is escaped, and stays the same text to a program.
func TestALineForAProgramHasNothingThatATerminalActsOn(t *testing.T) {
	t.Parallel()
	const text = "a\u009b1m\x7f\u202e\u2066é<&> \U000e0001"
	var line bytes.Buffer
	require.NoError(t, show.JSON(&line, map[string]string{"t": text}))
	assert.Equal(t, `{"t":"a\u009b1m\u007f\u202e\u2066é<&> \udb40\udc01"}`+"\n", line.String())
	var back map[string]string
	require.NoError(t, json.Unmarshal(line.Bytes(), &back))
	assert.Equal(t, text, back["t"])
}
