package sandbox

import (
	"context"
	"net"
	"net/http"
	"time"
)

// Server serves a handler on a free port of the loopback interface. Make one with [Listen].
type Server struct {
	*http.Server

	URL string
}

// Listen starts a server. It serves until it is closed.
func Listen(ctx context.Context, handler http.Handler) (*Server, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{
		Server: &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second},
		URL:    "http://" + l.Addr().String(),
	}
	go s.Serve(l) //nolint:errcheck // it ends when the server is closed
	return s, nil
}
