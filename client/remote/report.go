package remote

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/teammem/teammem/api"
)

// Report says how the client is, once: what is lost is said again with the next one.
func (c *Client) Report(ctx context.Context, repo api.RepoSlug, report api.ClientReport) error {
	body, err := json.Marshal(report)
	if err != nil {
		return err
	}
	r := request{
		method: http.MethodPost, path: api.PathClients, query: url.Values{"repo": {string(repo)}},
		header: http.Header{"Content-Type": {"application/json"}}, body: body,
	}
	return c.once(ctx, r, func(int, []byte) error { return nil })
}
