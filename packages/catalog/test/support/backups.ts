import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { withPrefix } from '@stackquay/archive/tar-prefix'
import type { BackupProgram } from '@stackquay/catalog'
import { revealValue, type Value } from '@stackquay/engine-api'
import { createOurPrograms } from '@stackquay/server/catalogue/our-programs'
import type { Machine } from './run-workload.ts'

/** Carries out what a type says of its backup, as the service does: beside the running workload, as the user of the project. */
export interface Backups {
  /** A built-in program where the service puts it, alone with the packages that it names. */
  ourProgram(name: string): { readonly node: string; readonly file: string }
  /** Unpacks what the program writes into the empty data of the other machine. Throws with its words when it fails. */
  copyTo(to: Machine, program: BackupProgram, from: Machine): Promise<void>
  /** What the program counts. Throws with its words when it fails. */
  contents(program: BackupProgram, machine: Machine): Promise<Record<string, unknown>>
  close(): void
}

export function backups(): Backups {
  const home = mkdtempSync(join(tmpdir(), 'stackquay-backups-'))
  chmodSync(home, 0o755)
  const programs = createOurPrograms(home)
  return {
    ourProgram: (name) => ({ node: process.execPath, file: programs.file(name) }),
    async copyTo(to, program, from) {
      const running = await begin(program, from)
      await unpack(running, to)
    },
    async contents(program, machine) {
      const running = await begin(program, machine)
      const [printed] = await Promise.all([text(running.child.stdout!), running.succeeded()])
      if (printed.indexOf('\n') !== printed.length - 1) throw new Error(`This is not one line: ${printed}`)
      return JSON.parse(printed)
    },
    close: () => rmSync(home, { recursive: true, force: true }),
  }
}

export interface RunningBackup {
  readonly child: ChildProcess
  readonly prefix: string | undefined
  /** Throws with what it said when it ended otherwise. */
  succeeded(): Promise<void>
}

export async function begin(program: BackupProgram, machine: Machine, withInput = false): Promise<RunningBackup> {
  const placed = async (value: Value) =>
    (await revealValue(value, async ({ secret }) => machine.secrets[secret] ?? '')).replaceAll(
      /\{data:([^}]+)\}/g,
      (_all, name: string) => machine.data[name]!,
    )
  const [first = '', ...words] = await Promise.all(program.argv.map(placed))
  const env = Object.fromEntries(
    await Promise.all(Object.entries(program.env).map(async ([name, value]) => [name, await placed(value)])),
  )
  const child = spawn(first, words, {
    cwd: await placed(program.cwd),
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', ...env },
    stdio: [withInput ? 'pipe' : 'ignore', 'pipe', 'pipe'],
    detached: true,
    ...(machine.uid === undefined ? {} : { uid: machine.uid, gid: machine.uid }),
  })
  const said = text(child.stderr!)
  const ended = once(child, 'close')
  return {
    child,
    prefix: program.prefix,
    async succeeded() {
      const [code, signal] = await ended
      if (code !== 0) throw new Error(`It ended with ${code ?? signal}: ${await said}`)
    },
  }
}

export async function unpack(running: RunningBackup, to: Machine): Promise<void> {
  const [data] = Object.values(to.data)
  // Zeroes are read too: tar stays until the end of its input.
  const tar = spawn('tar', ['-x', '--ignore-zeros', '-C', data!, '--same-permissions', '--no-same-owner'], {
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  const unpacked = once(tar, 'close')
  const { child, prefix } = running
  const archive = prefix === undefined ? child.stdout! : withPrefix(child.stdout!, prefix)
  const written = pipeline(archive, tar.stdin)
  // Its own words are the better ones when it broke off.
  written.catch(() => {})
  await running.succeeded()
  await written
  const [code] = await unpacked
  if (code !== 0) throw new Error(`tar ended with ${code}.`)
  if (to.uid !== undefined) spawnSync('chown', ['-R', `${to.uid}:${to.uid}`, data!])
}
