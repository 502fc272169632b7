package consumers_test

import (
	"os"
	"runtime"
	"testing"
)

// TestMain lets one goroutine run at a time. Those of a batch that begin together would otherwise race for the key of a record that is in it twice, and
// a schedule would not repeat itself.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1)
	os.Exit(m.Run())
}
