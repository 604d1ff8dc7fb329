package config

import (
	"errors"
	"sync"
	"time"

	"github.com/zalando/go-keyring"
)

// EnvKeyring set to "off" keeps credentials in the file alone.
const EnvKeyring = "TEAMMEM_KEYRING"

// Keyring keeps secrets by a name. Any error of it means: use the file.
type Keyring interface {
	Get(name string) (string, error)
	Set(name, secret string) error
	Delete(name string) error
}

// keyringService is what our entries are filed under.
const keyringService = "teammem"

// keyringTime bounds a question to the system's keyring: one that is locked may
// wait for a person at a screen that nobody looks at.
const keyringTime = 3 * time.Second

// systemKeyring is the operating system's.
type systemKeyring struct{}

func (systemKeyring) Get(name string) (string, error) {
	return within(func() (string, error) { return keyring.Get(keyringService, name) })
}

func (systemKeyring) Set(name, secret string) error {
	_, err := within(func() (string, error) { return "", keyring.Set(keyringService, name, secret) })
	return err
}

func (systemKeyring) Delete(name string) error {
	_, err := within(func() (string, error) { return "", keyring.Delete(keyringService, name) })
	return err
}

// knownKeyring remembers what a keyring said. A client that stays looks its token up
// before every request, and a keyring may take its time, or be locked meanwhile.
type knownKeyring struct {
	Keyring
	mu sync.Mutex
	by map[string]keptSecret // by name
}

type keptSecret struct{ mark, secret string }

func newKnownKeyring(k Keyring) *knownKeyring {
	return &knownKeyring{Keyring: k, by: map[string]keptSecret{}}
}

// marked is Get, and asks once a mark. What has no mark is asked for each time.
func (k *knownKeyring) marked(name, mark string) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if kept, ok := k.by[name]; ok && mark != "" && kept.mark == mark {
		return kept.secret, nil
	}
	secret, err := k.Get(name)
	if err != nil {
		return "", err
	}
	k.by[name] = keptSecret{mark, secret}
	return secret, nil
}

var errKeyringSlow = errors.New("the keyring does not answer")

func within(ask func() (string, error)) (string, error) {
	type answer struct {
		text string
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		text, err := ask()
		answered <- answer{text, err}
	}()
	late := time.NewTimer(keyringTime)
	defer late.Stop()
	select {
	case a := <-answered:
		return a.text, a.err
	case <-late.C:
		return "", errKeyringSlow
	}
}
