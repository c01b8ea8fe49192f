import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { CallInput } from '@stackquay/contract'
import { noteDone } from '../../../change-project.ts'
import type { Context } from '../../../context.ts'
import type { Define } from '../../../define.ts'
import { usageError } from '../../../errors.ts'
import { channelSettings } from '../../../notify/channel-settings.ts'
import { eachOf } from '../../../options.ts'
import { askHidden, confirm, isInteractive } from '../../../prompt.ts'
import { acmeText } from './show.ts'

type Body = NonNullable<NonNullable<CallInput<'putAcme'>>['body']>

interface SetFlags {
  readonly email?: string
  readonly agreeTerms?: boolean
  readonly challenge?: string
  readonly dns?: string
  readonly set?: readonly string[]
  readonly secretFile?: readonly string[]
  readonly eabKeyId?: string
  readonly eabKeyFile?: string
  readonly name?: readonly string[]
  readonly wildcard?: boolean
  readonly forwarded?: readonly string[]
  readonly roots?: string
  readonly resolver?: readonly string[]
}

export const defineSet: Define = (command, context) =>
  command
    .argument('<authority>', 'letsencrypt, letsencrypt-staging, zerossl, google, or the address of a directory')
    .option('--email <address>', 'where the authority writes to')
    .option('--agree-terms', 'you agree to the terms of the authority; without it you are asked')
    .option(
      '--challenge <type>',
      'how names are proved: http-01, tls-alpn-01 or dns-01 (default: http-01, with --dns dns-01)',
    )
    .option('--dns <provider>', 'who writes the records: rfc2136, cloudflare, route53, hetzner or webhook')
    .option('-s, --set <name=value>', 'a setting of the provider; can be given more than once', eachOf)
    .option('--secret-file <name=file>', 'what is secret of it, from the first line of a file', eachOf)
    .option('--eab-key-id <id>', 'key ID for external account binding')
    .option('--eab-key-file <file>', 'its HMAC key, from the first line of a file')
    .option('-n, --name <host>', 'only for this name; can be given more than once (default: all public names)', eachOf)
    .option('--wildcard', 'one certificate for all names of the base domain; by dns-01')
    .option('--forwarded <port>', 'port 80 or 443 of the outside leads to the proxy; can be given twice', eachOf)
    .option('--roots <file>', 'root certificate, in PEM, that an authority of your own is trusted by')
    .option(
      '--resolver <address>',
      'DNS server that is asked in place of the system’s; can be given more than once',
      eachOf,
    )
    .summary('choose the authority, and how names are proved')
    .description(
      'Choose the authority that certificates come from, and how names are proved. What was set before is replaced. Secrets are asked for, or read from files; they are sealed and never shown.',
    )
    .addHelpText(
      'after',
      '\n  stq tls acme set letsencrypt --email you@example.org --forwarded 80\n  stq tls acme set letsencrypt --email you@example.org --dns cloudflare --wildcard',
    )
    .action((authority: string, flags: SetFlags) => run(context(), authority, flags))

async function run(context: Context, directory: string, flags: SetFlags): Promise<void> {
  const plain = plainSettings(flags)
  const client = await context.client()
  const { providers } = await client.call('getAcme', {}, { signal: context.signal })
  await agree(context, directory, flags)
  const body: Body = {
    ...plain,
    directory,
    termsAgreed: true,
    roots: flags.roots === undefined ? null : await fileText(context, flags.roots),
    dns: await dnsOf(context, providers, flags),
    externalAccount: await bindingOf(context, flags),
  }
  const made = await client.call('putAcme', { body }, { signal: context.signal })
  noteDone(context, 'Certificates are asked for. See how far they are: stq tls acme')
  context.result(made, () => (context.quiet ? '' : acmeText(made, context)))
}

function plainSettings({
  email,
  challenge,
  dns,
  name,
  wildcard,
  forwarded = [],
  resolver = [],
}: SetFlags): Omit<Body, 'directory' | 'termsAgreed'> {
  const type = challenge ?? (dns === undefined ? 'http-01' : 'dns-01')
  if (type !== 'http-01' && type !== 'tls-alpn-01' && type !== 'dns-01')
    throw usageError(`There is no challenge "${type}".`, 'There is: http-01, tls-alpn-01, dns-01')
  const forwardedPorts = forwarded.map((port): 80 | 443 => {
    if (port !== '80' && port !== '443') throw usageError('--forwarded takes 80 or 443.')
    return port === '80' ? 80 : 443
  })
  return {
    email: email ?? null,
    challenge: type,
    names: name === undefined ? null : [...name],
    wildcard: wildcard === true,
    forwardedPorts,
    resolvers: [...resolver],
  }
}

async function agree(context: Context, directory: string, { agreeTerms }: SetFlags): Promise<void> {
  if (agreeTerms !== true && !isInteractive(context.world))
    throw usageError(
      'The authority gives certificates only to those who agree to its terms.',
      'Read them, and add: --agree-terms',
    )
  await confirm(context.world, `You agree to the terms of ${directory}.`, agreeTerms)
}

async function dnsOf(
  context: Context,
  providers: Parameters<typeof channelSettings>[1][],
  { dns, set = [], secretFile = [] }: SetFlags,
): Promise<Body['dns']> {
  if (dns === undefined) return null
  const provider = providers.find(({ name }) => name === dns)
  if (provider === undefined)
    throw usageError(`There is no provider "${dns}".`, `There is: ${providers.map(({ name }) => name).join(', ')}`)
  return { provider: dns, settings: await channelSettings(context, provider, set, secretFile) }
}

async function bindingOf(context: Context, { eabKeyId, eabKeyFile }: SetFlags): Promise<Body['externalAccount']> {
  if (eabKeyId === undefined) return null
  if (eabKeyFile !== undefined)
    return { keyId: eabKeyId, hmacKey: (await fileText(context, eabKeyFile)).split(/\r?\n/)[0] ?? '' }
  if (!isInteractive(context.world))
    throw usageError('The HMAC key of the key ID is needed.', 'Give it: --eab-key-file <file>')
  return { keyId: eabKeyId, hmacKey: await askHidden(context.world, 'HMAC key: ') }
}

async function fileText({ world }: Context, file: string): Promise<string> {
  return readFile(resolve(world.cwd, file), 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw usageError(`${file} cannot be read: ${error.code ?? error.message}.`)
  })
}
