// Package browser drives the page of `idempotent serve` with a real Chromium: the built command,
// its own address, keys and clicks.
package browser_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/testkit/dynamotest"
)

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

// limit bounds what one test does in the browser.
const limit = 2 * time.Minute

// tab is a tab of a browser, and the command whose page it shows.
type tab struct {
	context.Context

	t *testing.T
	// out is the file of what the command prints, address what it prints first.
	out, address string
}

// open runs the command over the demo, and opens a browser of its own, until the test ends.
func open(t *testing.T) *tab {
	t.Helper()
	browser := chromium(t)
	b := &tab{t: t, out: filepath.Join(t.TempDir(), "out")}
	out, err := os.Create(b.out)
	require.NoError(t, err)
	c := exec.CommandContext(t.Context(), binary, "serve", "--demo", "--by", "dana")
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nowhere"}
	c.Stdout, c.Stderr = out, os.Stderr
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	require.NoError(t, c.Start())
	t.Cleanup(func() { // the context of the test has ended, and with it the command
		if err := errors.Join(c.Wait(), out.Close()); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("the command ended with %v", err)
		}
	})
	require.Eventually(t, func() (printed bool) {
		text, err := os.ReadFile(b.out)
		b.address, _, printed = strings.Cut(string(text), "\n")
		return err == nil && printed
	}, limit, 10*time.Millisecond, "the command has printed nothing")

	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(browser), chromedp.NoSandbox, chromedp.WindowSize(1200, 900),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("force-color-profile", "srgb"),
		chromedp.Flag("disable-lcd-text", true),
		chromedp.Flag("host-resolver-rules", "MAP rebound.example 127.0.0.1"))...)
	t.Cleanup(cancel)
	b.Context, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b.do()
	return b
}

// chromium is the browser.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{
		os.Getenv("CHROMIUM"), "chromium", "chromium-browser", "google-chrome", "google-chrome-stable",
	} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	dynamotest.CannotRun(t, errors.New("there is no chromium (apt-get install chromium, or set CHROMIUM)"))
	return ""
}

// another opens a second tab of the same browser.
func (b *tab) another() *tab {
	other := *b
	var cancel func()
	other.Context, cancel = chromedp.NewContext(b.Context)
	b.t.Cleanup(cancel)
	return &other
}

// printed is what the command has printed after its address.
func (b *tab) printed() string {
	text, err := os.ReadFile(b.out)
	require.NoError(b.t, err)
	_, printed, _ := strings.Cut(string(text), "\n")
	return printed
}

func (b *tab) do(actions ...chromedp.Action) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Run(b.Context, actions...))
}

// enterHome loads the address that the command has printed, and returns that of the page.
func (b *tab) enterHome() string {
	b.do(chromedp.Navigate(b.address))
	home := b.location()
	require.NotEqual(b.t, b.address, home)
	return home
}

// evaluate runs a script of the tab, and waits for what it promises.
func evaluate[T any](b *tab, script string) (value T) {
	b.t.Helper()
	b.do(chromedp.Evaluate(script, &value,
		func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	return value
}

// text is what is to be read on the page.
func (b *tab) text() string { return evaluate[string](b, `document.body.innerText`) }

func (b *tab) location() string { return evaluate[string](b, `location.href`) }

// leads does something that leads to another page, waits for that, and returns its status.
func (b *tab) leads(action chromedp.Action) int64 {
	b.t.Helper()
	answer, err := chromedp.RunResponse(b.Context, action)
	require.NoError(b.t, err)
	return answer.Status
}

// follow clicks a link with this text, or what a selector finds.
func (b *tab) follow(what string) {
	b.t.Helper()
	if !strings.Contains(what, "button") {
		what = `//a[text()="` + what + `"]`
	}
	b.leads(chromedp.Click(what, chromedp.BySearch))
}

// choose chooses a verdict of a form, and fills in others of its fields, by their ids: one that has
// no text is clicked.
func (b *tab) choose(verdict string, fields ...[2]string) {
	b.t.Helper()
	b.do(chromedp.Click(`input[value="`+verdict+`"]`, chromedp.ByQuery))
	for _, f := range fields {
		if f[1] == "" {
			b.do(chromedp.Click("#"+f[0], chromedp.ByQuery))
		} else {
			b.do(chromedp.SendKeys("#"+f[0], f[1], chromedp.ByQuery))
		}
	}
}
