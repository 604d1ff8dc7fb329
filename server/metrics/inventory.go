package metrics

import (
	"context"
	"regexp"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// InventoryEvery is how old what the database said may be when it is served.
	InventoryEvery = 15 * time.Second
	// inventoryTime bounds the asking: Prometheus waits ten seconds by default.
	inventoryTime = 8 * time.Second
	// MostOrganizations have a label of their own; the others are added up as
	// [Others].
	MostOrganizations = 100
	// Others stands for the organizations beyond [MostOrganizations].
	Others = "(others)"
	// mostVersions of clients have a label of their own.
	mostVersions = 30
)

// Organization is what one holds at a moment.
type Organization struct {
	Name           string
	Repositories   int
	Entries        int
	People         int
	Versions       int64
	Bytes          int64 // of live contents
	Storage        int64 // of all contents, packed
	Proposals      int
	OldestProposal time.Duration // how long it has waited
	AuditRecords   int64
	AuditBroken    bool
	TokensEnding   int // within a week
	Quiet          int // repos none of whose running clients is in step
}

// Client is what one last said of itself.
type Client struct {
	Version  string
	Running  bool // it said so, and not that it ended
	Troubled bool
	Silent   time.Duration // since it last said anything
	Lag      int64         // versions that it is behind
	Pending  int
	Kept     int
	Held     int
}

// Inventory is what only the database knows.
type Inventory struct {
	Organizations []Organization
	Clients       []Client
}

// Inventory has ask give what only the database knows, when somebody scrapes.
func (s *Set) Inventory(now func() time.Time, ask func(context.Context) (Inventory, error)) {
	s.registry.MustRegister(&inventory{now: now, ask: ask})
}

// inventory is a collector: its metrics are made at each scrape of what was found.
type inventory struct {
	now func() time.Time
	ask func(context.Context) (Inventory, error)

	mu    sync.Mutex
	found Inventory
	at    time.Time
	up    float64
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(namespace+"_"+name, help, labels, nil)
}

// The metrics of organizations, each with how it is read.
var perOrganization = []struct {
	desc *prometheus.Desc
	of   func(Organization) float64
}{
	{desc("repositories", "Repos that have memory.", "organization"), func(o Organization) float64 { return float64(o.Repositories) }},
	{desc("entries", "Live entries of all repos.", "organization"), func(o Organization) float64 { return float64(o.Entries) }},
	{desc("people", "Members, service accounts included.", "organization"), func(o Organization) float64 { return float64(o.People) }},
	{desc("versions", "Versions of all repos.", "organization"), func(o Organization) float64 { return float64(o.Versions) }},
	{desc("content_bytes", "Bytes of the live contents.", "organization"), func(o Organization) float64 { return float64(o.Bytes) }},
	{desc("storage_bytes", "Bytes that all contents take, those of history too, as they are packed.", "organization"), func(o Organization) float64 { return float64(o.Storage) }},
	{desc("proposals_waiting", "Proposals that nobody has decided on.", "organization"), func(o Organization) float64 { return float64(o.Proposals) }},
	{desc("proposal_oldest_age_seconds", "How long the oldest of them has waited; 0 where none does.", "organization"), func(o Organization) float64 { return o.OldestProposal.Seconds() }},
	{desc("audit_records", "Records of the organization's own audit chain.", "organization"), func(o Organization) float64 { return float64(o.AuditRecords) }},
	{desc("audit_chain_broken", "1 where the last check of the audit chains found a broken link.", "organization"), func(o Organization) float64 { return truth(o.AuditBroken) }},
	{desc("repositories_quiet", "Repos that have clients that run, none of which is in step.", "organization"), func(o Organization) float64 { return float64(o.Quiet) }},
	{desc("tokens_ending", "Tokens that are in force and end within a week.", "organization"), func(o Organization) float64 { return float64(o.TokensEnding) }},
}

var (
	descUp      = desc("inventory_up", "1 where the database could be asked for what this scrape says of organizations and clients.")
	descClients = desc("clients", "Clients that were heard of within a month, by version and state: running, stopped, lost (silent for a day).", "version", "state")
	descTrouble = desc("clients_troubled", "Clients that run and say that something is wrong.")
	descLag     = desc("clients_behind", "Clients that run and do not have their repo's newest version.")
	descLagMost = desc("clients_lag_versions_max", "The most versions that a client that runs is behind.")
	descPending = desc("clients_pending", "Edits that wait at clients to be sent.")
	descKept    = desc("clients_kept", "Texts in the keeps of clients: conflicts that a person has to look at.")
	descHeld    = desc("clients_held", "Files that clients hold back.")
	descSilent  = desc("client_silence_seconds", "Time since each client that runs last said anything of itself.")
)

// lostAfter is when a client that never said that it ended is not counted as one that
// runs any more: its machine was switched off.
const lostAfter = 24 * time.Hour

// silentBuckets: a client says something every five minutes at least.
var silentBuckets = []float64{60, 300, 600, 900, 3600, 14400}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Describe implements prometheus.Collector.
func (i *inventory) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range perOrganization {
		ch <- m.desc
	}
	for _, d := range []*prometheus.Desc{descUp, descClients, descTrouble, descLag, descLagMost, descPending, descKept, descHeld, descSilent} {
		ch <- d
	}
}

// look asks, unless that was done a moment ago.
func (i *inventory) look() (Inventory, float64) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.now().Sub(i.at) < InventoryEvery {
		return i.found, i.up
	}
	ctx, cancel := context.WithTimeout(context.Background(), inventoryTime)
	defer cancel()
	found, err := i.ask(ctx)
	if i.at, i.up = i.now(), truth(err == nil); err != nil {
		found = Inventory{} // what is old is not said as if it were new
	}
	i.found = bounded(found)
	return i.found, i.up
}

// bounded adds organizations beyond those that have a label up, and names client
// versions that look like none "other".
func bounded(all Inventory) Inventory {
	if len(all.Organizations) > MostOrganizations {
		rest := Organization{Name: Others}
		for _, o := range all.Organizations[MostOrganizations:] {
			rest.Repositories, rest.Entries, rest.People = rest.Repositories+o.Repositories, rest.Entries+o.Entries, rest.People+o.People
			rest.Versions, rest.Bytes, rest.Storage = rest.Versions+o.Versions, rest.Bytes+o.Bytes, rest.Storage+o.Storage
			rest.Proposals, rest.OldestProposal = rest.Proposals+o.Proposals, max(rest.OldestProposal, o.OldestProposal)
			rest.AuditRecords, rest.AuditBroken, rest.TokensEnding = rest.AuditRecords+o.AuditRecords, rest.AuditBroken || o.AuditBroken, rest.TokensEnding+o.TokensEnding
			rest.Quiet += o.Quiet
		}
		all.Organizations = append(all.Organizations[:MostOrganizations:MostOrganizations], rest)
	}
	versions := map[string]bool{}
	for n := range all.Clients {
		v := &all.Clients[n].Version
		if !versions[*v] && (len(versions) >= mostVersions || !isVersion.MatchString(*v)) {
			*v = "other"
		}
		versions[*v] = true
	}
	return all
}

// isVersion: a client may call itself anything.
var isVersion = regexp.MustCompile(`^(devel|v?\d{1,4}(\.\d{1,4}){0,2}(-[0-9A-Za-z.+-]{1,40})?)$`)

// Collect implements prometheus.Collector.
func (i *inventory) Collect(ch chan<- prometheus.Metric) {
	found, up := i.look()
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	gauge(descUp, up)
	if up == 0 {
		return
	}
	for _, o := range found.Organizations {
		for _, m := range perOrganization {
			gauge(m.desc, m.of(o), o.Name)
		}
	}
	type kind struct{ version, state string }
	kinds := map[kind]int{}
	var behind, troubled, pending, kept, held int
	var most int64
	silent := map[float64]uint64{}
	var running uint64
	var silence float64
	for _, c := range found.Clients {
		state := "stopped"
		switch {
		case c.Running && c.Silent >= lostAfter:
			state = "lost"
		case c.Running:
			state = "running"
			running++
			silence += c.Silent.Seconds()
			for _, bound := range silentBuckets {
				if c.Silent.Seconds() <= bound {
					silent[bound]++
				}
			}
			if most = max(most, c.Lag); c.Lag > 0 {
				behind++
			}
			if c.Troubled {
				troubled++
			}
		}
		kinds[kind{c.Version, state}]++
		pending, kept, held = pending+c.Pending, kept+c.Kept, held+c.Held
	}
	for k, n := range kinds {
		gauge(descClients, float64(n), k.version, k.state)
	}
	gauge(descTrouble, float64(troubled))
	gauge(descLag, float64(behind))
	gauge(descLagMost, float64(most))
	gauge(descPending, float64(pending))
	gauge(descKept, float64(kept))
	gauge(descHeld, float64(held))
	for _, bound := range silentBuckets {
		silent[bound] += 0
	}
	ch <- prometheus.MustNewConstHistogram(descSilent, running, silence, silent)
}
