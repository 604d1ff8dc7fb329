package rest

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/ledger"
	"github.com/teammem/teammem/server/store"
)

// verifiedWhole is up to how many bytes of contents an answer is put together
// and verified before its header is sent. Beyond it the answer goes out in
// pieces.
const verifiedWhole = 4 << 20

// getTeamMemory answers GET: everything, hashes, or what changed since a
// version. With If-None-Match the answer that nothing changed costs one read, and so does
// a whole view that was asked for before.
func (h *Handler) getTeamMemory(c *call) error {
	query, err := parseMemoryQuery(c.r)
	if err != nil {
		return err
	}
	query.repo = c.resolve(query.repo)
	ifNoneMatch, err := api.ParseTags(c.r.Header.Values("If-None-Match"))
	if err != nil {
		return err
	}
	ctx := c.r.Context()
	epoch, err := h.db.Epoch(ctx)
	if err != nil {
		return err
	}
	if ifNoneMatch.Sent || query.since <= 0 {
		head, err := h.ledger.Head(ctx, c.caller, query.repo)
		if err != nil {
			return err
		}
		// What was withdrawn need not change the set: who has a version is told of it once.
		if ifNoneMatch.Sent && ifNoneMatch.Match(head.Checksum) && (query.since <= 0 || head.Redacted <= query.since) {
			setHead(c, head)
			c.begun = true
			c.w.WriteHeader(http.StatusNotModified)
			return nil
		}
		if ref, same := refOf(c, query, head, epoch); same {
			if known, ok := h.rendered.get(ref); ok {
				return h.answerView(c, query, head, known.live, func() error { return sendRendered(c, known) })
			}
		}
	}
	view, err := h.ledger.View(ctx, c.caller, query.repo, query.since)
	if err != nil {
		return err
	}
	return h.answerView(c, query, view.Head, view.Live, func() error { return h.writeView(c, query, epoch, view) })
}

// answerView sends a view, and notes who was served what.
func (h *Handler) answerView(c *call, query memoryQuery, head store.Head, live []store.Row, send func() error) error {
	setHead(c, head)
	c.w.Header()["Content-Type"] = headerJSON
	if c.r.Method == http.MethodHead {
		return nil
	}
	if err := send(); err != nil {
		return err
	}
	if !query.hashes {
		h.leaks.Pulled(c.caller, head.ID, head.Version)
		h.figures.Read(head.ID, live...)
	}
	return nil
}

// setHead sets the headers that stand for a repo's state.
func setHead(c *call, head store.Head) {
	header := c.w.Header()
	header["Etag"] = []string{head.Checksum.ETag()}
	header[api.HeaderVersion] = []string{strconv.FormatInt(int64(head.Version), 10)}
}

// writeView writes the body of a GET. Contents up to [verifiedWhole] are read,
// and thereby verified, before the header goes out; the others follow it.
func (h *Handler) writeView(c *call, query memoryQuery, epoch api.Epoch, view ledger.View) error {
	var size int64
	if !query.hashes {
		for i := range view.Live {
			size += int64(view.Live[i].Size)
		}
	}
	if err := h.reserve(c, min(size, verifiedWhole)); err != nil {
		return err
	}
	out := &pieces{whole: size <= verifiedWhole, send: func(b []byte) error {
		c.begun = true
		_, err := c.w.Write(b)
		return err
	}}
	out.take()
	defer out.giveBack()
	if err := h.renderView(c, out, query, epoch, view); err != nil {
		return err
	}
	if out.whole {
		c.w.Header()["Content-Length"] = []string{strconv.Itoa(len(out.buf))}
		if ref, same := refOf(c, query, view.Head, epoch); same {
			h.rendered.put(ref, renderedBody{slices.Clone(out.buf), view.Live})
		}
	}
	return out.flush()
}

// renderView gives the body piece by piece, entries last.
func (h *Handler) renderView(c *call, out *pieces, query memoryQuery, epoch api.Epoch, view ledger.View) error {
	head := view.Head
	out.text(`{"organizationId":`)
	out.str(c.caller.OrgUID)
	out.text(`,"repo":`)
	out.str(string(c.asked))
	out.text(`,"version":`)
	out.int(int64(head.Version))
	out.text(`,"epoch":`)
	out.str(string(epoch))
	out.text(`,"lastModified":`)
	out.time(api.NewTime(head.LastModified))
	out.text(`,"checksum":`)
	out.plain(string(head.Checksum))
	if view.Partial {
		out.text(`,"partial":true`)
	}
	out.text(`,"deleted":`)
	out.checksums(view.Deleted)
	if len(view.Redacted) > 0 {
		out.text(`,"redacted":[`)
		for i, sum := range view.Redacted {
			if i > 0 {
				out.text(`,`)
			}
			out.plain(string(sum))
		}
		out.text(`]`)
	}
	if query.hashes {
		out.text(`,"entryChecksums":`)
		out.checksums(view.Live)
	}
	out.text(`,"content":{"entryChecksums":`)
	out.checksums(view.Live)
	if !query.hashes {
		out.text(`,"entryModified":`)
		out.modified(view.Live)
		out.text(`,"entries":{`)
		if err := h.renderEntries(c, out, view.Live); err != nil {
			return err
		}
		out.text(`}`)
	}
	out.text(`}}`)
	return out.err
}

func (h *Handler) renderEntries(c *call, out *pieces, rows []store.Row) error {
	if len(rows) == 0 {
		return nil
	}
	first := true
	err := h.ledger.Bodies(c.r.Context(), c.caller, rows, func(row store.Row, content []byte) error {
		if !first {
			out.text(`,`)
		}
		first = false
		out.str(string(row.Key))
		out.text(`:`)
		out.content(content)
		return out.err
	})
	if e, ok := api.AsError(err); ok && e.Details.ErrorCode == api.ErrorCodeRedacted {
		// The next reading shows the tombstone.
		return overloaded("a text was withdrawn while it was read", err)
	}
	return err
}

// putTeamMemory answers PUT.
func (h *Handler) putTeamMemory(c *call) error {
	query, err := parseMemoryQuery(c.r)
	if err != nil {
		return err
	}
	query.repo = c.resolve(query.repo)
	ifMatch, err := api.ParseTags(c.r.Header.Values("If-Match"))
	if err != nil {
		return err
	}
	body, err := h.readBody(c)
	if err != nil {
		return err
	}
	push, err := api.DecodePush(body)
	if err != nil {
		return err
	}
	ctx := c.r.Context()
	// Asked before the change: once it is made, only its own answer may follow.
	epoch, err := h.db.Epoch(ctx)
	if err != nil {
		return err
	}
	c.caller.Role = c.roleOn(c.who.Resolve(query.repo))
	done, err := h.ledger.Push(ctx, c.caller, query.repo, push, ifMatch)
	if err != nil {
		return err
	}
	if c.pushed.held = len(done.Held); done.Changed {
		c.pushed.changed = len(push.Entries) + len(push.Deletions) - len(done.Held)
	}
	return writeResult(c, epoch, done)
}

// writeResult answers with what stands after a change.
func writeResult(c *call, epoch api.Epoch, done ledger.Result) error {
	setHead(c, done.Head)
	return writeJSON(c, http.StatusOK, api.PushResult{
		OrganizationID: c.caller.OrgUID,
		Repo:           c.asked,
		Version:        done.Version,
		Epoch:          epoch,
		LastModified:   api.NewTime(done.LastModified),
		Checksum:       done.Checksum,
		Changed:        done.Changed,
		Held:           done.Held,
	})
}
