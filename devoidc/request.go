package devoidc

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// authRequest is a sign-in through a browser that is under way.
type authRequest struct {
	*oidc.AuthRequest
	id, subject string
	done        bool
	at          time.Time
}

func (r *authRequest) GetID() string                      { return r.id }
func (r *authRequest) GetACR() string                     { return "" }
func (r *authRequest) GetAMR() []string                   { return []string{"pwd"} }
func (r *authRequest) GetAudience() []string              { return []string{r.ClientID} }
func (r *authRequest) GetAuthTime() time.Time             { return r.at }
func (r *authRequest) GetClientID() string                { return r.ClientID }
func (r *authRequest) GetNonce() string                   { return r.Nonce }
func (r *authRequest) GetRedirectURI() string             { return r.RedirectURI }
func (r *authRequest) GetResponseType() oidc.ResponseType { return r.ResponseType }
func (r *authRequest) GetResponseMode() oidc.ResponseMode { return r.ResponseMode }
func (r *authRequest) GetScopes() []string                { return r.Scopes }
func (r *authRequest) GetState() string                   { return r.State }
func (r *authRequest) GetSubject() string                 { return r.subject }
func (r *authRequest) Done() bool                         { return r.done }
func (r *authRequest) GetCodeChallenge() *oidc.CodeChallenge {
	if r.CodeChallenge == "" {
		return nil
	}
	return &oidc.CodeChallenge{Challenge: r.CodeChallenge, Method: r.CodeChallengeMethod}
}

// CreateAuthRequest implements op.Storage.
func (p *Provider) CreateAuthRequest(_ context.Context, r *oidc.AuthRequest, _ string) (op.AuthRequest, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	request := &authRequest{AuthRequest: r, id: rand.Text()}
	p.requests[request.id] = request
	return request, nil
}

// AuthRequestByID implements op.Storage.
func (p *Provider) AuthRequestByID(_ context.Context, id string) (op.AuthRequest, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	request, ok := p.requests[id]
	if !ok {
		return nil, errors.New("this sign-in is over")
	}
	return request, nil
}

// AuthRequestByCode implements op.Storage.
func (p *Provider) AuthRequestByCode(ctx context.Context, code string) (op.AuthRequest, error) {
	p.mu.Lock()
	id, ok := p.codes[code]
	p.mu.Unlock()
	if !ok {
		return nil, errors.New("the code was used, or was never given out")
	}
	return p.AuthRequestByID(ctx, id)
}

// SaveAuthCode implements op.Storage.
func (p *Provider) SaveAuthCode(_ context.Context, id, code string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.codes[code] = id
	return nil
}

// DeleteAuthRequest implements op.Storage.
func (p *Provider) DeleteAuthRequest(_ context.Context, id string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.requests, id)
	for code, of := range p.codes {
		if of == id {
			delete(p.codes, code)
		}
	}
	return nil
}

// device is a sign-in of a device that is under way.
type device struct {
	code, userCode string
	state          *op.DeviceAuthorizationState
}

// withoutDevice hides the device flow from the library.
type withoutDevice struct{ op.Storage }

// StoreDeviceAuthorization implements op.DeviceAuthorizationStorage.
func (p *Provider) StoreDeviceAuthorization(_ context.Context, client, code, userCode string, expires time.Time, scopes []string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.devices[code] = &device{code: code, userCode: userCode, state: &op.DeviceAuthorizationState{ClientID: client, Scopes: scopes, Expires: expires}}
	return nil
}

// GetDeviceAuthorizatonState implements op.DeviceAuthorizationStorage. A device
// code gives tokens once.
func (p *Provider) GetDeviceAuthorizatonState(_ context.Context, client, code string) (*op.DeviceAuthorizationState, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	d, ok := p.devices[code]
	if !ok || d.state.ClientID != client {
		return nil, errors.New("there is no such device")
	}
	state := *d.state
	if state.Done || state.Denied {
		delete(p.devices, code)
	}
	return &state, nil
}

// Confirm lets the device that shows a code sign in as a user, or with allow false
// refuses it.
func (p *Provider) Confirm(userCode, userName string, allow bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	user := p.byName(userName)
	if user == nil {
		return errors.New("there is no such account")
	}
	for _, d := range p.devices {
		if strings.EqualFold(d.userCode, userCode) {
			// The subject, not the name that somebody signs in with.
			d.state.Subject, d.state.AuthTime, d.state.AMR = user.Subject, time.Now(), []string{"pwd"}
			d.state.Done, d.state.Denied = allow, !allow
			return nil
		}
	}
	return errors.New("no device shows this code")
}

// finish signs a user in to the request.
func (p *Provider) finish(id, userName string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	user, request := p.byName(userName), p.requests[id]
	if user == nil || request == nil {
		return errors.New("there is no such account, or this sign-in is over")
	}
	request.subject, request.done, request.at = user.Subject, true, time.Now()
	return nil
}

func (p *Provider) login(w http.ResponseWriter, r *http.Request, callback func(context.Context, string) string) {
	id := r.PostFormValue("request")
	if err := p.finish(id, r.PostFormValue("user")); err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	http.Redirect(w, r, callback(r.Context(), id), http.StatusSeeOther)
}
