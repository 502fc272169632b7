package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The templates of this repository have no problem: at most an alarm is missing that not everybody needs.
func TestTheTemplateOfTheRepositoryIsFine(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds the functions of the templates")
	}
	build := built(t)
	for file, route := range map[string]string{
		"../../template.yaml":                 "POST /charges (HTTP API Api): ChargeFunction wraps",
		"../../examples/orders/template.yaml": "POST /orders (HTTP API Api): OrdersFunction wraps",
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			r := run(t, []string{"doctor", "--template", file, "--build-dir", build, "-o", "json"})
			require.Zero(t, r.code, r.err)
			routes := []string{}
			for line := range strings.Lines(r.out) {
				var f struct{ Check, Result, Detail string }
				require.NoError(t, json.Unmarshal([]byte(line), &f))
				if f.Result != "ok" {
					assert.Contains(t, []string{"alarms: warning", "stream: on-failure destination: warning"}, f.Check+": "+f.Result, f.Detail)
				}
				if f.Check == "route" {
					routes = append(routes, f.Detail)
				}
			}
			assert.Equal(t, []string{route}, routes)
		})
	}
}

// built is a folder with the program of each function of the templates, as the Makefile names them.
func built(t *testing.T) string {
	t.Helper()
	makefile, err := os.ReadFile("../../Makefile")
	require.NoError(t, err)
	programs := regexp.MustCompile(`(?m)^build-(\w+): BUILT = (\S+)$`).FindAllStringSubmatch(string(makefile), -1)
	require.NotEmpty(t, programs)
	folder := t.TempDir()
	for _, p := range programs {
		c := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(folder, p[1], "bootstrap"), p[2])
		c.Dir = "../.."
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	return folder
}
