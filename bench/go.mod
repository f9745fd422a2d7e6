module example.com/petstore/bench

go 1.26.0

require (
	example.com/petstore v0.0.0
	golang.org/x/sync v0.24.0
	golang.org/x/sys v0.49.0
)

require (
	code.dny.dev/ssrf v0.3.0 // indirect
	github.com/dustin/go-humanize v1.1.0 // indirect
	github.com/go-json-experiment/json v0.0.0-20260820222146-c27c302e5fc3 // indirect
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/jackc/pgx/v5 v5.12.0 // indirect
	github.com/jackc/puddle/v2 v2.2.3 // indirect
	github.com/redis/rueidis v1.0.79 // indirect
	github.com/standard-webhooks/standard-webhooks/libraries v0.0.1 // indirect
	go.uber.org/goleak v1.3.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)

replace example.com/petstore => ..
