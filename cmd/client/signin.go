package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/config"
	"github.com/teammem/teammem/client/remote"
	"github.com/teammem/teammem/client/signin"
)

// signIn signs the person in with a provider of the server's.
func (a *app) signIn(ctx context.Context, t *target, ask loginAsk) error {
	anonymous, err := t.remoteWith("")
	if err != nil {
		return err
	}
	defer anonymous.Close()
	known, err := anonymous.WellKnown(ctx)
	if err != nil {
		return err
	}
	chosen, err := a.provider(known.OIDC, ask.provider)
	if err != nil {
		return err
	}
	client, err := remote.NewHTTP(t.settings.Text(config.CA))
	if err != nil {
		return asUsage(err)
	}
	defer client.CloseIdleConnections()
	flow, err := signin.Discover(ctx, client, chosen, time.Now)
	if err != nil {
		return err
	}
	var grant config.Grant
	if flow.HasDevice() && !ask.browser {
		grant, err = flow.Device(ctx, a.showDevice)
	} else {
		grant, err = flow.Browser(ctx, a.showBrowser)
	}
	if err != nil {
		return err
	}
	server, err := t.remoteWith(grant.Token)
	if err != nil {
		return err
	}
	defer server.Close()
	who, err := server.BeginSession(ctx)
	if err != nil {
		return err
	}
	return a.loggedIn(ctx, t, who, func() error { return t.paths.SaveGrant(t.origin, grant) })
}

// provider picks one of the server's.
func (a *app) provider(all []api.Provider, wanted string) (api.Provider, error) {
	if len(all) == 0 {
		return api.Provider{}, &usageError{
			err:  errors.New("the server signs in with tokens only, and no token is given"),
			hint: "name a file with --token-file FILE, or pipe it in with --token-stdin; an administrator makes one with server token create",
		}
	}
	if wanted == "" && len(all) == 1 {
		return all[0], nil
	}
	names := make([]string, len(all))
	for i, p := range all {
		if wanted != "" && (p.Name == wanted || p.Issuer == wanted) {
			return p, nil
		}
		names[i] = p.Name
	}
	return api.Provider{}, &usageError{err: errors.New("the server signs in with several identity providers"), hint: "name one with --provider: " + strings.Join(names, ", ")}
}

// showDevice says what to do, on standard error: it is for a person, whatever
// standard output is for.
func (a *app) showDevice(p signin.Prompt) {
	fmt.Fprintf(a.stderr, "to sign in, open   %s\nand confirm        %s\n", p.Address, p.Code)
	if p.Complete != "" {
		a.openBrowser(p.Complete)
	}
}

func (a *app) showBrowser(p signin.Prompt) {
	fmt.Fprintf(a.stderr, "to sign in, open   %s\n", p.Address)
	a.openBrowser(p.Address)
}

// openBrowser opens the person's browser where there is one. Over ssh it would open
// on the wrong machine, if anywhere.
func (a *app) openBrowser(address string) {
	if a.env.Get("SSH_CONNECTION") != "" || a.env.Get("SSH_TTY") != "" {
		return
	}
	var command []string
	switch browser := a.env.Get("BROWSER"); {
	case browser != "":
		command = append(strings.Fields(browser), address)
	case a.env.OS == "darwin":
		command = []string{"open", address}
	case a.env.OS == "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler", address}
	case a.env.Get("DISPLAY") != "" || a.env.Get("WAYLAND_DISPLAY") != "":
		command = []string{"xdg-open", address}
	default:
		return
	}
	// The address is shown in any case, so nothing is said of a browser that fails.
	if cmd := exec.Command(command[0], command[1:]...); cmd.Start() == nil {
		go func() { _ = cmd.Wait() }()
	}
}

// endGrant ends a sign-in at the server and at the provider. What does not work is
// told: the sign-in is removed from this machine all the same.
func (a *app) endGrant(ctx context.Context, t *target, grant config.Grant) bool {
	revoked := true
	server, err := t.remoteWith(grant.Token)
	if err == nil {
		defer server.Close()
		_, err = server.EndSession(ctx)
	}
	if err != nil && api.CodeOf(err) != api.Authentication { // an ended token needs no end
		revoked = false
		a.term.Warn("the server was not told: "+err.Error(), "the token ends by itself, "+grant.Expires.Local().Format("15:04"))
	}
	client, err := remote.NewHTTP(t.settings.Text(config.CA))
	if err == nil {
		defer client.CloseIdleConnections()
		err = signin.Revoke(ctx, client, grant)
	}
	if err != nil {
		revoked = false
		a.term.Warn(err.Error(), "end the session in your account at the provider")
	}
	return revoked
}
