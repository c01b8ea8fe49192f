import { noteDone } from '../../../change-project.ts'
import type { Context } from '../../../context.ts'
import type { Define } from '../../../define.ts'
import { plainText } from '../../../output/plain-text.ts'

export const defineRenew: Define = (command, context) =>
  command
    .argument('[name]', 'renew this one, also before its time')
    .summary('try now what failed or waits, or renew one')
    .description(
      'Try now what failed or waits, or renew one certificate before its time. What the authority said of when to come again holds.',
    )
    .action((name: string | undefined) => run(context(), name))

async function run(context: Context, name: string | undefined): Promise<void> {
  const client = await context.client()
  const query = name === undefined ? {} : { name }
  const acme = await client.call('renewAcme', { query }, { signal: context.signal })
  noteDone(context, `${name === undefined ? 'What failed or waits' : plainText(name)} is asked for. See: stq tls acme`)
  context.result(acme, () => '')
}
