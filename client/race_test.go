//go:build race

package client_test

// crowdSize is smaller under the race detector, which makes each client several
// times slower.
const crowdSize = 20
