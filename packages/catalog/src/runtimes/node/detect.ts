import type { DetectedRuntime, SourceFiles } from '../../entry-types.ts'
import { readPackageJson } from './package-json.ts'
import { detectedPackageManager } from './package-manager.ts'
import { presets } from './presets.ts'

/** Frameworks that include another one come first: a Nuxt application may also name vite. */
const order = ['next', 'nuxt', 'nest', 'vite', 'express']

export function detect(source: SourceFiles): DetectedRuntime | null {
  const packageJson = readPackageJson(source, 'package.json')
  if (packageJson === null) return null
  const packageManager = detectedPackageManager(source)
  for (const name of order) {
    const preset = presets.find((candidate) => candidate.name === name)
    const found = preset?.packages.find((dependency) => packageJson.dependencies.has(dependency))
    if (found !== undefined) {
      return {
        confidence: 0.9,
        because: `package.json depends on ${found}`,
        settings: { preset: name, packageManager },
      }
    }
  }
  const script = ['dev', 'start'].find((name) => name in packageJson.scripts)
  if (script === undefined) return null
  return {
    confidence: 0.6,
    because: `package.json has a script "${script}"`,
    settings: { preset: 'generic', packageManager },
  }
}
