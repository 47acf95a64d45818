// The hooks of the engram memory for OpenCode, written by `engram setup opencode`. OpenCode 1 (from 1.18.29) calls
// `server`, OpenCode 2 `setup`. Each event starts `engram hook`, as in every other agent: what it prints is for the
// model. A hook that fails or takes too long says nothing, and never breaks the session.
import { spawn, spawnSync } from "node:child_process"

const COMMAND = ["engram"]
const OPTIONS = []
const BEFORE_A_TOOL = []
const WAIT_MS = 15000
const MOST_KEPT = 200

function words(event) {
  const more = event === "pre-tool" ? BEFORE_A_TOOL : []
  return [...COMMAND.slice(1), "hook", event, "--agent", "opencode", ...more, ...OPTIONS]
}

function hook(event, fields) {
  return new Promise((resolve) => {
    let said = ""
    try {
      const stdio = ["pipe", "pipe", "ignore"]
      const child = spawn(COMMAND[0], words(event), { cwd: fields.cwd, stdio, windowsHide: true, timeout: WAIT_MS })
      child.on("error", () => resolve(""))
      child.on("close", () => resolve(said.trim()))
      child.stdout.setEncoding("utf8")
      child.stdout.on("data", (text) => (said += text))
      child.stdin.on("error", () => {})
      child.stdin.end(JSON.stringify(fields))
    } catch {
      resolve("")
    }
  })
}

function answer(said) {
  if (!said.startsWith("{")) return { text: said }
  try {
    const value = JSON.parse(said)
    return { deny: value.decision === "deny" ? value.reason : "", args: value.hookSpecificOutput?.updatedInput }
  } catch {
    return { text: said }
  }
}

// What both versions share: the sessions of this process, and what each is told.
function memory(lookUp) {
  const sessions = new Map() // by their ids
  const calls = new Map() // of tools: id -> what is said with the result

  async function opened(id) {
    if (!sessions.has(id)) {
      const { parent, cwd } = await lookUp(id).catch(() => ({}))
      const known = { id: parent || id, child: Boolean(parent), cwd: cwd || process.cwd() }
      if (!sessions.has(id)) sessions.set(id, { ...known, begun: false, compacted: false, texts: [], last: "" })
    }
    return sessions.get(id)
  }

  async function about(id, fields) {
    const one = await opened(id)
    return { session_id: one.id, cwd: one.cwd, ...fields }
  }

  // A prompt: what the session begins with where it is the first, and what the prompt needs.
  async function prompted(id, prompt, source) {
    const one = await opened(id)
    const first = !one.begun
    one.begun = true
    if (one.child) return first ? [await hook("subagent-start", await about(id, { task: prompt }))] : []
    const begun = first ? await hook("session-start", await about(id, { source })) : ""
    return [begun, await hook("user-prompt", await about(id, { prompt }))].filter(Boolean)
  }

  async function before(id, tool, call, input) {
    const said = answer(await hook("pre-tool", await about(id, { tool_name: tool, tool_input: input })))
    if (said.deny) throw new Error(said.deny)
    if (said.text) calls.set(call, said.text)
    if (calls.size > MOST_KEPT) calls.delete(calls.keys().next().value)
    return said.args
  }

  async function after(id, tool, call, input, outcome) {
    const kept = calls.get(call)
    calls.delete(call)
    const fields = { tool_name: tool, tool_input: input, ...outcome }
    const said = await hook(outcome.error ? "tool-failed" : "post-tool", await about(id, fields))
    return [kept, said].filter(Boolean).join("\n\n")
  }

  async function stopped(id) {
    const one = await opened(id)
    const event = one.child ? "subagent-stop" : "stop"
    await hook(event, await about(id, { last_assistant_message: one.last }))
  }

  async function compacting(id) {
    await hook("pre-compact", await about(id, {}))
  }

  async function compacted(id) {
    const one = await opened(id)
    one.texts = one.child ? [] : [await hook("session-start", await about(id, { source: "compact" }))].filter(Boolean)
  }

  // The process may be about to end, so this one waits.
  function ended(ids = [...sessions.keys()]) {
    for (const id of ids) {
      const one = sessions.get(id)
      sessions.delete(id)
      if (!one || one.child) continue
      const input = JSON.stringify({ session_id: one.id, cwd: one.cwd, last_assistant_message: one.last })
      const options = { cwd: one.cwd, input, stdio: ["pipe", "ignore", "ignore"], windowsHide: true, timeout: WAIT_MS }
      spawnSync(COMMAND[0], words("session-end"), options)
    }
  }

  return { sessions, opened, prompted, before, after, stopped, compacting, compacted, ended }
}

function written(parts) {
  return parts.filter((part) => part.type === "text" && !part.synthetic).map((part) => part.text).join("\n")
}

async function server({ client, directory }) {
  const created = new Set()
  const one = memory(async (id) => {
    const found = await client.session.get({ path: { id } })
    return { parent: found.data?.parentID, cwd: directory }
  })
  return {
    event: async ({ event }) => {
      const of = event.properties ?? {}
      if (event.type === "session.created") created.add(of.info?.id)
      if (event.type === "session.compacted" && one.sessions.has(of.sessionID)) await one.compacted(of.sessionID)
      if (event.type === "session.idle" && one.sessions.has(of.sessionID)) await one.stopped(of.sessionID)
      if (event.type === "session.deleted") one.ended([of.info?.id])
    },
    "chat.message": async ({ sessionID }, { message, parts }) => {
      const prompt = written(parts)
      if (!prompt.trim()) return
      const texts = await one.prompted(sessionID, prompt, created.has(sessionID) ? "startup" : "resume")
      texts.forEach((text, number) => {
        const id = `${parts[0].id.slice(0, -4)}eng${number}` // unique, and behind the part of the person
        parts.push({ id, sessionID, messageID: message.id, type: "text", text, synthetic: true })
      })
    },
    "tool.execute.before": async ({ tool, sessionID, callID }, output) => {
      Object.assign(output.args, await one.before(sessionID, tool, callID, output.args))
    },
    "tool.execute.after": async ({ tool, sessionID, callID, args }, output) => {
      const tool_response = { output: output.output, exit_code: output.metadata?.exit }
      const said = await one.after(sessionID, tool, callID, args, { tool_response })
      if (said && typeof output.output === "string") output.output += `\n\n${said}`
      else if (said && Array.isArray(output.content)) output.content.push({ type: "text", text: said })
    },
    "experimental.text.complete": async ({ sessionID }, { text }) => {
      ;(await one.opened(sessionID)).last = text
    },
    "experimental.session.compacting": async ({ sessionID }) => one.compacting(sessionID),
    "experimental.chat.system.transform": async ({ sessionID }, { system }) => {
      system.push(...(one.sessions.get(sessionID)?.texts ?? []))
    },
    dispose: async () => one.ended(),
  }
}

async function setup(ctx) {
  const one = memory(async (id) => {
    const found = await ctx.session.get({ sessionID: id })
    const info = found?.data ?? found
    return { parent: info?.parentID, cwd: info?.location?.directory ?? ctx.location?.directory }
  })
  await ctx.session.hook("prompt", async (event) => {
    if (!event.prompt?.text?.trim()) return
    const texts = await one.prompted(event.sessionID, event.prompt.text, "startup")
    ;(await one.opened(event.sessionID)).texts.push(...texts)
  })
  // What a request is given here is not stored, so all of it is given each time.
  await ctx.session.hook("context", async (event) => {
    const session = await one.opened(event.sessionID)
    if (session.compacted) {
      session.compacted = false
      await one.compacted(event.sessionID)
    }
    event.system.push(...session.texts.map((text) => ({ type: "text", text })))
  })
  await ctx.session.hook("compaction", async (event) => {
    await one.compacting(event.sessionID)
    ;(await one.opened(event.sessionID)).compacted = true
  })
  await ctx.tool.hook("execute.before", async (event) => {
    const args = await one.before(event.sessionID, event.tool, event.id, event.input)
    if (args) event.input = args
  })
  await ctx.tool.hook("execute.after", async (event) => {
    const { content, output, metadata } = event.result ?? {}
    const printed = [content].flat().map((part) => (typeof part === "string" ? part : (part?.text ?? ""))).join("\n")
    const exit_code = metadata?.exit ?? metadata?.exitCode ?? output?.exit ?? output?.exitCode
    const failed = event.status === "error" ? { error: event.error?.message ?? "failed" } : {}
    const outcome = { tool_response: { output: printed, exit_code }, ...failed }
    const said = await one.after(event.sessionID, event.tool, event.id, event.input, outcome)
    if (!said) return
    if (failed.error) event.error.message += `\n\n${said}`
    else if (Array.isArray(content)) event.result.content = [...content, { type: "text", text: said }]
    else event.result.content = [content, said].filter(Boolean).join("\n\n")
  })
  const over = new AbortController()
  listened(ctx, one, over.signal).catch(() => {})
  return () => {
    over.abort()
    one.ended()
  }
}

async function listened(ctx, one, signal) {
  for await (const event of ctx.event.subscribe({ signal })) {
    const of = event.data ?? event.properties ?? {}
    if (!one.sessions.has(of.sessionID)) continue
    if (event.type === "session.text.ended") (await one.opened(of.sessionID)).last = of.text ?? ""
    if (/^session\.execution\.(succeeded|failed|interrupted)$/.test(event.type)) await one.stopped(of.sessionID)
    if (event.type === "session.deleted") one.ended([of.sessionID])
  }
}

export default { id: "engram", server, setup }
