package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

const (
	honestClients = 8
	honestPause   = 50 * time.Millisecond
)

// felt is what honest clients met.
type felt struct {
	Took    []time.Duration
	Refused map[string]int // by what they were answered
}

// honest is the program: HONEST URL TOKEN SECONDS. It says what it felt.
func honest(arguments []string) error {
	seconds, err := strconv.Atoi(arguments[2])
	if err != nil {
		return err
	}
	p := &product{url: arguments[0], token: arguments[1]}
	var mu sync.Mutex
	all := felt{Refused: map[string]int{}}
	var crowd sync.WaitGroup
	end := time.Now().Add(time.Duration(seconds) * time.Second)
	for i := range honestClients {
		crowd.Go(func() {
			client := &http.Client{Transport: &http.Transport{DisableCompression: true}, Timeout: 30 * time.Second}
			defer client.CloseIdleConnections()
			for n := 0; time.Now().Before(end); n++ {
				if n%10 == 0 {
					client.CloseIdleConnections() // some come anew
				}
				began := time.Now()
				said := once(client, p, i, n)
				took := time.Since(began)
				mu.Lock()
				all.Took = append(all.Took, took)
				if said != "" {
					all.Refused[said]++
				}
				mu.Unlock()
				<-time.After(honestPause)
			}
		})
	}
	crowd.Wait()
	return json.NewEncoder(os.Stdout).Encode(all)
}

// once writes, or reads what it wrote. It says what was wrong with the answer.
func once(client *http.Client, p *product, i, n int) string {
	method, body := http.MethodPut, fmt.Appendf(nil, `{"entries":{"n%d.md":"text %d"}}`, i, n)
	if n%2 == 1 {
		method, body = http.MethodGet, nil
	}
	r, err := http.NewRequest(method, p.memory(fmt.Sprintf("acme/honest%d", i)), bytes.NewReader(body))
	if err != nil {
		return err.Error()
	}
	r.Header.Set("Authorization", "Bearer "+p.token)
	if method == http.MethodPut && n > 0 {
		r.Header.Set("If-Match", "*")
	}
	answer, err := client.Do(r)
	if err != nil {
		return "no answer"
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return answer.Status
	}
	return ""
}
