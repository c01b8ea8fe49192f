import { statSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openInstanceArchives } from '@stackquay/archive'
import { holdFile, openStore, StoreUnusableError } from '@stackquay/store'
import { type Config, ConfigError, readConfig } from '../config.ts'
import { backupBeforeMigration } from '../instance-backups/before-migration.ts'
import { keyPlace } from '../sealing-key.ts'
import { openLiveSettings } from '../settings/instance-settings.ts'
import { askService, faultOf } from './ask.ts'
import { RescueRequest, type RescueResult } from './request.ts'
import { RescueError, rescue } from './rescue.ts'
import { textOf } from './text.ts'

const usage = `Usage: rescue users
       rescue reset-password <user> [--enable] [--password-stdin] [--without-second-factor]
       rescue end-sessions [<user>]
       rescue revoke-tokens [<user>]

For whoever has this machine and cannot log in. Works whether or not the service runs.
reset-password prints a link that holds once, for 48 hours; with --password-stdin it reads the new password instead.
--without-second-factor takes the authenticator app, passkeys and recovery codes away.`

const commands: ReadonlySet<string> = new Set(['users', 'reset-password', 'end-sessions', 'revoke-tokens'])

export interface RescueIo {
  readonly env: NodeJS.ProcessEnv
  readonly stdin: AsyncIterable<string | Buffer> & { readonly isTTY?: boolean }
  out(text: string): void
  err(text: string): void
}

/** `stackquay rescue …`. Answers the exit code. */
export async function runRescue(args: readonly string[], io: RescueIo): Promise<number> {
  try {
    const request = await readRequest(args, io)
    if (request === null) {
      io.out(usage)
      return args.length === 0 ? 2 : 0
    }
    io.out(textOf(await carryOut(request, readConfig(io.env))))
    return 0
  } catch (error) {
    const expected = error instanceof RescueError || error instanceof ConfigError || error instanceof StoreUnusableError
    if (!expected) throw error
    io.err(error.message)
    return 1
  }
}

async function readRequest(args: readonly string[], io: RescueIo): Promise<RescueRequest | null> {
  const { values, positionals } = parsed(args)
  const [command, user, ...more] = positionals
  if (command === undefined || values.help === true) return null
  const { enable, 'password-stdin': fromStdin, 'without-second-factor': withoutSecondFactor } = values
  if (command !== 'reset-password' && (enable || fromStdin || withoutSecondFactor))
    throw new RescueError('--enable, --password-stdin and --without-second-factor belong to reset-password.')
  if (more.length > 0) throw new RescueError(`One user at a time.\n\n${usage}`)
  if (command === 'users' && user !== undefined) throw new RescueError(`"users" takes no name.\n\n${usage}`)
  const password = fromStdin ? await firstLine(io) : undefined
  if (!commands.has(command)) throw new RescueError(`There is no command "${command}".\n\n${usage}`)
  if (command === 'reset-password' && user === undefined) throw new RescueError(`Whose password?\n\n${usage}`)
  const given = Object.entries({ command, user, password, enable, withoutSecondFactor }).filter(
    ([, value]) => value !== undefined,
  )
  const request = RescueRequest.safeParse(Object.fromEntries(given))
  if (request.success) return request.data
  throw new RescueError(`${faultOf(request.error)}.`)
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        enable: { type: 'boolean' },
        'password-stdin': { type: 'boolean' },
        'without-second-factor': { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    })
  } catch (error) {
    throw new RescueError(`${(error as Error).message}\n\n${usage}`)
  }
}

/** Never an argument: everybody on the machine can read those. */
async function firstLine({ stdin, err }: RescueIo): Promise<string> {
  if (stdin.isTTY === true) err('New password, shown as you type it, then Enter:')
  let text = ''
  for await (const chunk of stdin) {
    text += String(chunk)
    if (text.includes('\n') || text.length > 1000) break
  }
  return text.split('\n', 1)[0]!.replace(/\r$/, '')
}

async function carryOut(request: RescueRequest, config: Config): Promise<RescueResult> {
  const { home } = config
  becomeOwner(home)
  const held = holdFile(join(home, 'server.lock'))
  if (held === null) return askService(home, request)
  try {
    return await inItsPlace(request, config)
  } finally {
    held.release()
  }
}

/** No service runs, and none begins while this has the home. */
async function inItsPlace(request: RescueRequest, config: Config): Promise<RescueResult> {
  const now = () => new Date()
  const keys = keyPlace(config.home, config.secretKey)
  const store = await openStore({
    file: join(config.home, 'stackquay.db'),
    ...keys.candidates,
    checkpointFile: join(config.home, 'audit.checkpoint'),
    clock: { now },
    beforeMigration: (old) =>
      backupBeforeMigration(openInstanceArchives(join(config.home, 'instance-backups')), old, now()),
  })
  try {
    const running = { ...config }
    await openLiveSettings(store, { base: config, running })
    return await rescue(request, { store, publicUrl: () => running.publicUrl, now: Date.now })
  } finally {
    await store.close()
  }
}

/** What root wrote beside the database the user of the service could not open any more. */
function becomeOwner(home: string): void {
  const database = join(home, 'stackquay.db')
  let owner: { readonly uid: number; readonly gid: number }
  try {
    owner = statSync(database)
  } catch (error) {
    throw new RescueError(
      `There is no database in ${home} (${(error as NodeJS.ErrnoException).code}). Set STACKQUAY_HOME to the home of the service, as it is set there.`,
    )
  }
  const { uid, gid } = owner
  const own = process.getuid?.()
  if (own === undefined || own === uid) return
  if (own !== 0)
    throw new RescueError(
      `The database in ${home} belongs to another user (uid ${uid}). Run this as that user or as root.`,
    )
  process.setgroups?.([gid])
  process.setgid?.(gid)
  process.setuid?.(uid)
}
