import type { ServiceKind } from '../kind.ts'

/** One line a service; a test compares this list with the folders beside it. */
export const serviceKinds: readonly ServiceKind[] = []

export function serviceKindOf(name: string): ServiceKind | undefined {
  return serviceKinds.find((kind) => kind.name === name)
}
