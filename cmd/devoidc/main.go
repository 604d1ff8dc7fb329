// Command devoidc runs an OpenID Connect provider to try teammem's sign-on with. It
// is for one machine and for no secrets: whoever reaches it may sign in as anyone.
//
// Exit status: 0 done, 1 failed, 2 usage.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/teammem/teammem/devoidc"
)

func main() { os.Exit(run()) }

func run() int {
	listen := flag.String("listen", "127.0.0.1:5556", "address to serve on")
	issuer := flag.String("issuer", "", "the issuer, where it is not http:// and the address")
	users := flag.String("users", "dana:engineering,lee:engineering:leads,sam", "accounts: NAME[:GROUP…],… ; each has the address NAME@DOMAIN")
	domain := flag.String("domain", "acme.example", "of the accounts' addresses")
	redirect := flag.String("redirect", "http://127.0.0.1:8080/sign-in/callback", "where the web client teammem-web may return to")
	secret := flag.String("secret", "devoidc", "of the web client")
	secretFile := flag.String("secret-file", "", "file that holds it instead")
	check := flag.Bool("check", false, "ask the provider that listens whether it answers, and end")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "error: devoidc takes flags only")
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *check {
		return report(answers(ctx, *listen))
	}
	if *secretFile != "" {
		text, err := os.ReadFile(*secretFile)
		if *secret = strings.TrimSpace(string(text)); err == nil && *secret == "" {
			err = fmt.Errorf("%s holds no secret", *secretFile)
		}
		if err != nil {
			return report(err)
		}
	}
	if err := serve(ctx, *listen, *issuer, accounts(*users, *domain), clients(*redirect, *secret)); err != nil {
		return report(err)
	}
	return 0
}

func report(err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintf(os.Stderr, "error: %v\n", err)
	return 1
}

// answers asks the provider on this machine, for the health check of a container.
func answers(ctx context.Context, listen string) error {
	_, port, err := net.SplitHostPort(listen)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 4*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort("127.0.0.1", port)+"/.well-known/openid-configuration", nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", answer.StatusCode)
	}
	return errors.Join(err, answer.Body.Close())
}

func accounts(text, domain string) []devoidc.User {
	var users []devoidc.User
	for _, account := range strings.Split(text, ",") {
		parts := strings.Split(account, ":")
		users = append(users, devoidc.User{Subject: "sub-" + parts[0], Name: parts[0], Email: parts[0] + "@" + domain, Verified: true, Groups: parts[1:]})
	}
	return users
}

func clients(redirect, secret string) []devoidc.Client {
	return []devoidc.Client{
		{ID: "teammem", Redirects: []string{"http://127.0.0.1/callback"}},
		{ID: "teammem-web", Secret: secret, Redirects: strings.Split(redirect, ",")},
	}
}

func serve(ctx context.Context, listen, issuer string, users []devoidc.User, clients []devoidc.Client) error {
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	if issuer == "" {
		issuer = "http://" + listener.Addr().String()
	}
	p, err := devoidc.New(devoidc.Config{Issuer: issuer, Users: users, Clients: clients})
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "provider for trying out: %s\nclients: teammem (public), teammem-web\n", issuer)
	s := &http.Server{Handler: p, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = s.Close() })
	if err := s.Serve(listener); ctx.Err() == nil {
		return err
	}
	return nil
}
