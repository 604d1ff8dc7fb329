@MARK@
// It runs the client at the moments that OpenCode tells plugins of. When the client
// fails or is gone, OpenCode goes on as if this file were not there.
import { spawnSync } from "node:child_process"

function ask(event, said) {
  try {
    const run = spawnSync(program + " hook --agent opencode " + event, {
      shell: true, input: JSON.stringify(said), encoding: "utf8", timeout: 10000, windowsHide: true,
    })
    return run.status === 0 && run.stdout ? JSON.parse(run.stdout) : {}
  } catch {
    return {}
  }
}

export const Teammem = async ({ directory }) => {
  const opening = new Map()
  return {
    event: async ({ event }) => {
      const session = event?.properties?.info?.id ?? event?.properties?.sessionID
      if (event?.type === "session.created") {
        opening.set(session, ask("session-start", { session_id: session, cwd: directory }).context)
      }
      if (event?.type === "session.idle") ask("stop", { session_id: session, cwd: directory })
      if (event?.type === "session.deleted") {
        opening.delete(session)
        ask("session-end", { session_id: session, cwd: directory })
      }
    },
    "chat.message": async (input, output) => {
      const first = output?.parts?.find((part) => part.type === "text" && !part.synthetic)
      if (!first) return
      const hints = ask("prompt", { session_id: input.sessionID, cwd: directory, prompt: first.text }).context
      const told = [opening.get(input.sessionID), hints].filter(Boolean).join("\n")
      opening.delete(input.sessionID)
      if (told) first.text = first.text + "\n\n<memory>\n" + told + "</memory>"
    },
    "tool.execute.before": async (input, output) => {
      if (!["write", "edit", "multiedit", "patch", "apply_patch"].includes(input.tool)) return
      const said = { session_id: input.sessionID, cwd: directory, tool_name: input.tool, tool_input: output.args }
      const answer = ask("before-write", said)
      if (answer.decision === "deny") throw new Error(answer.reason)
    },
    "tool.execute.after": async (input) => {
      if (!["write", "edit", "multiedit", "patch", "apply_patch"].includes(input.tool)) return
      ask("after-write", { session_id: input.sessionID, cwd: directory, tool_name: input.tool, tool_input: input.args ?? {} })
    },
  }
}
