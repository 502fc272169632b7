package protocol_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheMapOfThePackageListsEveryFile keeps the package documentation true.
func TestTheMapOfThePackageListsEveryFile(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("protocol.go")
	require.NoError(t, err)
	doc, _, _ := strings.Cut(string(text), "\npackage protocol")
	var listed []string
	for _, line := range regexp.MustCompile(`(?m)^//\t(\S+\.go) +\S`).FindAllStringSubmatch(doc, -1) {
		listed = append(listed, line[1])
	}
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	var files []string
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			files = append(files, name)
		}
	}
	slices.Sort(listed)
	require.Equal(t, files, listed)
}
