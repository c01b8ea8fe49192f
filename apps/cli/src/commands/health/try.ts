import { randomUUID } from 'node:crypto'
import type { HealthCheckTry } from '@stackquay/contract'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { CliError } from '../../errors.ts'
import { exitCodes } from '../../exit-codes.ts'
import { projectRef } from '../../find-project.ts'
import { projectArgument } from '../../options.ts'
import { plainText } from '../../output/plain-text.ts'
import { addCheckOptions, type CheckFlags, checkOf } from './check-options.ts'

export const defineTry: Define = (command, context) =>
  addCheckOptions(command.argument('[project]', projectArgument))
    .summary('make one check now, and show the answer')
    .description('Make one check now, and show the answer. What is not named is as saved; nothing is saved.')
    .addHelpText('after', '\nEnds with 1 when the check fails.')
    .action((project: string | undefined, flags: CheckFlags) => run(context(), project, flags))

async function run(context: Context, named: string | undefined, flags: CheckFlags): Promise<void> {
  const client = await context.client()
  const id = await projectRef(context, named)
  const call = { signal: context.signal, idempotencyKey: randomUUID() }
  const tried = await client.call('tryHealthCheck', { params: { id }, body: checkOf(flags) }, call)
  context.result(tried, () => tryText(tried))
  if (!tried.ok) throw new CliError(plainText(tried.reason ?? 'The check failed.'), { exitCode: exitCodes.failed })
}

function tryText({ status, milliseconds, location, text }: HealthCheckTry): string {
  const lines = [
    status === null ? `No answer, ${milliseconds} ms` : `${status}, ${milliseconds} ms`,
    ...(location === null ? [] : [`leads to ${location}`]),
    ...(text === null || text === '' ? [] : text.split(/\r?\n/).slice(0, 20)),
  ]
  return lines.map((line) => plainText(line)).join('\n')
}
