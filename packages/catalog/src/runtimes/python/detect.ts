import type { DetectedRuntime, SourceFiles } from '../../entry-types.ts'
import { findApplication } from './application.ts'

/** Manage.py decides; else the packages that are asked for, the more particular ones first. */
export function detect(source: SourceFiles): DetectedRuntime | null {
  const packageManager = 'uv.lock' in source ? 'uv' : 'pip'
  if ('manage.py' in source) {
    return { confidence: 0.95, because: 'manage.py is there', settings: { preset: 'django', packageManager } }
  }
  const file = ['requirements.txt', 'pyproject.toml'].find((name) => name in source)
  if (file === undefined) return null
  const asked = typeof source[file] === 'string' ? source[file].toLowerCase() : ''
  for (const [preset, name] of known) {
    if (!new RegExp(`(^|[\\s"'])${name}([\\s"'\\[<>=!~;,]|$)`, 'm').test(asked)) continue
    const application = findApplication(preset, '.', source)
    return {
      confidence: application === null ? 0.7 : 0.9,
      because: `${file} asks for ${name}`,
      settings: { preset, packageManager, ...(application === null ? {} : { application }) },
    }
  }
  return null
}

const known = [
  ['asgi', 'fastapi'],
  ['asgi', 'starlette'],
  ['asgi', 'litestar'],
  ['flask', 'flask'],
  ['asgi', 'uvicorn'],
  ['wsgi', 'gunicorn'],
  ['wsgi', 'bottle'],
] as const
