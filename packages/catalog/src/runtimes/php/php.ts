import type { Job, ProcessRun } from '@stackquay/engine-api'
import { z } from 'zod'
import type {
  Preset,
  RuntimeCommands,
  RuntimeInput,
  RuntimeType,
  Settings,
  SourceFiles,
  WorkloadSpec,
} from '../../entry-types.ts'
import { RelativeFolder, runtimeSettings } from '../../runtime-settings.ts'
import {
  atEveryStart,
  below,
  installVariables,
  place,
  refuseDebug,
  searchPath,
  serverWorkload,
} from '../../server-workload.ts'
import { commandEnvironment } from '../command-environment.ts'
import { inImage } from '../in-image.ts'
import { commandFiles, phpActions } from './actions.ts'
import { composer, composerVariables } from './composer.ts'
import { programs } from './programs.ts'

interface PhpPreset extends Preset {
  readonly documentRoot: string
}

const presets: readonly PhpPreset[] = [
  {
    name: 'plain',
    label: 'PHP',
    port: 8000,
    summary: 'Files with index.php, served by PHP itself.',
    documentRoot: '.',
  },
  { name: 'laravel', label: 'Laravel', port: 8000, summary: 'A Laravel application.', documentRoot: 'public' },
  { name: 'symfony', label: 'Symfony', port: 8000, summary: 'A Symfony application.', documentRoot: 'public' },
  { name: 'wordpress', label: 'WordPress', port: 8000, summary: 'A WordPress site.', documentRoot: '.' },
]

const Name = z.string().regex(/^[A-Za-z_][\w.]{0,100}$/, 'must be a name such as "pdo_pgsql"')

export const php: RuntimeType = {
  kind: 'runtime',
  name: 'php',
  label: 'PHP',
  summary: 'Laravel, Symfony, WordPress and plain PHP, with Composer packages.',
  urlOrder: 10,
  settings: runtimeSettings(
    presets,
    {
      documentRoot: RelativeFolder.nullable().describe('Folder that is served; null takes the preset’s.'),
      extensions: z.array(Name).max(64).describe('Extensions that must be loaded before the server starts.'),
      ini: z.record(Name, z.string().max(1000)).describe('Settings of php.ini, such as memory_limit.'),
      xdebug: z.boolean().describe('Lets Xdebug call the editor at debugPort when a request asks for it.'),
    },
    { documentRoot: null, extensions: [], ini: {}, xdebug: false, debugPort: 9003 },
  ),
  presets: presets.map(({ name, label, port, summary }) => ({ name, label, port, summary })),
  presetDrops: ['documentRoot'],
  toolchain: {
    name: 'php',
    programs: ['php', ...['8.5', '8.4', '8.3', '8.2', '8.1'].map((line) => `php${line}`)],
    places: ['/opt/homebrew/opt/php/bin/php'],
    versionArgs: ['--version'],
    versionPattern: '^PHP (\\d+\\.\\d+\\.\\d+)',
  },
  helpers: [
    {
      name: 'composer',
      programs: ['composer'],
      places: ['/usr/local/bin/composer'],
      versionArgs: ['--version', '--no-ansi'],
      versionPattern: 'Composer (?:version )?(\\d+\\.\\d+\\.\\d+)',
    },
  ],
  image: {
    reference: (line) => `php:${line}-fpm-bookworm`,
    // With a web server before FPM, Composer, and the extensions that most applications ask for.
    builtIn: 'php',
    program: () => '/usr/local/bin/php',
    helpers: { composer: inImage('composer') },
    user: null,
  },
  releases: [
    { version: '8.5', endOfLife: '2029-12-31' },
    { version: '8.4', endOfLife: '2028-12-31' },
    { version: '8.3', endOfLife: '2027-12-31' },
    { version: '8.2', endOfLife: '2026-12-31' },
    { version: '8.1', endOfLife: '2025-12-31' },
  ],
  lineOf: (version) => version.split('.').slice(0, 2).join('.'),
  install: {
    debian: 'apt-get install -y php-cli composer',
    other: 'Install PHP from php.net and Composer from getcomposer.org.',
  },
  sourceFiles,
  detect,
  toWorkloads,
  commandFiles: () => commandFiles,
  commands,
  programs,
  // Composer's `vendor` is not in it: frameworks keep what people write in folders of that name too.
  rebuildable: [],
}

function sourceFiles(_stored: Settings): readonly string[] {
  return ['composer.json', 'composer.lock', 'artisan', 'wp-load.php', 'wp-config.php', 'index.php', 'public/index.php']
}

function detect(source: SourceFiles) {
  const found = (confidence: number, because: string, preset: string, more = {}) => ({
    confidence,
    because,
    settings: { preset, ...more },
  })
  if ('artisan' in source) return found(0.95, 'artisan is there', 'laravel')
  if ('wp-load.php' in source || 'wp-config.php' in source) return found(0.95, 'this is a WordPress site', 'wordpress')
  const composer = source['composer.json']
  if (typeof composer === 'string' && composer.includes('"symfony/framework-bundle"')) {
    return found(0.95, 'composer.json asks for symfony/framework-bundle', 'symfony')
  }
  if ('index.php' in source) return found(0.8, 'index.php is there', 'plain')
  if ('public/index.php' in source) return found(0.8, 'public/index.php is there', 'plain', { documentRoot: 'public' })
  return null
}

function toWorkloads(input: RuntimeInput): readonly WorkloadSpec[] {
  const { settings, project } = input
  if (!settings.server) return []
  refuseDebug(input, 'PHP opens no debug port: its debugger calls the editor.', 'Set "xdebug" to true instead.')
  const preset = presets.find(({ name }) => name === settings.preset) ?? presets[0]!
  const folder = (settings.documentRoot as string | null) ?? preset.documentRoot
  const documentRoot = below(project.path, folder)
  const jobs = [extensionsJob(input), installJob(input)]
  return [
    serverWorkload(input, {
      name: 'php',
      title: 'PHP server',
      argv: serverArgv(input, documentRoot),
      cwd: project.path,
      // The built-in server answers one request at a time otherwise, and an application that calls itself would wait for ever.
      env: { PHP_CLI_SERVER_WORKERS: '4', APP_URL: project.url },
      path: [input.toolchain.directory],
      setup: jobs.filter((job) => job !== null),
      requires: [
        {
          anyOf: [`${documentRoot}/index.php`, `${documentRoot}/index.html`],
          hint: `No index.php in "${folder}": add one, or set "documentRoot" to the folder that has it.`,
        },
      ],
    }),
  ]
}

function commands(input: RuntimeInput): RuntimeCommands {
  const { project, source, settings, toolchain } = input
  const ini = definitions(settings.ini as Record<string, string>)
  return {
    environment: commandEnvironment(input, {
      cwd: project.path,
      env: { ...composerVariables(input), APP_URL: project.url },
      path: [`${project.path}/vendor/bin`, toolchain.directory],
      install: () => installJob(input),
      installed: 'vendor' in source,
    }),
    actions: phpActions(input, [toolchain.program, ...ini]),
  }
}

/** On a machine PHP's own server; in a container the program of our image that runs FPM behind nginx. */
function serverArgv(input: RuntimeInput, documentRoot: string): ProcessRun['argv'] {
  const listen = input.listen('php', 'http')
  const ini = iniWords(input)
  if (input.inContainer === true) return ['/usr/local/bin/serve-php', place(listen), documentRoot, ...ini]
  if (input.settings.preset === 'laravel') {
    const where = [`--host=${listen.address}`, `--port=${listen.port}`]
    // One try: it would take the next port in silence when this one is in use.
    return [input.toolchain.program, ...ini, 'artisan', 'serve', ...where, '--tries=1', '--no-reload']
  }
  return [input.toolchain.program, ...ini, '-S', place(listen), '-t', documentRoot]
}

function iniWords(input: RuntimeInput): readonly string[] {
  const { ini, xdebug, debugPort } = input.settings as Settings & { ini: Record<string, string>; xdebug: boolean }
  const debugging = {
    ...xdebugExtension(input),
    'xdebug.mode': 'debug',
    'xdebug.start_with_request': 'trigger',
    // Seen from a container the machine, and so the editor, is the gateway; the client of a request is the proxy, and of no use here.
    'xdebug.client_host': input.inContainer === true ? 'xdebug://gateway' : '127.0.0.1',
    'xdebug.client_port': String(debugPort),
  }
  const all = { ...(xdebug ? debugging : {}), ...ini }
  return definitions(all)
}

function definitions(ini: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(ini).flatMap(([name, value]) => ['-d', `${name}=${value}`])
}

/** Our image has Xdebug, but does not load it: it slows PHP down. */
function xdebugExtension(input: RuntimeInput): Readonly<Record<string, string>> {
  return input.inContainer === true ? { zend_extension: 'xdebug' } : {}
}

/** Extensions come with the machine's packages or the image; a missing one is better said now than by a request. */
function extensionsJob(input: RuntimeInput): Job | null {
  const { extensions, xdebug } = input.settings as Settings & { extensions: string[]; xdebug: boolean }
  const needed = [...extensions, ...(xdebug ? ['xdebug'] : [])]
  if (needed.length === 0) return null
  return {
    name: 'extensions',
    title: `Look for the extensions ${needed.join(', ')}`,
    argv: [
      input.toolchain.program,
      ...(xdebug ? definitions(xdebugExtension(input)) : []),
      '-r',
      extensionsScript(input.inContainer === true ? imageAdvice : installAdvice),
      '--',
      ...needed,
    ],
    cwd: input.project.path,
    env: {},
    timeoutSeconds: 30,
    inputs: [],
    creates: atEveryStart(input),
  }
}

function extensionsScript(advice: string): string {
  return `$missing = array_filter(array_slice($argv, 1), fn($name) => !extension_loaded($name));
if ($missing) {
${advice}
  exit(1);
}`
}

const installAdvice = `  $packages = implode(' ', array_map(fn($name) => 'php-' . str_replace(['pdo_', '_'], ['', '-'], $name), $missing));
  fwrite(STDERR, 'PHP has no extension ' . implode(', ', $missing) . ". Install it (Debian: apt-get install -y $packages).\\n");`

const imageAdvice = `  fwrite(STDERR, 'The image of PHP has no extension ' . implode(', ', $missing) . ". Have an image taken that has it.\\n");`

function installJob(input: RuntimeInput): Job | null {
  const { source, project, settings } = input
  if (!('composer.json' in source)) return null
  const production = settings.mode === 'production' ? ['--no-dev', '--optimize-autoloader'] : []
  return {
    name: 'install',
    title: 'Install packages (composer install)',
    argv: composer(input, ['install', '--no-interaction', '--no-progress', ...production]),
    cwd: project.path,
    env: {
      ...composerVariables(input),
      ...installVariables(input.env),
      PATH: searchPath([input.toolchain.directory]),
    },
    timeoutSeconds: 900,
    inputs: [`${project.path}/composer.json`, `${project.path}/composer.lock`],
    creates: `${project.path}/vendor`,
  }
}
