import type { Listen, Preset } from '../../entry-types.ts'
import { place } from '../../server-workload.ts'

export interface PythonPreset extends Preset {
  /** Words after the interpreter. `application` is `module:attribute`, for `module` the module's name. */
  words(server: PythonServer): readonly string[]
  /** Package that serves when the project does not name it itself. */
  serverPackage(mode: PythonServer['mode']): string | null
}

export interface PythonServer {
  readonly mode: 'development' | 'production'
  readonly application: string
  readonly listen: Listen
}

export const presets: readonly PythonPreset[] = [
  {
    name: 'flask',
    label: 'Flask',
    port: 5000,
    summary: 'Flask with reload; gunicorn in production.',
    words: ({ mode, application, listen }) =>
      mode === 'development'
        ? ['-m', 'flask', '--app', application, 'run', ...hostAndPort(listen), '--debug']
        : gunicorn(application, listen),
    serverPackage: (mode) => (mode === 'production' ? 'gunicorn' : null),
  },
  {
    name: 'django',
    label: 'Django',
    port: 8000,
    summary: 'manage.py runserver; gunicorn in production.',
    words: ({ mode, application, listen }) =>
      mode === 'development' ? ['manage.py', 'runserver', place(listen)] : gunicorn(application, listen),
    serverPackage: (mode) => (mode === 'production' ? 'gunicorn' : null),
  },
  {
    name: 'asgi',
    label: 'ASGI (FastAPI, Starlette)',
    port: 8000,
    summary: 'An ASGI application under uvicorn.',
    words: ({ mode, application, listen }) => [
      ...['-m', 'uvicorn', application, ...hostAndPort(listen)],
      ...(mode === 'development' ? ['--reload'] : []),
    ],
    serverPackage: () => 'uvicorn',
  },
  {
    name: 'wsgi',
    label: 'WSGI',
    port: 8000,
    summary: 'A WSGI application under gunicorn.',
    words: ({ mode, application, listen }) => [
      ...gunicorn(application, listen),
      ...(mode === 'development' ? ['--reload'] : []),
    ],
    serverPackage: () => 'gunicorn',
  },
  {
    name: 'module',
    label: 'Module',
    port: 8000,
    summary: 'Runs a module that listens on PORT: python -m name.',
    words: ({ application }) => ['-m', application],
    serverPackage: () => null,
  },
]

function hostAndPort({ address, port }: Listen): readonly string[] {
  return ['--host', address, '--port', String(port)]
}

function gunicorn(application: string, listen: Listen): readonly string[] {
  return ['-m', 'gunicorn', '--bind', place(listen), '--access-logfile', '-', application]
}

export function presetOf(name: string): PythonPreset {
  return presets.find((preset) => preset.name === name) ?? presets[0]!
}
