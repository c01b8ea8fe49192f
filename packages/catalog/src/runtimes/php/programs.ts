import type { SourceFiles } from '../../entry-types.ts'
import type { ProgramPreset, ProgramPresets } from '../../program-preset.ts'

const files = ['composer.json', 'artisan', 'bin/console']

export const programs: ProgramPresets = { files, find }

/** Workers and cron jobs of the usual frameworks. */
function find(source: SourceFiles): readonly ProgramPreset[] {
  const composer = source['composer.json']
  const asks = (name: string) => typeof composer === 'string' && composer.includes(`"${name}"`)
  const because = (name: string) => `composer.json asks for ${name}`
  const found: ProgramPreset[] = []
  if ('artisan' in source) {
    const horizon = asks('laravel/horizon')
    found.push(
      horizon
        ? {
            name: 'horizon',
            label: 'Laravel Horizon',
            command: artisan('horizon'),
            because: because('laravel/horizon'),
          }
        : {
            name: 'queue',
            label: 'Laravel queue',
            command: artisan('queue:work', '--tries=3'),
            because: 'artisan is there',
          },
      {
        name: 'scheduler',
        label: 'Laravel scheduler',
        command: artisan('schedule:run'),
        because: 'artisan is there',
        schedule: '* * * * *',
      },
    )
    if (asks('laravel/reverb'))
      found.push({
        name: 'reverb',
        label: 'Laravel Reverb',
        command: artisan('reverb:start'),
        because: because('laravel/reverb'),
      })
  }
  if (asks('symfony/messenger') && 'bin/console' in source)
    found.push({
      name: 'messenger',
      label: 'Symfony Messenger',
      command: ['php', 'bin/console', 'messenger:consume', 'async'],
      because: because('symfony/messenger'),
    })
  return found
}

function artisan(...words: readonly string[]): ProgramPreset['command'] {
  return ['php', 'artisan', ...words]
}
