import { noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { plainText } from '../../output/plain-text.ts'
import { table } from '../../output/table.ts'
import { askHidden, isInteractive, readAllInput } from '../../prompt.ts'

export const defineRegistries: Define = (command, context) => {
  command.summary('list, set and remove logins for pulling images')
  command
    .command('list', { isDefault: true })
    .summary('list the registries that have a login')
    .action(() => list(context()))
  command
    .command('set')
    .summary('set the login of a registry; its password is asked for, or read from standard input')
    .argument('<host>', 'such as ghcr.io; docker.io for Docker Hub')
    .argument('<username>', 'user name there')
    .addHelpText('after', '\n  stq instance registries set ghcr.io ada < token.txt')
    .action((host: string, username: string) => set(context(), host, username))
  command
    .command('remove')
    .summary('remove the login of a registry')
    .argument('<host>', 'as it is listed')
    .action((host: string) => remove(context(), host))
}

async function list(context: Context): Promise<void> {
  const client = await context.client()
  const { registries } = await client.call('getSettings', {}, { signal: context.signal })
  context.result({ items: registries }, () => {
    if (context.quiet) return registries.map(({ host }) => plainText(host)).join('\n')
    if (registries.length === 0) return 'No registry has a login. Set one with: stq instance registries set'
    const rows = registries.map(({ host, username }) => [plainText(host), plainText(username)])
    return table(['HOST', 'USERNAME'], rows, context.style)
  })
}

async function set(context: Context, host: string, username: string): Promise<void> {
  const { world } = context
  const text = isInteractive(world)
    ? await askHidden(world, `Password of ${username} on ${host}: `)
    : await readAllInput(world)
  await change(context, host, { username, password: text.replace(/\r?\n$/, '') })
  noteDone(context, `${plainText(host)} is asked as ${plainText(username)} from the next pull on`)
}

async function remove(context: Context, host: string): Promise<void> {
  await change(context, host, null)
  noteDone(context, `The login of ${plainText(host)} is removed`)
}

async function change(
  context: Context,
  host: string,
  login: { username: string; password: string } | null,
): Promise<void> {
  const client = await context.client()
  const body = { registries: { [host]: login } }
  const { registries } = await client.call('updateSettings', { body }, { signal: context.signal })
  if (context.json) context.result({ items: registries }, () => '')
}
