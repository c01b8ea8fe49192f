import { once } from 'node:events'
import { rm, rmdir } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { type CommandContext, type CommandSpec, EngineError } from '@stackquay/engine-api'
import { asEngineError, throwIfAborted } from '../errors.ts'
import { endFamily } from '../family.ts'
import { commandDir, commandLock, commandsDir, shimCache } from '../home.ts'
import { mostProcesses } from '../isolation/control-groups.ts'
import { chainArgv } from '../isolation/launch.ts'
import { withLockFile } from '../lock.ts'
import { commandMarkers, commandProgramMarkers, newRunId } from '../marker.ts'
import { RUN_MARKER } from '../process-table.ts'
import { spawnDetached } from '../spawn.ts'
import { pause } from '../time.ts'
import { type CommandRecord, makeCommandFiles, readShimState } from './command-files.ts'
import type { CommandHost, PreparedCommand } from './command-host.ts'
import { segmentBytesOf } from './output-log-format.ts'
import type { ShimAnswer, ShimSpec } from './shim-spec.ts'
import type { ShimState } from './shim-state.ts'

/** A shim answers within a fraction of a second, on a very busy host within seconds. */
const ANSWER_MS = 30_000
const MOST_ERRORS = 16_384
const SHIM = fileURLToPath(new URL('./shim.ts', import.meta.url))

/** Starts a command, unless it was started before. What a crash left half started is cleared away first. */
export async function startCommand(host: CommandHost, spec: CommandSpec, context: CommandContext): Promise<void> {
  if ((await readShimState(host.home, spec.ref)) !== null) return
  try {
    await startOnce(host, spec, context)
  } catch (error) {
    await rmdir(commandsDir(host.home, spec.ref.project)).catch(() => {})
    throw error
  }
}

async function startOnce(host: CommandHost, spec: CommandSpec, context: CommandContext): Promise<void> {
  await withLockFile(host.table, commandLock(host.home, spec.ref), context.signal, async () => {
    if ((await readShimState(host.home, spec.ref)) !== null) return
    if ((await clearHalfStarted(host, spec.ref, context.signal)) !== null) return
    try {
      const prepared = await host.prepare(withTerminal(spec), context)
      throwIfAborted(context.signal)
      await startShim(host, spec, prepared)
    } catch (error) {
      await clearHalfStarted(host, spec.ref, new AbortController().signal)
      throw asEngineError(error, context.signal)
    }
  })
}

/** Programs with a terminal get its kind in their environment. */
function withTerminal(spec: CommandSpec): CommandSpec {
  if (spec.terminal === null) return spec
  return { ...spec, env: { TERM: 'xterm-256color', COLORTERM: 'truecolor', ...spec.env } }
}

/**
 * The caller holds the lock, and nothing says that the program was started. Answers what its shim wrote down in the last
 * moment: then the program did run, and must not run again.
 */
export async function clearHalfStarted(
  host: CommandHost,
  ref: CommandSpec['ref'],
  signal: AbortSignal,
): Promise<ShimState | null> {
  const policy = { signal: 'SIGTERM', deadlineSeconds: 1 } as const
  const target = { leader: null, markers: commandMarkers(host.home, ref), policy, group: host.group(ref) }
  await endFamily(host.suspects(ref.project), target, signal)
  const state = await readShimState(host.home, ref)
  if (state !== null) return state
  await host.clear(ref, signal)
  await rm(commandDir(host.home, ref), { recursive: true, force: true })
  return null
}

async function startShim(host: CommandHost, spec: CommandSpec, prepared: PreparedCommand): Promise<void> {
  const record: CommandRecord = {
    version: 1,
    ref: spec.ref,
    startedAt: host.now().toISOString(),
    terminal: spec.terminal,
    stop: spec.stop,
    segmentBytes: segmentBytesOf(spec.keepBytes),
  }
  const shimSpec: ShimSpec = {
    ...prepared.program,
    user: prepared.user,
    signalsAreCodes: prepared.signalsAreCodes,
    memoryEvents: prepared.memoryEvents,
    elsewhere: prepared.elsewhere?.shimSpec ?? null,
    terminal: spec.terminal,
    timeoutSeconds: spec.timeoutSeconds,
    idleSeconds: spec.idleSeconds,
    stop: spec.stop,
    segmentBytes: record.segmentBytes,
    markers: commandProgramMarkers(host.home, spec.ref),
  }
  const { answer, complaint } = await spawnShim(host, record, shimSpec, prepared.elsewhere?.starter ?? null)
  if (answer === null) {
    const because = complaint === '' ? '' : ` (${complaint})`
    throw new EngineError(
      'io_failed',
      `The process that holds the command ${spec.ref.id} ended before it began${because}.`,
      { hint: 'Try again; when it goes on, install the service again.', retryable: true },
    )
  }
  if ('failed' in answer) throw host.cannotStart(spec, answer.failed)
}

/** Without an answer there is perhaps a reason. */
async function spawnShim(
  host: CommandHost,
  record: CommandRecord,
  shimSpec: ShimSpec,
  starter: string | null,
): Promise<{ readonly answer: ShimAnswer | null; readonly complaint: string }> {
  const { home } = host
  const { handles } = await makeCommandFiles(home, record)
  try {
    const { binding, helper } = record.terminal === null || starter !== null ? noBinding : terminalBinding()
    const { child } = await spawnDetached(
      // It gives up the rights of this process itself, as soon as its program runs; its files need not be readable to projects.
      host,
      {
        argv: joining(host.shimGroups(record.ref), [
          process.execPath,
          '--max-old-space-size=64',
          '--max-semi-space-size=1',
          '--no-warnings',
          SHIM,
          binding,
          helper,
          starter ?? '',
        ]),
        cwd: '/',
        env: {
          [RUN_MARKER]: `${commandMarkers(home, record.ref)}holder.${newRunId()}`,
          NODE_COMPILE_CACHE: shimCache(home),
        },
      },
      ['pipe', 'pipe', 'pipe', ...handles.map((handle) => handle.fd)],
    )
    child.unref()
    child.stdin?.on('error', () => {})
    child.stdin?.end(JSON.stringify(shimSpec))
    let errors = ''
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      if (errors.length < MOST_ERRORS) errors += text
    })
    const answered = new AbortController()
    const gone = once(child, 'close').then(() => null)
    const answer = await Promise.race([
      firstLine(child.stdout).then((line) => line ?? gone),
      gone,
      pause(ANSWER_MS, answered.signal),
    ])
    answered.abort()
    child.stdout?.destroy()
    child.stdin?.destroy()
    child.stderr?.destroy()
    if (answer === undefined) child.kill('SIGKILL')
    return {
      answer: answer === undefined || answer === null ? null : (JSON.parse(answer) as ShimAnswer),
      complaint: /^\w*Error: (.{1,300})/m.exec(errors)?.[1] ?? '',
    }
  } finally {
    await Promise.all(handles.map((handle) => handle.close()))
  }
}

function joining(groups: readonly string[], argv: readonly string[]): readonly string[] {
  return groups.length === 0
    ? argv
    : chainArgv({ account: null, groups, sandbox: null, processes: mostProcesses }, '/', argv)
}

async function firstLine(stream: Readable | null): Promise<string | null> {
  let text = ''
  for await (const chunk of stream ?? []) {
    text += String(chunk)
    if (text.includes('\n')) return text
  }
  return null
}

const noBinding = { binding: '', helper: '' }

/** The compiled part of node-pty for this system, and the small program beside it that macOS needs. */
function terminalBinding(): { binding: string; helper: string } {
  const require = createRequire(createRequire(import.meta.url).resolve('@lydell/node-pty'))
  const name = `@lydell/node-pty-${process.platform}-${process.arch}`
  try {
    return {
      binding: require.resolve(`${name}/pty.node`),
      helper: process.platform === 'darwin' ? require.resolve(`${name}/spawn-helper`) : '',
    }
  } catch (cause) {
    throw new EngineError('engine_cannot', `Terminals are not available on ${process.platform} ${process.arch}.`, {
      hint: `Install the service again with its optional dependencies; it lacks ${name}.`,
      cause,
    })
  }
}
