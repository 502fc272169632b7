package batch_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every invocation of a new process loads what its function links. So a batch links no client of
// AWS, except for the one of SQS in the package that is for that, and no metrics if it has none.
func TestABatchLinksWhatItUses(t *testing.T) {
	t.Parallel()
	assert.Equal(t, map[string][]string{
		"batch":          nil,
		"batch/batchsqs": {"aws-sdk-go-v2/aws", "service/sqs"},
	}, heavyLinks(t))
}

// heavyLinks are the packages of the folder, each with those that it links itself or by others and
// that not everybody wants to link.
func heavyLinks(t *testing.T) map[string][]string {
	t.Helper()
	const module = "github.com/go-idempotent/"
	list := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Deps " "}}`, "./...")
	var stderr strings.Builder
	list.Stderr = &stderr
	out, err := list.Output()
	require.NoError(t, err, "%s", &stderr)
	linked := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		packages := strings.Fields(line)
		var heavy []string
		for _, path := range packages[1:] {
			_, service, isService := strings.Cut(path, "/aws-sdk-go-v2/service/")
			switch {
			case isService && !strings.HasPrefix(service, "internal/"):
				service, _, _ = strings.Cut(service, "/")
				heavy = append(heavy, "service/"+service)
			case strings.HasSuffix(path, "/aws-sdk-go-v2/aws"):
				heavy = append(heavy, "aws-sdk-go-v2/aws")
			case slices.Contains([]string{"idempotent/observe", "idempotent/dynamo", "idempotent/outbox"},
				strings.TrimPrefix(path, module)):
				heavy = append(heavy, strings.TrimPrefix(path, module))
			}
		}
		slices.Sort(heavy)
		linked[strings.TrimPrefix(packages[0], module+"idempotent/")] = slices.Compact(heavy)
	}
	return linked
}
