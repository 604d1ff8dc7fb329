package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// loadHTTP is the load generator where there is no wrk: LOAD CONNECTIONS SECONDS URL
// HEADER… It says what it did in wrk's words.
func loadHTTP(arguments []string) error {
	connections, err := strconv.Atoi(arguments[0])
	if err != nil {
		return err
	}
	seconds, err := strconv.Atoi(arguments[1])
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: connections, DisableCompression: true}}
	begun := time.Now()
	ctx, cancel := context.WithDeadline(context.Background(), begun.Add(time.Duration(seconds)*time.Second))
	defer cancel()
	counts := make([]int, connections)
	var group errgroup.Group
	for i := range counts {
		group.Go(func() (err error) {
			counts[i], err = askAgain(ctx, client, arguments[2], arguments[3:])
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	total := 0
	for _, n := range counts {
		total += n
	}
	fmt.Printf("%d requests in %.3fs\n", total, time.Since(begun).Seconds())
	return nil
}

// askAgain asks until ctx ends and counts the answers.
func askAgain(ctx context.Context, client *http.Client, url string, headers []string) (n int, err error) {
	request, err := newRequest(url, headers)
	if err != nil {
		return 0, err
	}
	for ; ctx.Err() == nil; n++ {
		answer, err := client.Do(request)
		if err != nil {
			return n, err
		}
		_, err = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		if err != nil {
			return n, err
		}
		if answer.StatusCode >= http.StatusBadRequest {
			return n, fmt.Errorf("answered %s", answer.Status)
		}
	}
	return n, nil
}

// newRequest makes a GET with headers as wrk takes them.
func newRequest(url string, headers []string) (*http.Request, error) {
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		request.Header.Set(name, value)
	}
	return request, nil
}
