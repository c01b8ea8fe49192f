import type { BackupCopy, BackupTarget } from '@stackquay/contract'

/** A target without its credentials and keys, which are sealed apart as `backup-target/<id>`. */
export interface BackupTargetRow {
  readonly id: string
  readonly name: string
  readonly kind: BackupTarget['kind']
  /** As they are shown. */
  readonly settings: Readonly<Record<string, unknown>>
  readonly createdAt: string
  readonly checkedAt: string
}

export interface BackupCopyRow extends Pick<BackupCopy, 'target' | 'state' | 'at'> {
  readonly backup: string
}

/** A piece of a copy that is on its target and was read back there. */
export interface CopyPieceRow {
  readonly bytes: number
  readonly sha256: string
  readonly contentSha256: string
}

export interface BackupTargetReader {
  find(id: string): Promise<BackupTargetRow | null>
  /** By name. */
  all(): Promise<readonly BackupTargetRow[]>
  copies(): Promise<readonly BackupCopyRow[]>
  /** Of a copy that is not complete, by their numbers. */
  pieces(target: string, backup: string): Promise<ReadonlyMap<number, CopyPieceRow>>
  /** Ids of backups of which something may lie on the target that is no copy. */
  leftovers(target: string): Promise<readonly string[]>
}

export interface BackupTargetWriter {
  /** Before a copy on the target is deleted, or when one that was begun is given up. */
  putLeftover(target: string, backup: string): Promise<void>
  forgetLeftover(target: string, backup: string): Promise<void>
  /** Throws `TakenError` when the name is held. */
  insert(target: Pick<BackupTargetRow, 'id' | 'name' | 'kind' | 'settings'>): Promise<BackupTargetRow>
  checked(id: string): Promise<BackupTargetRow>
  /** With all that is known of its copies. */
  delete(id: string): Promise<void>
  /** A complete one keeps no pieces: its index on the target has them. */
  putCopy(target: string, backup: string, state: BackupCopy['state']): Promise<BackupCopyRow>
  putPiece(target: string, backup: string, number: number, piece: CopyPieceRow): Promise<void>
  forgetCopy(target: string, backup: string): Promise<void>
  /** Of a backup that is gone here. What was sent of copies that are not complete is left over. */
  forgetCopies(backup: string): Promise<void>
}
