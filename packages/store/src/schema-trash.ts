/* Tables of the trash. */

export interface TrashTable {
  id: string
  kind: string
  state: string
  project: string
  slug: string
  name: string
  project_name: string
  engine: string
  operation: string | null
  data: string
  deleted_at: string
  deleted_by: string
  purge_at: string
  content: string
}

/** A secret as it was, with its id: the seal is bound to that, the version and the project. */
export interface TrashSecretsTable {
  id: string
  trash: string
  project: string
  name: string
  version: number
  key_id: string
  sealed: string
  created_at: string
  updated_at: string
}
