import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import type { World } from './context.ts'
import { CliError, usageError } from './errors.ts'
import { exitCodes } from './exit-codes.ts'

/** Whether there is a person to ask. */
export function isInteractive({ stdin, stderr }: World): boolean {
  return stdin.isTTY === true && stderr.isTTY === true
}

/** Asks on standard error, so that a redirected result stays clean. */
export function ask(world: World, question: string): Promise<string> {
  return readLine(world, question, world.stderr)
}

/** The same without showing what is typed. */
export async function askHidden(world: World, question: string): Promise<string> {
  world.stderr.write(question)
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  try {
    return await readLine(world, '', nowhere)
  } finally {
    world.stderr.write('\n')
  }
}

/** All of standard input, without the line end that `echo` adds. */
export async function readAllInput({ stdin }: World): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of stdin) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks)
    .toString('utf8')
    .replace(/\r?\n$/, '')
}

/** A destructive act needs the name typed: as an option in scripts, at the question on a terminal. */
export async function confirmByName(
  world: World,
  name: string,
  given: string | undefined,
  warning: string,
): Promise<void> {
  refuseUnconfirmed(world, name, given)
  if (given !== undefined) return
  world.stderr.write(`${warning}\n`)
  refuseOtherName(name, await ask(world, `Type "${name}" to confirm: `))
}

/** What can be said about a confirmation before anything is sent. */
export function refuseUnconfirmed(world: World, name: string, given: string | undefined): void {
  if (given !== undefined) refuseOtherName(name, given)
  else if (!isInteractive(world)) throw usageError('This needs confirmation.', `Add: --confirm ${name}`)
}

function refuseOtherName(name: string, typed: string): void {
  if (typed.trim() !== name) throw usageError(`"${typed}" is not "${name}"; nothing was done.`)
}

/** For what cannot be undone but has no name to type: a question on a terminal, --yes in scripts. */
export async function confirm(world: World, warning: string, yes: boolean | undefined): Promise<void> {
  if (yes === true) return
  if (!isInteractive(world)) throw usageError(warning, 'Add --yes when that is meant.')
  await askToGoOn(world, warning)
}

/** A question on a terminal; a script that says what it wants has said enough. */
export async function agree(world: World, warning: string, yes: boolean | undefined): Promise<void> {
  if (yes !== true && isInteractive(world)) await askToGoOn(world, warning)
}

async function askToGoOn(world: World, warning: string): Promise<void> {
  const answer = await ask(world, `${warning} Go on? [y/N] `)
  if (!/^y(es)?$/i.test(answer.trim())) throw usageError('Nothing was done.')
}

async function readLine(
  { stdin, interrupted }: World,
  question: string,
  output: NodeJS.WritableStream,
): Promise<string> {
  const lines = createInterface({ input: stdin, output, terminal: true })
  // On a terminal in raw mode Ctrl-C arrives here as a key and not as a signal.
  lines.on('SIGINT', () => process.kill(process.pid, 'SIGINT'))
  try {
    return await lines.question(question, { signal: interrupted })
  } catch (error) {
    // Questions come before anything is sent, so nothing of this command goes on.
    if (interrupted.aborted) throw new CliError('Nothing was done.', { exitCode: exitCodes.interrupted })
    throw error
  } finally {
    lines.close()
  }
}
