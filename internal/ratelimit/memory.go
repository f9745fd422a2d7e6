package ratelimit

// A Caller is the handle of one API key of one workspace. It belongs to the limiter that made it.
type Caller struct{}
