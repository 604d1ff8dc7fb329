package dashboard

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/teammem/teammem/api"
)

// policyView is what the organization does about what a scan finds, and which changes
// others must approve.
type policyView struct {
	frame
	api.OrgPolicy
	Classes  []classRow
	Verdicts []api.Verdict
	Rules    string // review rules, one a line
	Accepted []api.Acceptance
	pages
}

type classRow struct {
	Class   api.Class
	Means   string
	Verdict api.Verdict
}

var classMeans = map[api.Class]string{
	api.ClassSecret:        "a value whose form says that it is a secret",
	api.ClassSecretGeneric: "a value that only the words around it make one",
	api.ClassHiddenText:    "text that a reader does not see and an agent does",
	api.ClassHiddenComment: "HTML comments",
	api.ClassInstruction:   "text in the manner of prompt injections",
	api.ClassPersonal:      "what belongs to one machine or person",
}

func showPolicy(v *visit) error {
	policy, err := v.h.parts.Ledger.Policy(v.r.Context(), v.caller)
	if err != nil {
		return err
	}
	v.Title = "Policy"
	view := policyView{OrgPolicy: policy, Verdicts: api.Verdicts}
	for _, class := range api.Classes {
		view.Classes = append(view.Classes, classRow{class, classMeans[class], policy.Verdicts[class]})
	}
	for _, rule := range policy.Review {
		view.Rules += fmt.Sprintf("%s %s %d\n", rule.Role, rule.Pattern, max(1, rule.Approvals))
	}
	view.Accepted, view.pages = paged(v, policy.Accepted)
	view.frame = v.frame
	return v.show("policy", view)
}

func setPolicy(v *visit) error {
	change := api.PolicyChange{KeepsAccepted: true}
	change.Policy.Verdicts = map[api.Class]api.Verdict{}
	for _, class := range api.Classes {
		verdict := api.Verdict(v.form("verdict-" + string(class)))
		known := false
		for _, is := range api.Verdicts {
			known = known || is == verdict
		}
		if !known {
			return &fault{http.StatusBadRequest, sentence(fmt.Sprintf("there is no verdict %q", verdict)), "Go back and choose one of those there are."}
		}
		change.Policy.Verdicts[class] = verdict
	}
	var err error
	if change.Policy.Review, err = reviewRules(v.form("rules")); err != nil {
		return err
	}
	version, err := strconv.ParseInt(v.form("version"), 10, 64)
	if err != nil {
		return notANumber("version", v.form("version"))
	}
	made := api.Version(version)
	change.Version = &made
	after, err := v.h.parts.Ledger.SetPolicy(v.r.Context(), v.caller, change, api.Tags{})
	if err != nil {
		return err
	}
	return v.done(v.At("/policy"), said{Text: fmt.Sprintf("Policy %d is in force, on every server within a second.", after.Version)})
}

// reviewRules reads rules as people write them: role, pattern, approvals, one a line.
func reviewRules(text string) (rules []api.ReviewRule, err error) {
	for i, line := range strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		bad := func(why string) error {
			return &fault{http.StatusBadRequest, sentence(fmt.Sprintf("review rule in line %d: %s", i+1, why)), "Write it as role, pattern, number of approvals: member MEMORY.md 1"}
		}
		if len(words) < 2 || len(words) > 3 || len(rules) == api.MaxReviewRules {
			return nil, bad("want a role, a pattern and a number")
		}
		rule := api.ReviewRule{Approvals: 1}
		if rule.Role, err = api.ParseRole(words[0]); err != nil {
			return nil, bad(err.Error())
		}
		if rule.Pattern, err = api.ParsePattern(words[1]); err != nil {
			return nil, bad(err.Error())
		}
		if len(words) == 3 {
			if rule.Approvals, err = strconv.Atoi(words[2]); err != nil || rule.Approvals < 1 || rule.Approvals > api.MaxApprovals {
				return nil, bad(fmt.Sprintf("%q is no number of approvals from 1 to %d", words[2], api.MaxApprovals))
			}
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

// acceptFinding lets a value through from now on.
func acceptFinding(v *visit) error {
	a := api.Acceptance{Fingerprint: v.form("fingerprint"), Rule: v.form("rule"), Reason: strings.TrimSpace(v.form("reason"))}
	if err := api.CheckReason(a.Reason); err != nil {
		return &fault{http.StatusBadRequest, sentence(err.Error()), "Say why the value may stand: it is kept with who accepted it."}
	}
	if !api.Accepts(a.Rule) {
		return &fault{http.StatusUnprocessableEntity, sentence("findings of " + a.Rule + " are never accepted"), "Take the private key out and replace it."}
	}
	if _, err := v.h.parts.Ledger.AcceptFinding(v.r.Context(), v.caller, a); err != nil {
		return err
	}
	return v.done(v.back("/policy"), said{
		Text: "The value is accepted from now on, wherever it stands.", Undo: v.At("/policy/forget"), Fields: [][2]string{{"fingerprint", a.Fingerprint}},
	})
}

func forgetFinding(v *visit) error {
	if _, err := v.h.parts.Ledger.ForgetFinding(v.r.Context(), v.caller, v.form("fingerprint")); err != nil {
		return err
	}
	return v.done(v.At("/policy"), said{Text: "The value is judged by the policy again."})
}

// back is where a form asked to be led to, on this server, or else another page.
func (v *visit) back(or string, pairs ...any) string {
	if to := v.form("back"); to != "" && localPath(to) == to {
		return to
	}
	return v.At(or, pairs...)
}
