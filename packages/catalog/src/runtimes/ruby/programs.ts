import type { SourceFiles } from '../../entry-types.ts'
import type { ProgramPreset, ProgramPresets } from '../../program-preset.ts'

const files = ['Gemfile', 'Gemfile.lock', 'bin/jobs', 'bin/delayed_job']

export const programs: ProgramPresets = { files, find }

/** Queues of Ruby on Rails and others. */
function find(source: SourceFiles): readonly ProgramPreset[] {
  const found: ProgramPreset[] = []
  const offer = (gem: string, name: string, label: string, ...command: ProgramPreset['command']) => {
    const file = fileWith(source, gem)
    if (file !== null) found.push({ name, label, command, because: `${file} has ${gem}` })
  }
  offer('sidekiq', 'sidekiq', 'Sidekiq', 'bundle', 'exec', 'sidekiq')
  if ('bin/jobs' in source) offer('solid_queue', 'jobs', 'Solid Queue', 'ruby', 'bin/jobs')
  else offer('solid_queue', 'jobs', 'Solid Queue', 'bundle', 'exec', 'rake', 'solid_queue:start')
  offer('good_job', 'jobs', 'GoodJob', 'bundle', 'exec', 'good_job', 'start')
  offer('resque', 'resque', 'Resque', 'bundle', 'exec', 'rake', 'resque:work')
  if ('bin/delayed_job' in source)
    offer('delayed_job', 'jobs', 'Delayed Job', 'bundle', 'exec', 'ruby', 'bin/delayed_job', 'run')
  return found
}

/** `sidekiq (8.0.1)` of the lock file, or `gem "sidekiq"` of the Gemfile. Another gem may begin with the same word. */
function fileWith(source: SourceFiles, gem: string): string | null {
  const [lock, own] = [source['Gemfile.lock'], source.Gemfile]
  if (typeof lock === 'string' && lock.split('\n').some((line) => line.trimStart().startsWith(`${gem} (`)))
    return 'Gemfile.lock'
  const isNamed = typeof own === 'string' && new RegExp(`^\\s*gem\\s+['"]${gem}['"]`, 'm').test(own)
  return isNamed ? 'Gemfile' : null
}
