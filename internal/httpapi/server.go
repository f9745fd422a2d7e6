package httpapi

import (
	"log/slog"
	"net/http"
	"strings"
	"time"
)

// How long a peer may take.
const (
	headTimeout  = 10 * time.Second
	readTimeout  = 30 * time.Second
	writeTimeout = 30 * time.Second
	idleTimeout  = 2 * time.Minute
)

// maxStreams is how many requests a client of HTTP/2 may have open: one that
// takes nothing of their answers keeps them in memory, until writeTimeout.
const maxStreams = 32

// Server returns the server for the public listener: HTTP/1.1, and HTTP/2 with
// TLS, with bounds on how long a peer may take and on what it may have waiting.
func (a *API) Server() *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	return &http.Server{
		Handler:                      a,
		Protocols:                    &protocols,
		ReadHeaderTimeout:            headTimeout,
		ReadTimeout:                  readTimeout,
		WriteTimeout:                 writeTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               maxHead,
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(a.log.Handler(), slog.LevelDebug),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:          maxStreams,
			MaxReceiveBufferPerStream:     maxBody,
			MaxReceiveBufferPerConnection: 4 * maxBody,
			SendPingTimeout:               readTimeout,
			WriteByteTimeout:              writeTimeout,
		},
	}
}

// Plain reports whether a path is in the part that has operations, and not
// pages, whose answers may go on for long.
func Plain(path string) bool {
	for _, root := range [...]string{"/pets", "/store/", "/inventory", "/categories", "/account"} {
		if strings.HasPrefix(path, root) {
			return true
		}
	}
	return false
}
