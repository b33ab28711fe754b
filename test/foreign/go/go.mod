module kvorum/test/foreign/go

go 1.26.8

require (
	github.com/absolute8511/redigo v1.4.6
	github.com/redis/go-redis/v9 v9.23.0
	github.com/youzan/go-zanredisdb v0.6.3
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/twmb/murmur3 v1.1.5 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
)
