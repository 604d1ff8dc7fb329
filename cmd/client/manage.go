package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/teammem/teammem/client/service"
	"github.com/teammem/teammem/client/tui"
)

// manageTime bounds one command of the service manager.
const manageTime = 30 * time.Second

// manage runs commands of the user's service manager. Where it does not answer, as in
// a container or over a plain ssh, nothing is run and the commands are given back as a
// person would type them.
func (a *app) manage(ctx context.Context, manager service.Manager, commands [][]string) (left []string, err error) {
	if len(commands) == 0 {
		return nil, nil
	}
	if _, err := runManager(ctx, manager.Probe(os.Getuid())); err != nil {
		for _, command := range commands {
			words := make([]string, len(command))
			for i, word := range command {
				words[i] = shellWord(word)
			}
			left = append(left, strings.Join(words, " "))
		}
		return left, nil
	}
	for _, command := range commands {
		out, err := runManager(ctx, command)
		if err != nil && command[1] != "bootout" { // which fails for what is not loaded
			return nil, fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, strings.TrimSpace(string(out)))
		}
	}
	return nil, nil
}

func runManager(ctx context.Context, command []string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, manageTime)
	defer cancel()
	return exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput()
}

// standingService is the directory's service for client status; nil where the system
// has no manager that we know.
func (a *app) standingService(t *target) *tui.Service {
	p, err := a.postOf(t)
	if err != nil {
		return nil
	}
	if p.file == "" || !service.IsOurs(p.text) {
		return &tui.Service{}
	}
	base := p.file[strings.LastIndexByte(p.file, os.PathSeparator)+1:]
	return &tui.Service{Installed: true, Name: strings.TrimSuffix(base, base[strings.LastIndexByte(base, '.'):]), File: p.file}
}

// logTo has all that is told from now on written to a file of bounded size. What went
// wrong is told on standard error as well.
func (a *app) logTo(path string) error {
	file, err := a.env.Abs(path)
	if err != nil {
		return asUsage(err)
	}
	log, err := service.OpenLog(file, service.LogBytes)
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	a.term = tui.New(log, log, tui.Options{JSON: a.json, Quiet: a.quiet, Yes: a.yes, Home: a.env.Home})
	a.journal = log
	return nil
}
