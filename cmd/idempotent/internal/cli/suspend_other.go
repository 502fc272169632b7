//go:build !unix

package cli

import "os"

// suspensions returns nothing: no program is suspended here.
func suspensions() (pressed <-chan os.Signal, end func()) { return nil, func() {} }

func suspend() error { return nil }
