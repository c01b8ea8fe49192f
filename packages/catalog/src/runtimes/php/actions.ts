import type { ProcessRun } from '@stackquay/engine-api'
import { type ActionDefinition, type RuntimeInput, SettingsError } from '../../entry-types.ts'
import { onPath } from '../../server-workload.ts'
import { mostScripts, sourceJson } from '../../source-json.ts'
import { type ActionParts, actionList, isActionName } from '../actions.ts'
import { blockerOf } from '../command-environment.ts'
import { composer } from './composer.ts'
import { artisanCommands, type ConsoleCommand, doctrineCommands, symfonyCommands } from './console-commands.ts'

/** Files that only actions want to know. */
export const commandFiles = ['bin/console', 'vendor'] as const

/** Composer, its scripts, and the commands of Laravel and Symfony. `php` is how PHP is called, with the project's settings. */
export function phpActions(input: RuntimeInput, php: ProcessRun['argv']): readonly ActionDefinition[] {
  const { source } = input
  const manifest = readComposerJson(source['composer.json'])
  const framework = [
    ...('artisan' in source ? consoleActions(php, 'artisan', artisanCommands) : []),
    ...('bin/console' in source
      ? consoleActions(php, 'bin/console', [
          ...symfonyCommands,
          ...(manifest.packages.has('doctrine/doctrine-bundle') ? doctrineCommands : []),
        ])
      : []),
  ]
  return actionList([
    ...composerActions(input),
    ...framework,
    ...scriptActions(input, manifest.scripts, new Set(framework.map(({ name }) => name))),
  ])
}

function composerActions(input: RuntimeInput): readonly ActionParts[] {
  const missing =
    'composer.json' in input.source
      ? null
      : 'No composer.json in the project: add one, for example with "composer init".'
  const call = (words: readonly string[]) => {
    const { argv, reason } = composerCall(input, words)
    return { argv, reason: missing ?? reason, needsSetup: false }
  }
  return [
    {
      name: 'install',
      label: 'composer install',
      summary: 'Installs the packages of composer.lock, or of composer.json when there is no lock file.',
      ...call(['install', '--no-interaction', '--no-progress']),
    },
    {
      name: 'validate',
      label: 'composer validate',
      summary: 'Checks that composer.json and composer.lock are valid and match.',
      ...call(['validate', '--no-interaction']),
    },
  ]
}

function consoleActions(
  php: ProcessRun['argv'],
  console: string,
  commands: readonly ConsoleCommand[],
): readonly ActionParts[] {
  return commands.map(({ name, options, summary, destructive }) => ({
    name,
    label: ['php', console, name, ...options].join(' '),
    summary,
    argv: [...php, console, name, ...options, '--no-interaction'],
    destructive: destructive === true,
  }))
}

/** Scripts that people call; those that Composer calls by itself, such as `post-install-cmd`, are left to it. */
function scriptActions(
  input: RuntimeInput,
  scripts: readonly (readonly [string, string])[],
  taken: ReadonlySet<string>,
): readonly ActionParts[] {
  return scripts
    .filter(([name]) => isActionName(name) && !/^(?:pre|post)-[a-z-]+$|^(?:install|validate)$/.test(name))
    .map(([name, summary]) => ({
      name: taken.has(name) ? `composer:${name}` : name,
      label: `composer run ${name}`,
      summary,
      ...composerCall(input, ['run-script', '--no-interaction', '--timeout=0', name]),
    }))
}

/** What would be called says itself that Composer is missing. */
function composerCall(input: RuntimeInput, words: readonly string[]): Pick<ActionDefinition, 'argv' | 'reason'> {
  try {
    return { argv: composer(input, words), reason: null }
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    return { argv: onPath(['composer', ...words]), reason: blockerOf(error) }
  }
}

/** Anything odd in it counts as absent: Composer itself will say what is wrong. */
function readComposerJson(text: string | true | undefined): {
  readonly scripts: readonly (readonly [string, string])[]
  readonly packages: ReadonlySet<string>
} {
  const fields = record(parsed(text))
  const descriptions = record(fields['scripts-descriptions'])
  const described = (name: string) => (Object.hasOwn(descriptions, name) ? descriptions[name] : undefined)
  return {
    scripts: Object.entries(record(fields.scripts))
      .slice(0, mostScripts)
      .flatMap(([name, script]) => {
        const lines = (Array.isArray(script) ? script : [script]).filter((line) => typeof line === 'string')
        const description = described(name)
        if (lines.length === 0) return []
        return [[name, typeof description === 'string' ? description : lines.slice(0, 20).join('; ')] as const]
      }),
    packages: new Set([...Object.keys(record(fields.require)), ...Object.keys(record(fields['require-dev']))]),
  }
}

function parsed(text: string | true | undefined): unknown {
  return typeof text === 'string' ? sourceJson(text).value : null
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
}
