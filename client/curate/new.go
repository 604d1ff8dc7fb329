package curate

import (
	"fmt"
	"path"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/memory"
)

// Draft is a memory to be made.
type Draft struct {
	Name        string
	Description string
	Type        memory.Type
	Scope       memory.Scope
	Text        string  // "" for the type's template
	File        api.Key // below its scope; "" for one made of type and name
}

// bodies are what each type's text should hold.
var bodies = map[memory.Type]string{
	memory.User:      "Who they are, what they work towards, what they know well and what is new to them.\n",
	memory.Feedback:  "The rule, in one sentence.\n\n**Why:** what happened, or the reason they gave.\n\n**How to apply:** when it holds, and when it does not.\n",
	memory.Project:   "The fact or decision, in one sentence, with absolute dates.\n\n**Why:** what stands behind it.\n\n**How to apply:** what it means for the next suggestion.\n",
	memory.Reference: "What is to be found where, and when to look there.\n",
}

// New makes a memory from its type's template, with a line in the index of its scope.
func (l Library) New(d Draft) ([]Change, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	key, err := l.keyFor(d)
	if err != nil {
		return nil, err
	}
	if err := l.free(key); err != nil {
		return nil, err
	}
	index, entry, err := l.entryFor(key, oneLine(d.Name), d.Description)
	if err != nil {
		return nil, err
	}
	return []Change{{Key: key, After: []byte(d.write())}, {Key: index.Key, Before: index.Before, After: AddLine(index.Before, entry)}}, nil
}

// check refuses what would be no memory, or one that another program reads otherwise.
func (d Draft) check() error {
	switch {
	case oneLine(d.Name) == "":
		return &Refused{"a memory wants a name", `client memory new --type feedback "How we test"`}
	case d.Type == memory.User && d.Scope == memory.Team:
		return userIsPrivate("")
	case !isText(d.Name) || !isText(d.Description):
		return &Refused{"the name or the description holds a control character, or is not UTF-8", "write it in plain text"}
	case !isText(d.Text):
		return &Refused{"the text holds a control character, or is not UTF-8", "a memory is Markdown; keep other files elsewhere, and say in the memory where"}
	}
	return nil
}

// isText reports whether a text is one that people write.
func isText(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\t\r\n", r) })
}

// keyFor is where a new memory goes: where its draft says, else at a name made of type and
// name. What is private does not get into the team's directory by its file's name.
func (l Library) keyFor(d Draft) (api.Key, error) {
	file := string(d.File)
	if file == "" {
		name := slug(d.Name)
		if name == "" {
			return "", &Refused{fmt.Sprintf("no file can be named after %q", d.Name), "name it: --file NAME.md"}
		}
		file = string(d.Type) + "_" + name + ".md"
	}
	switch inTeam := l.isTeam(api.Key(file)); {
	case inTeam && d.Scope != memory.Team:
		return "", &Refused{fmt.Sprintf("%s lies in the team's directory, and the memory is private", file), "say --scope team if everyone may read it"}
	case !inTeam && d.Scope == memory.Team:
		file = l.TeamPrefix + file
	}
	return api.Key(file), nil
}

// entryFor is the index that a memory belongs into, as it stands, and the line for it.
func (l Library) entryFor(key api.Key, title, hook string) (Change, string, error) {
	at := l.IndexFor(key)
	before, err := l.text(at)
	return Change{Key: at, Before: before}, Line(title, Relative(path.Dir(string(at)), key), hook), err
}

func (d Draft) write() string {
	text := d.Text
	if text == "" {
		text = bodies[d.Type]
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return fmt.Sprintf("---\nname: %s\ndescription: %s\ntype: %s\n---\n\n%s", value(d.Name), value(d.Description), d.Type, text)
}

// value is a text as the value of a field, so that a YAML parser reads the same as the
// line reader wherever quotes can bring that about.
func value(text string) string {
	text = oneLine(text)
	if text == "" || !strings.ContainsAny(text[:1], "\"'#&*!|>%@`[]{},?:-") && !strings.Contains(text, ": ") && !strings.Contains(text, " #") && !strings.HasSuffix(text, ":") && !looksTyped(text) {
		return text
	}
	switch {
	case !strings.ContainsAny(text, `"\`):
		return `"` + text + `"`
	case !strings.Contains(text, "'"):
		return "'" + text + "'"
	}
	return text
}

// looksTyped knows words that YAML takes for something else than text.
func looksTyped(text string) bool {
	switch strings.ToLower(text) {
	case "true", "false", "yes", "no", "on", "off", "null", "~":
		return true
	}
	return strings.Trim(text, "0123456789.+-eE_:TZ") == ""
}

// slug makes a file's name of a memory's.
func slug(name string) string {
	var b strings.Builder
	dash := false
	for _, r := range strings.ToLower(name) {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) {
			dash = b.Len() > 0
			continue
		}
		if dash {
			b.WriteByte('_')
			dash = false
		}
		if b.WriteRune(r); b.Len() >= 80 {
			break
		}
	}
	return b.String()
}

func userIsPrivate(key api.Key) error {
	what := "a memory of type user"
	if key != "" {
		what = string(key) + " is of type user and"
	}
	return &Refused{what + " is always private: it is about a person, not the project", "give it another type if it is about the project"}
}

// Log adds a bullet with the time to the daily log of a moment.
func (l Library) Log(now time.Time, text string) ([]Change, error) {
	if strings.TrimSpace(text) == "" {
		return nil, &Refused{"there is nothing to log", `client memory log "what happened"`}
	}
	if !isText(text) {
		return nil, &Refused{"the text holds a control character, or is not UTF-8", "write it in plain text"}
	}
	key := api.Key("logs/" + now.Format("2006/01/2006-01-02") + ".md")
	before, err := l.text(key)
	if err != nil {
		return nil, err
	}
	end := ending(before)
	line := "- " + now.Format("15:04") + " " + strings.ReplaceAll(strings.TrimSpace(strings.ReplaceAll(text, "\r", "")), "\n", end+"  ") + end
	after := append([]byte{}, before...)
	if len(after) > 0 && after[len(after)-1] != '\n' {
		after = append(after, end...)
	}
	return []Change{{Key: key, Before: before, After: append(after, line...)}}, nil
}
