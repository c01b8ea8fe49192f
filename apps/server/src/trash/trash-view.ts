import type { EventRecord, TrashItem as TrashItemView } from '@stackquay/contract'
import type { TrashItem } from '@stackquay/store'

/** `project`: as it is now; null when it is gone. */
export function trashView(
  item: TrashItem,
  project: { readonly slug: string; readonly spec: { readonly name: string } } | null,
): TrashItemView {
  return {
    id: item.id,
    kind: item.kind,
    name: item.name,
    state: item.state,
    project: {
      id: item.project,
      slug: project?.slug ?? item.slug,
      name: project?.spec.name ?? item.projectName,
      deleted: project === null,
    },
    engine: item.engine,
    data: item.data.map(({ name, sizeBytes }) => ({ name, sizeBytes })),
    sizeBytes: sizeOf(item),
    deletedAt: item.deletedAt,
    deletedBy: item.deletedBy,
    purgeAt: item.purgeAt,
  }
}

/** Null where a part is not known. */
export function sizeOf({ data }: Pick<TrashItem, 'data'>): number | null {
  return data.some(({ sizeBytes }) => sizeBytes === null)
    ? null
    : data.reduce((sum, { sizeBytes }) => sum + (sizeBytes ?? 0), 0)
}

export function trashEvent(
  { id, kind, name, project }: TrashItem,
  what: 'deleted' | 'restored' | 'purged',
): Pick<EventRecord, 'type' | 'project' | 'data'> {
  return { type: 'trash.changed', project, data: { id, kind, name, what } }
}
