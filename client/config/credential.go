package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// EnvToken holds a token itself, for CI and containers.
const EnvToken = "TEAMMEM_TOKEN"

const credentialsName = "credentials.json"

// maxTokenBytes is far above a token of ours (50 bytes) and what providers make.
const maxTokenBytes = 16 << 10

// Credential is a token and where it came from. It prints as its source, never as
// the token.
type Credential struct {
	Token   string `json:"-"`
	Source  string // "TEAMMEM_TOKEN", "--token-file /run/t", "…/credentials.json"
	Warning string // for people; empty when there is nothing to say
	Saved   bool   // by login
	Grant   *Grant // of a sign-in with a provider; nil otherwise
}

// String leaves the token out, as do the methods below, so that no log line or
// error can show it by accident.
func (c Credential) String() string       { return "token from " + c.Source }
func (c Credential) GoString() string     { return c.String() }
func (c Credential) LogValue() slog.Value { return slog.StringValue(c.String()) }

// ErrNoToken says that there is no token for the server.
var ErrNoToken = errors.New("not logged in")

// Credential finds the token for a server: the file that --token-file names, else
// TEAMMEM_TOKEN, else the file of TEAMMEM_TOKEN_FILE or of the settings, else what
// login saved for this very origin. Without any, the error wraps [ErrNoToken].
func (e Env) Credential(p Paths, s Settings, origin string) (Credential, error) {
	file := s.Get(TokenFile)
	if file.Source != "--"+string(TokenFile) {
		if text := e.Get(EnvToken); text != "" {
			token, err := parseToken(text)
			if err != nil {
				return Credential{}, fmt.Errorf("%s: %w", EnvToken, err)
			}
			return Credential{Token: token, Source: EnvToken}, nil
		}
	}
	if file.IsSet() {
		return readTokenFile(file)
	}
	token, ok, err := p.Token(origin)
	if err != nil {
		return Credential{}, err
	}
	if !ok {
		return Credential{}, fmt.Errorf("%w at %s: client login --server %s", ErrNoToken, origin, origin)
	}
	c := Credential{Token: token, Source: filepath.Join(p.Config, credentialsName), Saved: true}
	grant, ok, err := p.Grant(origin)
	if ok {
		c.Source, c.Grant = "sign-in with "+grant.Issuer, &grant
	}
	return c, err
}

func readTokenFile(file Value) (Credential, error) {
	token, mode, err := TokenFromFile(file.Value)
	if err != nil {
		return Credential{}, fmt.Errorf("%s: %w", file.Source, err)
	}
	c := Credential{Token: token, Source: file.Source + " " + file.Value}
	if openToOthers(mode) {
		c.Warning = fmt.Sprintf("%s can be read by others (mode %04o): chmod 600 it", file.Value, mode.Perm())
	}
	return c, nil
}

// TokenFromFile reads the first line of a file, trimmed. The mode says who else may
// read it. No error shows anything of the contents.
func TokenFromFile(path string) (string, fs.FileMode, error) {
	content, mode, err := readSmall(path)
	if err != nil {
		return "", 0, fmt.Errorf("read token file: %w", err)
	}
	token, err := ReadToken(bytes.NewReader(content))
	if err != nil {
		return "", mode, fmt.Errorf("token file %s: %w", path, err)
	}
	return token, mode, nil
}

// ReadToken reads a token from its first line, for instance from standard input.
func ReadToken(r io.Reader) (string, error) {
	content, err := io.ReadAll(io.LimitReader(r, maxFileBytes))
	if err != nil {
		return "", err
	}
	first, _, _ := bytes.Cut(bytes.TrimPrefix(content, []byte("\uFEFF")), []byte("\n"))
	return parseToken(string(first))
}

// parseToken checks that the text can travel in a header. It never repeats it.
func parseToken(text string) (string, error) {
	token := strings.TrimSpace(text)
	switch {
	case token == "":
		return "", errors.New("there is no token in the first line")
	case len(token) > maxTokenBytes:
		return "", fmt.Errorf("the first line is longer than %d bytes, so it is no token", maxTokenBytes)
	}
	for i := range len(token) {
		if token[i] <= ' ' || token[i] > '~' {
			return "", errors.New("the first line holds a space or a character that no token has")
		}
	}
	return token, nil
}

// credentials is the file that login writes.
type credentials struct {
	Format int                   `json:"format"`
	Tokens map[string]savedToken `json:"tokens"` // by origin
}

// Token gives the token saved for an origin. The file is refused when others may
// read it.
func (p Paths) Token(origin string) (string, bool, error) {
	saved, err := p.saved(origin)
	if err != nil {
		return "", false, err
	}
	text := saved.Token
	if saved.Grant != nil {
		text = saved.Grant.Token
	}
	if text == "" && saved == (savedToken{}) {
		return "", false, nil
	}
	token, err := parseToken(text)
	if err != nil {
		return "", false, fmt.Errorf("credentials for %s: %w; log in again", origin, err)
	}
	return token, true, nil
}

// SaveToken saves a token for an origin, in place of the one before.
func (p Paths) SaveToken(origin, token string) error {
	token, err := parseToken(token)
	if err != nil {
		return err
	}
	return p.save(origin, savedToken{Token: token})
}

// RemoveToken removes the token saved for an origin; there may be none.
func (p Paths) RemoveToken(origin string) error {
	c, err := p.readCredentials()
	if saved, ok := c.Tokens[origin]; err == nil && !ok {
		return nil
	} else if saved.Keyring && p.Keyring != nil {
		// What cannot be removed there is of no use without the line here.
		_ = p.Keyring.Delete(origin)
	}
	return p.changeCredentials(func(c *credentials) { delete(c.Tokens, origin) })
}

func (p Paths) readCredentials() (credentials, error) {
	empty := credentials{Format: 1, Tokens: map[string]savedToken{}}
	if p.Config == "" {
		return empty, nil
	}
	path := filepath.Join(p.Config, credentialsName)
	content, mode, err := readSmall(path)
	if errors.Is(err, fs.ErrNotExist) {
		return empty, nil
	}
	if err != nil {
		return empty, fmt.Errorf("read credentials: %w", err)
	}
	if openToOthers(mode) {
		return empty, fmt.Errorf("%s can be read by others (mode %04o), so its tokens count as known to them: chmod 600 it, and log in with a new token", path, mode.Perm())
	}
	var c credentials
	// A JSON error may quote what it stumbled over.
	if json.Unmarshal(content, &c) != nil || c.Format != 1 {
		return empty, fmt.Errorf("%s is damaged or written by a newer client: remove it and log in again", path)
	}
	if c.Tokens == nil {
		c.Tokens = empty.Tokens
	}
	return c, nil
}

func (p Paths) changeCredentials(change func(*credentials)) error {
	if p.Config == "" {
		return fmt.Errorf("save credentials: %w", ErrNoPlace)
	}
	if err := os.MkdirAll(p.Config, 0o700); err != nil {
		return fmt.Errorf("save credentials: %w", err)
	}
	c, err := p.readCredentials()
	if err != nil {
		return err
	}
	change(&c)
	content, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("save credentials: %w", err)
	}
	if err := replaceFile(filepath.Join(p.Config, credentialsName), append(content, '\n')); err != nil {
		return fmt.Errorf("save credentials: %w", err)
	}
	return nil
}

// replaceFile writes a file of mode 0600, whole or not at all.
func replaceFile(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// openToOthers reports whether others than the owner may read a regular file. On
// Windows the mode says nothing of it; the folder in the profile is private there. A
// pipe belongs to whoever made it.
func openToOthers(mode fs.FileMode) bool {
	return runtime.GOOS != "windows" && mode.IsRegular() && mode.Perm()&0o077 != 0
}
