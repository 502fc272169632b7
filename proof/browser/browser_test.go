// Package browser drives the page of `idempotent serve` with a real Chromium: the built command,
// its own address, keys and clicks.
package browser_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// What the tests of the browser offer each other:
//
//	serve, its address()   the command, over the demo
//	open                   a tab in a browser of its own
//	tab.do, .text, .press  what a person does and sees

var binary string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		folder, err := os.MkdirTemp("", "idempotent-browser")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(folder)
		binary = filepath.Join(folder, "idempotent")
		build := exec.Command("go", "build", "-o", binary, ".")
		build.Dir = "../../cmd/idempotent"
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// served is a running command.
type served struct {
	address string

	mu  sync.Mutex
	out []string
}

// printed is what the command has printed after its address.
func (s *served) printed() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.out, "\n")
}

// serve runs the command over the demo, until the test ends.
func serve(t *testing.T, args ...string) *served {
	t.Helper()
	c := exec.CommandContext(t.Context(), binary, append([]string{"serve", "--demo", "--by", "dana"}, args...)...)
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nowhere"}
	c.Stderr = os.Stderr
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan(), "the command has printed nothing")
	s := &served{address: lines.Text()}
	var reading sync.WaitGroup
	reading.Go(func() {
		for lines.Scan() {
			s.mu.Lock()
			s.out = append(s.out, lines.Text())
			s.mu.Unlock()
		}
	})
	t.Cleanup(func() { // the context of the test has ended, and with it the command
		reading.Wait()
		if err := c.Wait(); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("the command ended with %v", err)
		}
	})
	return s
}

// origin is the address without its path.
func (s *served) origin() string {
	origin, _, _ := strings.Cut(s.address, "/?")
	return origin
}

// limit bounds what one test does in the browser.
const limit = 2 * time.Minute

// tab is a tab of a browser.
type tab struct {
	context.Context
}

// chromium is the browser. Without one the tests are skipped, loudly, and fail where everything has
// to be there.
func chromium(t *testing.T) string {
	t.Helper()
	if named := os.Getenv("CHROMIUM"); named != "" {
		return named
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const missing = "THE PAGE IS NOT TESTED IN A BROWSER: there is no chromium (apt-get install chromium, or set " +
		"CHROMIUM)"
	if os.Getenv("IDEMPOTENT_TEST_STRICT") == "1" {
		t.Fatal(missing)
	}
	t.Skip(missing)
	return ""
}

// open opens a browser of its own, with one tab.
func open(t *testing.T) *tab {
	t.Helper()
	opts := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium(t)), chromedp.NoSandbox, chromedp.WindowSize(1200, 900),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("force-color-profile", "srgb"),
		chromedp.Flag("disable-lcd-text", true),
		chromedp.Flag("host-resolver-rules", "MAP rebound.example 127.0.0.1"))
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, opts...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &tab{ctx}
	b.do(t)
	return b
}

// another opens a second tab of the same browser.
func (b *tab) another(t *testing.T) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(b.Context)
	t.Cleanup(cancel)
	return &tab{ctx}
}

func (b *tab) do(t *testing.T, actions ...chromedp.Action) {
	t.Helper()
	require.NoError(t, chromedp.Run(b.Context, actions...))
}

// evaluate runs a script of the tab, and waits for what it promises.
func (b *tab) evaluate(t *testing.T, script string, into any) {
	t.Helper()
	b.do(t, chromedp.Evaluate(script, into,
		func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
}

// text is what is to be read on the page.
func (b *tab) text(t *testing.T) string {
	t.Helper()
	var text string
	b.do(t, chromedp.Evaluate(`document.body.innerText`, &text))
	return text
}

// follow clicks something that leads to another page, and waits for that.
func (b *tab) follow(t *testing.T, selector string) {
	t.Helper()
	_, err := chromedp.RunResponse(b.Context, chromedp.Click(selector, chromedp.ByQuery))
	require.NoError(t, err)
}

func (b *tab) location(t *testing.T) string {
	t.Helper()
	var at string
	b.do(t, chromedp.Location(&at))
	return at
}

// executor is a context for commands that no action of chromedp wraps.
func (b *tab) executor() context.Context {
	return cdp.WithExecutor(b.Context, chromedp.FromContext(b.Context).Target)
}

// look sets how somebody looks at the page: the width of the window, and light or dark.
func (b *tab) look(t *testing.T, width int64, scheme string) {
	t.Helper()
	b.do(t,
		chromedp.EmulateViewport(width, 800),
		emulation.SetEmulatedMedia().WithFeatures(
			[]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
}

// picture is the whole page.
func (b *tab) picture(t *testing.T, width int64) []byte {
	t.Helper()
	var height int64
	var png []byte
	b.do(t, chromedp.Evaluate(`document.documentElement.scrollHeight`, &height),
		chromedp.ActionFunc(func(ctx context.Context) (err error) {
			png, err = page.CaptureScreenshot().WithCaptureBeyondViewport(true).
				WithClip(&page.Viewport{Width: float64(width), Height: float64(height), Scale: 1}).Do(ctx)
			return err
		}))
	return png
}
