import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atMost, type Benchmark } from './benchmark.ts'
import { commands, startByCommand } from './command.ts'
import { makeProjects, projectCount, withService } from './instance.ts'
import { median, milliseconds, quantile } from './numbers.ts'

export const benchmark: Benchmark = {
  title: 'Start of the service',
  about: `From the command until \`GET /api/v1/health\` answers 200, on an installed tree with its page built and its
compiled code cached, as every start but the first finds it. The proxy does not run yet, so it is started beside. \`npm
start\` is what people type; \`node main.js\` is what is left of it without npm and the check of the page.`,
  measure: async ({ quick }) => {
    const rounds = quick ? 2 : 7
    const filled = await withService(async (service) => {
      await makeProjects(service)
      await service.stop()
      return measureRounds(rounds, service.home)
    })
    const rows = cases.map(({ command, home }, index) => {
      const times = filled.map((round) => round[index]!)
      return [command, home, milliseconds(median(times)), milliseconds(quantile(times, 1))]
    })
    const npmStart = cases.flatMap(({ command }, index) =>
      command === 'npm start' ? [median(filled.map((round) => round[index]!))] : [],
    )
    return {
      tables: [[['command', 'home', 'median', 'slowest'], ...rows]],
      bars: [atMost(`npm start until /health answers, of ${rounds} each`, Math.max(...npmStart), 1500, 'ms')],
    }
  },
}

const cases = (['npm start', 'node main.js'] as const).flatMap((command) => [
  { command, home: 'empty' },
  { command, home: `${projectCount} projects` },
])

async function measureRounds(rounds: number, filledHome: string): Promise<readonly (readonly number[])[]> {
  const measured: number[][] = []
  for (let round = 0; round <= rounds; round += 1) {
    const times: number[] = []
    for (const { command, home } of cases) {
      const folder = home === 'empty' ? await mkdtemp(join(tmpdir(), 'stackquay-bench-')) : filledHome
      const started = await startByCommand(commands[command], folder)
      times.push(started.took)
      await started.end()
      if (home === 'empty') await rm(folder, { recursive: true, force: true })
    }
    // The first round only warms up.
    if (round > 0) measured.push(times)
  }
  return measured
}
