package main

import (
	"context"
	"net"
	"net/http"
	"time"
)

// server serves a handler on a free port of the loopback interface.
type server struct {
	*http.Server

	url string
}

// listen starts a server. It serves until it is closed.
func listen(ctx context.Context, handler http.Handler) (*server, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{
		Server: &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second},
		url:    "http://" + l.Addr().String(),
	}
	go s.Serve(l) //nolint:errcheck // it ends when the server is closed
	return s, nil
}
