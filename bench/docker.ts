import type { Benchmark } from './benchmark.ts'
import { benchmark as exec } from './docker-exec.ts'
import { benchmark as logs } from './docker-logs.ts'
import { benchmark as start } from './docker-start.ts'
import { benchmark as stats } from './docker-stats.ts'

const parts = [start, exec, logs, stats]

export const benchmark: Benchmark = {
  title: 'Docker',
  about: [
    'Our engine of containers beside the tools of Docker, on a Docker Engine that nobody else uses.',
    ...parts.map(({ title, about }) => `**${title}**: ${about}`),
  ].join('\n\n'),
  async measure(options) {
    const tables = []
    const bars = []
    for (const part of parts) {
      const measured = await part.measure(options)
      tables.push(...measured.tables)
      bars.push(...measured.bars)
    }
    return { tables, bars }
  },
}
