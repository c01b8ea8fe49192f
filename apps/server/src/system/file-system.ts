import { statfs } from 'node:fs/promises'

/** Magic numbers of statfs(2). */
const known: Readonly<Record<number, readonly [name: string, network: boolean]>> = {
  26985: ['NFS', true],
  20859: ['SMB', true],
  4283649346: ['CIFS', true],
  4266872130: ['SMB 2', true],
  1397113167: ['AFS', true],
  16914839: ['9P', true],
  12805120: ['Ceph', true],
  61267: ['ext4', false],
  1481003842: ['XFS', false],
  2435016766: ['Btrfs', false],
  801189825: ['ZFS', false],
  16914836: ['tmpfs', false],
  2035054128: ['overlayfs', false],
}

export async function fileSystemOf(path: string): Promise<{ readonly name: string; readonly network: boolean }> {
  const { type } = await statfs(path)
  const [name, network] = known[type >>> 0] ?? [`a file system of type 0x${(type >>> 0).toString(16)}`, false]
  return { name, network }
}
