import type { Settings, SourceFiles } from '../../entry-types.ts'
import type { ProgramPreset, ProgramPresets } from '../../program-preset.ts'
import { readPackageJson } from './package-json.ts'

const queues = { bullmq: 'BullMQ', bull: 'Bull', 'bee-queue': 'Bee-Queue', agenda: 'Agenda', 'pg-boss': 'pg-boss' }
/** Names of scripts that start a worker, the usual ones first. */
const scriptNames = ['worker', 'workers', 'queue', 'jobs', 'start:worker', 'worker:start', 'queue:work']
const fileNames = ['worker.js', 'worker.mjs', 'worker.ts', 'src/worker.js', 'src/worker.mjs', 'src/worker.ts']

const files = ['package.json', ...fileNames]

export const programs: ProgramPresets = { files, find }

/** The script or file that works on the queue of a library. */
function find(source: SourceFiles, settings: Settings): readonly ProgramPreset[] {
  const packageJson = readPackageJson(source, 'package.json')
  const library = Object.entries(queues).find(([name]) => packageJson?.dependencies.has(name) === true)
  if (packageJson === null || library === undefined) return []
  const [dependency, label] = library
  const because = `package.json depends on ${dependency}`
  const script = scriptNames.find((name) => Object.hasOwn(packageJson.scripts, name))
  const manager = String(settings.packageManager ?? 'npm')
  if (script !== undefined) return [{ name: 'queue', label, command: [manager, 'run', script], because }]
  const file = fileNames.find((name) => name in source)
  return file === undefined ? [] : [{ name: 'queue', label, command: ['node', file], because }]
}
