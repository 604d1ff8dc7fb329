package remote

import (
	"context"
	"net/url"
	"strconv"

	"github.com/teammem/teammem/api"
)

// mostProposals bounds how many of one's proposals are read: who has more gets the
// newest.
const mostProposals = 500

// MyProposals lists what the caller has proposed to a repo, newest first, whatever
// became of it. The error is [api.NotFound] at a server without review.
func (c *Client) MyProposals(ctx context.Context, repo api.RepoSlug) (mine []api.Proposal, err error) {
	const page = 100
	query := url.Values{"repo": {string(repo)}, "author": {"me"}, "limit": {strconv.Itoa(page)}}
	for len(mine) < mostProposals {
		var list api.ProposalList
		if err := c.read(ctx, api.PathProposals, query, &list); err != nil {
			return nil, err
		}
		mine = append(mine, list.Proposals...)
		if list.NextCursor == "" {
			break
		}
		query.Set("cursor", list.NextCursor)
	}
	return mine, nil
}
