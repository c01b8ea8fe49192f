export type {
  AddOptions,
  ArchiveFolder,
  ArchiveFolderOptions,
  ArchiveTar,
  ArchiveWriter,
  ManifestFields,
  NewPart,
  PartNotes,
  UploadOptions,
} from './archive.ts'
export { openArchiveFolder } from './archive-folder.ts'
export { ArchiveError, type ArchiveErrorCode } from './error.ts'
export { freeChunks } from './free-chunks.ts'
export {
  type InstanceArchives,
  type NewInstanceBackup,
  openInstanceArchives,
} from './instance/instance-archives.ts'
export { type InstanceManifest, parseInstanceManifest, signedText } from './instance/instance-manifest.ts'
export type { Manifest, PartContents, PartEntry } from './manifest.ts'
export type { Content } from './packer/packer.ts'
export { parseManifest } from './read-manifest.ts'
export { type ArchiveKey, newIdentity, openSettings, sealSettings } from './settings.ts'
export { type TreeContents, treeContents } from './tree-contents.ts'
