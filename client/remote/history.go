package remote

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"github.com/teammem/teammem/api"
)

// History lists the changes of a key, or of all keys when key is empty, newest
// first. cursor is that of the page before, or empty.
func (c *Client) History(ctx context.Context, repo api.RepoSlug, key api.Key, limit int, cursor string) (api.HistoryList, error) {
	query := url.Values{"repo": {string(repo)}, "limit": {strconv.Itoa(limit)}}
	if key != "" {
		query.Set("key", string(key))
	}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	var list api.HistoryList
	err := c.read(ctx, api.PathHistory, query, &list)
	return list, err
}

// Entry reads an entry as it stood at a version, 0 for now. The text is the one
// that the server's checksum names, or the answer is not believed.
func (c *Client) Entry(ctx context.Context, repo api.RepoSlug, key api.Key, version api.Version) (api.EntryAt, error) {
	query := url.Values{"repo": {string(repo)}, "key": {string(key)}}
	if version > 0 {
		query.Set("version", strconv.FormatInt(int64(version), 10))
	}
	var entry api.EntryAt
	if err := c.read(ctx, api.PathEntry, query, &entry); err != nil {
		return entry, err
	}
	if !entry.Deleted && api.ChecksumOfString(entry.Content) != entry.Checksum {
		return entry, &Stranger{Server: c.opts.Server, What: "answers with a text that does not have its checksum"}
	}
	return entry, nil
}

// Restore puts an old text back at the server, as a new version.
func (c *Client) Restore(ctx context.Context, repo api.RepoSlug, ask api.Restore) (result api.PushResult, err error) {
	body, err := json.Marshal(ask)
	if err != nil {
		return result, err
	}
	r := request{
		method: http.MethodPost, path: api.PathRestore, query: url.Values{"repo": {string(repo)}},
		header: http.Header{"Content-Type": {"application/json"}}, body: body,
	}
	err = c.call(ctx, r, func(_ int, body []byte) (err error) {
		result, err = api.DecodePushResult(body)
		return err
	})
	return result, err
}

// read asks for one of the lists and records under /api/v1.
func (c *Client) read(ctx context.Context, path string, query url.Values, into any) error {
	return c.call(ctx, request{method: http.MethodGet, path: path, query: query}, func(_ int, body []byte) error {
		if _, err := api.ParseJSON(body); err != nil {
			return err
		}
		return json.Unmarshal(body, into)
	})
}
