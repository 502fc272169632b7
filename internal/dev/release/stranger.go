package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// stranger has Go, and nothing of this repository.
type stranger struct{ folder, origin string }

// buildsTheProgram copies the program of the README, and the test of the page that follows, into an
// empty module.
func (s stranger) buildsTheProgram(t *tree) error {
	home := filepath.Join(s.folder, "empty")
	if err := os.Mkdir(home, 0o700); err != nil {
		return err
	}
	for name, page := range map[string]string{"main.go": "README.md", "main_test.go": "docs/start.md"} {
		text, err := os.ReadFile(filepath.Join(t.root, page))
		if err != nil {
			return err
		}
		code := regexp.MustCompile("(?ms)^```go\n(package main\n.*?)^```$").FindSubmatch(text)
		if code == nil {
			return errors.New(page + " has no program")
		}
		if err := os.WriteFile(filepath.Join(home, name), code[1], 0o600); err != nil {
			return err
		}
	}
	for _, command := range []string{
		"mod init example.com/empty", "get " + library + "@" + t.version, "mod tidy",
		"vet .", "test .",
	} {
		if err := s.goes(home, strings.Fields(command)...); err != nil {
			return err
		}
	}
	return nil
}

// goes runs go with a module cache of its own, so that nothing of this tree stays on the machine.
// It takes the library from its origin. What others have published comes from the cache that is
// there, or from where it came from.
func (s stranger) goes(folder string, args ...string) error {
	out, err := output("", nil, "go", "env", "GOMODCACHE", "GOPROXY")
	if err != nil {
		return err
	}
	there := strings.Fields(out)
	_, err = output(folder, []string{
		"GOWORK=off", "GOFLAGS=-modcacherw -trimpath", "GOSUMDB=off",
		"GOMODCACHE=" + filepath.Join(s.folder, "mod"), "GOBIN=" + filepath.Join(s.folder, "bin"),
		"GOPROXY=file://" + there[0] + "/cache/download," + there[1], "GONOPROXY=" + library,
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url.file://" + s.origin + ".insteadOf",
		"GIT_CONFIG_VALUE_0=https://" + library,
	}, append([]string{"go"}, args...)...)
	return err
}
