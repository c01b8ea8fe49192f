import { Option } from 'commander'
import type { Context } from '../context.ts'
import type { Define } from '../define.ts'
import { projectRef } from '../find-project.ts'
import { projectArgument } from '../options.ts'
import { metricsText } from '../stats/metrics-text.ts'

const ranges = ['1h', '24h', '7d', '30d', '1y'] as const

interface StatsFlags {
  readonly range: (typeof ranges)[number]
  readonly workload?: string
}

export const define: Define = (command, context) =>
  command
    .argument('[project]', projectArgument)
    .addOption(new Option('--range <range>', 'how far back').choices(ranges).default('1h'))
    .option('-w, --workload <name>', 'only this workload')
    .action((project: string | undefined, flags: StatsFlags) => run(context(), project, flags))

async function run(context: Context, named: string | undefined, { range, workload }: StatsFlags): Promise<void> {
  const client = await context.client()
  const params = { id: await projectRef(context, named) }
  const query = { range, ...(workload === undefined ? {} : { workload }) }
  const metrics = await client.call('getProjectMetrics', { params, query }, { signal: context.signal })
  context.result(metrics, () =>
    context.quiet ? metrics.items.map((item) => item.workload).join('\n') : metricsText(metrics, context.style),
  )
}
