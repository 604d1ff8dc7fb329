package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Name names a setting. Its flag is --name, its variable TEAMMEM_NAME with
// underscores, its line in the file "name: value".
type Name string

// The settings. A token itself is none of them: it stands in TEAMMEM_TOKEN, in a
// file that token-file names, or in the credentials file.
const (
	Server    Name = "server"         // the server's address
	Org       Name = "org"            // organization, for people who are in several
	Repo      Name = "repo"           // owner/repo, instead of the git remote's
	Dir       Name = "dir"            // memory directory, instead of the project's
	TokenFile Name = "token-file"     // a file whose first line is the token
	CA        Name = "ca"             // a file of PEM certificates to trust besides the system's
	Insecure  Name = "insecure"       // plain http off this machine
	Debounce  Name = "debounce"       // quiet time after an edit
	Deletes   Name = "deletes"        // what deleting a file by hand means
	Metrics   Name = "metrics-listen" // where a client that stays is asked by Prometheus
	MetricsIn Name = "metrics-file"   // where it writes the same for node_exporter
	Worktrees Name = "worktrees"      // whether git work trees share one memory

	TeamMemory    Name = "team-memory"    // whether agents and the memory commands see team memory
	AgentSettings Name = "agent-settings" // the file that the agent was given by its --settings
	TrustSettings Name = "trust-settings" // root of a project whose committed settings may name the memory directory

	// The agent's background work, each with a switch of its own. Whatever they say,
	// none of it runs without a model, and no model can be configured yet.
	Extraction           Name = "extraction"            // memories drawn from a session
	ExtractionUnattended Name = "extraction-unattended" // also from sessions without a person
	SessionNotes         Name = "session-notes"         // a summary of each session
	Dream                Name = "dream"                 // tidying of memories between sessions
)

// Jobs are the switches of background work.
var Jobs = []Name{Extraction, ExtractionUnattended, SessionNotes, Dream}

// rule is what one setting takes.
type rule struct {
	usual string
	path  bool // resolved when it is read
	check func(value string) error
}

var rules = map[Name]rule{
	Server:    {},
	Org:       {},
	Repo:      {},
	Dir:       {path: true},
	TokenFile: {path: true},
	CA:        {path: true},
	Insecure:  {usual: "false", check: isBool},
	Debounce:  {usual: "2s", check: isDebounce},
	Deletes:   {usual: "restore", check: oneOf("restore", "propagate")},
	Metrics:   {},
	MetricsIn: {path: true, check: isProm},
	Worktrees: {usual: "share", check: oneOf("share", "separate")},

	TeamMemory:    {usual: "on", check: oneOf("on", "off")},
	AgentSettings: {path: true},
	TrustSettings: {path: true},

	Extraction:           {usual: "on", check: oneOf("on", "off")},
	ExtractionUnattended: {usual: "off", check: oneOf("on", "off")},
	SessionNotes:         {usual: "on", check: oneOf("on", "off")},
	Dream:                {usual: "on", check: oneOf("on", "off")},
}

// isProm: node_exporter passes other names over.
func isProm(value string) error {
	if !strings.HasSuffix(value, ".prom") {
		return fmt.Errorf("%q does not end in .prom, and node_exporter passes such files over", value)
	}
	return nil
}

// Names lists the settings, sorted.
func Names() []Name { return slices.Sorted(maps.Keys(rules)) }

// Variable is the environment variable of a setting.
func (n Name) Variable() string {
	return "TEAMMEM_" + strings.ToUpper(strings.ReplaceAll(string(n), "-", "_"))
}

// Value is a setting and where it came from.
type Value struct {
	Name   Name   `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"` // "--server", "TEAMMEM_SERVER", "…/client.yaml:3" or "default"
}

// IsSet reports whether somebody set it.
func (v Value) IsSet() bool { return v.Source != sourceDefault }

const sourceDefault = "default"

// Settings are all settings, resolved.
type Settings struct {
	values map[Name]Value
}

// Settings resolves them. flags holds the flags that were given, by the setting's
// name. An error names the value's source and how to put it right.
func (e Env) Settings(flags map[string]string) (Settings, error) {
	p, err := e.Paths()
	if err != nil {
		return Settings{}, err
	}
	file, err := p.ReadFile()
	if err != nil {
		return Settings{}, err
	}
	s := Settings{values: make(map[Name]Value, len(rules))}
	for name := range rules {
		v, err := e.resolve(name, flags, file)
		if err != nil {
			return Settings{}, err
		}
		s.values[name] = v
	}
	return s, nil
}

func (e Env) resolve(name Name, flags map[string]string, file File) (Value, error) {
	r := rules[name]
	v := Value{Name: name, Value: r.usual, Source: sourceDefault}
	fromFile := false
	if text, ok := flags[string(name)]; ok {
		v.Value, v.Source = text, "--"+string(name)
	} else if text := e.Get(name.Variable()); text != "" {
		v.Value, v.Source = text, name.Variable()
	} else if line, ok := file.Lines[name]; ok {
		v.Value, v.Source, fromFile = line.Value, fmt.Sprintf("%s:%d", file.Path, line.Number), true
	}
	if !v.IsSet() {
		return v, nil
	}
	if v.Value == "" {
		return v, fmt.Errorf("%s: the value is empty", v.Source)
	}
	if r.check != nil {
		if err := r.check(v.Value); err != nil {
			return v, fmt.Errorf("%s: %w", v.Source, err)
		}
	}
	return v, e.resolvePath(&v, r, fromFile)
}

// resolvePath makes paths absolute. One in the file must be so already: the file
// holds for every directory one may stand in.
func (e Env) resolvePath(v *Value, r rule, fromFile bool) error {
	if !r.path {
		return nil
	}
	if _, home := e.cutHome(v.Value); fromFile && !home && !isAbs(v.Value) {
		return fmt.Errorf("%s: %q is relative; write an absolute path, or one that begins with ~/", v.Source, v.Value)
	}
	path, err := e.Abs(v.Value)
	if err != nil {
		return fmt.Errorf("%s: %w", v.Source, err)
	}
	v.Value = path
	return nil
}

// Get gives a setting's value and where it came from.
func (s Settings) Get(name Name) Value { return s.values[name] }

// Text is a setting's value; empty when it is not set and has no default.
func (s Settings) Text(name Name) string { return s.values[name].Value }

// Insecure reports whether plain http is asked for by name.
func (s Settings) Insecure() bool { return s.bool(Insecure) }

// Debounce is the quiet time after an edit.
func (s Settings) Debounce() time.Duration {
	d, _ := time.ParseDuration(s.Text(Debounce)) // checked when it was read
	return d
}

// SeparateWorktrees reports whether each git work tree has a memory of its own.
func (s Settings) SeparateWorktrees() bool { return s.Text(Worktrees) == "separate" }

// TeamMemory reports whether agents, and the commands about memories, see team memory.
func (s Settings) TeamMemory() bool { return s.Text(TeamMemory) == "on" }

// Origin is the origin of the server that is set; see [Origin].
func (s Settings) Origin() (string, error) {
	if s.Insecure() {
		return InsecureOrigin(s.Text(Server))
	}
	return Origin(s.Text(Server))
}

// BaseURL is the address of the server that is set; see [BaseURL].
func (s Settings) BaseURL() (string, error) { return BaseURL(s.Text(Server), s.Insecure()) }

// All lists the settings by name, for `client where`.
func (s Settings) All() []Value {
	all := make([]Value, 0, len(s.values))
	for _, name := range Names() {
		all = append(all, s.values[name])
	}
	return all
}

func (s Settings) bool(name Name) bool {
	on, _ := strconv.ParseBool(s.Text(name)) // checked when it was read
	return on
}

func isBool(value string) error {
	if _, err := strconv.ParseBool(value); err != nil {
		return fmt.Errorf("%q is not true or false", value)
	}
	return nil
}

// maxDebounce keeps a slip of the unit from looking like a client that hangs.
const maxDebounce = 10 * time.Minute

func isDebounce(value string) error {
	d, err := time.ParseDuration(value)
	if err != nil {
		return fmt.Errorf("%q is not a time such as 2s or 300ms", value)
	}
	if d < 0 || d > maxDebounce {
		return fmt.Errorf("%q is not between 0 and %s", value, maxDebounce)
	}
	return nil
}

func oneOf(words ...string) func(string) error {
	return func(value string) error {
		if !slices.Contains(words, value) {
			return fmt.Errorf("%q is not one of %s", value, strings.Join(words, ", "))
		}
		return nil
	}
}
