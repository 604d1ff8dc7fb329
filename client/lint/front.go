package lint

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/teammem/teammem/api/memory"
)

// topic looks at the front matter and the text of one memory.
func (l *linter) topic(f *file) {
	l.relativeDates(f)
	if isLog(f) {
		return
	}
	switch {
	case f.Trouble == memory.Unclosed:
		l.find(f, "front-matter-unclosed", Error, 1,
			"the front matter begins and does not end: an agent reads no name, description or type, and takes all of it for text",
			"close it with a line of three dashes, and nothing else, behind the last field")
		return
	case f.Trouble == memory.TooLong:
		l.find(f, "front-matter-long", Error, 1,
			fmt.Sprintf("the front matter ends behind line %d, and a scan reads no further: an agent reads no name, description or type", memory.HeadLines),
			"move what is long into the text")
		return
	case f.Lines == 0:
		l.find(f, "front-matter-missing", Warning, 1, "there is no front matter: recall has nothing to decide by but the name of the file",
			"begin the file with ---, name:, description:, type:, ---")
		return
	}
	l.fieldsThere(f)
	l.secondOpinion(f)
}

// isLog knows the daily logs, which have no front matter.
func isLog(f *file) bool {
	_, rest, ok := strings.Cut("/"+string(f.Key), "/logs/")
	return ok && strings.Count(rest, "/") == 2
}

func (l *linter) fieldsThere(f *file) {
	if f.Name == "" {
		l.find(f, "name-missing", Warning, 1, "there is no name", "add name: with a few words")
	}
	if f.Description == "" {
		l.find(f, "description-missing", Warning, 1, "there is no description, and recall decides by it", "add description: with one specific line")
	}
	switch folded := memory.TypeOf(strings.ToLower(f.TypeText)); {
	case f.Type != memory.None:
	case f.TypeText == "":
		l.find(f, "type-missing", Note, 1, "there is no type", "add type: user, feedback, project or reference")
	default:
		field := fieldOf(f, "type", "metadata.type")
		var edits []edit
		if folded != memory.None {
			edits = []edit{{offset: field.Offset, length: len(field.Raw), text: string(folded)}}
		}
		l.find(f, "type-unknown", Warning, field.Line, fmt.Sprintf("the type %q is none of the four, and counts as none", f.TypeText),
			"write user, feedback, project or reference, in small letters", edits...)
	}
}

// fieldOf is the first field with one of the keys.
func fieldOf(f *file, keys ...string) memory.Field {
	for _, key := range keys {
		for _, field := range memory.Fields(f.text) {
			if field.Key == key {
				return field
			}
		}
	}
	return memory.Field{Line: 1}
}

// read are the fields that mean something to an agent.
var read = []string{"name", "description", "type", "metadata.type"}

// secondOpinion reads the block as YAML and tells where that is another reading, for
// there are agents and tools that read it so.
func (l *linter) secondOpinion(f *file) {
	var root yaml.Node
	if err := yaml.Unmarshal(blockOf(f), &root); err != nil {
		l.refused(f, err)
		return
	}
	values := map[string]string{}
	if len(root.Content) > 0 {
		flatten(root.Content[0], "", values)
	}
	for _, key := range read {
		field := fieldOf(f, key)
		other, ok := values[key]
		if field.Key == "" || field.Value == "" || ok && sameText(field, other) {
			continue
		}
		switch {
		case !ok || other == "":
			l.find(f, "value-lost", Warning, field.Line, fmt.Sprintf("a YAML parser reads no %s here, the line says %q", field.Key, field.Value), "put the value into quotes", quoted(field)...)
		case strings.HasPrefix(field.Value, other) && strings.Contains(field.Raw, " #"):
			l.find(f, "value-cut", Warning, field.Line,
				fmt.Sprintf("a YAML parser takes what follows # for a comment: of %s it reads %q only", field.Key, other), "put the value into quotes", quoted(field)...)
		default:
			l.find(f, "value-differs", Note, field.Line, fmt.Sprintf("a YAML parser reads %s as %q, the line says %q", field.Key, other, field.Value), "put the value into quotes, or take the odd marks out")
		}
	}
}

// sameText reports whether YAML reads what the line says, escapes and folding aside.
func sameText(field memory.Field, other string) bool {
	if field.Value == other {
		return true
	}
	plain := strings.NewReplacer(`\"`, `"`, `\\`, `\`, `''`, `'`).Replace(field.Value)
	return strings.Join(strings.Fields(plain), " ") == strings.Join(strings.Fields(other), " ")
}

// refused tells that the block is no YAML, and where.
func (l *linter) refused(f *file, err error) {
	line := 1
	var all *yaml.LoadErrors
	var one *yaml.LoadError
	if errors.As(err, &all) && len(all.Errors) > 0 {
		one = all.Errors[0]
	}
	if one != nil || errors.As(err, &one) {
		line = min(max(1, one.Mark.Line)+1, f.Lines) // the block begins on the file's second line
	}
	var edits []edit
	for _, field := range memory.Fields(f.text) {
		if field.Raw != field.Value {
			continue
		}
		if strings.Contains(field.Raw, ": ") {
			line = field.Line
			edits = append(edits, quoted(field)...)
		} else if strings.Contains(field.Raw, " #") {
			edits = append(edits, quoted(field)...) // it would be found next
		}
	}
	if len(edits) > 0 && !mends(f, edits) {
		edits = nil
	}
	l.find(f, "front-matter-yaml", Warning, line,
		fmt.Sprintf("a YAML parser refuses the front matter and reads nothing of it; read line by line it says name %q, type %q", f.Name, f.Type),
		"put values that hold a colon, quotes or a leading mark into quotes that nothing inside closes", edits...)
}

// mends reports whether a parser takes the block with these edits.
func mends(f *file, edits []edit) bool {
	mended := *f
	mended.text = mend(f.text, edits)
	var root yaml.Node
	return yaml.Unmarshal(blockOf(&mended), &root) == nil
}

// quoted is the value in quotes, where that is certain: it has none, and nothing that a
// quote would change.
func quoted(field memory.Field) []edit {
	if field.Raw != field.Value || field.Raw == "" {
		return nil
	}
	quote := `"`
	if strings.ContainsAny(field.Raw, `"\`) {
		quote = "'"
	}
	if quote == "'" && strings.Contains(field.Raw, "'") {
		return nil
	}
	return []edit{{offset: field.Offset, length: len(field.Raw), text: quote + field.Raw + quote}}
}

// blockOf is the front matter without its fences.
func blockOf(f *file) []byte {
	begin := bytes.IndexByte(f.text, '\n') + 1
	head := memory.Parse(f.text)
	end := bytes.LastIndex(f.text[:head.Body], []byte("---"))
	return f.text[begin:max(begin, end)]
}

// flatten gathers the scalars of a mapping by their path.
func flatten(node *yaml.Node, prefix string, values map[string]string) {
	if node.Kind != yaml.MappingNode || strings.Count(prefix, ".") > 2 {
		return
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := prefix+node.Content[i].Value, node.Content[i+1]
		switch value.Kind {
		case yaml.ScalarNode:
			values[key] = value.Value
		case yaml.MappingNode:
			flatten(value, key+".", values)
		}
	}
}
