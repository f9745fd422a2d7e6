module example.com/petstore/bench

go 1.26.0

require (
	example.com/petstore v0.0.0
	github.com/sethvargo/go-limiter v1.0.0
	github.com/throttled/throttled/v2 v2.13.0
	github.com/ulule/limiter/v3 v3.11.2
	golang.org/x/sys v0.49.0
	golang.org/x/time v0.12.0
)

require (
	github.com/hashicorp/golang-lru v0.5.4 // indirect
	github.com/pkg/errors v0.9.1 // indirect
	github.com/redis/rueidis v1.0.79 // indirect
	github.com/stretchr/testify v1.8.4 // indirect
)

replace example.com/petstore => ..
