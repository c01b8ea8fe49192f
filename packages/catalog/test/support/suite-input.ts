import type { Settings, SourceFiles, SuiteInput } from '@stackquay/catalog'

export function settingsLike(said: Readonly<Record<string, unknown>> = {}): Settings {
  return {
    enabled: true,
    version: '1.26',
    server: true,
    mode: 'development',
    preset: 'plain',
    port: 1,
    debug: false,
    debugPort: 2,
    command: null,
    ...said,
  }
}

/** What resolving commands hands to a kind of suites. */
export function suiteInput(source: SourceFiles, over: Partial<SuiteInput> = {}): SuiteInput {
  return {
    project: { id: 'prj_1', slug: 'shop', url: 'http://shop.localhost', path: '/projects/shop', toolsPath: '/tools' },
    source,
    settings: settingsLike(),
    folder: '.',
    environment: { env: { PATH: '/tools/bin:/usr/bin' }, cwd: '/projects/shop', setup: [] },
    program: '/tools/bin/program',
    ourProgram: (name) => ({ node: '/our/node', file: `/our/${name}.ts` }),
    ...over,
  }
}
