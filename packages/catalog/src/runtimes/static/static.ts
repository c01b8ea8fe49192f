import { z } from 'zod'
import type { Preset, RuntimeInput, RuntimeType, SourceFiles, WorkloadSpec } from '../../entry-types.ts'
import { RelativeFolder, runtimeSettings } from '../../runtime-settings.ts'
import { below, refuseDebug, serverWorkload } from '../../server-workload.ts'
import { commandEnvironment } from '../command-environment.ts'

const presets: readonly Preset[] = [{ name: 'plain', label: 'Files', port: 8080, summary: 'Serves a folder as it is.' }]

export const staticFiles: RuntimeType = {
  kind: 'runtime',
  name: 'static',
  label: 'Static files',
  summary: 'Serves the files of a folder; needs nothing installed.',
  urlOrder: 70,
  settings: runtimeSettings(
    presets,
    {
      documentRoot: RelativeFolder.describe('Folder whose files are served, relative to the project.'),
      spaFallback: z
        .boolean()
        .describe('Answers unknown paths with index.html, for applications that route in the page.'),
    },
    { documentRoot: '.', spaFallback: false },
  ),
  presets,
  presetDrops: [],
  toolchain: null,
  image: {
    reference: () => 'node:26-bookworm-slim',
    program: () => '/usr/local/bin/node',
    node: '/usr/local/bin/node',
    user: null,
  },
  helpers: [],
  releases: [{ version: '1', endOfLife: null }],
  lineOf: (version) => version.split('.')[0] ?? version,
  install: { debian: 'Nothing to install.', other: 'Nothing to install.' },
  sourceFiles: () => folders.flatMap((folder) => (folder === '.' ? ['index.html'] : [`${folder}/index.html`])),
  detect,
  toWorkloads,
  commandFiles: () => [],
  programs: { files: [], find: () => [] },
  commands: (input) => ({
    environment: commandEnvironment(input, { cwd: input.project.path, env: {}, path: [], install: null }),
    actions: [],
  }),
  rebuildable: [],
}

/** Where generators put finished pages; the project itself first. */
const folders = ['.', 'public', 'dist', 'build', 'site', '_site', 'docs', 'www']

function detect(source: SourceFiles) {
  const documentRoot = folders.find((folder) => (folder === '.' ? 'index.html' : `${folder}/index.html`) in source)
  if (documentRoot === undefined) return null
  return {
    confidence: documentRoot === '.' ? 0.5 : 0.3,
    because: `${documentRoot === '.' ? '' : `${documentRoot}/`}index.html is there`,
    settings: { preset: 'plain', documentRoot },
  }
}

function toWorkloads(input: RuntimeInput): readonly WorkloadSpec[] {
  const { settings } = input
  if (!settings.server) return []
  refuseDebug(input, 'Static files have no debugger.', 'Set "debug" to false.')
  const documentRoot = String(settings.documentRoot)
  const root = below(input.project.path, documentRoot)
  const { node, file } = input.ourProgram('static-server')
  const { address, port } = input.listen('static', 'http')
  return [
    serverWorkload(input, {
      name: 'static',
      title: 'Static files',
      argv: [
        node,
        file,
        '--root',
        root,
        '--port',
        String(port),
        // Loopback is what it takes by itself.
        ...(address === '127.0.0.1' ? [] : ['--host', address]),
        ...(settings.spaFallback === true ? ['--spa-fallback'] : []),
      ],
      cwd: input.project.path,
      path: [],
      requires: [
        {
          anyOf: [root],
          hint: `The folder "${documentRoot}" does not exist: create it, or set "documentRoot" to the folder that holds index.html.`,
        },
      ],
    }),
  ]
}
