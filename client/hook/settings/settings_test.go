package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var three = []Group{
	{"SessionStart", "", "client hook --agent gemini SessionStart"},
	{"BeforeTool", "write_file|replace", "client hook --agent gemini BeforeTool"},
	{"AfterTool", "write_file|replace", "client hook --agent gemini AfterTool"},
}

func ours(command string) bool { return strings.Contains(command, " hook --agent gemini ") }

func TestInstallIsSeenAndTakenBack(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":                   "",
		"an empty object":           "{}",
		"an empty object, lines":    "{\n}\n",
		"two spaces":                "{\n  \"theme\": \"dark\"\n}\n",
		"tabs and CRLF":             "{\r\n\t\"theme\": \"dark\"\r\n}\r\n",
		"one line":                  `{"theme": "dark"}`,
		"a comma at the end":        "{\n    \"a\": [1, 2,],\n}\n",
		"comments":                  "// mine\n{\n  // about a\n  \"a\": 1 /* one */ // end\n}\n// last\n",
		"a BOM":                     "\uFEFF{\n  \"a\": 1\n}",
		"hooks of others":           "{\n  \"hooks\": {\n    \"BeforeTool\": [\n      {\n        \"hooks\": [{ \"type\": \"command\", \"command\": \"x\" }]\n      }\n    ]\n  },\n  \"z\": null\n}\n",
		"hooks with other settings": "{ \"hooks\": {\n  \"enabled\": true\n} }",
	} {
		before := []byte(text)
		after, err := Install(before, three, ours)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		found, err := Find(after, ours)
		if err != nil || len(found) != len(three) {
			t.Errorf("%s: %v, %v are found in\n%s", name, err, found, after)
		}
		if again, err := Install(after, three, ours); err != nil || !bytes.Equal(again, after) {
			t.Errorf("%s: a second time changes it: %v\n%s\n%s", name, err, after, again)
		}
		back, err := Uninstall(after, ours)
		if err != nil || string(back) != text && strings.TrimSpace(text) != "" {
			t.Errorf("%s: %v\ngot  %q\nwant %q\nbetween\n%s", name, err, back, text, after)
		}
	}
}

// What a person writes around ours after it was installed stays as it is written.
func TestEditsBetweenSurvive(t *testing.T) {
	after, err := Install([]byte("{\n  \"a\": 1\n}\n"), three, ours)
	if err != nil {
		t.Fatal(err)
	}
	edited := strings.Replace(string(after), "\"a\": 1,", "\"a\": 2, // two\n  \"b\": [ 1,2 ],", 1)
	edited = strings.Replace(edited, "\"BeforeTool\": [", "\"BeforeTool\": [\n      // mine comes first\n      { \"hooks\": [ { \"type\": \"command\", \"command\": \"lint\" } ] },", 1)
	back, err := Uninstall([]byte(edited), ours)
	if err != nil {
		t.Fatal(err)
	}
	for _, kept := range []string{"\"a\": 2, // two\n  \"b\": [ 1,2 ]", "// mine comes first\n      { \"hooks\": [ { \"type\": \"command\", \"command\": \"lint\" } ] }"} {
		if !strings.Contains(string(back), kept) {
			t.Errorf("%q is gone:\n%s", kept, back)
		}
	}
	if found, err := Find(back, ours); err != nil || len(found) > 0 || strings.Contains(string(back), "SessionStart") {
		t.Errorf("%v, left: %v\n%s", err, found, back)
	}
}

// A command of ours in a person's own group goes alone.
func TestACommandInAGroupOfOthers(t *testing.T) {
	text := "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"command\": \"x\"}, {\"command\": \"client hook --agent gemini Stop\"}, {\"command\": \"y\"}]}]}}"
	back, err := Uninstall([]byte(text), ours)
	want := "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"command\": \"x\"}, {\"command\": \"y\"}]}]}}"
	if err != nil || string(back) != want {
		t.Errorf("%v\ngot  %s\nwant %s", err, back, want)
	}
}

func TestAMovedProgramIsReplaced(t *testing.T) {
	old := []Group{{"SessionStart", "", "/old/client hook --agent gemini SessionStart"}}
	text, err := Install([]byte("{}"), old, ours)
	if err != nil {
		t.Fatal(err)
	}
	if text, err = Install(text, three, ours); err != nil || strings.Contains(string(text), "/old/") {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestWhatIsNotUnderstoodIsRefused(t *testing.T) {
	for text, line := range map[string]int{
		"{\n  \"a\": 1\n  \"b\": 2\n}": 3, "{": 1, "{\"a\"}": 1, "[1,": 1, "{} x": 1, "{\"a\": tru}": 1,
		"{\"a\": \"x\n\"}": 1, "/* no end": 1, "\xff": 1, strings.Repeat("[", 1000): 1, "{\"a\": }": 1, "{,}": 1,
	} {
		_, err := Install([]byte(text), three, ours)
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || syntax.Line != line {
			t.Errorf("%q: %v, want an error on line %d", text, err, line)
		}
	}
	for _, text := range []string{"[]", "{\"hooks\": []}", "{\"hooks\": {\"SessionStart\": {}}}", "1"} {
		if got, err := Install([]byte(text), three, ours); err == nil {
			t.Errorf("%q is taken and gives %s", text, got)
		}
	}
}

// Whatever settings there are, ours come and go, and nothing else is changed.
func TestAnySettings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Custom(func(t *rapid.T) any { return anyValue(t, 3) })
		settings := rapid.MapOfN(rapid.StringMatching(`[a-z"\\é]{1,6}`), value, 0, 4).Draw(t, "settings")
		if rapid.Bool().Draw(t, "with hooks") {
			settings["hooks"] = map[string]any{"BeforeTool": []any{map[string]any{"hooks": []any{map[string]any{"type": "command", "command": "x"}}}}}
		}
		var text []byte
		var err error
		if indent := rapid.SampledFrom([]string{"", "  ", "    ", "\t"}).Draw(t, "indent"); indent == "" {
			text, err = json.Marshal(settings)
		} else {
			text, err = json.MarshalIndent(settings, "", indent)
		}
		if err != nil {
			t.Fatal(err)
		}
		after, err := Install(text, three, ours)
		if err != nil {
			t.Fatal(err)
		}
		var before, now map[string]any
		if err := errors.Join(json.Unmarshal(text, &before), json.Unmarshal(after, &now)); err != nil {
			t.Fatalf("%v\n%s", err, after)
		}
		delete(before, "hooks")
		delete(now, "hooks")
		if !reflect.DeepEqual(before, now) {
			t.Fatalf("other settings changed:\n%s", after)
		}
		back, err := Uninstall(after, ours)
		if err != nil || !bytes.Equal(back, text) {
			t.Fatalf("%v\ngot  %s\nwant %s", err, back, text)
		}
	})
}

func anyValue(t *rapid.T, depth int) any {
	kinds := 4
	if depth > 0 {
		kinds = 6
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return rapid.Int().Draw(t, "number")
	case 1:
		return rapid.StringN(0, 8, 16).Draw(t, "text")
	case 2:
		return rapid.Bool().Draw(t, "bool")
	case 3:
		return nil
	case 4:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			list = append(list, anyValue(t, depth-1))
		}
		return list
	}
	object := map[string]any{}
	for i := range rapid.IntRange(0, 3).Draw(t, "length") {
		object[fmt.Sprint("k", i)] = anyValue(t, depth-1)
	}
	return object
}

func FuzzSettings(f *testing.F) {
	for _, seed := range []string{"", "{}", "{\n  // c\n  \"hooks\": {\"Stop\": [],},\n}", "\uFEFF{\"a\":[1,2,{}]}", "{\"hooks\":{\"SessionStart\":[{\"hooks\":[{\"command\":\"client hook --agent gemini SessionStart\"}]}]}}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		clean, err := Uninstall(text, ours)
		if err != nil {
			return
		}
		after, err := Install(clean, three, ours)
		if err != nil {
			return
		}
		found, err := Find(after, ours)
		if err != nil || len(found) != len(three) {
			t.Fatalf("%v: %v in %q", err, found, after)
		}
		back, err := Uninstall(after, ours)
		if err != nil {
			t.Fatalf("%v: %q", err, after)
		}
		if left, err := Find(back, ours); err != nil || len(left) != 0 {
			t.Fatalf("%v: %v are left in %q", err, left, back)
		}
	})
}
