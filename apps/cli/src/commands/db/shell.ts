import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline/promises'
import type { Context } from '../../context.ts'
import { type Address, type ClientProgram, clientProgram } from '../../databases/client-program.ts'
import { onlyDatabase } from '../../databases/only-database.ts'
import { queryText } from '../../databases/query-text.ts'
import type { Define } from '../../define.ts'
import { CliError, usageError } from '../../errors.ts'
import { exitCodes } from '../../exit-codes.ts'
import { projectRef } from '../../find-project.ts'
import { projectArgument } from '../../options.ts'

interface ShellFlags {
  readonly builtIn?: boolean
  readonly write?: boolean
}

export const defineShell: Define = (command, context) =>
  command
    .summary('open a database in its client program')
    .description(
      'Open a database in its client program (psql, mariadb, redis-cli), as its own user. Where there is none on this machine, or the service is on another one, a prompt of stq takes statements.',
    )
    .argument('[project]', projectArgument)
    .argument('[name]', 'of the database, or of a service of keys; not needed when there is one database')
    .option('--built-in', 'the prompt of stq in any case')
    .option('--write', 'the prompt of stq may write')
    .action((project: string | undefined, name: string | undefined, flags: ShellFlags) =>
      run(context(), project, name, flags),
    )

async function run(
  context: Context,
  named: string | undefined,
  name: string | undefined,
  flags: ShellFlags,
): Promise<void> {
  const id = await projectRef(context, named)
  const db = name ?? (await onlyDatabase(context, id))
  const client = await context.client()
  const { items } = await client.call('listDatabases', { params: { id } }, { signal: context.signal })
  const isDatabase = items.some((item) => item.name === db)
  const isNear = isLoopback(await context.serviceUrl())
  if (flags.builtIn !== true && isNear) {
    const address = await addressOf(context, id, db, isDatabase)
    const program = clientProgram(address)
    if (program !== null && (await runClient(context, program))) return
    if (program !== null) context.note(`None of ${program.names.join(', ')} is on this machine.`)
  }
  if (isDatabase) return prompt(context, id, db, flags.write === true)
  throw new CliError(`There is no client program for "${db}" here.`, {
    exitCode: exitCodes.failed,
    hint: 'Install redis-cli on the machine of the service.',
  })
}

async function addressOf(context: Context, id: string, db: string, isDatabase: boolean): Promise<Address> {
  const client = await context.client()
  const { signal } = context
  const found = isDatabase
    ? await client.call('getDatabaseCredentials', { params: { id, db } }, { signal })
    : await client.call('getServiceCredentials', { params: { id, service: db } } as never, { signal })
  const { url, host, port, hostPort, database, username, password } = found as Readonly<Record<string, unknown>>
  const textOf = (value: unknown) => (typeof value === 'string' ? value : null)
  return {
    url: String(url),
    host: String(host),
    port: Number(hostPort ?? port),
    database: String(database ?? ''),
    username: textOf(username),
    password: textOf(password),
  }
}

/** False: it is not there. Its end is the end of this command, its exit code too. */
async function runClient({ world }: Context, program: ClientProgram): Promise<boolean> {
  for (const name of program.names) {
    const child: ChildProcess = spawn(name, program.arguments, {
      stdio: 'inherit',
      env: { ...world.env, ...program.env },
    })
    // Ctrl+C is a word to the program.
    const giveBack = world.takeSignals(['SIGINT'], () => undefined)
    try {
      const [code] = (await once(child, 'exit')) as [number | null]
      process.exitCode = code ?? exitCodes.failed
      return true
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    } finally {
      giveBack()
    }
  }
  return false
}

/** Statements end with a semicolon, and may take several lines. */
async function prompt(context: Context, id: string, db: string, write: boolean): Promise<void> {
  const { world, style } = context
  if (context.json) throw usageError('A prompt has no JSON.', 'Use: stq db query --json')
  const client = await context.client()
  const lines = createInterface({ input: world.stdin, output: world.stderr, terminal: world.stdin.isTTY === true })
  context.note(`${db} of ${id}${write ? '' : ', read-only'}. A statement ends with ";". \\q ends.`)
  // What is sent from a file has ended before its last statement has.
  let hasEnded = false
  lines.on('close', () => {
    hasEnded = true
  })
  let sql = ''
  const ask = () => {
    if (hasEnded) return
    lines.setPrompt(sql === '' ? `${db}${write ? '#' : '='}> ` : `${' '.repeat(db.length)}-> `)
    lines.prompt()
  }
  ask()
  for await (const line of lines) {
    if (sql === '' && /^\s*(\\q|exit|quit)\s*;?\s*$/i.test(line)) break
    sql = sql === '' ? line : `${sql}\n${line}`
    if (sql.trim() === '') sql = ''
    if (/;\s*$/.test(sql)) {
      const body = { sql, write }
      sql = ''
      try {
        const result = await client.call('queryDatabase', { params: { id, db }, body }, { signal: context.signal })
        world.stdout.write(`${queryText(result, style)}\n`)
      } catch (error) {
        context.signal.throwIfAborted()
        context.note(context.noteStyle.colors.red(error instanceof Error ? error.message : String(error)))
      }
    }
    ask()
  }
  lines.close()
}

function isLoopback(url: string): boolean {
  return /^(127\.\d+\.\d+\.\d+|localhost|\[::1\])$/.test(new URL(url).hostname)
}
