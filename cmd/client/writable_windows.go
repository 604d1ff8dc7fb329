package main

import "os"

// writable can only look at the folder: what Windows allows is known when it is
// tried.
func writable(path string) error {
	_, err := os.Stat(path)
	return err
}
