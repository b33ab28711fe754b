module kvorum/test/foreign/go

go 1.26.8

require (
	github.com/absolute8511/redigo v1.4.6
	github.com/youzan/go-zanredisdb v0.6.3
)

require (
	github.com/stretchr/testify v1.12.1 // indirect
	github.com/twmb/murmur3 v1.1.5 // indirect
)
