import { spawn } from 'node:child_process'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { configFile } from '../config.ts'
import type { Context } from '../context.ts'
import type { Define } from '../define.ts'
import { CliError } from '../errors.ts'
import { exitCodes } from '../exit-codes.ts'
import { confirm } from '../prompt.ts'
import { authorityPath, fetchAuthority, type OfferedAuthority, readAuthority } from '../trust/authority.ts'
import { commandText, type Place, placesOf } from '../trust/places.ts'

interface TrustFlags {
  readonly print?: boolean
  readonly remove?: boolean
  readonly system?: boolean
  readonly yes?: boolean
}

export const define: Define = (command, context) =>
  command
    .option('--print', 'only print the commands; nothing is changed')
    .option('--remove', 'trust no authority any more that stq let this machine trust')
    .option('--no-system', 'only browsers with a store of their own, which takes no root')
    .option('-y, --yes', 'do not ask')
    .description(
      'Let this machine and its browsers trust the authority of the service, so that projects open with https and without a warning. ' +
        'Switches the authority on where it is off, which takes scope admin. What takes root is printed, and done when you are root.',
    )
    .addHelpText(
      'after',
      `
The authority can speak for the base domain and private names alone, and stq refuses one that could speak for more.
On another machine: stq trust --url http://<address of the service>, or open <address>/api/v1/settings/tls/ca.crt there.`,
    )
    .action((flags: TrustFlags) => run(context(), flags))

async function run(context: Context, flags: TrustFlags): Promise<void> {
  if (flags.remove === true) return removeAll(context, flags)
  let authority = await fetchAuthority(context)
  if (flags.print !== true && (await switchOn(context, authority))) authority = await fetchAuthority(context)
  if (authority === null)
    throw new CliError('The service has no authority of its own.', {
      exitCode: exitCodes.notFound,
      hint: 'Switch it on: stq tls local on',
    })
  const file = join(folderOf(context), `${authority.name.toLowerCase().replaceAll(' ', '-')}.crt`)
  const { places, hints } = await placesOf({ file, name: authority.name }, around(context, flags))
  if (flags.print === true) {
    const { baseUrl } = await context.publicConnection()
    const download = ['curl', '-fsS', '--create-dirs', '-o', file, `${baseUrl}${authorityPath}`]
    printSteps(context, authority, { places, hints, download })
    return
  }
  const warning = `${places.map(({ title }) => title).join(', ') || 'Nothing here'} will trust "${authority.name}" for ${authority.domains.join(', ')} and private addresses.\nSHA-256 ${authority.fingerprint}.`
  await confirm(context.world, warning, flags.yes)
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  await writeFile(file, authority.pem, { mode: 0o644 })
  await carryOut(context, places, 'add')
  for (const hint of hints) context.note(hint)
  context.note('Programs that run learn it when they start again.')
  context.result({ authority: authority.name, fingerprint: authority.fingerprint, file }, () =>
    context.quiet ? file : '',
  )
}

/** Whether it had to be switched on. Whoever may not do so trusts the one that is there. */
async function switchOn(context: Context, authority: OfferedAuthority | null): Promise<boolean> {
  const client = await context.client().catch((error: unknown) => {
    if (authority === null) throw error
    return null
  })
  if (client === null) return false
  try {
    const { items } = await client.call('getSettings', {}, { signal: context.signal })
    if (items.find(({ key }) => key === 'tlsLocal')?.value === 'on') return authority === null
    await client.call('updateSettings', { body: { settings: { tlsLocal: 'on' } } }, { signal: context.signal })
    context.note('The local authority is on.')
    return true
  } catch (error) {
    if (authority === null) throw error
    return false
  }
}

async function removeAll(context: Context, flags: TrustFlags): Promise<void> {
  const folder = folderOf(context)
  const names = (await readdir(folder).catch(() => [])).filter((name) =>
    /^stackquay-local-ca-[0-9a-f]{8}\.crt$/.test(name),
  )
  if (names.length === 0) {
    context.note('stq let this machine trust no authority.')
    context.result({ removed: [] }, () => '')
    return
  }
  const found = await Promise.all(
    names.map(async (name) => {
      const file = join(folder, name)
      const authority = readAuthority(await readFile(file, 'utf8'))
      return { file, name: authority.name, ...(await placesOf({ file, name: authority.name }, around(context, flags))) }
    }),
  )
  if (flags.print === true) {
    const all = found.flatMap(({ places }) => places.flatMap((place) => shown(place, 'remove')))
    context.result({ commands: all }, () => all.join('\n'))
    return
  }
  await confirm(
    context.world,
    `This machine will not trust ${found.map(({ name }) => `"${name}"`).join(', ')} any more.`,
    flags.yes,
  )
  for (const { file, places } of found) {
    const left = await carryOut(context, places, 'remove')
    if (left === 0) await rm(file, { force: true })
  }
  context.result({ removed: found.map(({ name }) => name) }, () => '')
}

/** Answers how many places wait for root. */
async function carryOut(context: Context, places: readonly Place[], what: 'add' | 'remove'): Promise<number> {
  const isRoot = process.getuid?.() === 0
  let failed = 0
  const waiting = places.filter(({ needsRoot }) => needsRoot && !isRoot)
  for (const place of places.filter((one) => !waiting.includes(one))) {
    let fault: string | null = null
    for (const argv of place[what]) fault ??= await perform(argv, context)
    // What is not there need not be taken away.
    const isFine = fault === null || (what === 'remove' && place.add[0]?.[0] === 'certutil')
    if (!isFine) failed += 1
    context.note(isFine ? `✔ ${place.title}` : `✘ ${place.title}: ${fault}`)
  }
  for (const place of waiting) {
    context.note(`${place.title} takes root. Run:`)
    for (const line of shown(place, what)) context.note(`  ${line}`)
  }
  if (failed > 0)
    throw new CliError(`${failed} of ${places.length} places did not take it.`, { exitCode: exitCodes.failed })
  return waiting.length
}

function printSteps(
  context: Context,
  { pem, name, fingerprint, domains }: OfferedAuthority,
  { places, hints, download }: { places: readonly Place[]; hints: readonly string[]; download: readonly string[] },
): void {
  const commands = [commandText(download), ...places.flatMap((place) => shown(place, 'add'))]
  context.result({ authority: name, fingerprint, domains, certificate: pem, commands, hints }, () =>
    [
      `# ${name}, SHA-256 ${fingerprint}`,
      `# for ${domains.join(', ')} and private addresses`,
      commandText(download),
      ...places.flatMap((place) => [`# ${place.title}`, ...shown(place, 'add')]),
      ...hints.map((hint) => `# ${hint}`),
    ].join('\n'),
  )
}

function shown({ needsRoot, ...place }: Place, what: 'add' | 'remove'): string[] {
  return place[what].map((argv) => (needsRoot ? `sudo ${commandText(argv)}` : commandText(argv)))
}

function perform(argv: readonly [string, ...string[]], { world }: Context): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>()
  const [program, ...args] = argv
  const path = `${world.env.PATH ?? ''}:/usr/sbin:/sbin`
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'], env: { ...world.env, PATH: path } })
  let text = ''
  child.stderr.setEncoding('utf8').on('data', (more: string) => {
    text = (text + more).slice(-500)
  })
  child.on('error', (error) => resolve(error.message))
  child.on('close', (code) =>
    resolve(code === 0 ? null : text.trim().split('\n').at(-1) || `${program} ended with ${code}`),
  )
  return promise
}

function folderOf({ world }: Context): string {
  return join(dirname(configFile(world.env)), 'trusted')
}

function around({ world }: Context, { system = true }: TrustFlags) {
  return { platform: process.platform, env: world.env, system }
}
