import { Argument } from 'commander'
import { noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'

export const defineLocal: Define = (command, context) =>
  command
    .addArgument(new Argument('<switch>', 'on or off').choices(['on', 'off']))
    .summary('switch the local authority on or off')
    .description(
      'Switch the authority of the instance itself on or off. It makes certificates for names of this machine, which browsers take ' +
        'once they trust it: stq trust. Its key stays when it is off.',
    )
    .action((wanted: 'on' | 'off') => run(context(), wanted))

async function run(context: Context, wanted: 'on' | 'off'): Promise<void> {
  const client = await context.client()
  await client.call('updateSettings', { body: { settings: { tlsLocal: wanted } } }, { signal: context.signal })
  noteDone(context, `The local authority is ${wanted}`)
  if (wanted === 'on') context.note('Let this machine trust it: stq trust')
  if (context.json) context.result({ local: wanted }, () => '')
}
