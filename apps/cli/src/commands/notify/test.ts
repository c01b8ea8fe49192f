import { randomUUID } from 'node:crypto'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { CliError } from '../../errors.ts'
import { exitCodes } from '../../exit-codes.ts'
import { channelArgument, findChannel } from '../../notify/find-channel.ts'
import { plainText } from '../../output/plain-text.ts'

export const defineTest: Define = (command, context) =>
  command
    .argument('<channel>', channelArgument)
    .summary('send a test message now')
    .description('Send a test message now and print the result; exit code 1 when it was not accepted.')
    .action((channel: string) => run(context(), channel))

async function run(context: Context, wanted: string): Promise<void> {
  const client = await context.client()
  const { id, address } = await findChannel(context, client, wanted)
  const call = { signal: context.signal, idempotencyKey: randomUUID() }
  const delivery = await client.call('testNotificationChannel', { params: { channel: id } }, call)
  const delivered = delivery.state === 'delivered'
  context.result(delivery, () => (delivered ? `Delivered to ${plainText(address)}.` : ''))
  if (!delivered)
    throw new CliError(`It was not delivered: ${plainText(delivery.attempts.at(-1)?.error ?? 'no answer')}`, {
      exitCode: exitCodes.failed,
      hint: 'Check the settings of the channel.',
    })
}
