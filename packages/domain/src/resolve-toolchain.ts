import {
  type ChosenToolchain,
  type InstallHint,
  type RuntimeType,
  type Settings,
  SettingsError,
  type TypeImage,
} from '@stackquay/catalog'
import type { FieldError } from '@stackquay/contract'
import { toolchainIn } from './containers.ts'
import type { ResolveFacts } from './resolve-facts.ts'

/** Null when this machine has none. A runtime that needs no program has an empty toolchain. */
export function toolchainOf(kind: RuntimeType, settings: Settings, facts: ResolveFacts): ChosenToolchain | null {
  if (kind.toolchain === null) return { version: settings.version, program: '', directory: '' }
  return programFor(kind.image, kind.toolchain.name, settings.version, facts)
}

/** The program of a release line: of this machine, or inside an image. */
export function programFor(image: TypeImage, name: string, line: string, facts: ResolveFacts): ChosenToolchain | null {
  return facts.containers === null ? facts.toolchain(name, line) : toolchainIn(image, line)
}

/** A built-in program, run by the Node of the image where it has one. */
export function builtInProgram(image: TypeImage, name: string, facts: ResolveFacts) {
  const found = facts.ourProgram(name)
  return facts.containers === null || image.node === undefined ? found : { ...found, node: image.node }
}

export function missingToolchain(pointer: string, label: string, version: string, install: InstallHint): FieldError {
  return { pointer, code: 'unavailable_here', detail: unavailableHere(label, version, install) }
}

export function unavailableHere(label: string, version: string, install: InstallHint): string {
  return `${label} ${version} is not available on this machine. Debian and Ubuntu: ${install.debian}. Otherwise: ${install.other}`
}

/** Throws every error again that is not about the settings. */
export function cannotRun(name: string, error: unknown): FieldError {
  if (!(error instanceof SettingsError)) throw error
  return { pointer: `/${name}/${error.field}`, code: 'cannot_run', detail: `${error.message} ${error.hint}` }
}
