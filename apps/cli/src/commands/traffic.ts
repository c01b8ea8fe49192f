import { Option } from 'commander'
import type { Context } from '../context.ts'
import type { Define } from '../define.ts'
import { projectRef } from '../find-project.ts'
import { trafficText } from '../network/traffic-text.ts'
import { projectArgument } from '../options.ts'

const ranges = ['15m', '1h', '6h', '24h', '7d'] as const

interface TrafficFlags {
  readonly range: (typeof ranges)[number]
}

export const define: Define = (command, context) =>
  command
    .argument('[project]', projectArgument)
    .addOption(new Option('--range <range>', 'how far back').choices(ranges).default('1h'))
    .action((project: string | undefined, flags: TrafficFlags) => run(context(), project, flags))

async function run(context: Context, named: string | undefined, { range }: TrafficFlags): Promise<void> {
  const client = await context.client()
  const id = await projectRef(context, named)
  const traffic = await client.call('getTraffic', { params: { id }, query: { range } }, { signal: context.signal })
  context.result(traffic, () => (context.quiet ? String(traffic.total.requests) : trafficText(traffic, context.style)))
}
