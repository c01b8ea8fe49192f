import type { TestCase } from '@stackquay/contract'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { addRunArguments, findRun, type OneRunFlags } from '../../runs/find-run.ts'
import { runText, testSummary } from '../../runs/run-text.ts'

export const defineShow: Define = (command, context) =>
  addRunArguments(command)
    .summary('show a run, of tests with those that failed')
    .description('Show a run: its state, how it ended, and of a test run the tests that failed.')
    .action((id: string | undefined, flags: OneRunFlags) => run(context(), id, flags))

async function run(context: Context, id: string | undefined, flags: OneRunFlags): Promise<void> {
  const client = await context.client()
  const params = await findRun(context, client, id, flags)
  const found = await client.call('getRun', { params }, { signal: context.signal })
  let failed: readonly TestCase[] = []
  if ((found.tests?.failed ?? 0) > 0) {
    const input = { params, query: { outcome: 'failed' as const, limit: 200 } }
    failed = (await client.call('listTestCases', input, { signal: context.signal })).items
  }
  context.result(found.kind === 'test' ? { ...found, failed } : found, () => {
    if (context.quiet) return found.state
    const summary = found.tests === null ? '' : `\n\n${testSummary({ run: found, failed }, context.style.colors)}`
    return `${runText(found, context)}${summary}`
  })
}
