import { readdir } from 'node:fs/promises'
import { isName } from './home.ts'
import type { Machine } from './machine.ts'
import { refOfMarker } from './marker.ts'

/** Ids of the projects of which the home holds anything, or of which a process runs. */
export async function projectsOf(machine: Machine): Promise<readonly string[]> {
  const { run, data, logs: logDir, commands: held } = machine.home
  const names = (await Promise.all([run, data, logDir, held].map((directory) => readdir(directory))))
    .flat()
    .filter(isName)
  const running = machine.table
    .marked(new Set([...machine.accounts.all().map(({ account }) => account.uid), process.getuid?.() ?? -1]))
    .flatMap(({ marker }) => refOfMarker(machine.home, marker)?.project ?? [])
  return [...new Set([...names, ...running])].sort()
}
