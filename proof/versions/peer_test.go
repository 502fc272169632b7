package versions_test

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
	"github.com/go-idempotent/idempotent/proof/versions"
)

// build builds the peer with each version, and returns the binaries by the names of the versions.
var build = sync.OnceValues(func() (map[string]string, error) {
	dir, err := os.MkdirTemp("", "versions")
	if err != nil {
		return nil, err
	}
	binaries := map[string]string{without.name: filepath.Join(dir, without.name)}
	if err := goBuild(binaries[without.name]); err != nil {
		return nil, err
	}
	for name, a := range map[string]archived{before.name: withoutSteps, beforeCommits.name: withoutCommits} {
		mod, err := a.beside(filepath.Join(dir, "of-"+name))
		if err != nil {
			return nil, err
		}
		binaries[name] = filepath.Join(dir, name)
		if err := goBuild(binaries[name], "-tags", name, "-modfile", mod); err != nil {
			return nil, err
		}
	}
	return binaries, nil
})

// goBuild builds the peer. Nothing is fetched: the dependencies are those of this module.
func goBuild(to string, flags ...string) error {
	c := exec.Command("go", append(append([]string{"build", "-o", to}, flags...), "./peer")...)
	c.Env = append(os.Environ(), "GOWORK=off", "GOPROXY=off", "GOFLAGS=-mod=readonly")
	c.Stderr = os.Stderr
	return c.Run()
}

// beside puts the version into a folder, and returns a go.mod of this module that takes it from there.
func (a archived) beside(dir string) (string, error) {
	library := filepath.Join(dir, "library")
	if err := a.extract(library); err != nil {
		return "", err
	}
	for from, to := range map[string]string{root + "/go.mod": library + "/go.mod", "../go.mod": dir + "/go.mod", "../go.sum": dir + "/go.sum"} {
		text, err := os.ReadFile(from)
		if err != nil {
			return "", err
		}
		text = regexp.MustCompile(`(?m)^(replace .* => ).*$`).ReplaceAll(text, []byte("${1}"+library))
		if err := os.WriteFile(to, text, 0o600); err != nil {
			return "", err
		}
	}
	return dir + "/go.mod", nil
}

// peer is a process that runs handlers.
type peer struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// start starts a peer, which ends with the test.
func start(t *testing.T, binary, name string) *peer {
	t.Helper()
	p := &peer{t: t, cmd: exec.Command(binary, name, dynamolocal.Endpoint(t))}
	p.cmd.Stderr = os.Stderr
	var err error
	p.in, err = p.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	p.out = bufio.NewReader(out)
	require.NoError(t, p.cmd.Start())
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it may have ended
		_ = p.cmd.Wait()
	})
	return p
}

// told is what a peer said of one Ask.
type told struct {
	versions.Said

	// effects are those that happened, in this order.
	effects []string
	// died is true if the process ended, and holds if it waits.
	died, holds bool
}

func (p *peer) say(v any) {
	p.t.Helper()
	line, err := json.Marshal(v)
	require.NoError(p.t, err)
	_, err = p.in.Write(append(line, '\n'))
	require.NoError(p.t, err)
}

// hear hears what happens until the peer is done, dies, or holds.
func (p *peer) hear() (heard told) {
	p.t.Helper()
	for {
		line, err := p.out.ReadBytes('\n')
		if err != nil {
			heard.died = true
			return heard
		}
		var s versions.Said
		require.NoError(p.t, json.Unmarshal(line, &s), "%s", line)
		switch {
		case s.Effect != "":
			heard.effects = append(heard.effects, s.Effect)
		case s.Holds:
			heard.holds = true
			return heard
		default:
			heard.Said = s
			return heard
		}
	}
}
