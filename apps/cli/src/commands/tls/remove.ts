import { noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { CliError } from '../../errors.ts'
import { exitCodes } from '../../exit-codes.ts'
import { plainText } from '../../output/plain-text.ts'
import { confirm } from '../../prompt.ts'

export const defineRemove: Define = (command, context) =>
  command
    .argument('<certificate>', 'id, or one of its names')
    .summary('delete a certificate with its key')
    .description('Delete a certificate with its key. Hosts that have no other one answer by http alone.')
    .option('-y, --yes', 'do not ask')
    .action((certificate: string, flags: { yes?: boolean }) => run(context(), certificate, flags))

async function run(context: Context, wanted: string, { yes }: { yes?: boolean }): Promise<void> {
  const client = await context.client()
  const { certificates, authority } = await client.call('getTls', {}, { signal: context.signal })
  const all = [...certificates, ...(authority === null ? [] : [authority])]
  const found = all.filter(({ id, names }) => id === wanted || names.includes(wanted))
  const [one, other] = found.filter(({ id }) => id === wanted).concat(found)
  if (one === undefined) {
    const hint = 'See: stq tls list'
    throw new CliError(`There is no certificate "${plainText(wanted)}".`, { exitCode: exitCodes.notFound, hint })
  }
  if (one.id !== wanted && other !== undefined && other.id !== one.id)
    throw new CliError(`${found.length} certificates have that name.`, {
      exitCode: exitCodes.usage,
      hint: `Name one by its id: ${found.map(({ id }) => id).join(', ')}`,
    })
  await confirm(context.world, `This deletes the certificate of ${plainText(one.names.join(', '))} and its key.`, yes)
  await client.call('deleteTlsCertificate', { params: { certificate: one.id } }, { signal: context.signal })
  noteDone(context, `${one.id} is deleted`)
  if (context.json) context.result({ removed: one.id }, () => '')
}
