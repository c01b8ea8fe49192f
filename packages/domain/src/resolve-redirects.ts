import type { SourceFiles } from '@stackquay/catalog'
import type { Value } from '@stackquay/engine-api'
import { variablesInFiles } from './env-files.ts'
import type { ResolveFacts } from './resolve-facts.ts'

type Variables = Readonly<Record<string, Value>>

/**
 * Variables that a person wrote may name a port of the project's own data, such as `postgres://…@127.0.0.1:24601/main`. In a
 * test environment they get its port instead: a program that follows one reaches the test environment, at worst with a wrong
 * password. Outside of a test environment nothing changes.
 */
export interface Redirects {
  /** From now on the project's own port of this workload leads to `to`. */
  add(workload: string, port: string, to: number): void
  text(text: string): string
  variables(variables: Variables): Variables
  /** Of `.env` and similar files in the source, which frameworks read for absent variables: those that change. */
  inFiles(source: SourceFiles, folder: string): Readonly<Record<string, string>>
}

/** A port on which nothing listens. */
export const nowhere = 1

export function createRedirects({ testEnvironment }: Pick<ResolveFacts, 'testEnvironment'>): Redirects {
  const ports = new Map<string, string>()
  const text = (from: string) => from.replace(/(?<![\d.])\d{2,5}(?![\d.])/g, (number) => ports.get(number) ?? number)
  return {
    add: (workload, port, to) => {
      const ofProject = testEnvironment?.leaseOfProject(workload, port) ?? null
      if (ofProject !== null) ports.set(String(ofProject), String(to))
    },
    text,
    variables: (variables) =>
      Object.fromEntries(
        Object.entries(variables).map(([name, value]) => [
          name,
          typeof value === 'string' ? text(value) : value.map((part) => (typeof part === 'string' ? text(part) : part)),
        ]),
      ),
    inFiles: (source, folder) => {
      const written = [...new Set(['.', folder])].flatMap((place) => [...variablesInFiles(source, place)])
      return Object.fromEntries(
        written
          .map(([name, before]) => [name, before, text(before)] as const)
          .filter(([, before, after]) => after !== before)
          .map(([name, , after]) => [name, after]),
      )
    },
  }
}
