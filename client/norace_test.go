//go:build !race

package client_test

// crowdSize is how many clients one repo gets at once.
const crowdSize = 50
