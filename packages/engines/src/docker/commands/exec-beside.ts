import { readFile } from 'node:fs/promises'
import type { CommandContext, StopPolicy } from '@stackquay/engine-api'
import { EngineError } from '@stackquay/engine-api'
import type { Exit } from '@stackquay/engine-api/observed'
import { exitOf } from '../../native/exit-status.ts'
import { endFamily, type Leader } from '../../native/family.ts'
import { execMarkers, newRunId } from '../../native/marker.ts'
import { RUN_MARKER } from '../../native/process-table.ts'
import { pause } from '../../native/time.ts'
import { registriesFor, trustedFiles } from '../certificates.ts'
import type { Daemon } from '../daemon.ts'
import { containerEnvironment, expandText } from '../environment.ts'
import { isManaged, objectName } from '../labels.ts'
import { parseDescription } from '../record.ts'
import { ask, RefusedRequest, takeOver } from '../wire/request.ts'
import { type Target, targetOf } from '../wire/target.ts'
import { containerIn } from './docker-host.ts'
import type { ExecProgram, ExecSession } from './exec-session.ts'
import { signalMarked } from './signal-marked.ts'

/** Containers of workloads, in which programs may run too. */
export interface Neighbours {
  /** Null when the program's neighbour does not run, or is none that it could run in. */
  run(program: ExecProgram, stdin: boolean, context: CommandContext): Promise<ExecSession | null>
}

interface Neighbour {
  readonly id: string
  /** As the workload names it. */
  readonly image: string | undefined
}

/** Facts about a container id stay true for as long as it is there, so they are mostly known before. */
export function createNeighbours(daemon: Daemon): Neighbours {
  const known = new Map<string, Neighbour>()

  async function find(target: Target, name: string): Promise<Neighbour | null> {
    const there = known.get(name)
    if (there !== undefined) return there
    const found = await orNull(ask(target, 'GET', `/containers/${name}/json`), 404)
    if (found === null) return null
    const { Id, Config } = found as { Id: string; Config: { Labels: Record<string, string> } }
    if (!isManaged(daemon, Config.Labels)) return null
    const neighbour = { id: Id, image: parseDescription(Config.Labels['stackquay.description'])?.image }
    known.set(name, neighbour)
    return neighbour
  }

  return {
    async run(program, stdin, context) {
      const { beside } = program
      if (beside === undefined) return null
      const container = containerIn(program)
      const marker = `${execMarkers(daemon, program.project)}${newRunId()}`
      // Certificates it has from its container.
      const given = { ...registriesFor(daemon.network, (await trustedFiles(daemon)).files), ...program.env }
      const [target, env] = await Promise.all([
        targetOf(daemon.docker),
        containerEnvironment(daemon, program.project, given, container, context.reveal, program.data),
      ])
      const body = {
        AttachStdin: stdin,
        AttachStdout: true,
        AttachStderr: true,
        Tty: false,
        Cmd: program.argv.map((text) => expandText(container, text)),
        WorkingDir: expandText(container, program.cwd),
        User: container.user,
        Env: [...env, `${RUN_MARKER}=${marker}`],
      }
      const name = objectName(daemon, program.project, beside)
      // Once more when the container was replaced since it became known.
      for (const attempt of [1, 2]) {
        const neighbour = await find(target, name)
        if (neighbour === null || neighbour.image !== container.image) return null
        const made = await orNull(
          ask(target, 'POST', `/containers/${neighbour.id}/exec`, { body, signal: context.signal }),
          ...(attempt === 1 ? [404] : [404, 409]),
        ).catch((error: unknown) => {
          // It does not run: perhaps another one does by now.
          if (error instanceof RefusedRequest && error.statusCode === 409) return null
          throw error
        })
        if (made !== null) {
          const { Id } = made as { Id: string }
          return startExec(
            daemon,
            target,
            { exec: Id, container: neighbour.id, user: container.user, marker },
            program,
            context,
          )
        }
        known.delete(name)
      }
      return null
    },
  }
}

interface Begun {
  readonly exec: string
  readonly container: string
  readonly user: string
  readonly marker: string
}

interface Inspected {
  readonly Running: boolean
  readonly ExitCode: number | null
  readonly Pid: number
}

const LINGER_LOOK_MS = 1000
/** Docker writes an exit down a moment after the output's end. */
const SETTLE_MS = 10_000
/** How Docker's own words begin, which it sends in the place of output when it could not start a program. */
const COMPLAINT = 'OCI runtime exec failed: '

async function startExec(
  daemon: Daemon,
  target: Target,
  begun: Begun,
  { argv, cwd }: ExecProgram,
  { signal }: CommandContext,
): Promise<ExecSession> {
  const inspect = async () => (await ask(target, 'GET', `/exec/${begun.exec}/json`)) as Inspected
  const body = { Detach: false, Tty: false }
  const stream = await takeOver(target, `/exec/${begun.exec}/start`, { body, signal })
  let complaint: string | null = null
  let pid = 0

  const settled = async (): Promise<Inspected> => {
    const deadline = performance.now() + SETTLE_MS
    for (let wait = 1; ; wait = Math.min(wait * 2, 100)) {
      const now = await inspect()
      if ((!now.Running && now.ExitCode !== null) || performance.now() > deadline) return now
      await pause(wait)
    }
  }
  const leaderOf = async (): Promise<number> => {
    for (let wait = 1; pid === 0; wait = Math.min(wait * 2, 50)) {
      const now = await inspect()
      pid = now.Pid
      // Not running and with an exit code: it has ended, or never ran.
      if (pid > 0 || (!now.Running && now.ExitCode !== null)) break
      await pause(wait)
    }
    return pid
  }
  const send = async (name: string) => {
    const leader = await leaderOf()
    if (await isHere(daemon, leader, begun.marker)) return signalHere(leader, name)
    await signalMarked(target, begun, name)
  }
  return {
    stream,
    pid: leaderOf,
    signal: (name) => void send(name).catch(() => {}),
    async exit() {
      const { ExitCode } = await settled()
      if (complaint !== null && (ExitCode === 126 || ExitCode === 127)) throw couldNotRun(complaint, argv[0], cwd)
      const { code, signal: by } = exitOf(ExitCode ?? 0, daemon.now())
      return { code, signal: by } satisfies Omit<Exit, 'at'>
    },
    async end(policy) {
      const leader = await leaderOf()
      if (await isHere(daemon, leader, begun.marker)) await endHere(daemon, leader, begun.marker, policy)
      await endInside(target, begun, inspect, policy)
    },
    async lingers(over) {
      while (!over.aborted) {
        await pause(LINGER_LOOK_MS, over)
        if (over.aborted || !(await inspect()).Running) return
      }
    },
    isComplaint(bytes) {
      const text = bytes.toString('utf8', 0, 1000)
      if (!text.startsWith(COMPLAINT)) return false
      complaint = text.slice(COMPLAINT.length).trim()
      return true
    },
    dispose: async () => {},
  }
}

/** The number proves nothing: the daemon may count in another machine or another space than we do. */
async function isHere({ isLocal }: Daemon, pid: number, marker: string): Promise<boolean> {
  if (!isLocal || pid === 0) return false
  const environment = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '')
  return environment.split('\0').includes(`${RUN_MARKER}=${marker}`)
}

/** A process started by Docker leads a session, and a group, of its own. */
function signalHere(pid: number, name: string): void {
  try {
    process.kill(-pid, name as NodeJS.Signals)
  } catch {}
}

async function endHere({ table }: Daemon, pid: number, marker: string, policy: StopPolicy): Promise<void> {
  const entry = table.find(pid)
  const status = await readFile(`/proc/${pid}/status`, 'latin1').catch(() => '')
  const uid = Number(/^Uid:\s+(\d+)/m.exec(status)?.[1] ?? Number.NaN)
  if (entry === null || Number.isNaN(uid)) return
  const leader: Leader = { pid, startTime: entry.startTime, bootId: table.bootId() }
  const target = { leader, markers: marker, policy }
  await endFamily({ uids: new Set([uid]), table }, target, new AbortController().signal)
}

/** From within the container, where our marker finds what a number does not; returns when nothing marked is left. */
async function endInside(
  target: Target,
  begun: Begun,
  inspect: () => Promise<Inspected>,
  policy: StopPolicy,
): Promise<void> {
  const until = performance.now() + policy.deadlineSeconds * 1000
  const isOver = async () => !(await inspect()).Running
  if (!(await isOver())) await signalMarked(target, begun, policy.signal)
  while (performance.now() < until && !(await isOver())) await pause(20)
  for (let wait = 10; (await signalMarked(target, begun, 'SIGKILL')) > 0; wait = Math.min(wait * 2, 500))
    await pause(wait)
}

function couldNotRun(complaint: string, file: string, cwd: string): EngineError {
  if (/chdir to cwd/.test(complaint)) {
    return new EngineError('io_failed', `The working directory ${cwd} does not exist.`, {
      hint: 'Check the path of the project.',
    })
  }
  const [message, hint] = complaintInWords(complaint, file)
  return new EngineError('program_not_found', message, { hint })
}

function complaintInWords(complaint: string, file: string): readonly [message: string, hint: string] {
  if (/executable file not found in \$PATH/.test(complaint)) {
    return [
      `There is no program "${file}" on the PATH of the container.`,
      'Check its name, or name it by its path. A shell’s own words need a shell: sh -c "…".',
    ]
  }
  if (/no such file or directory/.test(complaint))
    return [`The program ${file} does not exist in the container.`, 'Check its path, and what its first line names.']
  if (/permission denied/.test(complaint))
    return [`${file} is not a program in the container.`, `Make it executable: chmod a+rx ${file}`]
  return [`${file} could not be started (${complaint}).`, 'Check that it may be executed in the image.']
}

async function orNull<T>(asked: Promise<T>, ...statuses: readonly number[]): Promise<T | null> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof RefusedRequest && statuses.includes(error.statusCode)) return null
    throw error
  }
}
