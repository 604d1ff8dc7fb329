package scan

// instructionRules are for text in the manner of prompt injections and of grants
// of permission. They are a tripwire: honest notes about such things trip it too,
// so it flags and does not block unless policy says so.
func instructionRules() []*rule {
	const some = `(?:(?:all|any|the|your|my|of|these|those|every)\s{1,3}){0,3}`
	const toUser = `(?:to\s{1,3})?(?:the\s{1,3}|your\s{1,3}|any\s{1,3})?(?:user|human|person|operator|developer|owner)`
	const sending = `(?:send|post|upload|forward|exfiltrate|transmit|copy|report|leak)`
	const treasure = `(?:environment\s{1,3}variables?|env\s{1,3}vars?|credentials?|secrets?|api\s{0,3}keys?|access\s{1,3}tokens?|ssh\s{1,3}keys?|private\s{1,3}keys?|passwords?|\.env\b|conversation|chat\s{1,3}history)`
	rules := []*rule{
		{
			id: "override-instructions", severity: High,
			reason:  "It tells an agent to set aside what it was told before.",
			pattern: `(?i)\b(?:ignore|disregard|forget|override|bypass)\s{1,3}` + some + `(?:previous|prior|earlier|above|preceding|existing|original|system)\s{1,3}(?:(?:system|safety)\s{1,3})?(?:instructions?|rules?|prompts?|guidelines?|directives?|messages?|context)\b`,
		},
		{
			id: "new-instructions", severity: High,
			reason:  "It gives itself the voice of a system prompt.",
			pattern: `(?i)\b(?:your\s{1,3}new\s{1,3}(?:instructions?|rules?|role)\s{1,3}(?:is|are)|you\s{1,3}are\s{1,3}now\s{1,3}(?:in\s{1,3}(?:developer|debug|admin|god)\s{1,3}mode|dan\b|unrestricted|jailbroken)|new\s{1,3}system\s{1,3}prompt)`,
		},
		{
			id: "secrecy-from-user", severity: High,
			reason:  "It asks an agent to keep something from the person it works for.",
			pattern: `(?i)\b(?:do\s{1,3}not|don['’]?t|never|must\s{1,3}not|without)\s{1,3}(?:ever\s{1,3})?(?:tell|telling|inform|informing|mention|mentioning|reveal|revealing|notify|notifying|alert|alerting|show|showing|disclose|disclosing|ask|asking)\s{1,3}(?:(?:this|it|that|anything|any\s{1,3}of\s{1,3}this)\s{1,3}){0,2}` + toUser + `\b`,
		},
		{
			id: "kept-hidden", severity: High,
			reason:  "It asks an agent to keep something from the person it works for.",
			pattern: `(?i)\b(?:keep|hide|conceal)\s{1,3}(?:this|it|that|these\s{1,3}instructions?)\s{1,3}(?:(?:a\s{1,3})?(?:secret|hidden|private|confidential)\s{1,3})?from\s{1,3}` + toUser + `\b`,
		},
		{
			id: "fetch-and-run", severity: Medium,
			reason:  "It runs what a remote machine answers.",
			pattern: `(?i)\b(?:curl|wget|iwr|invoke-webrequest|fetch)\b[^\n|;]+\|\s{0,3}(?:sudo\s{1,3}(?:-\S{1,10}\s{1,3}){0,2})?(?:ba|z|da|k|fi)?(?:sh|iex|python3?|node|perl|ruby|invoke-expression)\b`,
		},
		{
			id: "fetch-and-run-inner", severity: Medium,
			reason:  "It runs what a remote machine answers.",
			pattern: `(?i)(?:\b(?:eval|source|exec)\s{1,3}["']?[$<]\(|\b(?:ba|z)?sh\s{1,3}(?:-c\s{1,3}["']?\$|<)\(|\b(?:iex|invoke-expression)\s{0,3}\(+|\bpython3?\s{1,3}-c\s{1,3}["']?\$\()[^\n]{0,60}\b(?:curl|wget|iwr|invoke-webrequest|downloadstring)\b`,
		},
		{
			id: "chat-template", severity: High,
			reason:  "It holds the marks by which a model tells who is speaking.",
			pattern: `(?i)(?:<\|(?:im_start|im_end|im_sep|system|user|assistant|endoftext|eot_id|start_header_id|end_header_id|begin_of_text|end_of_turn|tool_call)\|>|<</?SYS>>|\[/?INST\]|<(?:start|end)_of_turn>|</?(?:system-reminder|system_prompt|function_calls|function_results|tool_result)>)`,
		},
		{
			id: "speaker-mark", severity: Medium,
			reason:  "It begins a line in the name of the system.",
			pattern: `\n(?:# |## |### )?(?:SYSTEM|System (?:prompt|message|override)|\[SYSTEM\]|\[system\])[ \t]{0,3}:`,
		},
		{
			id: "checks-off", severity: Medium,
			reason:  "It switches off what stands between an agent and harm.",
			pattern: `(?i)(?:dangerously-skip-permissions|dangerouslyskippermissions|bypasspermissions|dangerously-bypass-approvals|--yolo\b|\b(?:disable|turn\s{1,3}off|switch\s{1,3}off|skip|bypass)\s{1,3}` + some + `(?:safety|security|permission|approval|sandbox|secret)\s{1,3}(?:checks?|scans?|scanning|prompts?|filters?|guards?|rules?|hooks?))\b`,
		},
		{
			id: "permission-grant", severity: Medium,
			reason:  "It grants rights that only settings can grant.",
			pattern: `(?i)(?:\byou\s{1,3}(?:are|have\s{1,3}been|now\s{1,3}have|have)\s{1,3}(?:(?:hereby|now|explicitly|fully|pre-?)\s{0,3}){0,2}(?:authori[sz]ed|granted|permitted|approved|full|unrestricted|unlimited|root|admin(?:istrator)?)\s{1,3}(?:to\s{1,3}(?:run|execute|delete|access|push|bypass|install|use)\s{1,3}(?:any|all|every)|(?:full\s{1,3}|unrestricted\s{1,3}|root\s{1,3}|admin\s{1,3})?(?:access|permissions?|rights|privileges))|\b(?:auto-?approve|always\s{1,3}approve|always\s{1,3}allow)\s{1,3}(?:all|any|every|everything)\b|"allow"\s{0,3}:\s{0,3}\[\s{0,20}"(?:bash|write|edit|webfetch|\*))`,
		},
		{
			id: "exfiltration", severity: High,
			reason:  "It sends what is private to an address.",
			pattern: `(?i)\b` + sending + `\s{1,3}[^\n.!?]{0,80}?` + treasure + `[^\n.!?]{0,60}?\s(?:to|at|via)\s[^\n]{0,40}?(?:https?://|[\w.+-]{1,64}@[\w-]{1,64}\.)`,
		},
		{
			id: "exfiltration-link", severity: High,
			reason:  "The address of an image or link has a field to fill in: showing it sends what was filled in.",
			pattern: `\]\(https?://[^\s)]+?[?&/=](?:[\w.-]{0,40}=)?(?:\$?\{[^}\s)]{0,60}\}|<[^>\s)]{1,60}>|\[[^\]\s)]{1,60}\]|%7[bB][^)\s]{0,60}%7[dD])`,
		},
		{
			id: "remote-image", severity: Low,
			reason:  "Showing a remote image tells its host that and when it was shown.",
			pattern: `!\[[^\]\n]*\]\(\s{0,3}<?https?://`,
		},
	}
	for _, r := range rules {
		r.class, r.whole = Instruction, true
	}
	return rules
}
