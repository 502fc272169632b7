package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
)

func TestEverySectionStillMeasures(t *testing.T) {
	for _, s := range sections {
		t.Run(s.name, func(t *testing.T) {
			found, err := s.measure(onlyOnce)
			if errors.Is(err, errNotHere) && !dynamolocal.Strict() {
				t.Logf("!!! SKIPPED: %v", err)
				t.Skipf("!!! SKIPPED: %v", err)
			}
			require.NoError(t, err)
			assert.NotEmpty(t, found.about)
			require.NotEmpty(t, found.rows)
			for _, row := range found.rows {
				if len(row) != 1 {
					assert.Len(t, row, len(found.header), row)
				}
			}
			var text strings.Builder
			found.print(&text, s.name)
			assert.Contains(t, text.String(), "\n"+s.name+"\n")
		})
	}
}
