package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	// refetchEvery is how often a provider is asked for its keys at most.
	refetchEvery = 2 * time.Second
	// askTimeout bounds one question to a provider.
	askTimeout = 10 * time.Second
	// maxWaiting is how many requests may wait for keys at once. A token signed
	// with a new key is worth a wait; a flood of strange ones is not.
	maxWaiting = 32
	// maxAnswer bounds what a provider may make us read.
	maxAnswer = 1 << 20
	// maxKeys is how many keys of a provider are looked at.
	maxKeys = 64
)

// keys are a provider's public keys, kept as long as no newer ones come.
type keys struct {
	client *http.Client
	every  time.Duration
	// where gives the address of the keys.
	where func(context.Context) (string, error)
	slots chan struct{} // of those who wait

	mu    sync.Mutex
	set   []jose.JSONWebKey
	round int           // counts the answers of the provider
	asked time.Time     // when it was last asked
	err   error         // of the last question
	open  chan struct{} // closed when the question under way is answered
}

func newKeys(client *http.Client, where func(context.Context) (string, error)) *keys {
	return &keys{client: client, every: refetchEvery, where: where, slots: make(chan struct{}, maxWaiting)}
}

var (
	errUnknownKey = refusef("signature", "the token is signed with a key that its provider does not know, or not rightly signed")
	errCrowd      = errors.New("too many requests wait for its keys")
)

// VerifySignature gives what a token holds when it is signed with a key of the
// provider. On a key that is not known, and on one that does not fit, the provider
// is asked once whether it has new ones.
func (k *keys) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	signed, err := jose.ParseSignedCompact(token, joseAlgorithms())
	if err != nil {
		return nil, refusef("form", "the token cannot be read")
	}
	set, round := k.known()
	if content, ok := verifyWith(set, signed); ok {
		return content, nil
	}
	if err := k.refresh(ctx, round); err != nil {
		return nil, err
	}
	set, _ = k.known()
	if content, ok := verifyWith(set, signed); ok {
		return content, nil
	}
	return nil, errUnknownKey
}

func joseAlgorithms() []jose.SignatureAlgorithm {
	list := make([]jose.SignatureAlgorithm, len(algorithms))
	for i, a := range algorithms {
		list[i] = jose.SignatureAlgorithm(a)
	}
	return list
}

// verifyWith tries the keys that may have signed. Without a key id all may have.
func verifyWith(set []jose.JSONWebKey, signed *jose.JSONWebSignature) ([]byte, bool) {
	h := signed.Signatures[0].Header
	for i := range set {
		key := &set[i]
		if h.KeyID != "" && key.KeyID != h.KeyID || key.Algorithm != "" && key.Algorithm != h.Algorithm {
			continue
		}
		if content, err := signed.Verify(key); err == nil {
			return content, true
		}
	}
	return nil, false
}

func (k *keys) known() ([]jose.JSONWebKey, int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.set, k.round
}

// refresh sees to it that the provider was asked after the given round. It waits
// its turn where that was lately, unless too many wait.
func (k *keys) refresh(ctx context.Context, since int) error {
	select {
	case k.slots <- struct{}{}:
		defer func() { <-k.slots }()
	default:
		if set, _ := k.known(); len(set) > 0 {
			return errUnknownKey
		}
		return errCrowd
	}
	for {
		wait, err := k.step(since)
		if wait == nil {
			return err
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// step asks when it may, and otherwise says what to wait for; nil is nothing.
func (k *keys) step(since int) (<-chan struct{}, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.round > since {
		return nil, nil
	}
	if k.open != nil {
		return k.open, nil
	}
	// Elapsed time is the machine's business: a test that moves the clock of tokens
	// does not mean it.
	if lately := k.every - time.Since(k.asked); lately > 0 && !k.asked.IsZero() {
		if k.err != nil {
			return nil, k.err
		}
		turn := make(chan struct{})
		time.AfterFunc(lately, func() { close(turn) })
		return turn, nil
	}
	k.asked, k.open = time.Now(), make(chan struct{})
	go k.ask(k.open)
	return k.open, nil
}

// ask gets the keys. It does not depend on the request that caused it: others wait
// for it too.
func (k *keys) ask(done chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	set, err := k.fetch(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err = err; err == nil {
		k.set = set
		k.round++
	}
	k.open = nil
	close(done)
}

func (k *keys) fetch(ctx context.Context) ([]jose.JSONWebKey, error) {
	address, err := k.where(ctx)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("ask for keys: %w", err)
	}
	answer, err := k.client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("ask for keys: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	switch {
	case err != nil:
		return nil, fmt.Errorf("ask for keys: %w", err)
	case answer.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("ask for keys: the answer is %s", answer.Status)
	}
	return readKeys(body)
}

// readKeys takes the keys that can be used, and passes over the others: a provider
// may publish some of a kind that is not known here. Symmetric keys are none.
func readKeys(body []byte) ([]jose.JSONWebKey, error) {
	var list struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, errors.New("the answer holds no keys")
	}
	var set []jose.JSONWebKey
	for _, raw := range list.Keys[:min(len(list.Keys), maxKeys)] {
		var key jose.JSONWebKey
		if json.Unmarshal(raw, &key) == nil && key.IsPublic() && key.Valid() && key.Use != "enc" {
			set = append(set, key)
		}
	}
	if len(set) == 0 {
		return nil, errors.New("the answer holds no key that can be used")
	}
	return set, nil
}
