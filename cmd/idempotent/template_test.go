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

// The template of this repository has no problem and needs no warning, with everything that it can be.
func TestTheTemplateOfTheRepositoryIsFine(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds the functions of the template")
	}
	build := built(t)
	for name, c := range map[string]struct {
		parameters []string
		routes     []string
	}{
		"as it is":   {nil, []string{"POST /charges (HTTP API HttpApi): ChargeFunction wraps"}},
		"a REST API": {[]string{"ApiType=REST", "Authorization=AWS_IAM"}, []string{"POST /charges (REST API RestApi): ChargeFunction wraps"}},
		"orders that are shipped": {[]string{"Orders=true", "ShippingQueue=fifo"}, []string{
			"POST /charges (HTTP API HttpApi): ChargeFunction wraps", "POST /orders (HTTP API HttpApi): OrdersFunction wraps",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := []string{"doctor", "--template", "../../template.yaml", "--build-dir", build, "-o", "json"}
			for _, p := range c.parameters {
				args = append(args, "--parameter", p)
			}
			r := run(t, args)
			require.Zero(t, r.code, r.err)
			routes := []string{}
			for line := range strings.Lines(r.out) {
				var f struct{ Check, Result, Detail string }
				require.NoError(t, json.Unmarshal([]byte(line), &f))
				if f.Result != "ok" {
					assert.Equal(t, "conditions: not checked", f.Check+": "+f.Result, f.Detail)
				}
				if f.Check == "route" {
					routes = append(routes, f.Detail)
				}
			}
			assert.Equal(t, c.routes, routes)
		})
	}
}

// built is a folder with the program of each function of the template, as the Makefile names them.
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
