package remote

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/teammem/teammem/api"
)

// Policy asks for the policy of the caller's organization. known is the tag of the
// policy that the caller has, or empty; news is false while that is the one in force.
func (c *Client) Policy(ctx context.Context, known api.Checksum) (p api.OrgPolicy, news bool, err error) {
	header := http.Header{}
	if known != "" {
		header.Set("If-None-Match", known.ETag())
	}
	err = c.call(ctx, request{method: http.MethodGet, path: api.PathPolicy, header: header}, func(status int, body []byte) (err error) {
		if status == http.StatusNotModified {
			if known == "" {
				return api.Errorf(api.Internal, "nothing changed since a policy that was not named")
			}
			return nil
		}
		news = true
		p, err = api.DecodeOrgPolicy(body)
		return err
	})
	return p, news && err == nil, err
}

// AcceptFinding lets a value through for the whole organization, and gives the policy
// that holds from then on.
func (c *Client) AcceptFinding(ctx context.Context, a api.Acceptance) (api.OrgPolicy, error) {
	body, err := json.Marshal(struct {
		Fingerprint string `json:"fingerprint"`
		Rule        string `json:"rule"`
		Reason      string `json:"reason"`
	}{a.Fingerprint, a.Rule, a.Reason})
	if err != nil {
		return api.OrgPolicy{}, err
	}
	return c.changePolicy(ctx, request{
		method: http.MethodPost, path: api.PathAccepted, header: http.Header{"Content-Type": {"application/json"}}, body: body,
	})
}

// ForgetFinding takes an accepted value out again.
func (c *Client) ForgetFinding(ctx context.Context, fingerprint string) (api.OrgPolicy, error) {
	return c.changePolicy(ctx, request{method: http.MethodDelete, path: api.PathAccepted, query: url.Values{"fingerprint": {fingerprint}}})
}

func (c *Client) changePolicy(ctx context.Context, r request) (p api.OrgPolicy, err error) {
	err = c.call(ctx, r, func(_ int, body []byte) (err error) {
		p, err = api.DecodeOrgPolicy(body)
		return err
	})
	return p, err
}
