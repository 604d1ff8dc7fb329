package config

import (
	"os"
	"path/filepath"
	"testing"
)

func TestRemember(t *testing.T) {
	tests := []struct{ name, file, want string }{
		{"no file", "", "server: 'https://a.example'\n"},
		{"an empty line at the end", "# mine\n", "# mine\nserver: 'https://a.example'\n"},
		{"no line break at the end", "debounce: 1s", "debounce: 1s\nserver: 'https://a.example'\n"},
		{"named already", "server: https://b.example\n", "server: https://b.example\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := Paths{Config: t.TempDir()}
			path := filepath.Join(p.Config, fileName)
			if test.file != "" {
				if err := os.WriteFile(path, []byte(test.file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			usual, err := p.Remember(Server, "https://a.example")
			if err != nil || usual != (test.file != "server: https://b.example\n") {
				t.Errorf("usual %v, %v", usual, err)
			}
			got, err := os.ReadFile(path)
			if err != nil || string(got) != test.want {
				t.Errorf("got %q, want %q, %v", got, test.want, err)
			}
			if file, err := p.ReadFile(); err != nil || file.Lines[Server].Value == "" {
				t.Errorf("read again: %v, %v", file, err)
			}
		})
	}
	t.Run("what cannot stand in the file", func(t *testing.T) {
		if _, err := (Paths{Config: t.TempDir()}).Remember(CA, "/a'b\nserver: x"); err == nil {
			t.Error("taken")
		}
	})
}
