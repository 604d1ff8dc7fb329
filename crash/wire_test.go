package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/teammem/teammem/api"
)

// wire speaks the contract to one server, without tries of its own: what is not
// answered is in doubt.
type wire struct {
	url, token string
	client     *http.Client
}

func newWire(address, token string) *wire {
	return &wire{address, token, &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32}, Timeout: 20 * time.Second}}
}

// answer is what came back, whole.
type answer struct {
	status int
	body   []byte
}

func (w *wire) do(ctx context.Context, method, repo string, body []byte, headers ...string) (answer, error) {
	r, err := http.NewRequestWithContext(ctx, method, w.url+api.PathTeamMemory+"?repo="+url.QueryEscape(repo), bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	r.Header.Set("Authorization", "Bearer "+w.token)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	got, err := w.client.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = got.Body.Close() }()
	text, err := io.ReadAll(got.Body)
	return answer{got.StatusCode, text}, err
}

// memory reads a repo; one without memory is empty.
func (w *wire) memory(ctx context.Context, repo string) (m api.Memory, err error) {
	got, err := w.do(ctx, http.MethodGet, repo, nil)
	// A server that is busy says so, and is asked again.
	for deadline := time.Now().Add(recoveryWait); err == nil && got.status == http.StatusServiceUnavailable && time.Now().Before(deadline); {
		wait(time.Second)
		got, err = w.do(ctx, http.MethodGet, repo, nil)
	}
	switch {
	case err != nil:
		return m, err
	case got.status == http.StatusNotFound:
		return m, nil
	case got.status != http.StatusOK:
		return m, fmt.Errorf("GET is answered %d: %s", got.status, got.body)
	}
	return m, json.Unmarshal(got.body, &m)
}

// put sends a push; taken is false for a conflict.
func (w *wire) put(ctx context.Context, repo string, push api.Push, headers ...string) (result api.PushResult, refused *api.Error, err error) {
	body, err := json.Marshal(push)
	if err != nil {
		return result, nil, err
	}
	got, err := w.do(ctx, http.MethodPut, repo, body, headers...)
	switch {
	case err != nil:
		return result, nil, err
	case got.status == http.StatusOK:
		return result, nil, json.Unmarshal(got.body, &result)
	case got.status == http.StatusPreconditionFailed:
		refused, _ := api.AsError(api.DecodeError(got.status, nil, got.body))
		return result, refused, nil
	}
	return result, nil, fmt.Errorf("PUT is answered %d: %s", got.status, got.body)
}

// ready waits until the server answers that it can serve.
func (w *wire) ready(ctx context.Context) error {
	for ; ctx.Err() == nil; <-time.After(2 * time.Millisecond) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+api.PathReady, nil)
		if err != nil {
			return err
		}
		got, err := w.client.Do(r)
		if err != nil {
			continue
		}
		_ = got.Body.Close()
		if got.StatusCode == http.StatusOK {
			return nil
		}
	}
	return ctx.Err()
}
