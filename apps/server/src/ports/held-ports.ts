import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { HeldAddress } from './held-addresses.ts'
import { addressText } from './held-addresses.ts'

/** The port owner: the process that holds the ports, as it wrote itself down in `ports.json`. */
export interface HeldPorts {
  readonly pid: number
  /** With boot and start the pid names a process for good. */
  readonly start: string
  readonly boot: string
  readonly addresses: readonly string[]
  /** What could not be held of the addresses where the service does not listen. */
  readonly missing: readonly { readonly address: string; readonly reason: string }[]
  /** What it was asked for. */
  readonly wanted: readonly string[]
}

export interface PortsKeeper {
  /** From now on: finds the port owner of before or starts one, and again when it is gone. */
  start(): void
  /** Null when none lives. */
  status(): HeldPorts | null
  /** Why the last try failed. */
  fault(): string | null
  /** The port owner stays: that is what it is for. */
  close(): void
}

const lookEveryMs = 5_000

/**
 * Keeps ports held while nobody listens: between two starts, after a kill, during an upgrade. Otherwise a program of a
 * project could take the page's port meanwhile and be the page. For root only.
 */
export function createPortsKeeper(options: {
  readonly home: string
  addresses(): Promise<readonly HeldAddress[]>
  onError(error: unknown, what: string): void
}): PortsKeeper {
  const { home, onError } = options
  let timer: NodeJS.Timeout | undefined
  let looking = false
  let closed = false
  let fault: string | null = null

  const look = async () => {
    if (looking) return
    looking = true
    try {
      await ensureHeld(home, await options.addresses())
      fault = null
    } catch (error) {
      const { message } = error as Error
      // A proxy of an earlier version is in the way until it is replaced; one line tells enough.
      if (message !== fault && !closed) onError(error, 'holding the ports')
      fault = message
    } finally {
      looking = false
    }
  }
  return {
    start: () => {
      void look()
      timer = setInterval(() => void look(), lookEveryMs)
      timer.unref()
    },
    status: () => portOwnerOf(home),
    fault: () => fault,
    close: () => {
      closed = true
      clearInterval(timer)
    },
  }
}

/** The port owner of this home, when it lives: same process, same boot. */
export function portOwnerOf(home: string): HeldPorts | null {
  try {
    const facts = JSON.parse(readFileSync(join(home, 'ports.json'), 'utf8')) as HeldPorts
    const now = identify(facts.pid)
    return now !== null && now.start === facts.start && now.boot === facts.boot ? facts : null
  } catch {
    return null
  }
}

/** Null when there is no such process. */
export function identify(pid: number): Pick<HeldPorts, 'pid' | 'start' | 'boot'> | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The second field is the program's name and may hold spaces and brackets.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (fields[0] === 'Z') return null
    return { pid, start: fields[19] ?? '', boot: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim() }
  } catch {
    return null
  }
}

async function ensureHeld(home: string, addresses: readonly HeldAddress[]): Promise<void> {
  const before = portOwnerOf(home)
  const wanted = addresses.map(addressText)
  if (before !== null && before.wanted.join() === wanted.join()) return
  if (wanted.length > 0) await startOwner(home, addresses)
  if (before !== null) endPortOwner(before.pid)
}

/** Ends when the sockets are bound and `ports.json` names the new port owner. */
async function startOwner(home: string, addresses: readonly HeldAddress[]): Promise<void> {
  const program = fileURLToPath(new URL('./hold.ts', import.meta.url))
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', program, home, JSON.stringify(addresses)],
    { cwd: '/', env: cacheOf(process.env), detached: true, stdio: ['ignore', 'pipe', 'pipe'] },
  )
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const code = await new Promise<number | null | undefined>((resolve) => {
    child.once('error', () => resolve(null)).once('exit', resolve)
    // It closes its output and lives on.
    child.stdout.resume().once('close', () => setTimeout(() => resolve(child.exitCode ?? undefined), 20))
  })
  child.unref()
  if (code === undefined && portOwnerOf(home)?.pid === child.pid) return
  if (child.pid !== undefined) endPortOwner(child.pid)
  throw new Error(`The ports of page and proxy are not held: ${said.trim() || `the program ended with ${code}`}`)
}

/** With the sleep beside it, which has the sockets too. */
function endPortOwner(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It ended by itself.
  }
}

function cacheOf({ NODE_COMPILE_CACHE }: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }
}
