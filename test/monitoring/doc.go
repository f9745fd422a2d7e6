// Package monitoring holds the dashboard, the alert rules and the metrics
// against each other, with promtool and a Prometheus that reads a running
// server. It has tests only.
package monitoring
