package httpapi

import (
	"log/slog"
	"net/http"
)

// Server returns the server for the public listener: HTTP/1.1, and HTTP/2 also
// without TLS, with bounds on how long a peer may take. Who sets its ConnState
// must call the one that it has too.
func (a *API) Server() *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler:                      a,
		Protocols:                    &protocols,
		ReadHeaderTimeout:            headTimeout,
		ReadTimeout:                  readTimeout,
		WriteTimeout:                 writeTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               maxHead,
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(a.Log.Handler(), slog.LevelDebug),
		ConnState:                    idle,
		HTTP2:                        &http.HTTP2Config{MaxConcurrentStreams: 128},
	}
}
