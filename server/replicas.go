package server

import (
	"context"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/events"
	"github.com/teammem/teammem/server/store"
)

// lookTime bounds one look at all repos that somebody listens to.
const lookTime = 30 * time.Second

// announce tells the streams of this server that a repo has changed and, where
// others may share the database, those; and the index for search follows.
func (s *Server) announce(e events.Event) {
	s.events.Publish(e)
	s.follower.changed(e.Organization)
	s.observer.published()
	if others, ok := s.store.(store.Announcer); ok {
		others.Announce(store.Announcement{OrgUID: e.Organization, Slug: e.Repo, Version: e.Version, Checksum: e.Checksum})
	}
}

// hearOthers passes on what other servers on this database announce, until ctx
// ends. On a store that cannot be shared there is nothing to hear.
func (s *Server) hearOthers(ctx context.Context) {
	others, ok := s.store.(store.Announcer)
	if !ok {
		return
	}
	others.Exchange(ctx, func(a store.Announcement) {
		s.replica.heard(ctx, a)
		s.events.Publish(events.Event{Organization: a.OrgUID, Repo: a.Slug, Version: a.Version, Checksum: a.Checksum})
	}, s.look)
}

// look reads anew what every repo is at that somebody listens to. The hub tells
// only what is news to a listener.
func (s *Server) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	topics := s.events.Topics(ctx)
	if len(topics) == 0 {
		return
	}
	orgs, err := s.store.Organizations(ctx)
	if err != nil {
		s.log.Warn("changes on other servers may be told late", "error", err)
		return
	}
	ids := map[string]store.OrgID{}
	for _, org := range orgs {
		ids[org.UID] = org.ID
	}
	for _, topic := range topics {
		if err := s.lookAt(ctx, ids[topic.Organization], topic); err != nil {
			s.log.Warn("changes on other servers may be told late", "error", err)
			return
		}
	}
}

// lookAt reads what a repo is at, or where all are listened to, what each is at.
func (s *Server) lookAt(ctx context.Context, org store.OrgID, topic events.Topic) error {
	var repos []store.RepoInfo
	var err error
	if topic.Repo == "" {
		repos, err = s.store.Repos(ctx, org)
	} else {
		repos = []store.RepoInfo{{Slug: topic.Repo}}
		repos[0].Head, err = s.store.Head(ctx, store.RepoRef{Org: org, Slug: topic.Repo})
	}
	for _, repo := range repos {
		if head := repo.Head; err == nil && head.Version > 0 {
			s.events.Publish(events.Event{
				Organization: topic.Organization, Repo: repo.Slug, Version: head.Version, Checksum: checksumForAll(head), At: head.LastModified,
			})
		}
	}
	return err
}

// checksumForAll is the checksum that an event may name: none where anything is
// proposed, for there not everybody sees the same set.
func checksumForAll(head store.Head) api.Checksum {
	if head.Proposals > 0 {
		return ""
	}
	return head.Checksum
}
